"""Parser of the greatest age of data in a policy: a whole number and a unit, `90d`."""

from __future__ import annotations

import re

from fll_hbase.model.tags import MaxAge

# The units of `now` arithmetic in windows; nine digits of weeks are beyond every start of a run.
_MAX_AGE = re.compile(r"([0-9]{1,9})([smhdw])", re.ASCII)
_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


def parse_max_age(text: str) -> MaxAge:
    """Return an age of at least one second. Raises ValueError for any other text."""
    match = _MAX_AGE.fullmatch(text)
    if match is None or not int(match[1]):
        raise ValueError(
            f"{text[:100]!r} is not an age: give a whole number and a unit (s m h d w), as in `90d`"
        )
    return MaxAge(text, int(match[1]) * _UNIT_MS[match[2]])
