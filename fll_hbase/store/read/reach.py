"""Field reach: the fields that lead to one field, or that it leads to, over many hops.

The walk goes level by level, and reads all datasets of a level together, so the number of calls follows the
levels. A plain walk expands a field once. A walk in the order of the runs expands it again whenever a later
level admits more of its runs. After a plain walk, it uses what that walk has read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from fll_hbase.model.datasets import WHOLE_DATASET, Dataset, DatasetField
from fll_hbase.model.window import Direction
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import DeadlineExceeded
from fll_hbase.store.components import Reader, StoreComponents
from fll_hbase.store.query_parameters import ReachQuery, WindowQuery
from fll_hbase.store.read.field_graph import FieldGraph, Node, Steps
from fll_hbase.store.read.run_times import RunTimes, TimesByName, bound_of
from fll_hbase.store.results import Path, Reach, ReachEdge, RunSpan

_UNBOUNDED = -(2**63)
"""Smaller than every bound: no run is within it."""

DATASETS_PER_READ = 128
"""Maximum number of datasets of one level that are read together."""


class Expansion(NamedTuple):
    """Sorted fields of one dataset to expand, None for all of them, with their runs up to `bound`.

    The dataset as a whole comes last.
    """

    dataset: Dataset
    bound: int
    nodes: tuple[Node, ...] | None


class _Visit(NamedTuple):
    """The path on which a field was reached, with its runs up to `bound`."""

    path: Path
    bound: int


class _Edge:
    """The contents with an edge, and whether the edge is direct in any of them."""

    __slots__ = ("checksums", "direct")

    def __init__(self) -> None:
        self.direct = False
        self.checksums: set[str] = set()


Edges: TypeAlias = dict[Node, dict[Node, _Edge]]
"""Edges by the field at which they were looked up, then by the field at their other end."""


class InOrder(NamedTuple):
    """The fields and edges that the order of the runs allows, under the names by which they were reached."""

    nodes: Collection[Node]
    edges: Edges


class ReachWalk:
    """The state of a walk: fields with their bounds and hops, and the edges between them.

    Only edges that are `within` others are added, or all edges if it is None.
    """

    def __init__(
        self, query: ReachQuery, graph: FieldGraph, *, edges_max: int, within: Edges | None = None
    ) -> None:
        self.query = query
        self.edges: Edges = {}
        self.truncated_by: set[str] = set()
        self.is_full = False
        self._graph = graph
        self._within = within
        self._edges_max = edges_max
        self._edge_count = 0
        self._backward = query.direction is Direction.BACKWARD
        self._level = 0
        self._hops: dict[Node, int] = {}
        # The greatest bounds with which each field was reached, and expanded.
        self._bounds: dict[Node, int] = {}
        self._expanded: dict[Node, int] = {}
        self._next: dict[Node, _Visit] = {}
        self._level_paths: dict[Dataset, dict[str, Path]] = {}
        # The paths to the fields of the expansion whose edges are being added.
        self._near_paths: dict[str, Path] = {}
        # The first path to each field, which is a shortest path.
        self._paths: dict[Node, Path] = {}
        self._dropped: set[Node] = set()
        self._names: dict[Dataset, tuple[Dataset, ...]] = {}
        self._canonical: dict[Dataset, Dataset] = {}
        self._has_aliases = False
        self._unknown: set[tuple[Node, Node]] = set()
        self._starts = tuple(map(graph.node, dict.fromkeys((query.field, *query.others))))
        for start in self._starts:
            path = Path(start.field, None)
            self._hops[start], self._paths[start] = 0, path
            self._admit(start, path, first_bound(query))

    @property
    def has_next(self) -> bool:
        """Return whether the last level reached fields that are not yet expanded."""
        return bool(self._next)

    @property
    def has_edges(self) -> bool:
        """Return whether an edge was added."""
        return self._edge_count > 0

    def in_order(self) -> InOrder:
        """Return the fields and edges reached by this walk, which must be in the order of the runs."""
        return InOrder({*self._starts, *_ends(self.edges)}, self.edges)

    def next_expansions(self) -> list[Expansion]:
        """Begin the next level; return its expansions, sorted, so that limits always cut the same part."""
        nodes: dict[tuple[Dataset, int], list[Node]] = defaultdict(list)
        paths: dict[Dataset, dict[str, Path]] = defaultdict(dict)
        for node, visit in self._next.items():
            # A later visit on the same level may admit more.
            nodes[node.field.dataset, visit.bound].append(node)
            paths[node.field.dataset][node.field.name] = visit.path
        self._level_paths, self._next = paths, {}
        self._level += 1
        return [Expansion(*key, self._expanded_nodes(listed)) for key, listed in sorted(nodes.items())]

    def _expanded_nodes(self, nodes: list[Node]) -> tuple[Node, ...] | None:
        """Return these nodes and their whole dataset; forward from the whole dataset, None for all fields."""
        dataset_node = nodes[0].dataset_node
        if not self._backward and dataset_node in nodes:
            # Forward, an influence on a dataset leads to all its fields.
            return None
        # Backward, influences on the dataset as a whole also lead to each of its fields.
        return (*sorted((node for node in nodes if node is not dataset_node), key=_name), dataset_node)

    def nodes(self, expansion: Expansion, name: Dataset) -> tuple[Node, ...] | None:
        """Return the fields of an expansion under a name of its dataset, or None for all fields."""
        if expansion.nodes is None or name == expansion.dataset:
            return expansion.nodes
        return tuple(self._graph.node(DatasetField(name, node.field.name)) for node in expansion.nodes)

    def canonical_name(self, dataset: Dataset, names: Iterable[Dataset]) -> Dataset:
        """Return the name under which a dataset was first reached; all `names` mean this name from now on."""
        first_name = self._canonical.setdefault(dataset, dataset)
        self._has_aliases |= first_name != dataset
        listed = tuple(names)
        for name in listed:
            self._has_aliases |= self._canonical.setdefault(name, first_name) != name
        self._names[first_name] = tuple(dict.fromkeys((*self._names.get(first_name, ()), *listed)))
        return first_name

    def expand(self, dataset: Dataset, expansion: Expansion) -> None:
        """Note that an expansion's fields are expanded under the name `dataset`; call this before `add`."""
        self._near_paths = self._level_paths[expansion.dataset]
        dataset_node = self._graph.node(DatasetField(dataset, WHOLE_DATASET))
        nodes = self.nodes(expansion, dataset)
        for node in (dataset_node,) if nodes is None else nodes if self._backward else nodes[:-1]:
            self._expanded[node] = max(expansion.bound, self._expanded.get(node, _UNBOUNDED))

    def add(self, near: Node, steps: Steps, checksum: str, bound: int) -> bool:
        """Add the edges of a content at a field; return False once the limit on edges is reached."""
        if self._has_aliases:
            near, steps = self._renamed(near), self._renamed_steps(steps)
        if steps.is_dropped:
            self._dropped.add(near)
        for dataset_node in steps.unknown:
            self._unknown.add(
                (dataset_node, near.dataset_node) if self._backward else (near.dataset_node, dataset_node)
            )
        return self._add(near, steps.direct, checksum, bound, is_direct=True) and (
            not self.query.indirect or self._add(near, steps.indirect, checksum, bound, is_direct=False)
        )

    def _add(self, near: Node, nodes: Iterable[Node], checksum: str, bound: int, *, is_direct: bool) -> bool:
        """Add a content's edges from a node and queue their far ends; return False once the walk is full."""
        edges = self.edges.setdefault(near, {})
        within = None if self._within is None else self._within.get(near, {})
        for far in nodes:
            edge = edges.get(far)
            if edge is None:
                if within is not None and far not in within:
                    continue
                if self._edge_count == self._edges_max:
                    self.truncated_by.add(f"connections_max={self._edges_max}")
                    self.is_full = True
                    return False
                self._edge_count += 1
                edge = edges[far] = _Edge()
            edge.direct |= is_direct
            edge.checksums.add(checksum)
            if bound > self._bounds.get(far, _UNBOUNDED):
                self._visit(near, far, bound)
        return True

    def result(self, times: Mapping[Dataset, Mapping[str, RunTimes]], in_order: InOrder | None) -> Reach:
        """Return everything reached, with every dataset under the name by which it was first reached.

        `times` contains the run times of a dataset's contents, by each of its names. `in_order` is the part
        that the order of the runs allows, None if unknown. Spans are None if the query does not count runs.
        """
        merged: dict[tuple[Node, Node], ReachEdge] = {}
        contents_max = self.query.contents_max
        spans = _Spans(self.query, times, self._names) if self.query.counts else None
        for near, edges in self.edges.items():
            bound = self._expanded_bound(near)
            ordered = in_order.edges.get(near, {}) if in_order else {}
            for far, edge in edges.items():
                key = (far, near) if self._backward else (near, far)
                span, checksums = spans.counted(near, edge, bound) if spans else _NO_RUNS
                is_in_order = None if in_order is None else far in ordered
                if self._has_aliases:
                    # Rename only now: a dataset may have been reached under two names that were not yet known
                    # as one.
                    key = self._renamed(key[0]), self._renamed(key[1])
                other = merged.get(key)
                is_direct = edge.direct
                if other is not None:
                    is_direct |= other.direct
                    span = span.union(other.span) if span else other.span
                    checksums = tuple(dict.fromkeys(checksums + other.checksums))[:contents_max]
                    is_in_order = is_in_order or other.in_order
                merged[key] = ReachEdge(key[0].field, key[1].field, is_direct, span, is_in_order, checksums)
        return Reach(
            self._hops_of({*map(self._renamed, self._starts), *(end for key in merged for end in key)}),
            _sorted(merged),
            tuple(sorted({(self._name(source), self._name(to)) for source, to in self._unknown})),
            tuple(sorted(self.truncated_by)),
            frozenset(self._renamed(node).field for node in self._dropped),
            None if in_order is None else frozenset(self._renamed(node).field for node in in_order.nodes),
            self._named_paths(),
        )

    def _path_to(self, near: Node) -> Path:
        """Return the path to a field of the expansion whose edges are being added."""
        path = self._near_paths.get(near.field.name)
        if path is not None:
            return path
        # One end is the whole dataset: backward, it was expanded with a field; forward, the field with it.
        other = min(self._near_paths) if self._backward else WHOLE_DATASET
        return Path(near.field, self._near_paths[other])

    def _visit(self, near: Node, reached: Node, bound: int) -> None:
        """Note a field reached from `near` for the next level, unless its earlier bound was as great."""
        path = self._paths.get(reached)
        if path is None:
            self._hops.setdefault(reached, self._level)
            path = self._paths[reached] = Path(reached.field, self._path_to(near))
        elif bound > self._bound(reached):
            path = Path(reached.field, self._path_to(near))
        if bound > self._bound(reached):
            self._admit(reached, path, bound)

    def _admit(self, reached: Node, path: Path, bound: int) -> None:
        """Note a field (backward, also its dataset) for the next level, with a greater bound than before."""
        self._bounds[reached] = bound
        self._next[reached] = _Visit(path, bound)
        if self._backward and bound > self._bounds.get(reached.dataset_node, _UNBOUNDED):
            # Influences on the dataset as a whole also lead to this field.
            self._hops.setdefault(reached.dataset_node, self._level)
            self._bounds[reached.dataset_node] = bound

    def _bound(self, reached: Node) -> int:
        """Return the greatest bound with which a field was reached; forward, even as part of its dataset."""
        bound = self._bounds.get(reached, _UNBOUNDED)
        return bound if self._backward else max(bound, self._bounds.get(reached.dataset_node, _UNBOUNDED))

    def _expanded_bound(self, near: Node) -> int:
        """Return the greatest bound with which a field was expanded; forward, even as part of its dataset."""
        bound = self._expanded.get(near, _UNBOUNDED)
        return bound if self._backward else max(bound, self._expanded.get(near.dataset_node, _UNBOUNDED))

    def _hops_of(self, nodes: Iterable[Node]) -> dict[DatasetField, int]:
        """Return the least number of hops to each field, counting aliases as one dataset."""
        hops = self._hops
        if self._has_aliases:
            hops = {}
            for reached, level in self._hops.items():
                renamed = self._renamed(reached)
                hops[renamed] = min(level, hops.get(renamed, level))
        if self._backward:
            return {node.field: hops[node] for node in nodes}
        # Forward, a field may be reached only as part of its dataset.
        return {
            node.field: min(hops[reached] for reached in (node, node.dataset_node) if reached in hops)
            for node in nodes
        }

    def _renamed(self, node: Node) -> Node:
        """Return the node of the same field under the canonical name of its dataset."""
        dataset = node.field.dataset
        name = self._canonical.get(dataset, dataset)
        return node if name is dataset else self._graph.node(DatasetField(name, node.field.name))

    def _renamed_steps(self, steps: Steps) -> Steps:
        """Return the steps with direct and indirect far fields under canonical names."""
        return steps._replace(
            direct=tuple(map(self._renamed, steps.direct)), indirect=tuple(map(self._renamed, steps.indirect))
        )

    def _named_paths(self) -> dict[DatasetField, Path]:
        """Return the shortest path to each field, with all datasets under canonical names."""
        if not self._has_aliases:
            # Most datasets have one name, and the paths of their fields stay shared.
            return {node.field: path for node, path in self._paths.items()}
        return {self._renamed(node).field: self._renamed_path(path) for node, path in self._paths.items()}

    def _renamed_path(self, path: Path) -> Path:
        """Return a copy of a path with all datasets under canonical names."""
        previous = None
        for end in path.fields():
            previous = Path(self._renamed(self._graph.node(end)).field, previous)
        return previous or path

    def _name(self, node: Node) -> Dataset:
        """Return the canonical name of the dataset of a node."""
        return self._renamed(node).field.dataset


