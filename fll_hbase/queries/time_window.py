"""Time windows of queries: conversion of epoch seconds, ISO 8601 and `now` arithmetic to milliseconds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from math import ceil
from zoneinfo import ZoneInfo

from fll_hbase.model.window import DAY_MS, START_LIMIT_MS, Window
from fll_hbase.runtime.errors import FieldError, InvalidQuery

DEFAULT_START, DEFAULT_END = "now-30d", "now"

# Lengths are bounded: arithmetic on many digits is slow, and int() refuses more than 4,300 digits.
_SECONDS = re.compile(r"[0-9]{1,64}(\.[0-9]{1,64})?", re.ASCII)
_NOW = re.compile(r"now((?:[+-][0-9]{1,18}[smhdw])*)", re.ASCII)
_STEP = re.compile(r"([+-])([0-9]+)([smhdw])", re.ASCII)
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
# The extended format of ISO 8601. The fraction is a separate group, since datetime has only microseconds.
_ISO = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:T(?P<time>[0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?P<fraction>(?<=:[0-9]{2}:[0-9]{2})\.[0-9]{1,64})?"
    r"(?P<zone>Z|[+-][0-9]{2}:[0-9]{2})?)?",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def zone_fault(name: str) -> str:
    """Return what is wrong with the name of a time zone, or "" if the IANA database has it."""
    try:
        ZoneInfo(name)
    # ZoneInfo reads a file of that name: a folder raises OSError, `../x` and NUL raise ValueError.
    except (KeyError, OSError, ValueError):
        return f"{name[:100]!r} is not a time zone: expected a name such as Europe/Berlin or UTC"
    return ""


# Cached: a request parses its window twice, to check it and to answer.
@lru_cache(maxsize=64)
def parse_window(start: str | None, end: str | None, *, now_ms: int) -> Window:
    """Return the window from `start` (included, None: `now-30d`) to `end` (excluded, None: `now`).

    Equal times give an empty window. Raises InvalidQuery with every time that cannot be parsed, or if `start`
    is after `end`.
    """
    times = parse_times({"start": start, "end": end}, now_ms=now_ms)
    return to_window(times.get("start"), times.get("end"), now_ms=now_ms)


def parse_times(texts: Mapping[str, str | None], *, now_ms: int) -> dict[str, Fraction]:
    """Return times by name, without None. Raises InvalidQuery with every invalid time."""
    errors: list[FieldError] = []
    times: dict[str, Fraction] = {}
    for name, text in texts.items():
        if text is not None:
            try:
                times[name] = parse_seconds(text, now_ms=now_ms)
            except ValueError as error:
                errors.append(FieldError(name, str(error)))
    if errors:
        raise InvalidQuery(errors)
    return times


def to_window(start: Fraction | None, end: Fraction | None, *, now_ms: int) -> Window:
    """Return the window between two times in seconds since 1970 (None: `now-30d` and `now`).

    Fractions of a millisecond are rounded up. Raises InvalidQuery if `start` is after `end`.
    """
    first = parse_seconds(DEFAULT_START, now_ms=now_ms) if start is None else start
    last = parse_seconds(DEFAULT_END, now_ms=now_ms) if end is None else end
    # Compared before rounding: an `end` that is less than a millisecond too early is an error, too.
    if first > last:
        raise InvalidQuery([_order_error(start, end)])
    return Window(_milliseconds(first), _milliseconds(last))


def _order_error(start: Fraction | None, end: Fraction | None) -> FieldError:
    """Return the error for a start after the end, at a parameter that was given."""
    if start is None:
        return FieldError("end", f"is before the default start, {DEFAULT_START}; give `start`, too")
    if end is None:
        return FieldError("start", f"is after the default end, {DEFAULT_END}; give `end`, too")
    return FieldError("start", "is after end")


def parse_seconds(text: str, *, now_ms: int) -> Fraction:
    """Return a time as exact seconds since 1970: of epoch seconds, ISO 8601, or a sum such as `now-1d+30m`.

    Raises ValueError for other texts, times of day without a zone, and times before 1970.
    """
    if _SECONDS.fullmatch(text):
        # A float has too few digits for the milliseconds of late starts, so a Fraction is used.
        digits, _, decimals = text.partition(".")
        return Fraction(int(digits + decimals), 10 ** len(decimals))
    if match := _ISO.fullmatch(text):
        seconds = _iso_seconds(match)
    elif match := _NOW.fullmatch(text):
        seconds = Fraction(now_ms, 1000)
        for sign, count, unit in _STEP.findall(match[1]):
            seconds += int(sign + count) * _UNIT_SECONDS[unit]
    else:
        raise ValueError(_not_a_time(text))
    if seconds < 0:
        raise ValueError(f"{text!r} is before 1970")
    return seconds


def _iso_seconds(match: re.Match[str]) -> Fraction:
    """Return the seconds since 1970 of a date (midnight in UTC) or a time with a zone. Raises ValueError."""
    if match["time"] and not match["zone"]:
        raise ValueError(f"{match[0]!r} is a time of day, which needs a zone: `Z`, or an offset as in +01:00")
    try:
        time = datetime.fromisoformat(f"{match['date']}T{match['time'] or '00:00'}{match['zone'] or 'Z'}")
    except ValueError as error:
        raise ValueError(f"{match[0]!r} is not a date or time of the calendar: {error}") from error
    elapsed = time - _EPOCH
    return elapsed.days * 86_400 + elapsed.seconds + Fraction(f"0{match['fraction'] or ''}")


def _not_a_time(text: str) -> str:
    """Return the error text for a text that is not a time, quoting at most 100 characters of it."""
    # The quoted text is cut, because it may be as long as a request line.
    detail = (
        f"{text[:100]!r} is not a time: give epoch seconds, ISO 8601 such as `2026-11-01` or"
        " `2026-11-01T06:00:00Z`, `now`, or a sum such as `now-1d+30m` (units s m h d w)"
    )
    # In a query string, a plus sign means a blank (WHATWG URL, 5.1).
    return f"{detail}; write `+` as `%2B` in a URL" if " " in text else detail


def epoch_seconds(milliseconds: int) -> str:
    """Return milliseconds since 1970 as text in seconds, with three decimals."""
    return f"{milliseconds // 1000}.{milliseconds % 1000:03d}"


def short_seconds(milliseconds: int) -> int | float:
    """Return milliseconds since 1970 in seconds, as an int if they are whole seconds."""
    return milliseconds // 1000 if milliseconds % 1000 == 0 else milliseconds / 1000


def iso_text(milliseconds: int) -> str:
    """Return a time in milliseconds since 1970 as ISO 8601 in UTC, or a number beyond the year 9999."""
    try:
        moment = datetime.fromtimestamp(milliseconds // 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(milliseconds)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}Z"


def day_text(day: int) -> str:
    """Return a day, numbered since 1970, as `2026-11-01`, or its milliseconds beyond the year 9999."""
    return iso_text(day * DAY_MS).partition("T")[0]


def _milliseconds(seconds: Fraction) -> int:
    """Return seconds as milliseconds, rounded up, at most START_LIMIT_MS."""
    # Rounding down would include a run just before `start`, and exclude a run just before `end`.
    return min(ceil(seconds * 1000), START_LIMIT_MS)


@dataclass(frozen=True, slots=True)
class WindowText:
    """A time window as the user wrote it, such as `now-7d` and `now`; start included, end excluded.

    `zone` is the time zone in which times are printed.
    """

    start: str
    end: str
    zone: str = "UTC"

    def __str__(self) -> str:
        return f"{self.start} to {self.end}"

    def answered(self, window: Window | None) -> WindowText:
        """Return the window of an answer in seconds since 1970, `now` in whole seconds; itself for None."""
        if window is None:
            return self
        ends = ((self.start, window.start_ms), (self.end, window.stop_ms))
        start, end = (
            epoch_seconds(time_ms // 1_000 * 1_000 if text.startswith("now") else time_ms)
            for text, time_ms in ends
        )
        return WindowText(start, end, self.zone)
