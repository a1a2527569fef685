"""Which window is meant: epoch seconds and `now` arithmetic to milliseconds."""

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
    """The window from `start` (in) to `end` (out); without them the last 30 days.

    Raises InvalidQuery naming each time that cannot be read, or a start after the end.
    """
    faults: list[FieldError] = []
    moments = []
    for name, text in (("start", start or DEFAULT_START), ("end", end or DEFAULT_END)):
        try:
            moments.append(parse_seconds(text, now_ms=now_ms))
        except ValueError as error:
            faults.append(FieldError(name, str(error)))
    if not faults and moments[0] > moments[1]:
        faults.append(FieldError("start", "is after end"))
    if faults:
        raise InvalidQuery(faults)
    return Window(_milliseconds(moments[0]), _milliseconds(moments[1]))


def parse_seconds(text: str, *, now_ms: int) -> Fraction:
    """Seconds since 1970, exactly. Raises ValueError for what is no time, or before 1970."""
    if _SECONDS.fullmatch(text):
        return Fraction(text)
    said = _NOW.fullmatch(text)
    if said is None:
        detail = "is no time: give epoch seconds, `now`, or a sum such as `now-1d+30m` (units s m h d)"
        raise ValueError(f"{text[:100]!r} {detail}")
    moment = Fraction(now_ms, 1000)
    for sign, count, unit in _STEP.findall(said[1]):
        moment += int(sign + count) * _UNIT_SECONDS[unit]
    if moment < 0:
        raise ValueError(f"{text!r} is before 1970")
    return moment


def _milliseconds(moment: Fraction) -> int:
    """Rounded up, so that a start after a run's millisecond leaves the run out; no run starts later."""
    return min(ceil(moment * 1000), START_LIMIT_MS)
