"""Times are read as people type them, in their zone, and printed with it."""

from __future__ import annotations

import json
from datetime import date
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.cli import times
from fll_hbase.cli.render.time_text import format_with_zone
from fll_hbase.queries import time_window
from tests.support.commands import END_MS, complaint, fll, printed

BERLIN = ZoneInfo("Europe/Berlin")
RUNS = ("runs", "bank", "DailyTransactions", "--limit", "9000", "--json")


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        ("today", "UTC", "2025-10-09T00:00:00Z"),
        ("yesterday", "Europe/Berlin", "2025-10-07T22:00:00Z"),
        ("today", "Pacific/Auckland", "2025-10-08T11:00:00Z"),
        ("2025-10", "Europe/Berlin", "2025-09-30T22:00:00Z"),
        ("2025-10-26", "Europe/Berlin", "2025-10-25T22:00:00Z"),
        ("2025-10-27", "Europe/Berlin", "2025-10-26T23:00:00Z"),
        ("2025-10-26 12:00", "Europe/Berlin", "2025-10-26T11:00:00Z"),
        ("2025-10-26T12:00:00.5", "UTC", "2025-10-26T12:00:00.500000Z"),
        ("2025-10-26 12:00:00 UTC", "Europe/Berlin", "2025-10-26T12:00:00Z"),
        ("2025-10-26 02:30:00+01:00", "Europe/Berlin", "2025-10-26T02:30:00+01:00"),
        # Clocks go forward at midnight: the day begins at one.
        ("2025-09-07", "America/Santiago", "2025-09-07T04:00:00Z"),
        ("now-7d", "Europe/Berlin", "now-7d"),
        ("1760000000.5", "Europe/Berlin", "1760000000.5"),
        ("2025-10-26T12:00:00Z", "Europe/Berlin", "2025-10-26T12:00:00Z"),
        ("soon", "UTC", "soon"),
    ],
)
def test_times(text: str, zone: str, expected: str) -> None:
    assert times.resolve_time(text, ZoneInfo(zone), now_ms=END_MS) == expected


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("2025-10-26 02:30", "is there twice in Europe/Berlin: add the offset, +02:00 or +01:00"),
        ("2025-03-30 02:30", "does not exist in Europe/Berlin"),
        ("2025-13", "month must be in 1..12"),
        ("2025-02-29", "day is out of range for month"),
        ("2025-02-28 25:00", "hour must be in 0..23"),
        ("0000-01", "year 0 is out of range"),
        ("9999-12", "out of range"),
    ],
)
def test_times_that_are_none(text: str, detail: str) -> None:
    with pytest.raises((ValueError, OverflowError), match=detail.replace("+", r"\+")):
        times.resolve_time(text, BERLIN, now_ms=END_MS)


@given(
    milliseconds=st.integers(0, 4_000_000_000_000),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kolkata", "America/Santiago"]),
)
def test_a_printed_time_is_the_same_when_it_is_typed(milliseconds: int, zone: str) -> None:
    text = times.resolve_time(format_with_zone(milliseconds, zone), ZoneInfo("Asia/Tokyo"), now_ms=END_MS)
    assert time_window.parse_seconds(text, now_ms=END_MS) * 1000 == milliseconds


@given(day=st.dates(date(1971, 1, 1), date(9999, 12, 29)), zone=st.sampled_from(["UTC", "Europe/Berlin"]))
def test_days_follow_on_each_other(day: date, zone: str) -> None:
    bounds = times.resolve_period(str(day), ZoneInfo(zone), now_ms=END_MS)
    assert bounds is not None
    start, stop = (time_window.parse_seconds(text, now_ms=0) for text in bounds)
    assert 23 * 3600 <= stop - start <= 25 * 3600
    assert times.resolve_time(str(day), ZoneInfo(zone), now_ms=0) == bounds[0]


def test_a_window_is_a_month_or_a_day(sampled: str) -> None:
    month = json.loads(printed(*RUNS, "--window", "2025-09", "--store", sampled))
    bounds = ("--start", "2025-09", "--end", "2025-10")
    assert month == json.loads(printed(*RUNS, *bounds, "--store", sampled))
    starts = [run["startTime"] for run in month["runs"]]
    assert starts
    assert all(1_756_684_800_000 <= start < 1_759_276_800_000 for start in starts)
    day = ("--window", "yesterday", "--timezone", "Europe/Berlin", "--store", sampled)
    starts = [run["startTime"] for run in json.loads(printed(*RUNS, *day))["runs"]]
    assert 1_759_874_400_000 <= min(starts) <= max(starts) < 1_759_960_800_000


def test_times_are_printed_in_their_zone(sampled: str) -> None:
    lines = printed(*RUNS[:-1], "--start", "now-1h", "--timezone", "Asia/Kolkata", "--store", sampled)
    assert lines.startswith("started (Asia/Kolkata)")
    assert "2025-10-09 13:55:13.036" in lines
    title = printed("lineage", "bank", "RiskScores", "--window", "2025-09", "--store", sampled)
    assert "comes from, 2025-09-01 00:00:00 to 2025-10-01 00:00:00 UTC\n" in title
    day = ("--start", "today", "--timezone", "Europe/Berlin")
    title = printed("lineage", "bank", "RiskScores", *day, "--store", sampled)
    assert "comes from, 2025-10-09 00:00:00+02:00 to 2025-10-09 10:53:20+02:00\n" in title


def test_the_zone_of_the_environment(sampled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLL_TIMEZONE", "Asia/Kolkata")
    assert printed(*RUNS[:-1], "--store", sampled).startswith("started (Asia/Kolkata)")
    assert printed(*RUNS[:-1], "--timezone", "UTC", "--store", sampled).startswith("started (UTC)")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--window", "soon"), "window: 'soon' is no period: give 2026-11-01, 2026-11, today or"),
        (("--window", "2025-13"), "window: '2025-13' is not in the calendar"),
        (("--window", "2025-09", "--end", "now"), "Give --window or --start and --end, not both."),
        (("--timezone", "Berlin"), "timezone: 'Berlin' is not a time zone; one looks like Europe/Berlin"),
        (("--timezone", "../../etc/passwd"), "is not a time zone"),
        (("--timezone", ""), "is not a time zone"),
        (("--timezone", "Europe"), "is not a time zone"),
        (("--start", "2025-13", "--end", "2025-00"), "end: '2025-00' is no time"),
        (("--start", "9999-12"), "start: '9999-12' is no time"),
    ],
)
def test_windows_that_are_none(sampled: str, options: tuple[str, ...], message: str) -> None:
    assert message in complaint(*RUNS, *options, "--store", sampled, code=2)


@pytest.mark.slow
def test_a_server_of_the_environment_comes_before_its_store(
    sampled: str, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLL_SERVER", server)
    monkeypatch.setenv("FLL_STORE", "sqlite:///gone.db")
    assert "bank" in printed("find", "uid")
    monkeypatch.setenv("FLL_SERVER", "http://127.0.0.1:1")
    assert "bank" in printed("find", "uid", "--store", sampled)
    assert "bank" in printed("find", "uid", "--server", server)


def test_help_is_short_too() -> None:
    for command in ((), ("runs",), ("spark", "check")):
        assert fll(*command, "-h").stdout == fll(*command, "--help").stdout
