"""Queries for events: their earliest time, and a store, which receives none."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from fll_hbase.queries.server_events import Events
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table

NOW_MS = 1_800_000_000_000


@pytest.mark.parametrize(
    ("since", "expected_ms"),
    [
        ("now-1h", NOW_MS - 3_600_000),
        ("1799999999.9995", NOW_MS),
        (5, 5_000),
        (datetime(2001, 9, 9, 1, 46, 40, tzinfo=UTC), 10**12),
    ],
)
def test_the_earliest_time_is_rounded_up(since: str | int | datetime, expected_ms: int) -> None:
    assert Events(since=since).since_ms(now_ms=NOW_MS) == expected_ms


def test_a_store_receives_no_documents() -> None:
    with pytest.raises(ConfigurationError, match="give its URL"):
        Events().answer(LineageStore(open_table("sqlite:///:memory:")), now_ms=NOW_MS)
