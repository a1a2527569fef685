"""Ages of data: units, and months of the calendar."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model.tags import parse_max_age
from fll_hbase.model.window import DAY_MS

TIMES = st.datetimes(datetime(1971, 1, 1), datetime(9000, 1, 1))


def milliseconds(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("age", "now", "earlier"),
    [
        ("90d", "2026-11-28T12:00:00.123", "2026-08-30T12:00:00.123"),
        ("1mo", "2026-03-31T12:00:00.123", "2026-02-28T12:00:00.123"),
        ("1mo", "2024-03-31", "2024-02-29"),
        ("6mo", "2026-11-28", "2026-05-28"),
        ("11mo", "2026-11-28", "2025-12-28"),
        ("12mo", "2026-11-28", "2025-11-28"),
        ("1y", "2024-02-29", "2023-02-28"),
        ("56y", "2026-11-28", "1970-11-28"),
        ("57y", "2026-11-28", "1970-01-01"),
        ("999999999y", "2026-11-28", "1970-01-01"),
    ],
)
def test_an_age_ago(age: str, now: str, earlier: str) -> None:
    assert parse_max_age(age).before_ms(milliseconds(now)) == milliseconds(earlier)


@given(time=TIMES, months=st.integers(1, 12))
def test_months_ago_is_that_many_months_of_the_calendar(time: datetime, months: int) -> None:
    now_ms = int(time.replace(tzinfo=UTC).timestamp()) * 1000
    before_ms = parse_max_age(f"{months}mo").before_ms(now_ms)
    assert 28 * DAY_MS * months <= now_ms - before_ms <= 31 * DAY_MS * months
    earlier = datetime.fromtimestamp(before_ms // 1000, UTC)
    assert (time.year * 12 + time.month) - (earlier.year * 12 + earlier.month) == months