_CountedRuns: TypeAlias = tuple[RunSpan | None, tuple[str, ...]]
"""Runs, and the checksums of the contents of the newest runs."""

_NO_RUNS: _CountedRuns = None, ()


class _Spans:
    """The runs of edges, computed once for all edges at a dataset with the same contents."""

    def __init__(
        self,
        query: ReachQuery,
        times: Mapping[Dataset, Mapping[str, RunTimes]],
        names: Mapping[Dataset, Sequence[Dataset]],
    ) -> None:
        self._direction, self._contents_max = query.direction, query.contents_max
        self._contents = {
            dataset: _times_by_content(times[name] for name in listed) for dataset, listed in names.items()
        }
        self._spans: dict[tuple[Node, int, frozenset[str]], _CountedRuns] = {}

    def counted(self, near: Node, edge: _Edge, bound: int) -> _CountedRuns:
        """Return an edge's runs up to `bound`, or None, and at most `contents_max` contents, newest first."""
        key = near.dataset_node, bound, frozenset(edge.checksums)
        if key not in self._spans:
            contents = self._contents[near.field.dataset]
            spans = {
                checksum: span
                for checksum in edge.checksums
                if (span := contents[checksum].span(self._direction, bound)) is not None
            }
            total: RunSpan | None = None
            for span in spans.values():
                total = span.union(total)
            newest = sorted(spans, key=lambda checksum: (-spans[checksum].last_start_ms, checksum))
            self._spans[key] = total, tuple(newest[: self._contents_max])
        return self._spans[key]


