"""Field reach: the fields that lead to one field, or that it leads to, over many hops.

The walk goes level by level, and reads all datasets of a level together, so the number of calls follows the
levels. A field is expanded once; in the order of the runs again whenever a later level admits more runs of
it. A plain walk is followed by one in the order of the runs over what the first has read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from fll_hbase.model.datasets import WHOLE_DATASET, Dataset
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import DeadlineExceeded
from fll_hbase.store.components import Reader, StoreComponents
from fll_hbase.store.read.field_graph import Node, Steps
from fll_hbase.store.read.reach_walk import Expansion, InOrder, ReachQuery, ReachWalk
from fll_hbase.store.read.run_times import RunTimes
from fll_hbase.store.read.run_times_reader import TimesByName
from fll_hbase.store.read.window_query import WindowQuery
from fll_hbase.store.results import Reach

DATASETS_PER_READ = 128
"""Datasets of one level that are read together."""


class ReachReader:
    """Answers queries of field reach. Threads may share it."""

    def __init__(self, components: StoreComponents) -> None:
        self._components = components
        self._settings = components.settings

    def reach(self, query: ReachQuery) -> Reach:
        """Return the fields that lead to a field, or that it leads to, over many hops.

        Raises NotFound for a field that was never recorded, and as `fields_within`.
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
        """Return all that is within reach, up to the limits that `truncated_by` names.

        At the deadline the walk ends where it is; then it is not known what is in order. Raises
        DeadlineExceeded if it passes before the first edge.
        """
        walked = _Walked(self._components, query)
        walk = ReachWalk(query, self._components.graph, edges_max=self._settings.connections_max)
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
        """Return the part of a walk that the order of runs allows, walked again. Raises DeadlineExceeded."""
        ordered = ReachWalk(
            replace(walk.query, causal=True),
            self._components.graph,
            edges_max=self._settings.connections_max,
            within=walk.edges,
        )
        self._walk(ordered, walked)
        return ordered.in_order()

    def _walk(self, walk: ReachWalk, walked: _Walked) -> None:
        """Walk level by level. Raises DeadlineExceeded; what was added until then is valid."""
        level, level_max = walk.query.level, self._settings.level_max
        for _ in range(min(level or level_max, level_max)):
            self._walk_level(walk, walked)
            if walk.is_full or not walk.has_next:
                return
        if level is None or level > level_max:
            walk.truncated_by.add(f"level_max={level_max}")

    def _walk_level(self, walk: ReachWalk, walked: _Walked) -> None:
        expansions = walk.next_expansions()
        for begin in range(0, len(expansions), DATASETS_PER_READ):
            if not walk.is_full:
                self._expand(walk, walked, expansions[begin : begin + DATASETS_PER_READ])

    def _expand(self, walk: ReachWalk, walked: _Walked, expansions: Sequence[Expansion]) -> None:
        """Add the edges of fields until the walk is full; a causal walk only those within its bounds."""
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
    """Times of contents, and edges in them, that the walks of one query have read."""

    def __init__(self, components: StoreComponents, query: ReachQuery) -> None:
        super().__init__(components)
        self.times: dict[Dataset, Mapping[str, RunTimes]] = {}
        self.budget = self._times.budget()
        self._query = query
        self._by_dataset: dict[Dataset, TimesByName] = {}

    def read(self, expansions: Sequence[Expansion]) -> list[TimesByName]:
        """Return when each dataset's contents ran, complete up to the bounds. Raises DeadlineExceeded."""
        missing = dict.fromkeys(item.dataset for item in expansions if item.dataset not in self._by_dataset)
        read = self._times.times([self._window_query(dataset) for dataset in missing], self.budget)
        for dataset, by_name in zip(missing, read, strict=True):
            self._by_dataset[dataset] = by_name
            self.times |= by_name
        self._contents.load(
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
        return self._graph.steps(checksum, self._query.direction, name, nodes)

    def _window_query(self, dataset: Dataset) -> WindowQuery:
        query = self._query
        return WindowQuery(query.direction, dataset, query.window, query.failed)
