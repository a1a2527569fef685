"""The state of a walk over fields: what is reached, with which runs, and the edges between the fields."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from fll_hbase.model.datasets import WHOLE_DATASET, Dataset, DatasetField
from fll_hbase.model.field_steps import FieldStep
from fll_hbase.model.operations import Influence
from fll_hbase.model.window import Direction, Window
from fll_hbase.store.read.run_times import RunTimes, bound_of
from fll_hbase.store.results import Path, Reach, ReachEdge, RunSpan

_UNBOUNDED = -(2**63)
"""Below every bound: nothing is reached with it."""

EdgeKey: TypeAlias = tuple[DatasetField, DatasetField]
"""Source and destination of an edge."""


@dataclass(frozen=True, slots=True)
class ReachQuery:
    """The field to start at, and what counts.

    `level` is the number of hops, None for as many as the settings allow. With `causal` an edge counts only
    if its run started no later than some run that read the value on the way to the field (backward), or no
    earlier than some run that wrote it (forward). Without `counts` the answer has no counts of runs.
    """

    field: DatasetField
    window: Window
    direction: Direction = Direction.BACKWARD
    level: int | None = None
    causal: bool = False
    indirect: bool = True
    failed: bool = False
    counts: bool = True


class Expansion(NamedTuple):
    """Fields of one dataset to expand, None for all of them, with the runs up to `bound`."""

    dataset: Dataset
    bound: int
    names: frozenset[str] | None


class _Visit(NamedTuple):
    """The path on which a field was reached, with the runs of it up to `bound`."""

    path: Path
    bound: int


@dataclass(slots=True)
class _Edge:
    """The contents that have an edge, and whether it is direct in any."""

    direct: bool = False
    checksums: set[str] = field(default_factory=set)


class InOrder(NamedTuple):
    """The fields and edges that the order of the runs allows, under the names by which they were reached."""

    fields: Collection[DatasetField]
    edges: Collection[EdgeKey]


class ReachWalk:
    """The state of a walk: fields with their bounds and hops, and the edges between them.

    Edges that are not `within` others are left out; None for all.
    """

    def __init__(
        self, query: ReachQuery, *, edges_max: int, within: Collection[EdgeKey] | None = None
    ) -> None:
        self.query = query
        self._within = within
        self.edges: dict[EdgeKey, _Edge] = {}
        self.truncated_by: set[str] = set()
        self.is_full = False
        self._edges_max = edges_max
        self._backward = query.direction is Direction.BACKWARD
        self._level = 0
        self._hops: dict[DatasetField, int] = {}
        # The greatest bound with which each field was reached, and with which it was expanded.
        self._bounds: dict[DatasetField, int] = {}
        self._expanded: dict[Dataset, dict[str, int]] = defaultdict(dict)
        self._next: dict[DatasetField, _Visit] = {}
        self._level_paths: dict[Dataset, dict[str, Path]] = {}
        # The paths to the fields of the expansion whose edges are being added.
        self._near_paths: dict[str, Path] = {}
        # The first path to each field, which is a shortest one.
        self._paths: dict[DatasetField, Path] = {}
        self._dropped: set[DatasetField] = set()
        self._names: dict[Dataset, tuple[Dataset, ...]] = {}
        self._canonical: dict[Dataset, Dataset] = {}
        self._has_aliases = False
        self._unknown: set[tuple[Dataset, Dataset]] = set()
        start = Path(query.field, None)
        self._hops[query.field], self._paths[query.field] = 0, start
        self._admit(start, first_bound(query))

    @property
    def has_next(self) -> bool:
        """Whether the last level reached fields that are not expanded."""
        return bool(self._next)

    def in_order(self) -> InOrder:
        """Return what a walk in the order of the runs has reached."""
        ends = {end for key in self.edges for end in key}
        return InOrder({self.query.field, *ends}, self.edges.keys())

    def next_expansions(self) -> list[Expansion]:
        """Return what the next level expands, sorted, so that limits cut the same part each time."""
        names: dict[tuple[Dataset, int], set[str]] = defaultdict(set)
        paths: dict[Dataset, dict[str, Path]] = defaultdict(dict)
        for reached, visit in self._next.items():
            # A later visit on the same level may admit more.
            names[reached.dataset, visit.bound].add(reached.name)
            paths[reached.dataset][reached.name] = visit.path
        self._level_paths, self._next = paths, {}
        self._level += 1
        return [
            Expansion(*key, None if self._leads_to_all(fields) else frozenset(fields))
            for key, fields in sorted(names.items())
        ]

    def canonical_name(self, dataset: Dataset, names: Iterable[Dataset]) -> Dataset:
        """Return the name under which a dataset was reached first, after this name all `names` are it."""
        first_name = self._canonical.setdefault(dataset, dataset)
        self._has_aliases |= first_name != dataset
        listed = tuple(names)
        for name in listed:
            self._has_aliases |= self._canonical.setdefault(name, first_name) != name
        self._names[first_name] = tuple(dict.fromkeys((*self._names.get(first_name, ()), *listed)))
        return first_name

    def expand(self, dataset: Dataset, expansion: Expansion) -> None:
        """Note that the fields of an expansion are expanded under the name `dataset`."""
        bounds = self._expanded[dataset]
        self._near_paths = self._level_paths[expansion.dataset]
        names = expansion.names or {WHOLE_DATASET}
        # Backward, what influences the dataset as a whole stands before each of its fields.
        for name in names | {WHOLE_DATASET} if self._backward else names:
            bounds[name] = max(expansion.bound, bounds.get(name, _UNBOUNDED))

    def add(self, dataset: Dataset, name: Dataset, step: FieldStep, checksum: str, bound: int) -> bool:
        """Add an edge of a content of `dataset` under `name`; return False if there is no room for it."""
        source, destination, influence = step
        if source is None or destination is None:
            # Generated and dropped fields have no dataset on the other side.
            if source is not None:
                self._dropped.add(DatasetField(dataset, source.name))
            return True
        if self._has_aliases:
            source, destination = (
                DatasetField(dataset if end.dataset == name else self._name(end.dataset), end.name)
                for end in (source, destination)
            )
        if influence is None:
            self._unknown.add((source.dataset, destination.dataset))
            return True
        key = source, destination
        added = self.edges.get(key)
        if added is None:
            if self._within is not None and key not in self._within:
                return True
            if len(self.edges) == self._edges_max:
                self.truncated_by.add(f"connections_max={self._edges_max}")
                self.is_full = True
                return False
            added = self.edges[key] = _Edge()
        added.direct |= influence is Influence.DIRECT
        added.checksums.add(checksum)
        near, far = (destination, source) if self._backward else key
        self._visit(near, far, bound)
        return True

    def result(self, times: Mapping[Dataset, Mapping[str, RunTimes]], in_order: InOrder | None) -> Reach:
        """Return all that was reached, with every dataset under the name by which it was reached first.

        `times` has when the contents of a dataset ran, by each of its names. `in_order` is what the order of
        the runs allows of it, None if that is not known.
        """
        merged: dict[EdgeKey, ReachEdge] = {}
        contents = {
            dataset: {
                # Under several names a run has the same content, and is counted under the first.
                checksum: listed
                for name in reversed(names)
                for checksum, listed in times[name].items()
            }
            for dataset, names in self._names.items()
        }
        # Renamed now: a dataset may have been reached under two names before these were known as one.
        for key, edge in self.edges.items():
            source, destination = (self._renamed(end) for end in key)
            other = merged.get((source, destination))
            span = self._span(key, edge, contents) if self.query.counts else None
            if other is not None:
                span = span.union(other.span) if span else other.span
            direct = edge.direct or (other is not None and other.direct)
            is_in_order = None if in_order is None else key in in_order.edges
            if other is not None and other.in_order:
                is_in_order = True
            merged[source, destination] = ReachEdge(source, destination, direct, span, is_in_order)
        return Reach(
            self._hops_of({self._renamed(self.query.field), *(end for key in merged for end in key)}),
            tuple(sorted(merged.values(), key=edge_key)),
            tuple(sorted({(self._name(source), self._name(to)) for source, to in self._unknown})),
            tuple(sorted(self.truncated_by)),
            frozenset(map(self._renamed, self._dropped)),
            None if in_order is None else frozenset(map(self._renamed, in_order.fields)),
            # Most datasets have one name; then paths stay shared.
            {self._renamed(reached): self._renamed_path(path) for reached, path in self._paths.items()}
            if any(name != first for name, first in self._canonical.items())
            else self._paths,
        )

    def _span(
        self, key: EdgeKey, edge: _Edge, contents: Mapping[Dataset, Mapping[str, RunTimes]]
    ) -> RunSpan | None:
        """Return the span of the runs with an edge, within the bound of the expansion of its near end."""
        near = self._expanded_end(key)
        bound = self._expanded_bound(near)
        total: RunSpan | None = None
        for checksum in edge.checksums:
            span = contents[near.dataset][checksum].span(self.query.direction, bound)
            total = span.union(total) if span else total
        return total

    def _path_to(self, near: DatasetField) -> Path:
        """Return the path to a field of the expansion whose edges are being added."""
        path = self._near_paths.get(near.name)
        if path is not None:
            return path
        # One end is the dataset as a whole: backward it was met with a field, forward the field with it.
        other = min(self._near_paths) if self._backward else WHOLE_DATASET
        return Path(near, self._near_paths[other])

    def _visit(self, near: DatasetField, reached: DatasetField, bound: int) -> None:
        """Note a field for the next level, unless it was reached with the same or a greater bound."""
        path = self._paths.get(reached)
        if path is None:
            self._hops.setdefault(reached, self._level)
            path = self._paths[reached] = Path(reached, self._path_to(near))
        elif bound > self._bound(reached):
            path = Path(reached, self._path_to(near))
        if bound > self._bound(reached):
            self._admit(path, bound)

    def _admit(self, path: Path, bound: int) -> None:
        """Note a field for the next level with a greater bound than before."""
        reached = path.field
        self._bounds[reached] = bound
        self._next[reached] = _Visit(path, bound)
        dataset = DatasetField(reached.dataset, WHOLE_DATASET)
        if self._backward and bound > self._bounds.get(dataset, _UNBOUNDED):
            # What influences the dataset as a whole stands before this field, too.
            self._hops.setdefault(dataset, self._level)
            self._bounds[dataset] = bound

    def _bound(self, reached: DatasetField) -> int:
        """Return the greatest bound with which a field was reached, forward also as part of its dataset."""
        bound = self._bounds.get(reached, _UNBOUNDED)
        if self._backward:
            return bound
        return max(bound, self._bounds.get(DatasetField(reached.dataset, WHOLE_DATASET), _UNBOUNDED))

    def _leads_to_all(self, names: Collection[str]) -> bool:
        """Return whether all fields of a dataset are expanded: forward, an influence on it leads to all."""
        return not self._backward and WHOLE_DATASET in names

    def _expanded_end(self, key: EdgeKey) -> DatasetField:
        """Return that end of an edge at which it was reached."""
        return key[1] if self._backward else key[0]

    def _expanded_bound(self, end: DatasetField) -> int:
        """Return the greatest bound with which a field was expanded, forward also as part of its dataset."""
        expanded = self._expanded[end.dataset]
        bound = expanded.get(end.name, _UNBOUNDED)
        return bound if self._backward else max(bound, expanded.get(WHOLE_DATASET, _UNBOUNDED))

    def _hops_of(self, fields: Iterable[DatasetField]) -> dict[DatasetField, int]:
        hops: dict[DatasetField, int] = {}
        for reached, level in self._hops.items():
            renamed = self._renamed(reached)
            hops[renamed] = min(level, hops.get(renamed, level))
        return {end: self._hops_to(end, hops) for end in fields}

    def _hops_to(self, end: DatasetField, hops: Mapping[DatasetField, int]) -> int:
        """Return the hops of a field; forward it may be reached only as part of its dataset."""
        if self._backward:
            return hops[end]
        dataset = DatasetField(end.dataset, WHOLE_DATASET)
        return min(hops[reached] for reached in (end, dataset) if reached in hops)

    def _renamed(self, end: DatasetField) -> DatasetField:
        dataset = self._name(end.dataset)
        return end if dataset is end.dataset else DatasetField(dataset, end.name)

    def _renamed_path(self, path: Path) -> Path:
        previous = None
        for end in path.fields():
            previous = Path(self._renamed(end), previous)
        return previous or path

    def _name(self, dataset: Dataset) -> Dataset:
        return self._canonical.get(dataset, dataset)


def first_bound(query: ReachQuery) -> int:
    """Return the bound that admits every run of the window."""
    window = query.window
    is_backward = query.direction is Direction.BACKWARD
    return bound_of(query.direction, window.stop_ms - 1 if is_backward else window.start_ms)


def edge_key(edge: ReachEdge) -> tuple[str, ...]:
    """Return the order of an edge among others: by source, then by destination."""
    # Text compares several times faster than the datasets do.
    return tuple(
        text
        for end in (edge.source, edge.destination)
        for text in (end.dataset.namespace, end.dataset.name, end.name)
    )
