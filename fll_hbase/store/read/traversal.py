"""Breadth-first walk over datasets: lineage of several hops from one-hop queries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeAlias

from fll_hbase.model.dataset_lineage import DatasetLineage, DatasetLineageSet, merge_lineages
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import BOTH, Direction, Window
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import DeadlineExceeded
from fll_hbase.store.components import Reader
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.results import DatasetLineageResult, LineageEntry, sort_entries

DATASETS_PER_READ = 128
"""Maximum number of datasets of one hop read together: on HBase, 32 on each of four connections."""


class HopLineage(NamedTuple):
    """The lineage of one dataset, and all names it covers; aliases are renamed to the dataset.

    If failed runs count, `complete` is the lineage without them, else None.
    """

    names: Collection[Dataset]
    relations: DatasetLineageSet
    complete: DatasetLineageSet | None = None


OneHop: TypeAlias = Callable[[Sequence[Dataset]], Iterable[HopLineage]]
"""Yields the lineage of datasets in their order, using only the first of several names of a dataset."""


class WalkLimits(NamedTuple):
    """The number of hops of a query, and the maximum of hops and field pairs in any answer."""

    level: int
    level_max: int
    pairs_max: int


def walk(
    one_hop: OneHop, start: Dataset, *, direction: Direction, limits: WalkLimits
) -> DatasetLineageResult:
    """Return all lineage within `level` hops of `start`, at most `level_max`.

    Each pair of datasets has the number of the hop, from 1, that reaches it. The walk ends when the field
    pairs exceed `pairs_max`, or at the deadline of the request; `truncated_by` names the limits that cut the
    result.
    """
    result = _Walk(one_hop, direction, limits)
    try:
        result.run(start)
    except DeadlineExceeded:
        result.truncated_by.add(deadline.limit())
    return DatasetLineageResult(tuple(result.entries), tuple(sorted(result.truncated_by)))


class _Walk:
    """A walk from one dataset: its entries so far, and the limits that cut them."""

    def __init__(self, one_hop: OneHop, direction: Direction, limits: WalkLimits) -> None:
        self.entries: list[LineageEntry] = []
        self.truncated_by: set[str] = set()
        self._one_hop = one_hop
        self._direction = direction
        self._limits = limits
        self._visited: set[Dataset] = set()
        self._pairs = 0

    def run(self, start: Dataset) -> None:
        """Add lineage up to the limits. Raises DeadlineExceeded, after which the entries so far are valid."""
        frontier = {start}
        for hop in range(1, min(self._limits.level, self._limits.level_max) + 1):
            frontier = self._hop(frontier, hop)
            if not frontier:
                return
        if self._limits.level > self._limits.level_max:
            self.truncated_by.add(f"level_max={self._limits.level_max}")

    def _hop(self, frontier: Collection[Dataset], hop: int) -> set[Dataset]:
        """Add the lineage of datasets; return the datasets to visit next, empty once a bound is reached."""
        neighbours: set[Dataset] = set()
        # Sorted, so that truncation always cuts the same part.
        for names, relations, complete in self._one_hop(sorted(frontier)):
            # Each dataset is queried once, under all its names, so the walk also ends on cycles.
            self._visited.update(names)
            self.truncated_by |= relations.truncated_by
            for relation in relations.by_datasets.values():
                entry = LineageEntry(relation, hop, self._direction, _part_of(complete, relation))
                if not self._add(entry):
                    return set()
                is_backward = self._direction is Direction.BACKWARD
                neighbour = relation.source if is_backward else relation.destination
                # Generated and dropped fields have no dataset on the other side.
                if neighbour is not None:
                    neighbours.add(neighbour)
        return neighbours - self._visited

    def _add(self, entry: LineageEntry) -> bool:
        """Add an entry, or its first pairs; return whether there was room for all of it."""
        remaining = self._limits.pairs_max - self._pairs
        self._pairs += entry.relation.cost
        if entry.relation.cost <= remaining:
            self.entries.append(entry)
            return True
        self.truncated_by.add(f"pairs_max={self._limits.pairs_max}")
        if remaining:
            self.entries.append(replace(entry, relation=entry.relation.cut(remaining)))
        return False


def _part_of(complete: DatasetLineageSet | None, relation: DatasetLineage) -> DatasetLineage | None:
    """Return the lineage of complete runs between the same datasets: empty if none, or None if unknown."""
    # Pairs that a limit left out must not count as pairs of failed runs only.
    if complete is None or complete.truncated:
        return None
    datasets = relation.source, relation.destination
    return complete.by_datasets.get(datasets, DatasetLineage(*datasets))


class DatasetLineageReader(Reader):
    """Reads lineage between datasets. Threads may share it. Raises StoreUnavailable and CorruptRow."""

    def lineage(
        self,
        dataset: Dataset,
        window: Window,
        *,
        directions: Sequence[Direction] = BOTH,
        level: int = 1,
        indirect: bool = True,
    ) -> DatasetLineageResult:
        """Return field lineage between datasets, up to `level` hops from `dataset` in each direction.

        Lineage is merged over the runs of the window. Without `indirect`, inputs that only select or arrange
        rows (filters, join keys) are left out. The result is empty for a known dataset without lineage in the
        window. Raises NotFound for a dataset that was never recorded, and DeadlineExceeded if nothing was
        found in time.
        """
        limits = WalkLimits(level, self._settings.level_max, self._settings.pairs_max)
        results = []
        for direction in directions:
            one_hop = partial(self._hop, direction=direction, window=window, indirect=indirect)
            results.append(walk(one_hop, dataset, direction=direction, limits=limits))
        entries = sort_entries(entry for result in results for entry in result.entries)
        # Only an empty answer reads the catalogue, to distinguish missing lineage from an unknown name.
        if not entries:
            deadline.check()
            self._catalogue.require_dataset(dataset)
        truncated_by = {limit for result in results for limit in result.truncated_by}
        return DatasetLineageResult(entries, tuple(sorted(truncated_by)))

    def _hop(
        self,
        datasets: Sequence[Dataset],
        *,
        direction: Direction,
        window: Window,
        indirect: bool,
    ) -> Iterator[HopLineage]:
        """Yield the lineage of datasets under all their names, once per dataset, at its first name."""
        seen: set[Dataset] = set()
        for begin in range(0, len(datasets), DATASETS_PER_READ):
            chunk = datasets[begin : begin + DATASETS_PER_READ]
            queries = [WindowQuery(direction, name, window) for name in chunk if name not in seen]
            # If failed runs count, the same calls also read the contents of complete runs.
            complete = [query.without_failed() for query in queries] if window.failed else []
            by_names = self._windows.checksums_by_name([*queries, *complete])
            for number, query in enumerate(queries):
                by_name = by_names[number]
                if query.dataset not in seen:
                    seen |= by_name.keys()
                    # Check here, because a hop with fully cached contents never waits for the store.
                    deadline.check()
                    relations = [
                        self._relations(query, checksums, indirect=indirect)
                        for checksums in by_names[number :: len(queries)]
                    ]
                    yield HopLineage(by_name.keys(), *relations)

    def _relations(
        self, query: WindowQuery, by_name: Mapping[Dataset, frozenset[str]], *, indirect: bool
    ) -> DatasetLineageSet:
        """Return the lineage of a dataset from its contents by name, with aliases renamed to it."""
        # Renamed to the query's name, so that the graph over several hops stays connected (decision 13).
        relations = merge_lineages(
            [
                self._contents.relations(checksums, query.direction, name).rename(name, query.dataset)
                for name, checksums in by_name.items()
            ]
        )
        return relations if indirect else relations.without_indirect()
