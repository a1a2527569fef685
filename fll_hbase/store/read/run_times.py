"""Times of the runs of contents in a window, from calendars, or from references of unsealed days."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from fll_hbase.keys import calendars, layout
from fll_hbase.keys.codec import day_of
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.runs import RunKey
from fll_hbase.model.window import Direction, Window
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.read import content_days, shared_reads
from fll_hbase.store.read.batched_reads import BatchedReader, Reads, RowKeys
from fll_hbase.store.read.content_cache import ContentCache, FieldOfContent
from fll_hbase.store.read.content_days import DaysByContent
from fll_hbase.store.read.reference_pages import reference_columns
from fll_hbase.store.read.run_budget import RunBudget
from fll_hbase.store.read.window_query import ATTEMPTS_MAX, WindowReader, read_by_name
from fll_hbase.store.results import RunSpan
from fll_hbase.store.rows import calendar_rows, run_rows
from fll_hbase.store.rows.calendar_rows import ContentDay, DayRuns, SealedRun
from fll_hbase.store.rows.run_rows import CommittedHead
from fll_hbase.tables import Row, Scan, Table

FIRST_PAGE_REFERENCES, PAGE_REFERENCES_MAX = 250, 1_000
"""References of a query's first page, and of its later pages; a call reads a page for each query."""

_NO_PROGRAM = b""
"""The program of runs read from references: only their run rows have it."""


class RunTimes:
    """The runs of one content in a window. A bound is a start in ms, or its negative (see `bound_of`).

    `latest_bound` and `span` raise ValueError if the bound cuts a day whose runs are not all known.
    """

    __slots__ = ("_newest_first", "_spans", "_window")

    def __init__(self, runs: Iterable[DayRuns], window: Window) -> None:
        self._newest_first = _sorted(runs)
        self._window = window
        self._spans: dict[int, RunSpan | None] = {}

    @property
    def runs(self) -> Sequence[DayRuns]:
        """Return the runs by day, program and whether they failed, newest first.

        The result is not a copy.
        """
        return self._newest_first

    @property
    def total(self) -> int:
        """Return the number of runs, including those that are only counted."""
        return sum(runs.total for runs in self._newest_first)

    def latest_bound(self, direction: Direction, bound: int) -> int | None:
        """Return the greatest bound among runs within a bound, or None without a run."""
        parts = self._within(window_within(self._window, direction, bound))
        if direction is Direction.BACKWARD:
            return max([part.runs[0].start_ms for part in parts], default=None)
        return max([-part.runs[-1].start_ms for part in parts], default=None)

    def span(self, direction: Direction, bound: int) -> RunSpan | None:
        """Return the number of runs within a bound with the first and last one, or None if there are none."""
        if bound not in self._spans:
            window = window_within(self._window, direction, bound)
            self._spans[bound] = _span(list(self._within(window)))
        return self._spans[bound]

    def unknown_days(self, direction: Direction, bound: int) -> set[int]:
        """Return the days that a bound cuts and whose runs are not all known; none if all is admitted."""
        window = window_within(self._window, direction, bound)
        if window == self._window:
            # The days that the window cuts have been read.
            return set()
        return {
            day_of(runs.runs[0].start_ms)
            for runs in self._newest_first
            if not runs.is_complete and content_days.cut(runs, window) is None
        }

    def replace_day(self, day: int, runs: Iterable[DayRuns]) -> None:
        """Replace the runs of one day with `runs`, whose parts are not empty. Empty `runs` remove the day."""
        others = (part for part in self._newest_first if day_of(part.runs[0].start_ms) != day)
        self._newest_first = _sorted((*others, *runs))
        self._spans.clear()

    def _within(self, window: Window) -> list[DayRuns]:
        """Return the runs in a window. Raises ValueError if it cuts a day whose runs are not all known."""
        if window == self._window:
            return self._newest_first
        parts = []
        for runs in self._newest_first:
            part = content_days.cut(runs, window)
            if part is None:
                raise ValueError(
                    "a bound cuts a day whose runs were not all read, see RunTimesReader.complete"
                )
            if part.total:
                parts.append(part)
        return parts


def bound_of(direction: Direction, start_ms: int) -> int:
    """Return a start as a bound; a greater bound admits more runs in either direction."""
    return start_ms if direction is Direction.BACKWARD else -start_ms


def window_within(window: Window, direction: Direction, bound: int) -> Window:
    """Return the part of a window up to a bound (backward), or starting at it (forward, negative)."""
    if direction is Direction.BACKWARD:
        if bound >= window.stop_ms - 1:
            return window
        return window.within(window.start_ms, bound + 1)
    if -bound <= window.start_ms:
        return window
    return window.within(-bound, window.stop_ms)


