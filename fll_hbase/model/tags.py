"""Tags of fields, and policies on the age of data that apply to fields by tag or by name."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, datetime

from fll_hbase.model.datasets import DatasetField

# The units of `now` arithmetic, plus months and years; nine digits of weeks exceed every start of a run.
_MAX_AGE = re.compile(r"([0-9]{1,9})([smhdwy]|mo)", re.ASCII)

_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_UNIT_MONTHS = {"mo": 1, "y": 12}


@dataclass(frozen=True, slots=True, order=True)
class TagNote:
    """The person or program that set a tag, and the reason. Both may be empty."""

    by: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True, order=True)
class FieldTag:
    """A tag of a field, put at `at_ms`, in milliseconds since 1970."""

    field: DatasetField
    tag: str
    at_ms: int
    note: TagNote = TagNote()


@dataclass(frozen=True, slots=True)
class MaxAge:
    """The maximum age of data: the text of a policy, such as `90d`, and its milliseconds or months."""

    text: str
    milliseconds: int
    months: int = 0

    def before_ms(self, now_ms: int) -> int:
        """Return the time this long before `now_ms`, both in milliseconds since 1970; 0 at the earliest.

        Months are calendar months in UTC: one month before 31 March is the last day of February.
        """
        if not self.months:
            return max(now_ms - self.milliseconds, 0)
        now = datetime.fromtimestamp(now_ms // 1000, UTC)
        year, month = divmod(now.year * 12 + now.month - 1 - self.months, 12)
        if year < 1970:
            return 0
        day = min(now.day, monthrange(year, month + 1)[1])
        return int(now.replace(year=year, month=month + 1, day=day).timestamp()) * 1000 + now_ms % 1000


@dataclass(frozen=True, slots=True)
class AgePolicy:
    """How long the data of a field, or anything derived from it, may live.

    A policy applies to all fields with `tag`, or to `field`; the other one is empty or None. `at_ms` is when
    the policy was put, in milliseconds since 1970.
    """

    name: str
    max_age: MaxAge
    tag: str
    field: DatasetField | None
    description: str
    at_ms: int

    @property
    def namespace(self) -> str:
        """The namespace in which the name is unique: the field's, or "" for policies on tags."""
        return self.field.dataset.namespace if self.field else ""


def parse_max_age(text: str) -> MaxAge:
    """Return the age that a text such as `90d` gives. Raises ValueError for any other text, and for 0."""
    match = _MAX_AGE.fullmatch(text)
    if match is None or not int(match[1]):
        raise ValueError(
            f"{text[:100]!r} is not an age: give a whole number and a unit (s m h d w mo y), as in `90d`"
        )
    count, unit = int(match[1]), match[2]
    return MaxAge(text, count * _UNIT_MS.get(unit, 0), count * _UNIT_MONTHS.get(unit, 0))
