"""Runs of a dataset or field: pages of runs, their programs, counts over time, the first and the last."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple, TypeAlias

from fll_hbase.keys import layout
from fll_hbase.keys.codec import day_of
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.masking import HIDDEN_NAMESPACE
from fll_hbase.model.runs import ProgramRun, RunKey
from fll_hbase.model.window import BOTH, START_LIMIT_MS, Direction, Window
from fll_hbase.runtime import deadline
from fll_hbase.store.components import Reader
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.read.content_cache import FieldOfContent
from fll_hbase.store.read.run_budget import RunBudget
from fll_hbase.store.read.run_times import RunTimes
from fll_hbase.store.read.window_query import reference_tail_of
from fll_hbase.store.results import (
    ListedRun,
    ProgramDay,
    Programs,
    ProgramUsage,
    RunBounds,
    RunBucket,
    RunCounts,
    RunsPage,
)
from fll_hbase.store.rows.calendar_rows import DayRuns, SealedRun, reference_order
from fll_hbase.store.rows.run_rows import CommittedRun
from fll_hbase.tables import Scan

BATCH_RUNS = 1000
"""Maximum number of references per call."""

REFERENCES_MAX = 100
"""References of one page. If a dataset has fewer in a direction, all are read."""

PARTS = 16
"""Parts of a range of starts. A search step reads one reference in each part."""

SEARCHES_MAX = 5
"""Maximum number of starts, from the oldest, at which a search may find only invalid references."""

PROGRAM_DAYS_MAX = 5_000
"""Maximum number of program days in one list of programs."""

FAILED_IDS_MAX = 10
"""Number of newest failed run ids that a program day lists."""

ALL_TIME = Window(0, START_LIMIT_MS, failed=True)

_ProgramKey: TypeAlias = tuple[str, str, str, str]
"""Namespace, application, name and type of a program."""


@dataclass(slots=True)
class _Usage:
    """The runs of one program so far: either failed runs or all others."""

    last: ProgramRun
    directions: frozenset[Direction]
    runs: int
    first_start_ms: int

    def union(self, other: _Usage | None) -> _Usage:
        """Return the union with `other`, whose runs are different, or this object itself for None."""
        if other is None:
            return self
        return _Usage(
            min(self.last, other.last, key=newest_first_key),
            self.directions | other.directions,
            self.runs + other.runs,
            min(self.first_start_ms, other.first_start_ms),
        )


class _Day:
    """The runs of one program on one day so far."""

    def __init__(self) -> None:
        self._runs = self._failed = 0
        self._first_ms, self._last_ms = START_LIMIT_MS, 0
        self._failed_runs: list[SealedRun] = []

    def add(self, runs: DayRuns, *, shows_ids: bool) -> None:
        """Add runs, without the ids of failed ones unless `shows_ids`."""
        self._first_ms = min(self._first_ms, runs.runs[-1].start_ms)
        self._last_ms = max(self._last_ms, runs.runs[0].start_ms)
        if not runs.failed:
            self._runs += runs.total
            return
        self._failed += runs.total
        if shows_ids:
            listed = sorted([*self._failed_runs, *runs.runs], key=reference_order)
            self._failed_runs = listed[:FAILED_IDS_MAX]

    def build(self, day: int) -> ProgramDay:
        """Return the runs of the day."""
        failed_runs = tuple(run.key.run for run in self._failed_runs)
        return ProgramDay(day, self._runs, self._failed, self._first_ms, self._last_ms, failed_runs)


class ProgramUnion:
    """Programs under construction, with their runs by day if `daily`."""

    def __init__(self, *, daily: bool = False) -> None:
        self._complete: dict[_ProgramKey, _Usage] = {}
        self._failed: dict[_ProgramKey, _Usage] = {}
        self._days: dict[_ProgramKey, dict[int, _Day]] | None = defaultdict(dict) if daily else None

    def add(self, newest: ProgramRun, directions: frozenset[Direction], runs: DayRuns) -> None:
        """Add runs of one program, all of one day if `daily`; `newest` is the newest of them."""
        key = newest.namespace, newest.application, newest.program, newest.type
        usages = self._failed if runs.failed else self._complete
        usage = _Usage(newest, directions, runs.total, runs.runs[-1].start_ms)
        usages[key] = usage.union(usages.get(key))
        if self._days is not None:
            day = day_of(newest.start_ms)
            self._days[key].setdefault(day, _Day()).add(runs, shows_ids=newest.namespace != HIDDEN_NAMESPACE)

    def build(self, *, failed: bool) -> tuple[list[ProgramUsage], int]:
        """Return the programs by last run, newest first, and how many have only failed runs.

        With `failed`, these are listed after the others.
        """
        listed = [
            self._program(key, usage, failed=failures.runs if (failures := self._failed.get(key)) else 0)
            for key, usage in self._complete.items()
        ]
        failures_alone = [
            self._program(key, usage, runs=0, failed=usage.runs)
            for key, usage in self._failed.items()
            if key not in self._complete
        ]
        programs = [*listed, *failures_alone] if failed else listed
        return sorted(programs, key=program_order), len(failures_alone)

    def _program(
        self, key: _ProgramKey, usage: _Usage, *, failed: int, runs: int | None = None
    ) -> ProgramUsage:
        """Return a program with `failed` failed runs; `runs` overrides the number of other runs."""
        days = self._days[key] if self._days is not None else {}
        return ProgramUsage(
            usage.last,
            directions=usage.directions,
            runs=usage.runs if runs is None else runs,
            failed=failed,
            first_start_ms=usage.first_start_ms,
            days=tuple(days[day].build(day) for day in sorted(days, reverse=True)),
        )


def program_order(usage: ProgramUsage) -> tuple[bool, int, str]:
    """Return the sort key of programs: last run, newest first; programs with only failed runs come last."""
    return not usage.runs, *newest_first_key(usage.last)


def _with_newest_days(programs: Sequence[ProgramUsage]) -> list[ProgramUsage]:
    """Return programs, which must have over PROGRAM_DAYS_MAX days in all, with so many newest or fewer."""
    days = sorted((day.day for usage in programs for day in usage.days), reverse=True)
    # A day as old as the first one left out is left out of all programs.
    left_out = days[PROGRAM_DAYS_MAX]
    return [replace(usage, days=tuple(day for day in usage.days if day.day > left_out)) for usage in programs]


class BucketCounts:
    """Counts of runs in buckets of equal length, under construction; an empty window has no buckets."""

    def __init__(self, window: Window, *, buckets: int) -> None:
        length_ms = window.stop_ms - window.start_ms
        # A bucket is at least one millisecond long, because starts are in milliseconds.
        self._buckets = min(buckets, length_ms)
        self._window = window
        self._complete = [0] * self._buckets
        self._failed = [0] * self._buckets

    @property
    def total(self) -> int:
        """Return how many runs were counted."""
        return sum(self._complete) + sum(self._failed)

    def is_cut(self, runs: DayRuns) -> bool:
        """Return whether the runs are in several buckets, and not all of them are known."""
        newest, oldest = runs.runs[0].start_ms, runs.runs[-1].start_ms
        return not runs.is_complete and self._number(newest) != self._number(oldest)

    def add(self, runs: DayRuns) -> None:
        """Count runs in the window. If they are in several buckets, all of them must be known."""
        counts = self._failed if runs.failed else self._complete
        first = self._number(runs.runs[0].start_ms)
        if first == self._number(runs.runs[-1].start_ms):
            counts[first] += runs.total
            return
        for run in runs.runs:
            counts[self._number(run.start_ms)] += 1

    def build(self) -> tuple[RunBucket, ...]:
        """Return the buckets, the oldest first."""
        counts: Iterable[tuple[int, int]] = zip(self._complete, self._failed, strict=True)
        return tuple(RunBucket(self._start_ms(number), *count) for number, count in enumerate(counts))

    def _number(self, start_ms: int) -> int:
        """Return the last bucket that starts at or before a time, as rounded by `_start_ms`."""
        length_ms = self._window.stop_ms - self._window.start_ms
        return ((start_ms - self._window.start_ms + 1) * self._buckets - 1) // length_ms

    def _start_ms(self, number: int) -> int:
        """Return the start of a bucket (epoch ms): the window divided into equal parts, rounded down."""
        length_ms = self._window.stop_ms - self._window.start_ms
        return self._window.start_ms + number * length_ms // self._buckets


def newest_first_key(run: ProgramRun) -> tuple[int, str]:
    """Return the sort key of a run: newest start first, then by id."""
    return -run.start_ms, run.run


class _ContentTimes(NamedTuple):
    """When a content that used a dataset ran, and in which directions; `query` is the one that found it."""

    checksum: str
    query: WindowQuery
    times: RunTimes
    directions: frozenset[Direction]

    def merged(self, other: _ContentTimes | None) -> _ContentTimes:
        """Return the content as found by both queries: both directions, and the times with more runs.

        A content ran once, whatever directions and names of the dataset it uses, but its runs under one name
        may be purged. Returns this object itself for None.
        """
        if other is None:
            return self
        richer = self if self.times.total > other.times.total else other
        return richer._replace(directions=self.directions | other.directions)


class _UsedContents(NamedTuple):
    """Contents that used a dataset or field, and `unknown` contents that may have used the field."""

    used: Sequence[_ContentTimes]
    unknown: Sequence[_ContentTimes]


class RunReader(Reader):
    """Reads the runs that wrote (backward) or read (forward) a dataset. Threads may share it.

    With a `field`, only runs that wrote or read it count; "" means the dataset. `runs` counts, and `programs`
    lists separately, runs that used the dataset without reporting whether they used the field.

    Failed runs count whatever `window.failed` is. Unless it is true, `programs` leaves programs with only
    failed runs out of `Programs.programs`, but counts them as `failed_only`.

    Methods raise NotFound for an empty answer if the name was never recorded, StoreUnavailable,
    DeadlineExceeded and CorruptRow.
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

        `start_after` is the `next_after` of the previous page, or b"" for the first page. On the last page,
        `next_after` is b"". A nonempty `program` or `state` selects runs; runs that it leaves out are read,
        too. Leaves out damaged runs. Raises DeadlineExceeded.
        """
        listed: list[ListedRun] = []
        keys: list[RunKey] = []
        unknown = [0]
        # One run more than the page shows whether there is a next page, without a second scan.
        batch_size = min(limit + 1, BATCH_RUNS)
        merged = self._runs(
            dataset, window, field, directions=directions, start_after=start_after, batch_size=batch_size
        )
        for key, run, is_known in merged:
            if program not in ("", run.run.program) or state not in ("", run.run.state.value):
                continue
            if not is_known:
                unknown[-1] += 1
                continue
            if len(listed) == limit:
                last = listed[-1].run
                next_after = layout.reference_tail(last.start_ms, *keys[-1])
                # The next page counts those after its last run.
                return RunsPage(tuple(listed), tuple(keys), next_after, unknown_columns=tuple(unknown[:-1]))
            listed.append(run)
            keys.append(key)
            unknown.append(0)
        if not listed:
            self._require_known(dataset, field)
        return RunsPage(tuple(listed), tuple(keys), b"", unknown_columns=tuple(unknown))

    def programs(
        self,
        dataset: Dataset,
        window: Window,
        *,
        field: str = "",
        directions: Sequence[Direction] = BOTH,
        daily: bool = False,
    ) -> Programs:
        """Return the programs of the window's runs, those with only failed runs if `window.failed`.

        With `daily`, each program has its runs by day, up to `PROGRAM_DAYS_MAX` days of all programs
        together. Returns at most `list_limit_max` programs, ordered by newest run, those with only failed
        runs last. Runs of unsealed days are read newest first, up to `runs_max`, until shortly before the
        deadline.
        """
        programs_max = self._settings.list_limit_max
        union, unknown = ProgramUnion(daily=daily), ProgramUnion()
        budget = self._times.budget(until_deadline=True)
        times = self._content_times(dataset, window, field, directions, budget)
        by_program = (
            (target, newest, content.directions, runs)
            for target, contents in ((union, times.used), (unknown, times.unknown))
            for content in contents
            for runs, newest in self._windows.runs_by_program(content.times.runs)
        )
        for target, newest, used_in, runs in deadline.until_over(by_program, truncated_by=budget.limits):
            target.add(newest, used_in, runs)
        if not times.used:
            self._require_known(dataset, field)
        programs, failed_only = union.build(failed=window.failed)
        unknown_columns, _ = unknown.build(failed=True)
        if max(len(programs), len(unknown_columns)) > programs_max:
            budget.limits.add(f"list_limit_max={programs_max}")
        listed = programs[:programs_max]
        if sum(len(usage.days) for usage in listed) > PROGRAM_DAYS_MAX:
            budget.limits.add(f"program_days_max={PROGRAM_DAYS_MAX}")
            listed = _with_newest_days(listed)
        limits = tuple(sorted(budget.limits))
        return Programs(tuple(listed), failed_only, limits, tuple(unknown_columns[:programs_max]))

    def run_counts(self, dataset: Dataset, window: Window, *, buckets: int, field: str = "") -> RunCounts:
        """Return how many runs start in each of `buckets` parts of the window, all equally long.

        Parts have at least 1 ms, so there may be fewer. Runs of unsealed days are read newest first, up to
        `runs_max`, until shortly before the deadline.
        """
        counts = BucketCounts(window, buckets=buckets)
        budget = self._times.budget(until_deadline=True)
        contents = self._content_times(dataset, window, field, BOTH, budget).used
        completed = (self._completed(content, counts) for content in contents)
        for times in deadline.until_over(completed, truncated_by=budget.limits):
            for runs in times.runs:
                counts.add(runs)
        if not counts.total:
            self._require_known(dataset, field)
        return RunCounts(counts.build(), tuple(sorted(budget.limits)))

    def _completed(self, content: _ContentTimes, counts: BucketCounts) -> RunTimes:
        """Read all runs of a content's days that a bucket divides; return its times, which are updated."""
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
    ) -> _UsedContents:
        """Return when each content that used a dataset or field ran, including failed runs."""
        every_run = replace(window, failed=True)
        queries = [WindowQuery(direction, dataset, every_run) for direction in directions]
        used: dict[str, _ContentTimes] = {}
        unknown: dict[str, _ContentTimes] = {}
        for query, by_name in zip(queries, self._times.times(queries, budget), strict=True):
            if field:
                self._contents.load(checksum for times in by_name.values() for checksum in times)
            for name, times in by_name.items():
                content_field = DatasetField(name, field)
                for checksum, listed in times.items():
                    is_known = self._uses(FieldOfContent(checksum, content_field), query.direction)
                    if is_known is None:
                        continue
                    content = _ContentTimes(
                        checksum, replace(query, dataset=name), listed, frozenset({query.direction})
                    )
                    contents = used if is_known else unknown
                    contents[checksum] = content.merged(contents.get(checksum))
        # Under one name of the dataset a content may use the field, and under another one report no columns.
        unknown_alone = (
            content._replace(directions=content.directions - used[checksum].directions)
            if checksum in used
            else content
            for checksum, content in unknown.items()
        )
        return _UsedContents(
            list(used.values()), [content for content in unknown_alone if content.directions]
        )

    def _uses(self, content: FieldOfContent, direction: Direction) -> bool | None:
        """Return True if a content uses a field, False if that is unknown, None if not; "" is the dataset."""
        if not content.field.name or self._contents.mentions_field(content, direction):
            return True
        return False if self._contents.may_use_field(content, direction) else None

    def _runs(
        self,
        dataset: Dataset,
        window: Window,
        field: str,
        *,
        directions: Sequence[Direction] = BOTH,
        start_after: bytes = b"",
        batch_size: int = BATCH_RUNS,
    ) -> Iterator[tuple[RunKey, ListedRun, bool]]:
        """Yield each run of the window once, newest first, with its key and whether it is known to match.

        Raises DeadlineExceeded.
        """
        every_run = replace(window, failed=True)
        references = heapq.merge(
            *(
                self._runs_by_tail(WindowQuery(direction, name, every_run), field, start_after, batch_size)
                for name in self._catalogue.names(dataset)
                for direction in directions
            ),
            key=lambda item: item[0],
        )
        # A run that read and wrote the dataset, or used several of its names, has several references.
        for _, group in groupby(references, key=lambda item: item[0]):
            matches = list(group)
            committed = matches[0][1]
            is_known = any(is_used for *_, is_used in matches)
            run_directions = frozenset(
                direction for _, _, direction, is_used in matches if is_used is is_known
            )
            yield committed.key, ListedRun(committed.run, committed.checksum, run_directions), is_known

    def _runs_by_tail(
        self, query: WindowQuery, field: str, start_after: bytes, batch_size: int
    ) -> Iterator[tuple[bytes, CommittedRun, Direction, bool]]:
        """Yield matching runs by reference tail, newest first.

        With `field`, yield only runs that touch it, and with False the runs that may touch it.
        """
        dataset_field = DatasetField(query.dataset, field)
        for committed in self._windows.runs(
            query, start_after=start_after, batch_size=batch_size, leaves_out_damaged=True
        ):
            is_known = self._uses(FieldOfContent(committed.checksum, dataset_field), query.direction)
            if is_known is not None:
                yield reference_tail_of(committed), committed, query.direction, is_known

    def _require_known(self, dataset: Dataset, field: str) -> None:
        """Raise NotFound for a dataset, or a field of it unless "", that was never recorded."""
        if field:
            self._catalogue.require_field(DatasetField(dataset, field))
        else:
            self._catalogue.require_dataset(dataset)


