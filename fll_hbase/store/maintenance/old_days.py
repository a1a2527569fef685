"""Seals of all days that are old enough, so that no reader has to read their references.

Retention does this when it has ended; a question seals what it found unsealed itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import islice

from fll_hbase.errors import CorruptRow, in_row
from fll_hbase.keys import calendars, layout, ranges
from fll_hbase.keys.layout import Range
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import Direction
from fll_hbase.store import calendar_rows
from fll_hbase.store.calendar_rows import ContentDay
from fll_hbase.store.endpoints import ContentEndpoints, read_endpoints
from fll_hbase.store.read.event_merge import EventMerger
from fll_hbase.store.write.sealing import DaySealer, SealRequest
from fll_hbase.tables import Row, Table

PAGE_ROWS = 1_000
"""Calendars of one page of a scan."""


CALENDAR_ROWS: Range = ranges.prefix_range(layout.CALENDARS)


def seal_old_days(
    table: Table, key_range: Range = CALENDAR_ROWS, *, clock: Callable[[], int], grace_ms: int
) -> int:
    """Seal every day of a range of calendars that is old enough and unsealed; return how many were.

    `clock` returns milliseconds since 1970. Raises StoreUnavailable and CorruptRow.
    """
    sealer = DaySealer(table, EventMerger(table), clock=clock, grace_ms=grace_ms)
    scanned = table.scan(*key_range, columns=(layout.LIGHT,))
    count = 0
    while page := dict(islice(scanned, PAGE_ROWS)):
        days = [key for row_key, row in page.items() for key in _unsealed(row_key, row, sealer)]
        count += sealer.seal(_requests(table, days))
    return count


def _unsealed(key: bytes, row: Row, sealer: DaySealer) -> Iterator[ContentDay]:
    with in_row(key):
        checksum, period = calendars.parse_calendar(key)
        for column, cell in row.items():
            kind, day = calendars.parse_day_column(column, period)
            is_open = kind == calendars.TOKEN and calendar_rows.sealed_day(row, day) is None
            if is_open and sealer.is_old(cell.stamp_ms):
                yield ContentDay(checksum, day)


def _requests(table: Table, days: list[ContentDay]) -> list[SealRequest]:
    """Return one request for each day and each dataset by whose references contents are counted."""
    stored = read_endpoints(table, sorted({layout.content_row(key.checksum) for key in days}))
    for endpoints in stored.values():
        if isinstance(endpoints, CorruptRow):
            raise endpoints
    readable = {key: read for key, read in stored.items() if isinstance(read, ContentEndpoints)}
    horizons = _horizons(table, {dataset for read in readable.values() for _, dataset in read.by_direction()})
    grouped: dict[tuple[Direction, Dataset, int], set[str]] = {}
    for checksum, day in days:
        # A content that is missing has no confirmed run: garbage collection takes its days, too.
        read = readable.get(layout.content_row(checksum))
        begin_ms = calendars.day_window(day).start_ms
        for direction, dataset in read.by_direction() if read else ():
            # A dataset whose references may have been purged does not have all runs.
            if horizons.get(dataset, 0) <= begin_ms:
                grouped.setdefault((direction, dataset, day), set()).add(checksum)
                break
    return [SealRequest(*key, frozenset(checksums)) for key, checksums in grouped.items()]


def _horizons(table: Table, datasets: Collection[Dataset]) -> dict[Dataset, int]:
    """Return the horizons of those datasets that have any, in milliseconds since 1970."""
    keys = {calendars.horizon_row(dataset): dataset for dataset in datasets}
    return {keys[key]: max(map(layout.parse_horizon, row)) for key, row in table.rows(sorted(keys)).items()}
