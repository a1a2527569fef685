"""Keys of the period index, which is the day index in periods of 32 days, and the row that calls it complete.

docs/row-keys.md specifies the format.
"""

from __future__ import annotations

from fll_hbase.errors import CorruptRow
from fll_hbase.keys import layout
from fll_hbase.keys.codec import DAY_MAX, SEPARATOR, day_of
from fll_hbase.keys.layout import CHECKSUM_DIGITS, Range
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import DAY_MS, START_LIMIT_MS, Direction, Window

PERIOD_DAYS = 32
PERIOD_MAX = DAY_MAX // PERIOD_DAYS
"""The last period; as the last day of the index, it has no end."""

COMPLETE_ROW = layout.PROPERTIES + b"period-index"
"""Exists once every row of the day index has its row in the period index."""

COMPLETE_COLUMN = b"d:v"

_DIGITS = 7


def period_of(day: int) -> int:
    """Return the period of a day of the index."""
    return day // PERIOD_DAYS


def inverted_period(period: int) -> bytes:
    """Return 7 hex digits that sort newest first."""
    return b"%07x" % (PERIOD_MAX - period)


def window_of(first: int, last: int) -> Window:
    """Return the starts of the runs of the periods from `first` to `last`, both included."""
    length_ms = PERIOD_DAYS * DAY_MS
    return Window(first * length_ms, START_LIMIT_MS if last == PERIOD_MAX else (last + 1) * length_ms)


def period_prefix(direction: Direction, dataset: Dataset) -> bytes:
    """Return the key prefix of all rows of the period index of a dataset."""
    return layout.PERIOD_INDEX + layout.index_prefix(direction, dataset)[len(layout.INDEX) :]


def period_tail(period: int, checksum: str) -> bytes:
    """Return the end of the key of a row of the period index."""
    return inverted_period(period) + SEPARATOR + checksum.encode()


def period_range(direction: Direction, dataset: Dataset, window: Window) -> Range:
    """Return the range of the rows of all periods that overlap the window, newest first."""
    prefix = period_prefix(direction, dataset)
    if window.empty:
        return prefix, prefix
    newest, oldest = (period_of(day_of(start)) for start in (window.stop_ms - 1, window.start_ms))
    # "}" is the byte after the separator: the oldest period is included with all its checksums.
    return prefix + inverted_period(newest), prefix + inverted_period(oldest) + b"}"


def index_period(key: bytes) -> int:
    """Return the period of the key of a row of the period index. Raises CorruptRow."""
    # Counted from the end, as `layout.index_day` does.
    stop = -CHECKSUM_DIGITS - 1
    digits = key[stop - _DIGITS : stop]
    if len(digits) == _DIGITS and not digits.strip(b"0123456789abcdef"):
        number = int(digits, 16)
        if number <= PERIOD_MAX:
            return PERIOD_MAX - number
    raise CorruptRow(f"{digits!r} is not {_DIGITS} hex digits of at most {PERIOD_MAX:x}")
