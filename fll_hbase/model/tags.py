"""Tags of fields, and policies on the age of data that apply to fields by tag or by name."""

from __future__ import annotations

from dataclasses import dataclass

from fll_hbase.model.datasets import DatasetField


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
