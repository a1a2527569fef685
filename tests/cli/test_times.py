"""Times are read as people type them, in their zone, and printed with it."""

from __future__ import annotations

import json
import re
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


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("-7d", "now-7d"),
        ("7d", "now-7d"),
        ("1h", "now-1h"),
        ("+2h", "now+2h"),
        ("now - 7d", "now-7d"),
        ("now-1y", "now-365d"),
        ("now-2mo", "now-60d"),
        ("7 days ago", "now-7d"),
        ("last 3 weeks", "now-3w"),
        ("last week", "now-7d"),
        ("90 min", "now-90m"),
        ("2026/11/01", "2026-11-01"),
        ("2026-1-5", "2026-01-05"),
        ("2026.11.01", "2026-11-01"),
        ("2026/11", "2026-11"),
        ("2026/11/01T06:00Z", "2026-11-01T06:00Z"),
        ("2026/11/01 06:00", "2026-11-01 06:00"),
        ("20261101", "2026-11-01"),
        ("2026", "2026-01"),
        ("24.12.2026", "2026-12-24"),
        ("12/24/2026", "2026-12-24"),
        ("01/02/2026", "2026-01-02 or 2026-02-01"),
    ],
)
def test_other_forms_are_answered_with_the_time_that_was_meant(typed: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"^did you mean {re.escape(meant)}\\?$"):
        times.resolve_time(typed, BERLIN, now_ms=END_MS)
    for text in meant.split(" or "):
        times.resolve_time(text, BERLIN, now_ms=END_MS)


@pytest.mark.parametrize(
    "text",
    [
        "now",
        "now-7d",
        "now-1d+30m",
        "0",
        "5",
        "1760000000",
        "1760000000.5",
        "20269999",
        "2026/13/01",
        "7x",
        "x",
    ],
)
def test_times_and_other_texts_are_not_corrected(text: str) -> None:
    assert times.suggest_times(text) == []


@given(text=st.text("0123456789-/.: +nowdhmyTZ", max_size=25))
def test_a_time_that_is_suggested_is_one(text: str) -> None:
    for meant in times.suggest_times(text):
        assert meant != text
        assert times.suggest_times(meant) == []


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
        (("--window", "soon"), "window: 'soon' is not a day or month: give 2026-11-01, 2026-11, today or"),
        (("--window", "7d"), "window: '7d' is not a day or month: did you mean --start now-7d?"),
        (("--window", "2025/09"), "'2025/09' is not a day or month: did you mean --window 2025-09?"),
        (("--start", "-7d"), "start: '-7d' is not a time: did you mean now-7d?"),
        (("--start", "2025/09/01", "--end", "1h"), "did you mean 2025-09-01?; end: '1h' is not a time"),
        (("--window", "2025-13"), "window: '2025-13' is not in the calendar"),
        (("--window", "2025-09", "--end", "now"), "Give --window or --start and --end, not both."),
        (("--timezone", "Berlin"), "timezone: 'Berlin' is not a time zone: expected a name such as Europe"),
        (("--timezone", "../../etc/passwd"), "is not a time zone"),
        (("--timezone", ""), "is not a time zone"),
        (("--timezone", "Europe"), "is not a time zone"),
        (("--start", "2025-13", "--end", "2025-00"), "end: '2025-00' is not a time"),
        (("--start", "9999-12"), "start: '9999-12' is not a time"),
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
