"""Days of the contents of a dataset in a window, from calendars: runs of sealed days, and days to read.

A sealed day is answered from its seal, any other day from references that run rows confirm. A day without a
token has no runs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from fll_hbase.keys import calendars, layout
from fll_hbase.keys.codec import day_of
from fll_hbase.model.window import Window
from fll_hbase.runtime.errors import CorruptRow, in_row
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.read.batched_reads import Alone, Reads, RowKeys
from fll_hbase.store.rows import calendar_rows
from fll_hbase.store.rows.calendar_rows import DayRuns, SealedRun
from fll_hbase.tables import Cell, Row, Scan

WAYS_MAX, WAYS_ALONE_MAX = 1_000, 10_000
"""Ways of one query read beside other queries, and ways of each later page, which is read alone.

Calendars are read for WAYS_MAX ways at a time, because they take much more memory than the keys of ways."""

NAMED_DAYS_MAX = 12
"""Maximum number of days whose columns are named; a longer window reads the days of whole periods."""

_EMPTY = Cell(b"", 0)


class Seal(NamedTuple):
    """A valid seal, and the key of its calendar."""

    row: bytes
    value: bytes

    def runs(self, day: int) -> tuple[DayRuns, ...]:
        """Return the runs of the whole day. Raises CorruptRow."""
        with in_row(self.row):
            return calendar_rows.decode_seal(self.value, day)


@dataclass(slots=True)
class ContentDays:
    """The days of a window on which runs of a content may have started.

    `sealed` contains the seals of sealed days, and `tokens` their tokens; `unsealed` contains the tokens of
    all other days with their times.
    """

    sealed: dict[int, Seal] = field(default_factory=dict)
    tokens: dict[int, bytes] = field(default_factory=dict)
    unsealed: dict[int, Cell] = field(default_factory=dict)


DaysByContent: TypeAlias = dict[str, ContentDays]


def read_ways(query: WindowQuery) -> Reads[list[bytes]]:
    """Return the keys of the ways of contents that may have runs in the window, the newest period first."""
    if query.window.empty:
        return []
    start, stop = calendars.ways_range(query.direction, query.dataset, query.window)
    ways: list[bytes] = []
    limit = WAYS_MAX
    while True:
        page = yield Scan(start, stop, (calendars.WAY,), limit)
        ways += [key for key, _ in page]
        if len(page) < limit:
            return ways
        if limit == WAYS_MAX:
            # Only one of the queries running side by side at a time may keep more ways in memory.
            yield Alone()
            limit = WAYS_ALONE_MAX
        start = ways[-1] + b"\x00"


def in_turns(ways: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield lists of ways: the newest way of each content, then its next two, its next four and so on.

    `ways` lists the newest period first; a list has at most WAYS_MAX ways. A caller that needs one run per
    content can stop early.
    """
    by_content: dict[bytes, list[bytes]] = {}
    for way in ways:
        by_content.setdefault(calendars.split_way(way)[1], []).append(way)
    begin, count = 0, 1
    while turn := [way for listed in by_content.values() for way in listed[begin : begin + count]]:
        yield from (turn[first : first + WAYS_MAX] for first in range(0, len(turn), WAYS_MAX))
        begin, count = begin + count, 2 * count


def read_days(query: WindowQuery, ways: Sequence[bytes]) -> Reads[DaysByContent]:
    """Return by content its days with possible runs, if any, in the periods of ways. Raises CorruptRow."""
    if not ways:
        return {}
    first_day, last_day = (day_of(start_ms) for start_ms in (query.window.start_ms, query.window.stop_ms - 1))
    columns = _columns(first_day, last_day)
    contents: dict[bytes, ContentDays] = {}
    for begin in range(0, len(ways), WAYS_MAX):
        keys = {calendars.calendar_of_way(way): way for way in ways[begin : begin + WAYS_MAX]}
        rows: Mapping[bytes, Row] = yield RowKeys(keys, columns)
        for key, way in keys.items():
            period, checksum = calendars.split_way(way)
            days = contents.setdefault(checksum, ContentDays())
            if key in rows:
                with in_row(key):
                    _add(days, key, rows[key], calendars.parse_inverted_period(period), first_day, last_day)
    return {layout.decode_checksum(checksum): days for checksum, days in contents.items()}


def _columns(first_day: int, last_day: int) -> tuple[bytes, ...]:
    """Return the token and seal columns of each day, or their family for more than NAMED_DAYS_MAX days."""
    if last_day - first_day >= NAMED_DAYS_MAX:
        return (layout.LIGHT,)
    return tuple(
        calendars.day_column(kind, day)
        for day in range(first_day, last_day + 1)
        for kind in (calendars.TOKEN, calendars.SEAL)
    )


