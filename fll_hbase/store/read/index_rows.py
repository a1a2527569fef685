"""Index rows of one dataset: by day, and by period once the period index of the table is complete."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from fll_hbase.keys import layout, periods
from fll_hbase.keys.codec import day_of
from fll_hbase.model.window import Window
from fll_hbase.store.read.batched_reads import Alone, Reads
from fll_hbase.store.read.stale_index import IndexRow
from fll_hbase.tables import Scan, Table

INDEX_ROWS_MAX = 1000
"""Index rows of one query that are read beside those of other queries."""

LONG_DAYS = 2 * periods.PERIOD_DAYS
"""A window of more days than this is read from the period index, if it is complete."""

MARK_MS = 60_000
"""How long a process relies on what it read about the period index being complete."""

Index: TypeAlias = dict[str, list[IndexRow]]
"""Index rows by content, each list newest first."""


class PeriodIndexMark:
    """Tells which windows to read from the period index. Threads may share it."""

    def __init__(self, table: Table, *, clock: Callable[[], int], long_days: int = LONG_DAYS) -> None:
        self._table = table
        self._clock = clock
        self._long_days = long_days
        self._read = False, 0

    def covers(self, window: Window) -> bool:
        """Return whether to read the window from the period index: it is long, and the index is complete."""
        if window.empty or day_of(window.stop_ms - 1) - day_of(window.start_ms) < self._long_days:
            return False
        now_ms = self._clock()
        complete, until_ms = self._read
        if now_ms >= until_ms:
            cell = self._table.get(periods.COMPLETE_ROW).get(periods.COMPLETE_COLUMN)
            complete = cell is not None and not cell.value
            self._read = complete, now_ms + MARK_MS
        return complete


def scan_index(bounds: layout.Range, *, failed: bool) -> Reads[Index]:
    """Return the rows of the day index or of the period index within bounds, by content."""
    start, stop = bounds
    columns = (layout.SAMPLE_RUN, layout.FAILED_SAMPLE_RUN) if failed else (layout.SAMPLE_RUN,)
    rows: dict[bytes, list[IndexRow]] = {}
    scanned: list[IndexRow] = yield Scan(start, stop, columns, INDEX_ROWS_MAX)
    if len(scanned) == INDEX_ROWS_MAX:
        # Of the queries that run side by side only one at a time has more in memory.
        yield Alone()
        scanned += yield Scan(scanned[-1][0] + b"\x00", stop, columns)
    for index_row in scanned:
        rows.setdefault(layout.index_checksum(index_row[0]), []).append(index_row)
    # Decoded once for each content: there may be as many rows as days times contents.
    return {layout.decode_checksum(checksum): index_rows for checksum, index_rows in rows.items()}


def restrict_index(index: Index, checksums: Collection[str]) -> Index:
    """Return the rows of these contents."""
    return {checksum: rows for checksum, rows in index.items() if checksum in checksums}


def by_day(
    index: Mapping[str, Sequence[IndexRow]], checksums: Iterable[str]
) -> Iterator[tuple[int, dict[str, IndexRow]]]:
    """Yield days, newest first, each with the index rows of these contents by checksum."""
    days: dict[int, dict[str, IndexRow]] = {}
    for checksum in checksums:
        for index_row in index.get(checksum, ()):
            days.setdefault(layout.index_day(index_row[0]), {})[checksum] = index_row
    yield from sorted(days.items(), reverse=True)


def by_period(index: Index) -> list[tuple[int, set[str]]]:
    """Return periods, newest first, each with the contents that have a row in it."""
    contents: dict[int, set[str]] = {}
    for checksum, rows in index.items():
        for key, _ in rows:
            contents.setdefault(periods.index_period(key), set()).add(checksum)
    return sorted(contents.items(), reverse=True)


def windows_of_periods(index: Index, window: Window) -> Iterator[Window]:
    """Yield the parts of a window in the periods of these rows, newest first; neighbours are one part."""
    numbers = [period for period, _ in by_period(index)]
    while numbers:
        last = first = numbers.pop(0)
        while numbers and numbers[0] == first - 1:
            first = numbers.pop(0)
        yield overlap(window, periods.window_of(first, last))


def overlap(window: Window, other: Window) -> Window:
    """Return the part of both windows, which overlap."""
    return Window(max(window.start_ms, other.start_ms), min(window.stop_ms, other.stop_ms))