def _sorted(runs: Iterable[DayRuns]) -> list[DayRuns]:
    """Sort the nonempty runs of days by their latest start, newest first."""
    return sorted(runs, key=lambda day_runs: -day_runs.runs[0].start_ms)


def _span(parts: Sequence[DayRuns]) -> RunSpan | None:
    """Return the span of runs, or None if none. If several runs started last, it names the smallest id."""
    if not parts:
        return None
    last = min((part.runs[0] for part in parts), key=lambda run: (-run.start_ms, run.run, run.namespace))
    return RunSpan(
        sum(part.total for part in parts),
        sum(part.total for part in parts if part.failed),
        min(part.runs[-1].start_ms for part in parts),
        last.start_ms,
        last.key,
    )


TimesByName: TypeAlias = dict[Dataset, dict[str, RunTimes]]
"""Names of a dataset, its own first, with the contents that ran under each in a query's window."""


class _CountedRun(NamedTuple):
    key: ContentDay
    failed: bool
    start_ms: int


class _Counted(NamedTuple):
    """Runs of days as read from references.

    `runs` contains the runs. `elsewhere` gives, by reference tail, the actual day of runs whose run rows
    disagree. `is_cut` is whether the budget cut the reading. A run that moves between two pages has a valid
    reference on both, and the later one counts.
    """

    runs: dict[RunKey, _CountedRun]
    elsewhere: dict[bytes, ContentDay]
    is_cut: bool = False


