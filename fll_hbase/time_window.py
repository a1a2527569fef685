"""Time windows of queries: conversion of epoch seconds and `now` arithmetic to milliseconds."""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil

from fll_hbase.errors import FieldError, InvalidQuery
from fll_hbase.model.window import START_LIMIT_MS, Window

DEFAULT_START, DEFAULT_END = "now-30d", "now"

# Bounded lengths: arithmetic on numbers of many digits is slow, and int() refuses more than 4,300.
_SECONDS = re.compile(r"[0-9]{1,64}(\.[0-9]{1,64})?", re.ASCII)
_NOW = re.compile(r"now((?:[+-][0-9]{1,18}[smhd])*)", re.ASCII)
_STEP = re.compile(r"([+-])([0-9]+)([smhd])", re.ASCII)
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def parse_window(start: str | None, end: str | None, *, now_ms: int) -> Window:
    """Return the window from `start` (included) to `end` (excluded); the default is the last 30 days.

    Equal times are an empty window. Raises InvalidQuery with every time that cannot be parsed, or if `start`
    is after `end`.
    """
    errors: list[FieldError] = []
    times = []
    for name, text in (("start", start or DEFAULT_START), ("end", end or DEFAULT_END)):
        try:
            times.append(parse_seconds(text, now_ms=now_ms))
        except ValueError as error:
            errors.append(FieldError(name, str(error)))
    # Exact times, before rounding: an `end` that is less than a millisecond too early is an error too.
    if not errors and times[0] > times[1]:
        errors.append(FieldError("start", "is after end"))
    if errors:
        raise InvalidQuery(errors)
    return Window(_milliseconds(times[0]), _milliseconds(times[1]))


def parse_seconds(text: str, *, now_ms: int) -> Fraction:
    """Return a time as exact seconds since 1970. Raises ValueError for other texts and times before 1970."""
    if _SECONDS.fullmatch(text):
        # A fraction, because a float has too few digits for the milliseconds of late starts.
        return Fraction(text)
    match = _NOW.fullmatch(text)
    if match is None:
        detail = "is not a time: give epoch seconds, `now`, or a sum such as `now-1d+30m` (units s m h d)"
        # Cut: the text may be as long as a request line.
        raise ValueError(f"{text[:100]!r} {detail}")
    seconds = Fraction(now_ms, 1000)
    for sign, count, unit in _STEP.findall(match[1]):
        seconds += int(sign + count) * _UNIT_SECONDS[unit]
    if seconds < 0:
        raise ValueError(f"{text!r} is before 1970")
    return seconds


def _milliseconds(seconds: Fraction) -> int:
    """Return seconds as milliseconds, rounded up, at most START_LIMIT_MS."""
    # Up, because starts are whole milliseconds: one before `start` is excluded, one before `end` included.
    return min(ceil(seconds * 1000), START_LIMIT_MS)