def _times_by_content(times_by_name: Iterable[Mapping[str, RunTimes]]) -> dict[str, RunTimes]:
    """Return when contents ran, each under the name with most of its runs: others may be purged."""
    contents: dict[str, RunTimes] = {}
    for times in times_by_name:
        for checksum, runs in times.items():
            other = contents.get(checksum)
            if other is None or runs.total > other.total:
                contents[checksum] = runs
    return contents


def first_bound(query: ReachQuery) -> int:
    """Return the bound that admits every run of the window, in the direction of the query."""
    window = query.window
    is_backward = query.direction is Direction.BACKWARD
    return bound_of(query.direction, window.stop_ms - 1 if is_backward else window.start_ms)


def _sorted(edges: Mapping[tuple[Node, Node], ReachEdge]) -> tuple[ReachEdge, ...]:
    """Return the edges sorted by the names of their sources, then of their destinations."""
    # Compare the names of each field once for all its edges.
    nodes = {end for key in edges for end in key}
    positions = {node: position for position, node in enumerate(sorted(nodes, key=_names))}
    return tuple(edges[key] for key in sorted(edges, key=lambda key: (positions[key[0]], positions[key[1]])))


def edge_key(edge: ReachEdge) -> tuple[str, ...]:
    """Return the sort key of an edge: names of its source, then of its destination."""
    return *_field_names(edge.source), *_field_names(edge.destination)


