"""Field reach: the fields that lead to one field, or that it leads to, over many hops.

The walk goes level by level, and reads all datasets of a level together, so the number of calls follows the
levels. A field is expanded once; in the order of the runs again whenever a later level admits more runs of
it. A plain walk is followed by one in the order of the runs over what the first has read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from fll_hbase import deadline
from fll_hbase.config import Settings
from fll_hbase.errors import DeadlineExceeded
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.field_steps import FieldStep
from fll_hbase.model.operations import Influence
from fll_hbase.model.window import Direction
from fll_hbase.store.read.cached_steps import steps_of
from fll_hbase.store.read.content_cache import ContentCache
from fll_hbase.store.read.reach_walk import Expansion, InOrder, ReachQuery, ReachWalk
from fll_hbase.store.read.run_times import RunTimes
from fll_hbase.store.read.run_times_reader import RunTimesReader, TimesByName
from fll_hbase.store.read.window_query import WindowQuery
from fll_hbase.store.results import Reach

DATASETS_PER_READ = 128
"""Datasets of one level that are read together."""


class ReachReader:
    """Answers queries of field reach. Threads may share it."""

    def __init__(self, times: RunTimesReader, contents: ContentCache, settings: Settings) -> None:
        self._times = times
        self._contents = contents
        self._settings = settings

    def reach(self, query: ReachQuery) -> Reach:
        """Return all that is within reach, up to the limits that `truncated_by` names.

        At the deadline the walk ends where it is; then it is not known what is in order. Raises
        DeadlineExceeded if it passes before the first edge.
        """
        walked = _Walked(self._times, self._contents, query)
        walk = ReachWalk(query, edges_max=self._settings.connections_max)
        try:
            self._walk(walk, walked)
            in_order = walk.in_order() if query.causal else self._in_order(walk, walked)
        except DeadlineExceeded:
            if not walk.edges:
                raise
            walk.truncated_by.add(deadline.limit())
            in_order = None
        return walk.result(walked.times, in_order)

    def _in_order(self, walk: ReachWalk, walked: _Walked) -> InOrder:
        """Return what of a walk the order of the runs allows. Raises DeadlineExceeded."""
        ordered = ReachWalk(
            replace(walk.query, causal=True),
            edges_max=self._settings.connections_max,
            within=walk.edges.keys(),
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
        """Add the edges of fields, as long as there is room."""
        by_name = walked.read(expansions)
        direction, causal = walk.query.direction, walk.query.causal
        for expansion, names in zip(expansions, by_name, strict=True):
            first_name = walk.canonical_name(expansion.dataset, names)
            walk.expand(first_name, expansion)
            for name, contents in names.items():
                for checksum, times in sorted(contents.items()):
                    bound = times.latest_bound(direction, expansion.bound) if causal else expansion.bound
                    if bound is None:
                        continue
                    for step in walked.steps(checksum, name, expansion.names):
                        if not walk.add(first_name, name, step, checksum, bound):
                            return


class _Walked:
    """Times of contents, and edges in them, that the walks of one query have read."""

    def __init__(self, times: RunTimesReader, contents: ContentCache, query: ReachQuery) -> None:
        self.times: dict[Dataset, Mapping[str, RunTimes]] = {}
        self._reader = times
        self._contents = contents
        self._query = query
        self._by_dataset: dict[Dataset, TimesByName] = {}

    def read(self, expansions: Sequence[Expansion]) -> list[TimesByName]:
        """Return when the contents of each dataset ran, complete up to the bounds.

        Raises DeadlineExceeded.
        """
        missing = dict.fromkeys(item.dataset for item in expansions if item.dataset not in self._by_dataset)
        read = self._reader.times([self._window_query(dataset) for dataset in missing])
        for dataset, by_name in zip(missing, read, strict=True):
            self._by_dataset[dataset] = by_name
            self.times |= by_name
        self._contents.load(
            self._contents.find_missing(
                checksum for by_name in read for contents in by_name.values() for checksum in contents
            )
        )
        by_names = [self._by_dataset[item.dataset] for item in expansions]
        self._reader.complete(
            [
                (self._window_query(name), contents, item.bound)
                for item, by_name in zip(expansions, by_names, strict=True)
                for name, contents in by_name.items()
            ]
        )
        return by_names

    def steps(self, checksum: str, name: Dataset, names: frozenset[str] | None) -> Iterator[FieldStep]:
        """Yield the edges of fields in one content. Raises DeadlineExceeded."""
        direction, indirect = self._query.direction, self._query.indirect
        deadline.check()
        for part in self._parts(names):
            for step in steps_of(self._contents, checksum, direction, name, part):
                if indirect or step.influence is not Influence.INDIRECT:
                    yield step

    def _parts(self, names: frozenset[str] | None) -> list[frozenset[str] | None]:
        """Return the fields of which steps are read together, so that other questions find them cached."""
        if names is None or self._query.direction is Direction.FORWARD:
            # Forward, the edges of several fields are in the order of what they lead to.
            return [names]
        return [frozenset([name]) for name in sorted(names)]

    def _window_query(self, dataset: Dataset) -> WindowQuery:
        query = self._query
        return WindowQuery(query.direction, dataset, query.window, query.failed)