class RunBoundsReader(Reader):
    """Finds the first and the last run of a dataset, failed ones included. Threads may share it.

    Methods raise StoreUnavailable and CorruptRow.
    """

    def bounds(self, names: Sequence[Dataset]) -> RunBounds:
        """Return the starts of the first and the last run of a dataset, given with its aliases.

        None if no run is stored. The number of calls is bounded. If invalid references exceed the bounds,
        `truncated_by` names the limit, and an earlier or later run may exist. Raises DeadlineExceeded.
        """
        queries = self._windows.restrict(
            WindowQuery(direction, name, ALL_TIME) for name in names for direction in BOTH
        )
        pages = self._table.scan_many([_scan(query, query.window, limit=REFERENCES_MAX) for query in queries])
        starts_ms: list[int] = []
        truncated_by: set[str] = set()
        for query, page in zip(queries, pages, strict=True):
            tails = _tails(query, (key for key, _ in page))
            matches = self._confirm(query, tails)
            starts_ms += matches
            if len(page) < REFERENCES_MAX:
                continue
            oldest_ms = self._oldest(query, layout.parse_reference_tail(tails[-1]).start_ms)
            starts_ms += [] if oldest_ms is None else [oldest_ms]
            if not matches or oldest_ms is None:
                truncated_by.add(f"references_max={REFERENCES_MAX}")
        first_ms, last_ms = min(starts_ms, default=None), max(starts_ms, default=None)
        return RunBounds(first_ms, last_ms, tuple(sorted(truncated_by)))

    def _oldest(self, query: WindowQuery, newest_ms: int) -> int | None:
        """Return the oldest matching start up to `newest_ms`, or None if SEARCHES_MAX tries find none."""
        oldest_ms = query.window.start_ms
        for _ in range(SEARCHES_MAX):
            start_ms = self._oldest_reference(query, Window(oldest_ms, newest_ms + 1))
            if start_ms is None:
                return None
            millisecond = Window(start_ms, start_ms + 1)
            page = self._table.scan(*_range(query, millisecond), limit=REFERENCES_MAX)
            if self._confirm(query, _tails(query, (key for key, _ in page))):
                return start_ms
            oldest_ms = start_ms + 1
        return None

    def _oldest_reference(self, query: WindowQuery, window: Window) -> int | None:
        """Return the start (ms) of the oldest reference in a window, read part by part, or None."""
        # Tables only scan newest first. Each step reduces the window to a sixteenth, ending at the newest
        # reference in it: 11 steps for a start since 1970.
        while True:
            deadline.check()
            parts = _split(window)
            pages = self._table.scan_many([_scan(query, part, limit=1) for part in parts])
            keys = [(part, page[0][0]) for part, page in zip(parts, pages, strict=True) if page]
            if not keys:
                return None
            part, key = keys[0]
            (tail,) = _tails(query, [key])
            start_ms = layout.parse_reference_tail(tail).start_ms
            if start_ms == part.start_ms:
                return start_ms
            window = Window(part.start_ms, start_ms + 1)

    def _confirm(self, query: WindowQuery, tails: Sequence[bytes]) -> list[int]:
        """Return the starts (epoch ms) of the references' runs that run rows confirm."""
        deadline.check()
        return [committed.run.start_ms for committed in self._windows.matching_runs(query, tails)]


def _range(query: WindowQuery, window: Window) -> layout.Range:
    """Return the key range of a query's references in a window."""
    return layout.window_range(query.direction, query.dataset, window)


def _scan(query: WindowQuery, window: Window, *, limit: int) -> Scan:
    """Return the scan of the newest `limit` references of a query in a window."""
    return Scan(*_range(query, window), limit=limit)


def _tails(query: WindowQuery, keys: Iterable[bytes]) -> list[bytes]:
    """Return the ends of reference keys after the dataset's prefix: start and run."""
    prefix = layout.reference_prefix(query.direction, query.dataset)
    return [key[len(prefix) :] for key in keys]


def _split(window: Window) -> list[Window]:
    """Return at most PARTS windows of equal length that cover a window, the oldest first."""
    length = -(-(window.stop_ms - window.start_ms) // PARTS)
    starts = range(window.start_ms, window.stop_ms, length)
    return [Window(start, min(start + length, window.stop_ms)) for start in starts]