def _ends(edges: Edges) -> Iterator[Node]:
    """Yield both ends of all edges, including repeated ones."""
    return (end for near, listed in edges.items() if listed for end in (near, *listed))


def _name(node: Node) -> str:
    """Return the name of the field of a node."""
    return node.field.name


def _names(node: Node) -> tuple[str, str, str]:
    """Return the sort key of a node: namespace and name of its dataset, and name of its field."""
    return _field_names(node.field)


def _field_names(field: DatasetField) -> tuple[str, str, str]:
    """Return the sort key of a field: namespace and name of its dataset, and its own name."""
    # Text compares several times faster than datasets do.
    return field.dataset.namespace, field.dataset.name, field.name


class ReachReader:
    """Answers queries of field reach. Threads may share it. Raises StoreUnavailable and CorruptRow."""

    def __init__(self, components: StoreComponents) -> None:
        self._components = components
        self._settings = components.settings

    def reach(self, query: ReachQuery) -> Reach:
        """Return the fields that lead to a field, or that it leads to, over many hops.

        Raises NotFound for a field that was never recorded, and DeadlineExceeded if no edge is read in time.
        """
        result = self.fields_within(query)
        if not result.edges:
            catalogue = self._components.catalogue
            if query.field.name == WHOLE_DATASET:
                catalogue.require_dataset(query.field.dataset)
            else:
                catalogue.require_field(query.field)
        return result

    def fields_within(self, query: ReachQuery) -> Reach:
        """Return everything within reach, up to the limits that `truncated_by` names.

        An unknown field has no edges. At the deadline the walk stops, and the order of the runs is then
        unknown. Raises DeadlineExceeded if the deadline passes before the first edge.
        """
        walked = _Walked(self._components, query)
        walk = ReachWalk(query, walked.graph, edges_max=self._settings.connections_max)
        try:
            self._walk(walk, walked)
            in_order = walk.in_order() if query.causal else self._in_order(walk, walked)
        except DeadlineExceeded:
            if not walk.has_edges:
                raise
            walk.truncated_by.add(deadline.limit())
            in_order = None
        walk.truncated_by.update(walked.budget.limits)
        return walk.result(walked.times, in_order)

    def _in_order(self, walk: ReachWalk, walked: _Walked) -> InOrder:
        """Walk again and return the part that the order of runs allows. Raises DeadlineExceeded."""
        ordered = ReachWalk(
            replace(walk.query, causal=True),
            walked.graph,
            edges_max=self._settings.connections_max,
            within=walk.edges,
        )
        self._walk(ordered, walked)
        return ordered.in_order()

    def _walk(self, walk: ReachWalk, walked: _Walked) -> None:
        """Walk level by level. Raises DeadlineExceeded, after which the edges added so far are valid."""
        level, level_max = walk.query.level, self._settings.level_max
        for _ in range(min(level or level_max, level_max)):
            self._walk_level(walk, walked)
            if walk.is_full or not walk.has_next:
                return
        if level is None or level > level_max:
            walk.truncated_by.add(f"level_max={level_max}")

    def _walk_level(self, walk: ReachWalk, walked: _Walked) -> None:
        """Expand what the last level reached, DATASETS_PER_READ datasets per read, until the walk is full."""
        expansions = walk.next_expansions()
        for begin in range(0, len(expansions), DATASETS_PER_READ):
            if not walk.is_full:
                self._expand(walk, walked, expansions[begin : begin + DATASETS_PER_READ])

    def _expand(self, walk: ReachWalk, walked: _Walked, expansions: Sequence[Expansion]) -> None:
        """Add the edges of fields until the walk is full; a causal walk adds only those within its bounds."""
        direction, causal = walk.query.direction, walk.query.causal
        for expansion, names in zip(expansions, walked.read(expansions), strict=True):
            first_name = walk.canonical_name(expansion.dataset, names)
            walk.expand(first_name, expansion)
            for name, contents in names.items():
                nodes = walk.nodes(expansion, name)
                for checksum in sorted(contents):
                    bound: int | None = expansion.bound
                    if causal:
                        bound = contents[checksum].latest_bound(direction, expansion.bound)
                    if bound is None:
                        continue
                    for near, steps in walked.steps(checksum, name, nodes):
                        if not walk.add(near, steps, checksum, bound):
                            return


