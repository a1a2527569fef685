"""Runs of a dataset or field in a window: pages of them, their programs, and counts over time."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from fll_hbase.keys import layout
from fll_hbase.keys.codec import day_of
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.window import BOTH, Direction, Window
from fll_hbase.runtime import deadline
from fll_hbase.store.components import Reader
from fll_hbase.store.read.content_decoding import FieldOfContent
from fll_hbase.store.read.run_budget import RunBudget
from fll_hbase.store.read.run_statistics import BucketCounts, ProgramUnion
from fll_hbase.store.read.run_times import RunTimes
from fll_hbase.store.read.window_query import WindowQuery, reference_tail_of
from fll_hbase.store.results import ListedRun, Programs, RunCounts, RunsPage
from fll_hbase.store.rows.run_rows import CommittedRun

BATCH_RUNS = 1000
"""References of one call."""


class _ContentTimes(NamedTuple):
    """When a content ran that used a dataset, and in which directions; `query` is the one that found it."""

    checksum: str
    query: WindowQuery
    times: RunTimes
    directions: frozenset[Direction]

    def merged(self, other: _ContentTimes | None) -> _ContentTimes:
        """Return the content as found by both queries.

        It ran once, in whichever directions and under whichever names it uses the dataset; of one name its
        runs may have been purged.
        """
        if other is None:
            return self
        richer = self if self.times.total > other.times.total else other
        return richer._replace(directions=self.directions | other.directions)


class RunReader(Reader):
    """Reads the runs that wrote (backward) or read (forward) a dataset. Threads may share it.

    With a `field`, only runs that wrote or read it count; "" is the dataset. Failed runs are listed, too.
    Methods raise NotFound for an empty answer about a name that was never recorded.
    """

    def runs(
        self,
        dataset: Dataset,
        window: Window,
        *,
        limit: int,
        start_after: bytes = b"",
        field: str = "",
        directions: Sequence[Direction] = BOTH,
        program: str = "",
        state: str = "",
    ) -> RunsPage:
        """Return at most `limit` runs of the window, newest first, after the reference tail `start_after`.

        That is the `next_after` of the previous page, and b"" for the first one. A `program` or `state` that
        is not empty selects runs; those that it leaves out are read, too.
        """
        listed: list[ListedRun] = []
        # One more than the page has, which shows whether there is a next page without a second scan.
        batch_size = min(limit + 1, BATCH_RUNS)
        merged = self._runs(
            dataset, window, field, directions=directions, start_after=start_after, batch_size=batch_size
        )
        for run in merged:
            if program not in ("", run.run.program) or state not in ("", run.run.state.value):
                continue
            if len(listed) == limit:
                last = listed[-1].run
                return RunsPage(tuple(listed), layout.reference_tail(last.start_ms, last.run))
            listed.append(run)
        if not listed:
            self._require_known(dataset, field)
        return RunsPage(tuple(listed), b"")

    def programs(
        self,
        dataset: Dataset,
        window: Window,
        *,
        field: str = "",
        directions: Sequence[Direction] = BOTH,
        failed: bool = False,
    ) -> Programs:
        """Return the programs of the runs of the window; with `failed`, also programs with failed runs alone.

        At most `list_limit_max`, by their newest runs. Runs of days that are not sealed yet are read newest
        first, `runs_max` of them, until shortly before the deadline.
        """
        programs_max = self._settings.list_limit_max
        union, budget = ProgramUnion(count_failed=failed), self._times.budget(until_deadline=True)
        contents = self._content_times(dataset, window, field, directions, budget)
        by_program = (
            (newest, content.directions, runs)
            for content in contents
            for runs, newest in self._windows.runs_by_program(content.times.runs)
        )
        for item in deadline.until_over(by_program, truncated_by=budget.limits):
            union.add(*item)
        if not contents:
            self._require_known(dataset, field)
        programs = union.build()
        if len(programs) > programs_max:
            budget.limits.add(f"list_limit_max={programs_max}")
        return Programs(tuple(programs[:programs_max]), tuple(sorted(budget.limits)))

    def run_counts(self, dataset: Dataset, window: Window, *, buckets: int, field: str = "") -> RunCounts:
        """Return how many runs start in each of `buckets` parts of the window, all equally long.

        Runs of days that are not sealed yet are read as for `programs`.
        """
        counts = BucketCounts(window, buckets=buckets)
        budget = self._times.budget(until_deadline=True)
        contents = self._content_times(dataset, window, field, BOTH, budget)
        completed = (self._completed(content, counts) for content in contents)
        for times in deadline.until_over(completed, truncated_by=budget.limits):
            for runs in times.runs:
                counts.add(runs)
        if not counts.total:
            self._require_known(dataset, field)
        return RunCounts(counts.build(), tuple(sorted(budget.limits)))

    def _completed(self, content: _ContentTimes, counts: BucketCounts) -> RunTimes:
        """Return the times of a content, with all runs of the days that a bucket cuts."""
        cut = {day_of(runs.runs[0].start_ms) for runs in content.times.runs if counts.is_cut(runs)}
        if cut:
            self._times.complete_days(
                content.query, {content.checksum: content.times}, {content.checksum: cut}
            )
        return content.times

    def _content_times(
        self,
        dataset: Dataset,
        window: Window,
        field: str,
        directions: Sequence[Direction],
        budget: RunBudget,
    ) -> list[_ContentTimes]:
        """Return when each content ran that used a dataset, or a field of it, failed runs included."""
        queries = [WindowQuery(direction, dataset, window, True) for direction in directions]
        contents: dict[str, _ContentTimes] = {}
        for query, by_name in zip(queries, self._times.times(queries, budget), strict=True):
            if field:
                self._contents.load(checksum for times in by_name.values() for checksum in times)
            for name, times in by_name.items():
                content_field = DatasetField(name, field)
                for checksum, listed in times.items():
                    if field and not self._contents.mentions_field(
                        FieldOfContent(checksum, content_field), query.direction
                    ):
                        continue
                    content = _ContentTimes(
                        checksum, replace(query, dataset=name), listed, frozenset({query.direction})
                    )
                    contents[checksum] = content.merged(contents.get(checksum))
        return list(contents.values())

    def _runs(
        self,
        dataset: Dataset,
        window: Window,
        field: str,
        *,
        directions: Sequence[Direction] = BOTH,
        start_after: bytes = b"",
        batch_size: int = BATCH_RUNS,
    ) -> Iterator[ListedRun]:
        """Yield each run of the window once, newest first. Raises DeadlineExceeded."""
        references = heapq.merge(
            *(
                self._runs_by_tail(WindowQuery(direction, name, window, True), field, start_after, batch_size)
                for name in self._catalogue.names(dataset)
                for direction in directions
            ),
            key=lambda item: item[0],
        )
        # A run that read and wrote the dataset, or used several of its names, has several references.
        for _, group in groupby(references, key=lambda item: item[0]):
            matches = list(group)
            committed = matches[0][1]
            run_directions = frozenset(direction for _, _, direction in matches)
            yield ListedRun(committed.run, committed.checksum, run_directions)

    def _runs_by_tail(
        self, query: WindowQuery, field: str, start_after: bytes, batch_size: int
    ) -> Iterator[tuple[bytes, CommittedRun, Direction]]:
        """Yield matching runs by reference tail, newest first; with `field` only those that touch it."""
        dataset_field = DatasetField(query.dataset, field)
        for committed in self._windows.runs(query, start_after=start_after, batch_size=batch_size):
            content = FieldOfContent(committed.checksum, dataset_field)
            if not field or self._contents.mentions_field(content, query.direction):
                yield reference_tail_of(committed), committed, query.direction

    def _require_known(self, dataset: Dataset, field: str) -> None:
        if field:
            self._catalogue.require_field(DatasetField(dataset, field))
        else:
            self._catalogue.require_dataset(dataset)
