"""Keys of ways and calendars parse in one way only; a window has the periods and days that it touches."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fll_hbase.keys import calendars
from fll_hbase.keys.codec import DAY_MAX, day_of
from fll_hbase.keys.row_kinds import is_known
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import DAY_MS, START_LIMIT_MS, Direction, Window
from fll_hbase.runtime.errors import CorruptRow
from tests.support.strategies import directions, end_points, starts, windows

CHECKSUMS = ("0" * 32, "79655ecae1889b9a7c9d61af2fd3489b", "f" * 32)
PERIOD_MS = calendars.PERIOD_DAYS * DAY_MS
LAST_START_MS = START_LIMIT_MS - 1
TABLE = Dataset("ns", "table")

checksums = st.sampled_from(CHECKSUMS) | st.from_regex(r"[0-9a-f]{32}", fullmatch=True)
days = st.integers(0, DAY_MAX)


def way_row(direction: Direction, dataset: Dataset, start_ms: int, checksum: str) -> bytes:
    period = calendars.period_of(day_of(start_ms))
    return calendars.ways_prefix(direction, dataset) + calendars.way_tail(period, checksum)


@given(directions, end_points, windows, starts, checksums)
@example(Direction.BACKWARD, TABLE, Window(PERIOD_MS - 1, PERIOD_MS + 1), 0, CHECKSUMS[0])
@example(Direction.BACKWARD, TABLE, Window(PERIOD_MS, 2 * PERIOD_MS), 2 * PERIOD_MS, CHECKSUMS[0])
@example(Direction.BACKWARD, TABLE, Window(0, START_LIMIT_MS), LAST_START_MS, CHECKSUMS[2])
@example(Direction.FORWARD, TABLE, Window(LAST_START_MS, START_LIMIT_MS), DAY_MAX * DAY_MS, CHECKSUMS[2])
@example(Direction.FORWARD, TABLE, Window(7, 7), 7, CHECKSUMS[2])
def test_a_window_holds_exactly_the_ways_of_the_periods_it_touches(
    direction: Direction, dataset: Dataset, window: Window, start_ms: int, checksum: str
) -> None:
    first, period, last = (
        calendars.period_of(day_of(time_ms)) for time_ms in (window.start_ms, start_ms, window.stop_ms - 1)
    )
    start, stop = calendars.ways_range(direction, dataset, window)
    touched = not window.empty and first <= period <= last
    assert (start <= way_row(direction, dataset, start_ms, checksum) < stop) == touched


@given(directions, end_points, directions, end_points, starts, checksums, windows)
def test_a_window_holds_no_ways_of_others_and_no_horizon(
    direction: Direction,
    dataset: Dataset,
    other_direction: Direction,
    other: Dataset,
    start_ms: int,
    checksum: str,
    window: Window,
) -> None:
    start, stop = calendars.ways_range(direction, dataset, window)
    assert not start <= calendars.horizon_row(other) < stop
    if (direction, dataset) != (other_direction, other):
        assert not start <= way_row(other_direction, other, start_ms, checksum) < stop


@given(starts)
@example(LAST_START_MS)
@example(DAY_MS)
def test_the_window_of_a_day_has_its_starts(start_ms: int) -> None:
    window = calendars.day_window(day_of(start_ms))
    assert start_ms in window
    assert day_of(window.start_ms) == day_of(window.stop_ms - 1) == day_of(start_ms)


@given(days, days)
@example(DAY_MAX - 32, DAY_MAX)
def test_periods_sort_newest_first(left: int, other: int) -> None:
    first, second = (calendars.inverted_period(calendars.period_of(day)) for day in (left, other))
    assert (first < second) == (left // 32 > other // 32)


@given(directions, end_points, starts, checksums)
def test_a_way_reads_back(direction: Direction, dataset: Dataset, start_ms: int, checksum: str) -> None:
    period = calendars.period_of(day_of(start_ms))
    key = way_row(direction, dataset, start_ms, checksum)
    assert calendars.parse_way(key) == (period, checksum)
    assert calendars.split_way(key) == (calendars.inverted_period(period), checksum.encode())


@given(checksums, days, st.sampled_from(calendars.DAY_COLUMNS))
def test_a_day_of_a_calendar_reads_back(checksum: str, day: int, kind: bytes) -> None:
    period = calendars.period_of(day)
    key = calendars.calendar_row(checksum, period)
    assert calendars.parse_calendar(key) == (checksum, period)
    column = calendars.day_column(kind, day)
    assert calendars.parse_day_column(column, period) == (kind, day)
    assert is_known(key, column)


@given(st.binary(max_size=80) | st.from_regex(rb"u\|[0-9a-f]{31,33}\|[0-9a-f]{6,8}", fullmatch=True))
def test_any_other_calendar_is_corrupt_and_nothing_else(key: bytes) -> None:
    try:
        checksum, period = calendars.parse_calendar(key)
    except CorruptRow:
        return
    assert calendars.calendar_row(checksum, period)[1:] == key[1:]


@given(st.binary(max_size=60))
def test_any_other_way_is_corrupt_and_nothing_else(key: bytes) -> None:
    try:
        period, checksum = calendars.parse_way(key)
    except CorruptRow:
        return
    assert key.endswith(calendars.way_tail(period, checksum))


@pytest.mark.parametrize(
    "digits", [b"", b"7fffdf", b"7fffdf66", b"7FFFDF6", b"+7fffdf", b"8000000", b"fffffff"]
)
def test_a_malformed_period_is_corrupt(digits: bytes) -> None:
    with pytest.raises(CorruptRow, match="7 hex digits"):
        calendars.parse_inverted_period(digits)


@pytest.mark.parametrize("column", [b"", b"d:z", b"d:z0", b"d:z20", b"d:z0g", b"d:z+1", b"d:x00", b"d:z000"])
def test_a_malformed_column_of_a_day_is_corrupt(column: bytes) -> None:
    with pytest.raises(CorruptRow, match="column of a day"):
        calendars.parse_day_column(column, 0)
