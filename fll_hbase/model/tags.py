"""Tags of fields, and policies on the age of data that apply to fields by tag or by name."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fll_hbase.model.datasets import DatasetField

# The units of `now` arithmetic in windows; nine digits of weeks are beyond every start of a run.
_MAX_AGE = re.compile(r"([0-9]{1,9})([smhdw])", re.ASCII)

_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


@dataclass(frozen=True, slots=True, order=True)
class TagNote:
    """The person or program that put a tag, and the reason; both may be empty."""

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
    """The greatest age of data: the text of a policy, such as `90d`, and its milliseconds."""

    text: str
    milliseconds: int


@dataclass(frozen=True, slots=True)
class AgePolicy:
    """How long the data of a field, or anything derived from it, may live.

    It applies to all fields with `tag`, or to `field`; the other one is empty or None. `at_ms` is when it was
    put, in milliseconds since 1970.
    """

    name: str
    max_age: MaxAge
    tag: str
    field: DatasetField | None
    description: str
    at_ms: int

    @property
    def namespace(self) -> str:
        """The namespace in which the name is unique: that of the field; "" for policies on tags."""
        return self.field.dataset.namespace if self.field else ""


def parse_max_age(text: str) -> MaxAge:
    """Return an age of at least one second. Raises ValueError for any other text."""
    match = _MAX_AGE.fullmatch(text)
    if match is None or not int(match[1]):
        raise ValueError(
            f"{text[:100]!r} is not an age: give a whole number and a unit (s m h d w), as in `90d`"
        )
    return MaxAge(text, int(match[1]) * _UNIT_MS[match[2]])
