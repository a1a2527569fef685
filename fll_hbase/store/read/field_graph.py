"""The graph of fields: edges of contents at their fields, decoded once and shared by all walks."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakValueDictionary

from fll_hbase.model import field_relations
from fll_hbase.model.datasets import WHOLE_DATASET, Dataset, DatasetField
from fll_hbase.model.operations import Influence
from fll_hbase.model.window import Direction
from fll_hbase.runtime import deadline
from fll_hbase.store.read.content_cache import ContentCache
from fll_hbase.store.read.unmasked_contents import UnmaskedContents

EDGES_MAX = 10_000
"""Maximum number of edges cached for the fields of one step of a walk; more edges are made one by one."""

# Estimates of sizes in memory, from measurements.
_BYTES_PER_FIELD, _BYTES_PER_EDGE = 650, 8


class Node:
    """A field of the graph: one object per field, compared and hashed by identity.

    `dataset_node` is the dataset as a whole.
    """

    __slots__ = ("__weakref__", "dataset_node", "field")

    def __init__(self, field: DatasetField, dataset_node: Node | None) -> None:
        self.field = field
        self.dataset_node = dataset_node or self


class Steps(NamedTuple):
    """The edges of one content at one field: the fields at their other ends.

    `unknown` are the datasets related to the field's dataset in an unknown way. `is_dropped` is
    whether a transform without outputs takes the field; it is always False backward.
    """

    direct: tuple[Node, ...] = ()
    indirect: tuple[Node, ...] = ()
    unknown: tuple[Node, ...] = ()
    is_dropped: bool = False


_NO_STEPS = Steps()

_Edge: TypeAlias = tuple[Node, Node | None, Influence | None]
"""The field at which an edge was looked up, the field at its other end (None if dropped), and the influence
(None if unknown)."""


class _CachedSteps(NamedTuple):
    """The edges at fields of a dataset in one content: at all fields, or at the fields requested so far."""

    by_node: dict[Node, Steps]
    is_complete: bool


class FieldGraph:
    """Returns the edges of contents. Threads may share it. Raises StoreUnavailable and CorruptRow."""

    def __init__(self, contents: ContentCache | UnmaskedContents) -> None:
        self._contents = contents
        # Nodes live as long as a cached content or a walk refers to them.
        self.nodes: WeakValueDictionary[DatasetField, Node] = WeakValueDictionary()
        self._lock = threading.Lock()

    def node(self, field: DatasetField) -> Node:
        """Return the node of a field: the existing one while anything refers to it, otherwise a new one."""
        node = self.nodes.get(field)
        if node is None:
            dataset_node = None
            if field.name != WHOLE_DATASET:
                dataset_node = self.node(DatasetField(field.dataset, WHOLE_DATASET))
            with self._lock:
                node = self.nodes.setdefault(field, Node(field, dataset_node))
        return node

    def load(self, checksums: Iterable[str]) -> None:
        """Read together what `steps` of these contents needs. Raises DeadlineExceeded."""
        self._contents.load(checksums)

    def steps(
        self, checksum: str, direction: Direction, dataset: Dataset, nodes: Collection[Node] | None
    ) -> Iterable[tuple[Node, Steps]]:
        """Return the edges of a content into (backward) or out of fields of a dataset, or all if None.

        A field without edges is left out. From EDGES_MAX edges on, each of them comes alone, so that a field
        may occur several times. Raises DeadlineExceeded.
        """
        deadline.check()
        key = "steps", checksum, direction, dataset
        cached = self._contents.cached(key, lambda: (_BYTES_PER_FIELD, _CachedSteps({}, False)))
        if not cached.is_complete:
            missing = None if nodes is None else [node for node in nodes if node not in cached.by_node]
            if missing is None or missing:
                edges = list(islice(self._edges(checksum, direction, dataset, missing), EDGES_MAX))
                if len(edges) == EDGES_MAX:
                    return _one_by_one(self._edges(checksum, direction, dataset, nodes))
                # Copy the cached dictionary, because other threads read it.
                by_node = {} if missing is None else dict(cached.by_node)
                by_node |= _grouped(edges, missing or ())
                cached = _CachedSteps(by_node, missing is None)
                self._contents.put(key, _size(cached), cached)
        if nodes is None:
            return cached.by_node.items()
        get = cached.by_node.get
        return [(node, steps) for node in nodes if (steps := get(node, _NO_STEPS)) is not _NO_STEPS]

    def _edges(
        self, checksum: str, direction: Direction, dataset: Dataset, nodes: Collection[Node] | None
    ) -> Iterator[_Edge]:
        """Yield near field, far field and influence of the edges at fields, or at all fields for None.

        Raises DeadlineExceeded.
        """
        names = None if nodes is None else {node.field.name for node in nodes}
        is_backward = direction is Direction.BACKWARD
        edges_of = field_relations.edges_into if is_backward else field_relations.edges_out_of
        for edge in edges_of(self._contents.field_map(checksum), dataset, names=names):
            # Check here, because fully cached contents never wait for the store.
            deadline.check()
            source = self._end(edge.source, edge.source_field)
            destination = self._end(edge.destination, edge.destination_field)
            near, far = (destination, source) if is_backward else (source, destination)
            # Generated fields have no source; backward, edges of a whole dataset come with those at its
            # fields.
            if near is None or (far is None and is_backward):
                continue
            if names is None or near.field.name in names:
                yield near, far, edge.influence

    def _end(self, dataset: Dataset | None, name: str | None) -> Node | None:
        """Return the node of a field, or of a whole dataset without a name, or None without a dataset."""
        return None if dataset is None else self.node(DatasetField(dataset, name or WHOLE_DATASET))


def _one_by_one(edges: Iterable[_Edge]) -> Iterator[tuple[Node, Steps]]:
    """Yield each edge as a separate step, so that a field may occur several times."""
    for near, *edge in edges:
        yield near, _steps([edge])


def _grouped(edges: Iterable[_Edge], nodes: Iterable[Node]) -> dict[Node, Steps]:
    """Return the edges by near field, with `_NO_STEPS` for each of `nodes` without edges."""
    by_node: dict[Node, list[Any]] = {node: [] for node in nodes}
    for near, *edge in edges:
        by_node.setdefault(near, []).append(edge)
    return {node: _steps(listed) if listed else _NO_STEPS for node, listed in by_node.items()}


def _steps(edges: Sequence[Sequence[Any]]) -> Steps:
    """Return the steps of one field from its edges, each the field at the other end and an influence."""
    return Steps(
        tuple(far for far, influence in edges if far is not None and influence is Influence.DIRECT),
        tuple(far for far, influence in edges if far is not None and influence is Influence.INDIRECT),
        tuple(far for far, influence in edges if far is not None and influence is None),
        any(far is None for far, _ in edges),
    )


def _size(cached: _CachedSteps) -> int:
    """Return an estimate of the size of cached edges in memory, in bytes."""
    edges = sum(len(steps.direct) + len(steps.indirect) for steps in cached.by_node.values())
    return _BYTES_PER_FIELD * (len(cached.by_node) + 1) + _BYTES_PER_EDGE * edges
