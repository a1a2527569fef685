"""Keys of ways and calendars: the contents of a dataset in a period of 32 days, and the days of a content.

docs/reference/row-keys.md specifies the format.
"""

from __future__ import annotations

from fll_hbase.keys import layout
from fll_hbase.keys.codec import DAY_MAX, SEPARATOR, day_of, escape, is_hex, join_key, parse_hex
from fll_hbase.keys.layout import CHECKSUM_DIGITS, Range
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import DAY_MS, START_LIMIT_MS, Direction, Window
from fll_hbase.runtime.errors import CorruptRow

PERIOD_DAYS = 32
PERIOD_MAX = DAY_MAX // PERIOD_DAYS
"""The last period. Like the last day, it has no end."""

MARK_ROW = layout.PROPERTIES + b"calendars"
"""Exists once every committed run has its ways and calendar days."""

MARK_COLUMN = b"d:v"

RUN_KEYS_COLUMN = b"d:k"
"""Exists in that row once no run is left whose key an earlier release wrote without a namespace."""

HORIZONS = layout.WAYS + b"h|"
"""The key prefix of the horizons of datasets, among the ways, followed by namespace and name."""

WAY = b"d:w"
"""The one column of a way: runs of the content may have started in the period."""

TOKEN, SEAL, STARTS = b"d:z", b"d:s", b"o:r"
"""Columns of a calendar day, each followed by the day's number in its period.

`TOKEN` is the random token of the last writer of the day. `SEAL` has the runs of the day as counted when the
day had that token. `STARTS` has all runs of a day with many runs. This column is heavy, so whole days are
answered without it."""

DAY_COLUMNS = (TOKEN, SEAL, STARTS)

_PERIOD_DIGITS, _DAY_DIGITS = 7, 2


def period_of(day: int) -> int:
    """Return the number of the 32-day period, counted from 1970, that contains a day (days since 1970)."""
    return day // PERIOD_DAYS


def inverted_period(period: int) -> bytes:
    """Return a period as 7 hex digits counted down from PERIOD_MAX, so that keys sort newest first."""
    return b"%07x" % (PERIOD_MAX - period)


def day_window(day: int) -> Window:
    """Return the window of the starts of a day's runs; the last day, DAY_MAX, has no end."""
    return Window(day * DAY_MS, START_LIMIT_MS if day == DAY_MAX else (day + 1) * DAY_MS)


def ways_prefix(direction: Direction, dataset: Dataset) -> bytes:
    """Return the key prefix of all ways of a dataset."""
    letter = layout.LETTERS[direction]
    return join_key(b"w", letter, escape(dataset.namespace), escape(dataset.name), b"")


def way_tail(period: int, checksum: str) -> bytes:
    """Return the end of a way's key, after `ways_prefix`: inverted period and checksum of the content."""
    return inverted_period(period) + SEPARATOR + checksum.encode()


def ways_range(direction: Direction, dataset: Dataset, window: Window) -> Range:
    """Return the range, newest first, of the ways of periods that overlap the window, empty without any."""
    prefix = ways_prefix(direction, dataset)
    if window.empty:
        return prefix, prefix
    newest, oldest = (period_of(day_of(start)) for start in (window.stop_ms - 1, window.start_ms))
    # "}" is the byte after the separator, so all checksums of the oldest period are included.
    return prefix + inverted_period(newest), prefix + inverted_period(oldest) + b"}"


def horizon_row(dataset: Dataset) -> bytes:
    """Return the key of the row of a dataset's horizon, the start before which its references were purged."""
    return join_key(b"w", b"h", escape(dataset.namespace), escape(dataset.name))


def split_way(key: bytes) -> tuple[bytes, bytes]:
    """Return the inverted period and the checksum at the end of a way's key, without validating them."""
    # Count from the end, where widths are fixed: 7 digits, a separator, the checksum.
    stop = -CHECKSUM_DIGITS - 1
    return key[stop - _PERIOD_DIGITS : stop], key[-CHECKSUM_DIGITS:]


def calendar_of_way(key: bytes) -> bytes:
    """Return the key of the calendar of the content and period in a way's key; neither is validated."""
    period, checksum = split_way(key)
    return join_key(b"u", checksum, period)


def parse_way(key: bytes) -> tuple[int, str]:
    """Return the period and the checksum at the end of a way's key. Raises CorruptRow only for these two."""
    period, checksum = split_way(key)
    return parse_inverted_period(period), layout.decode_checksum(checksum)


def calendar_row(checksum: str, period: int) -> bytes:
    """Return the key of the calendar row of a content (by checksum) in a 32-day period."""
    return b"u|%b|%b" % (checksum.encode(), inverted_period(period))


def parse_calendar(key: bytes) -> tuple[str, int]:
    """Return the checksum and period in the key of a calendar, its prefix unchecked. Raises CorruptRow."""
    segments = key.split(SEPARATOR)
    if len(segments) != 3:
        raise CorruptRow(f"{key!r} is not the key of a calendar")
    return layout.decode_checksum(segments[1]), parse_inverted_period(segments[2])


def day_column(kind: bytes, day: int) -> bytes:
    """Return the column of a day (since 1970) in the calendar of its period; `kind` is one of DAY_COLUMNS."""
    return kind + b"%02x" % (day % PERIOD_DAYS)


TOKENS = {day_column(TOKEN, number): (number, day_column(SEAL, number)) for number in range(PERIOD_DAYS)}
"""The days of a period, with the columns of their seals, by the columns of their tokens."""


def parse_day_column(column: bytes, period: int) -> tuple[bytes, int]:
    """Return kind and day of a column of the calendar of a period. Raises CorruptRow."""
    kind, digits = column[:-_DAY_DIGITS], column[-_DAY_DIGITS:]
    if kind in DAY_COLUMNS and is_hex(digits, digits=_DAY_DIGITS) and int(digits, 16) < PERIOD_DAYS:
        return kind, period * PERIOD_DAYS + int(digits, 16)
    raise CorruptRow(f"{column!r} is not the column of a day")


def parse_inverted_period(digits: bytes) -> int:
    """Invert `inverted_period`. Raises CorruptRow for any other bytes."""
    return PERIOD_MAX - parse_hex(digits, digits=_PERIOD_DIGITS, largest=PERIOD_MAX)