class RunTimesReader:
    """Reads when contents ran. Threads may share it; `clock` returns milliseconds since 1970.

    Methods raise StoreUnavailable and CorruptRow.
    """

    def __init__(
        self,
        table: Table,
        windows: WindowReader,
        contents: ContentCache,
        *,
        clock: Callable[[], int],
        grace_ms: int,
        runs_max: int,
    ) -> None:
        self._windows = windows
        self._reads = BatchedReader(table, contents)
        self._clock = clock
        self._grace_ms = grace_ms
        self._runs_max = runs_max

    def budget(self, *, until_deadline: bool = False) -> RunBudget:
        """Return a new budget of `runs_max` runs that one query may read from references."""
        return RunBudget(self._runs_max, until_deadline=until_deadline)

    def times(self, queries: Sequence[WindowQuery], budget: RunBudget) -> list[TimesByName]:
        """Return for each query the contents with matching runs, by dataset name. Raises DeadlineExceeded.

        Runs of unsealed days are read newest first, as far as the budget allows. Many queries take as many
        calls as one.
        """
        results = {} if budget.until_deadline else self._shared(queries)
        missing = [query for query in dict.fromkeys(queries) if query not in results]
        if missing:
            listed = read_by_name(self._reads, missing, lambda query: self._times(query, budget))
            read = dict(zip(missing, listed, strict=True))
            if not budget.until_deadline and not budget.limits:
                size = sum(len(times) for by_name in read.values() for times in by_name.values())
                shared_reads.add({("times", query): value for query, value in read.items()}, size=size)
            results |= read
        return [results[query] for query in queries]

    def times_of_contents(
        self, wanted: Sequence[tuple[WindowQuery, Collection[str]]], budget: RunBudget
    ) -> list[dict[str, RunTimes]]:
        """Return per query the given contents that ran, under its dataset's name only, within the budget."""
        return self._reads.run(
            [self._times(query, budget, checksums=checksums) for query, checksums in wanted]
        )

    def field_times(self, query: WindowQuery, name: str, budget: RunBudget) -> dict[FieldOfContent, RunTimes]:
        """Return when all contents of a query ran, within the budget, each with a field that it may lack."""
        (by_name,) = self.times([query], budget)
        return {
            FieldOfContent(checksum, DatasetField(dataset, name)): listed
            for dataset, contents in by_name.items()
            for checksum, listed in contents.items()
        }

    def _shared(self, queries: Sequence[WindowQuery]) -> dict[WindowQuery, TimesByName]:
        """Return, by query, the results of `times` that an earlier read of this request has shared."""
        shared = shared_reads.lookup([("times", query) for query in queries])
        return {query: value for (_, query), value in shared.items()}

    def complete(self, wanted: Sequence[tuple[WindowQuery, Mapping[str, RunTimes], int]]) -> None:
        """Replace in each `RunTimes` the days that the bound cuts by all their runs, read without a limit."""
        cut = [
            (query, times, days) for query, times, bound in wanted if (days := _cut_days(query, times, bound))
        ]
        self._reads.run([self._complete_days(*item) for item in cut])

    def complete_days(
        self, query: WindowQuery, times: Mapping[str, RunTimes], days: Mapping[str, Collection[int]]
    ) -> None:
        """Replace the given days of contents in `times` by all their runs, read without a limit."""
        self._reads.run([self._complete_days(query, times, days)])

    def _times(
        self, query: WindowQuery, budget: RunBudget, *, checksums: Collection[str] | None = None
    ) -> Reads[dict[str, RunTimes]]:
        """Return runs by content and day, from seals or references, reading again while days change.

        Reads all contents, or only `checksums`.
        """
        query = yield from self._windows.restricted(query)
        runs: dict[str, list[DayRuns]] = {}
        for attempt in range(ATTEMPTS_MAX):
            began_ms = self._clock()
            contents = yield from self._windows.days(query, checksums)
            runs, unsettled = _settled(contents, query)
            days, unknown = yield from _read_starts(query, contents, unsettled)
            for key, listed in days.items():
                runs.setdefault(key.checksum, []).extend(listed)
            if not unknown:
                break
            counted = yield from self._read_references(query, unknown, budget)
            if checksums is not None:
                counted = _only(counted, checksums)
            for key, day_runs in _day_runs(counted).items():
                runs.setdefault(key.checksum, []).extend(day_runs)
            # A cut read is not repeated, because nothing is left of the budget.
            is_last = counted.is_cut or attempt == ATTEMPTS_MAX - 1
            if is_last or not (yield from self._is_moved(contents, unknown, counted, began_ms)):
                break
        return {checksum: RunTimes(listed, query.window) for checksum, listed in runs.items() if listed}

    def _complete_days(
        self, query: WindowQuery, times: Mapping[str, RunTimes], unsettled: Mapping[str, Collection[int]]
    ) -> Reads[None]:
        """Replace the `unsettled` days of `times`, by content, with all their runs, read without a limit."""
        query = yield from self._windows.restricted(query)
        contents = yield from self._windows.days(query)
        days, unknown = yield from _read_starts(query, contents, unsettled)
        if unknown:
            days |= _day_runs((yield from self._read_references(query, unknown, RunBudget(sys.maxsize))))
        for checksum, cut_days in unsettled.items():
            for day in cut_days:
                times[checksum].replace_day(day, days.get(ContentDay(checksum, day), ()))

    def _read_references(
        self, query: WindowQuery, unknown: Mapping[str, Collection[int]], budget: RunBudget
    ) -> Reads[_Counted]:
        """Return the runs of days from references that run rows confirm, newest first, within the budget."""
        counted = _Counted({}, {})
        page_max = min(FIRST_PAGE_REFERENCES, PAGE_REFERENCES_MAX)
        prefix = layout.reference_prefix(query.direction, query.dataset)
        for window, checksums in content_days.neighbours(content_days.by_day(unknown)):
            columns = reference_columns(checksums, query)
            part = query.window.overlap(window)
            start, stop = layout.window_range(query.direction, query.dataset, part)
            while True:
                if budget.end_at_deadline(start[len(prefix) :]):
                    return counted._replace(is_cut=True)
                references_max = budget.page(page_max)
                page_max = PAGE_REFERENCES_MAX
                references = yield Scan(start, stop, columns, references_max)
                rows = references[: budget.take(len(references))]
                tails = [key[len(prefix) :] for key, _ in rows]
                heads = yield from self._windows.matching_heads(query, tails)
                for key, row in rows:
                    head = heads.get(tail := key[len(prefix) :])
                    if head is not None:
                        _count(counted, unknown, (tail, row), head)
                if rows:
                    # A zero byte gives the smallest key after the last one.
                    start = rows[-1][0] + b"\x00"
                if len(rows) < len(references):
                    budget.end_at_limit(start[len(prefix) :])
                    return counted._replace(is_cut=True)
                if len(references) < references_max:
                    break
        return counted

    def _is_moved(
        self,
        contents: DaysByContent,
        unknown: Mapping[str, Collection[int]],
        counted: _Counted,
        began_ms: int,
    ) -> Reads[bool]:
        """Return whether a run moved between days meanwhile, or reading exceeded the grace period."""
        # Garbage collection may have deleted references meanwhile.
        if self._clock() - began_ms > self._grace_ms:
            return True
        elsewhere: dict[ContentDay, bytes | None] = {}
        for tail, key in counted.elsewhere.items():
            if key.day in unknown.get(key.checksum, ()):
                listed = counted.runs.get(layout.parse_reference_tail(tail).run)
                if listed is None or listed.key != key:
                    return True
            else:
                elsewhere[key] = _token(contents, key)
        if not elsewhere:
            return False
        rows: dict[bytes, Row] = yield RowKeys({key.row for key in elsewhere})
        return any(
            calendar_rows.token_of(rows.get(key.row, {}), key.day) != token
            for key, token in elsewhere.items()
        )


