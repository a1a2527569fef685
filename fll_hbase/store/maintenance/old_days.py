"""Seals for all days that are old enough, so that no reader has to read their references.

Retention seals days at its end; a query seals days that it finds unsealed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator

from fll_hbase.keys import calendars, layout, ranges
from fll_hbase.keys.layout import Range
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import START_LIMIT_MS, Direction
from fll_hbase.runtime.errors import CorruptRow, in_row
from fll_hbase.store.endpoints import ContentEndpoints, read_endpoints
from fll_hbase.store.maintenance import garbage_collection
from fll_hbase.store.read.event_merge import EventMerger
from fll_hbase.store.rows import calendar_rows
from fll_hbase.store.rows.calendar_rows import ContentDay
from fll_hbase.store.write.sealing import DaySealer, SealRequest
from fll_hbase.tables import Row, Table, read_rows

CALENDAR_ROWS: Range = ranges.prefix_range(layout.CALENDARS)


def seal_old_days(
    table: Table, key_range: Range = CALENDAR_ROWS, *, clock: Callable[[], int], grace_ms: int
) -> int:
    """Seal every unsealed day in a range of calendars that is old enough; return how many were sealed.

    `clock` returns milliseconds since 1970. Raises StoreUnavailable and CorruptRow.
    """
    sealer = DaySealer(table, EventMerger(table), clock=clock, grace_ms=grace_ms)
    count = 0
    for page in garbage_collection.pages(table, *key_range):
        days = [day for key, row in page.items() for day in _unsealed(key, row, sealer)]
        count += sealer.seal(counting_requests(table, days))
    return count


def _unsealed(key: bytes, row: Row, sealer: DaySealer) -> Iterator[ContentDay]:
    """Yield the days of a calendar row that are unsealed and old enough to be sealed."""
    with in_row(key):
        checksum, period = calendars.parse_calendar(key)
        for column, cell in row.items():
            kind, day = calendars.parse_day_column(column, period)
            is_open = kind == calendars.TOKEN and calendar_rows.sealed_day(row, day) is None
            if is_open and cell.stamp_ms < sealer.old_ms():
                yield ContentDay(checksum, day)


def counting_requests(table: Table, days: Iterable[ContentDay]) -> list[SealRequest]:
    """Return the reads that count days, each by references of one dataset that has lost none for that day.

    Leaves out days whose contents cannot be read, or have no such dataset. Raises StoreUnavailable.
    """
    days = list(days)
    stored = read_endpoints(table, sorted({layout.content_row(key.checksum) for key in days}))
    contents = {
        read.checksum: list(read.by_direction())
        for read in stored.values()
        if isinstance(read, ContentEndpoints)
    }
    # Choose the dataset with the most contents, so that one scan reads the references of many.
    shared = Counter(endpoint for listed in contents.values() for endpoint in listed)
    horizons = dataset_horizons(table, {dataset for _, dataset in shared})
    grouped: dict[tuple[tuple[Direction, Dataset], int], set[str]] = {}
    for checksum, day in days:
        begin_ms = calendars.day_window(day).start_ms
        complete = [end for end in contents.get(checksum, ()) if horizons[end[1]] <= begin_ms]
        if complete:
            grouped.setdefault((max(complete, key=shared.__getitem__), day), set()).add(checksum)
    return [
        SealRequest(direction, dataset, day, frozenset(checksums))
        for ((direction, dataset), day), checksums in grouped.items()
    ]


def dataset_horizons(table: Table, datasets: Collection[Dataset]) -> dict[Dataset, int]:
    """Return by dataset the start before which references may have been purged, in ms since 1970; 0 if none.

    Returns START_LIMIT_MS for an unreadable row. Raises StoreUnavailable.
    """
    rows = read_rows(table, {calendars.horizon_row(dataset): dataset for dataset in datasets})
    horizons = {}
    for dataset in datasets:
        try:
            horizons[dataset] = layout.latest_horizon_ms(rows.get(dataset, ()))
        except CorruptRow:
            # An audit reports the row; meanwhile this dataset is not used for counting.
            horizons[dataset] = START_LIMIT_MS
    return horizons