class _Walked(Reader):
    """Times of contents, and their edges, as read by the walks of one query."""

    def __init__(self, components: StoreComponents, query: ReachQuery) -> None:
        super().__init__(components)
        self.graph = components.unmasked_graph if query.unmasked else components.graph
        self.times: dict[Dataset, Mapping[str, RunTimes]] = {}
        self.budget = self._times.budget()
        self._query = query
        self._by_dataset: dict[Dataset, TimesByName] = {}

    def read(self, expansions: Sequence[Expansion]) -> list[TimesByName]:
        """Return each dataset's contents' run times, complete up to the bounds. Raises DeadlineExceeded."""
        missing = dict.fromkeys(item.dataset for item in expansions if item.dataset not in self._by_dataset)
        read = self._times.times([self._window_query(dataset) for dataset in missing], self.budget)
        for dataset, by_name in zip(missing, read, strict=True):
            self._by_dataset[dataset] = by_name
            self.times |= by_name
        self.graph.load(
            checksum for by_name in read for contents in by_name.values() for checksum in contents
        )
        by_names = [self._by_dataset[item.dataset] for item in expansions]
        self._times.complete(
            [
                (self._window_query(name), contents, item.bound)
                for item, by_name in zip(expansions, by_names, strict=True)
                for name, contents in by_name.items()
            ]
        )
        return by_names

    def steps(
        self, checksum: str, name: Dataset, nodes: Collection[Node] | None
    ) -> Iterable[tuple[Node, Steps]]:
        """Return the edges of fields in one content. Raises DeadlineExceeded."""
        return self.graph.steps(checksum, self._query.direction, name, nodes)

    def _window_query(self, dataset: Dataset) -> WindowQuery:
        """Return the query for the runs of a dataset, with direction and window of the walk."""
        query = self._query
        return WindowQuery(query.direction, dataset, query.window)