def _only(counted: _Counted, checksums: Collection[str]) -> _Counted:
    """Return the counted runs, ignoring runs that moved to contents other than `checksums`."""
    elsewhere = {tail: key for tail, key in counted.elsewhere.items() if key.checksum in checksums}
    return counted._replace(elsewhere=elsewhere)


def _cut_days(query: WindowQuery, times: Mapping[str, RunTimes], bound: int) -> dict[str, list[int]]:
    """Return by content, if any, the sorted days that a bound cuts and whose runs are not all known."""
    return {
        checksum: sorted(days)
        for checksum, listed in times.items()
        if (days := listed.unknown_days(query.direction, bound))
    }


def _settled(
    contents: DaysByContent, query: WindowQuery
) -> tuple[dict[str, list[DayRuns]], dict[str, list[int]]]:
    """Return by content the runs, maybe none, of days with sufficient seals, and the other days, if any."""
    runs: dict[str, list[DayRuns]] = {}
    unsettled: dict[str, list[int]] = {}
    for checksum, days in contents.items():
        listed = runs[checksum] = []
        others = list(days.unsealed)
        for day in days.sealed:
            settled = content_days.settle(days, day, query.window)
            if settled is None:
                others.append(day)
            else:
                listed += settled
        if others:
            unsettled[checksum] = others
    return runs, unsettled


def _read_starts(
    query: WindowQuery, contents: DaysByContent, unsettled: Mapping[str, Collection[int]]
) -> Reads[tuple[dict[ContentDay, list[DayRuns]], dict[str, list[int]]]]:
    """Return the runs of days with cut seals, read from their full lists, and the remaining days."""
    complete: dict[ContentDay, list[DayRuns]] = {}
    unknown: dict[str, list[int]] = {}
    sealed = [
        ContentDay(checksum, day)
        for checksum, days in unsettled.items()
        for day in days
        if checksum in contents and day in contents[checksum].sealed
    ]
    rows: dict[bytes, Row] = {}
    if sealed:
        columns = sorted(
            {
                calendars.day_column(kind, key.day)
                for key in sealed
                for kind in (calendars.TOKEN, calendars.STARTS)
            }
        )
        rows = yield RowKeys({key.row for key in sealed}, tuple(columns))
    for key in sealed:
        all_runs = calendar_rows.sealed_day(rows.get(key.row, {}), key.day, calendars.STARTS)
        if all_runs is not None:
            cut = (
                content_days.cut(runs, query.window)
                for runs in content_days.matching(all_runs, failed=query.window.failed)
            )
            complete[key] = [runs for runs in cut if runs is not None and runs.total]
    for checksum, days in unsettled.items():
        left = [day for day in days if ContentDay(checksum, day) not in complete]
        if left:
            unknown[checksum] = left
    return complete, unknown


def _count(
    counted: _Counted,
    unknown: Mapping[str, Collection[int]],
    reference: tuple[bytes, Row],
    head: CommittedHead,
) -> None:
    """Count a run on its run row's day if its reference is there, or else note the actual day."""
    tail, row = reference
    key = calendar_rows.day_of_head(head)
    start_ms, run = layout.parse_reference_tail(tail)
    is_valid = start_ms == head.start_ms and _column(head) in row
    if not is_valid:
        counted.elsewhere[tail] = key
    elif key.day in unknown.get(key.checksum, ()):
        # Remove the run first, so that runs stay in the order of their references.
        counted.runs.pop(run, None)
        counted.runs[run] = _CountedRun(key, head.state.failed, start_ms)


def _column(head: CommittedHead) -> bytes:
    """Return the column of references to a run with this head."""
    return run_rows.reference_column(head.checksum, failed=head.state.failed)


def _day_runs(counted: _Counted) -> dict[ContentDay, list[DayRuns]]:
    """Return the counted runs, each list newest first, like references."""
    by_day: dict[ContentDay, dict[bool, list[SealedRun]]] = {}
    for run, (key, failed, start_ms) in counted.runs.items():
        by_day.setdefault(key, {}).setdefault(failed, []).append(SealedRun(start_ms, *run))
    return {
        key: [DayRuns(_NO_PROGRAM, failed, runs, len(runs)) for failed, runs in by_state.items()]
        for key, by_state in by_day.items()
    }


def _token(contents: DaysByContent, key: ContentDay) -> bytes | None:
    """Return the token of a day as read from its calendar, or None if it has none."""
    days = contents.get(key.checksum)
    if days is None:
        return None
    cell = days.unsealed.get(key.day)
    return cell.value if cell is not None else days.tokens.get(key.day)