def _add(days: ContentDays, key: bytes, row: Row, period: int, first_day: int, last_day: int) -> None:
    """Add the days of a calendar row that are in the window. Raises CorruptRow for a malformed column."""
    first = period * calendars.PERIOD_DAYS
    for column, cell in row.items():
        if not column.startswith(calendars.TOKEN):
            continue
        if column not in calendars.TOKENS:
            raise CorruptRow(f"{column!r} is not the column of a day")
        number, seal_column = calendars.TOKENS[column]
        day = first + number
        if first_day <= day <= last_day:
            seal = row.get(seal_column, _EMPTY).value
            if calendar_rows.has_token(seal, cell.value):
                days.sealed[day] = Seal(key, seal)
                days.tokens[day] = cell.value
            else:
                days.unsealed[day] = cell


def matching(runs: Iterable[DayRuns], *, failed: bool) -> Iterator[DayRuns]:
    """Yield the runs in order, leaving out failed ones unless `failed`."""
    return (day_runs for day_runs in runs if failed or not day_runs.failed)


def cut(runs: DayRuns, window: Window) -> DayRuns | None:
    """Return the runs that start in a window, `total` 0 for none, or None if too few are listed to tell."""
    last_ms, first_ms = runs.runs[0].start_ms, runs.runs[-1].start_ms
    if window.start_ms <= first_ms and last_ms < window.stop_ms:
        return runs
    if last_ms < window.start_ms or first_ms >= window.stop_ms:
        return DayRuns(runs.program, runs.failed, (), 0)
    if not runs.is_complete:
        return None
    newest, oldest = (
        bisect_left(runs.runs, -limit_ms, key=_descending)
        for limit_ms in (window.stop_ms - 1, window.start_ms - 1)
    )
    return DayRuns(runs.program, runs.failed, runs.runs[newest:oldest], oldest - newest)


def _descending(run: SealedRun) -> int:
    """Return the sort key by which lists of runs, newest first, ascend."""
    return -run.start_ms


def settle(days: ContentDays, day: int, window: Window) -> list[DayRuns] | None:
    """Return the matching runs of a day in a window, or None if references must be read.

    Raises CorruptRow for a malformed seal.
    """
    seal = days.sealed.get(day)
    if seal is None:
        return None if day in days.unsealed else []
    within = [cut(runs, window) for runs in matching(seal.runs(day), failed=window.failed)]
    if None in within:
        return None
    return [runs for runs in within if runs is not None and runs.total]


def settle_existence(days: ContentDays, query: WindowQuery) -> tuple[bool, list[int]]:
    """Return (True, []) if a sealed day has a matching run, else False and the days to read by reference.

    Raises CorruptRow for a malformed seal.
    """
    unsettled = list(days.unsealed)
    for day in sorted(days.sealed, reverse=True):
        listed = list(matching(days.sealed[day].runs(day), failed=query.window.failed))
        # One listed run in the window is enough, even if there are too many to list.
        if any(run.start_ms in query.window for runs in listed for run in runs.runs):
            return True, []
        if any(cut(runs, query.window) is None for runs in listed):
            unsettled.append(day)
    return False, unsettled


def settle_newest(days: ContentDays, day: int, window: Window) -> bytes | None:
    """Return the reference tail of the newest matching run of a day in a window, or b"" if there is none.

    Returns None if references must be read. Raises CorruptRow for a malformed seal.
    """
    seal = days.sealed.get(day)
    if seal is None:
        return None if day in days.unsealed else b""
    newest: list[SealedRun] = []
    for runs in matching(seal.runs(day), failed=window.failed):
        # The newest run of a day is listed, even if there are too many to list.
        within = runs if runs.runs[0].start_ms in window else cut(runs, window)
        if within is None:
            return None
        newest += within.runs[:1]
    # Tails sort newest first.
    return min((layout.reference_tail(*run) for run in newest), default=b"")


def by_day(contents: Mapping[str, Collection[int]]) -> list[tuple[int, set[str]]]:
    """Invert contents with their days: return days, newest first, each with its contents."""
    days: dict[int, set[str]] = {}
    for checksum, listed in contents.items():
        for day in listed:
            days.setdefault(day, set()).add(checksum)
    return sorted(days.items(), reverse=True)


def neighbours(days: Sequence[tuple[int, set[str]]]) -> Iterator[tuple[Window, set[str]]]:
    """Yield windows of adjacent days, which are given newest first, with the contents of all their days."""
    position = 0
    while position < len(days):
        last = first = days[position][0]
        contents = set(days[position][1])
        while position + 1 < len(days) and days[position + 1][0] == first - 1:
            position += 1
            first = days[position][0]
            contents |= days[position][1]
        position += 1
        yield Window(calendars.day_window(first).start_ms, calendars.day_window(last).stop_ms), contents
