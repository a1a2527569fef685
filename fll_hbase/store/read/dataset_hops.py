"""Lineage between datasets over several hops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from fll_hbase.model.dataset_lineage import DatasetLineageSet, merge_lineages
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import BOTH, Direction, Window
from fll_hbase.runtime import deadline
from fll_hbase.store.components import Reader
from fll_hbase.store.read.traversal import HopLineage, WalkLimits, sort_entries, walk
from fll_hbase.store.read.window_query import WindowQuery
from fll_hbase.store.results import DatasetLineageResult

DATASETS_PER_READ = 128
"""Datasets of one hop that are read together: on HBase 32 on each of four connections."""


class DatasetLineageReader(Reader):
    """Reads field lineage between datasets. Threads may share it."""

    def lineage(
        self,
        dataset: Dataset,
        window: Window,
        *,
        directions: Sequence[Direction] = BOTH,
        level: int = 1,
        indirect: bool = True,
        failed: bool = False,
    ) -> DatasetLineageResult:
        """Return field lineage between datasets, up to `level` hops from `dataset` in each direction.

        Merged over the runs that start in the window; failed and aborted ones count if `failed` is set.
        Without `indirect`, inputs that only decided about rows (filters, join keys) are left out. Empty for a
        known dataset without lineage in the window; raises NotFound for one that was never recorded.
        """
        limits = WalkLimits(level, self._settings.level_max, self._settings.pairs_max)
        results = []
        for direction in directions:
            one_hop = partial(self._hop, direction=direction, window=window, indirect=indirect, failed=failed)
            results.append(walk(one_hop, dataset, direction=direction, limits=limits))
        entries = sort_entries(entry for result in results for entry in result.entries)
        # Only an empty answer reads the catalogue, to distinguish no lineage from an unknown name.
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
        failed: bool,
    ) -> Iterator[HopLineage]:
        """Yield the lineage of datasets under all their names, of several names of one only for the first."""
        seen: set[Dataset] = set()
        for begin in range(0, len(datasets), DATASETS_PER_READ):
            chunk = datasets[begin : begin + DATASETS_PER_READ]
            queries = [WindowQuery(direction, name, window, failed) for name in chunk if name not in seen]
            # If failed runs count, the contents of complete ones are read beside them, in the same calls.
            complete = [replace(query, failed=False) for query in queries] if failed else []
            by_names = self._windows.checksums_by_name([*queries, *complete])
            for number, query in enumerate(queries):
                by_name = by_names[number]
                if query.dataset not in seen:
                    seen |= by_name.keys()
                    # Here, because a hop whose contents are all cached never waits for the store.
                    deadline.check()
                    relations = [
                        self._relations(query, checksums, indirect=indirect)
                        for checksums in by_names[number :: len(queries)]
                    ]
                    yield HopLineage(by_name.keys(), *relations)

    def _relations(
        self, query: WindowQuery, by_name: Mapping[Dataset, frozenset[str]], *, indirect: bool
    ) -> DatasetLineageSet:
        """Return the lineage of a dataset from its contents by name; its aliases are renamed to it."""
        # Renamed to the name in the query, so that the graph over several hops stays connected (decision 13).
        relations = merge_lineages(
            [
                self._contents.relations(checksums, query.direction, name).rename(name, query.dataset)
                for name, checksums in by_name.items()
            ]
        )
        return relations if indirect else relations.without_indirect()
