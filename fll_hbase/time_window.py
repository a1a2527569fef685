"""Time windows of queries: epoch seconds and `now` arithmetic to milliseconds."""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil

from fll_hbase.errors import FieldError, InvalidQuery
from fll_hbase.model.window import START_LIMIT_MS, Window

DEFAULT_START, DEFAULT_END = "now-30d", "now"

_SECONDS = re.compile(r"[0-9]{1,64}(\.[0-9]{1,64})?", re.ASCII)
_NOW = re.compile(r"now((?:[+-][0-9]{1,18}[smhd])*)", re.ASCII)
_STEP = re.compile(r"([+-])([0-9]+)([smhd])", re.ASCII)
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def parse_window(start: str | None, end: str | None, *, now_ms: int) -> Window:
    """Parse a window from `start` (included) to `end` (excluded); the default is the last 30 days.

    Raises InvalidQuery with each time that cannot be parsed, or if the start is after the end.
    """
    errors: list[FieldError] = []
    times = []
    for name, text in (("start", start or DEFAULT_START), ("end", end or DEFAULT_END)):
        try:
            times.append(parse_seconds(text, now_ms=now_ms))
        except ValueError as error:
            errors.append(FieldError(name, str(error)))
    if not errors and times[0] > times[1]:
        errors.append(FieldError("start", "is after end"))
    if errors:
        raise InvalidQuery(errors)
    return Window(_milliseconds(times[0]), _milliseconds(times[1]))


def parse_seconds(text: str, *, now_ms: int) -> Fraction:
    """Parse a time to exact seconds since 1970. Raises ValueError for other texts and times before 1970."""
    if _SECONDS.fullmatch(text):
        return Fraction(text)
    match = _NOW.fullmatch(text)
    if match is None:
        detail = "is not a time: give epoch seconds, `now`, or a sum such as `now-1d+30m` (units s m h d)"
        raise ValueError(f"{text[:100]!r} {detail}")
    seconds = Fraction(now_ms, 1000)
    for sign, count, unit in _STEP.findall(match[1]):
        seconds += int(sign + count) * _UNIT_SECONDS[unit]
    if seconds < 0:
        raise ValueError(f"{text!r} is before 1970")
    return seconds


def _milliseconds(seconds: Fraction) -> int:
    """Round up, so that a run in the millisecond before a start is excluded; limited to the last start."""
    return min(ceil(seconds * 1000), START_LIMIT_MS)
