"""Which end points and fields do the urns in an aspect name; wrong ones are faults at their place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.sources.datahub import field_paths, urns
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Validator, each, inside

NOWHERE = Dataset("?", "?")
_T = TypeVar("_T")


def read_end_point(checks: Validator, value: object, at: str) -> Dataset:
    """The end point that a urn names."""
    found = _named(checks, value, at, urns.end_point)
    if found is None:
        return NOWHERE
    _check(checks, found, at)
    return found


def read_field(checks: Validator, value: object, at: str) -> DatasetField:
    """The field that a schemaField urn names."""
    found = _named(checks, value, at, urns.field)
    if found is None:
        return DatasetField(NOWHERE, "?")
    _check(checks, found.end_point, at)
    return DatasetField(
        found.end_point, checks.name(field_paths.field_name(found.path), at, bytes_max=NAME_BYTES_MAX)
    )


def listed(checks: Validator, said: dict[str, Any], name: str, at: str) -> Iterator[tuple[Any, str]]:
    """The items of a member, with their places."""
    return each(checks.items(said, name, at), inside(at, name))


def end_point_in(checks: Validator, holder: dict[str, Any], name: str, at: str) -> Dataset:
    """The end point that a member names, which must be there."""
    if name not in holder:
        checks.error(inside(at, name), "missing")
        return NOWHERE
    return read_end_point(checks, holder[name], inside(at, name))


def _named(checks: Validator, value: object, at: str, reading: Callable[[str], _T]) -> _T | None:
    """What a urn names; None, and a fault, for what is no such urn."""
    before = len(checks.errors)
    text = checks.name(value, at)
    if len(checks.errors) > before:
        return None
    try:
        return reading(text)
    except ValueError as error:
        checks.error(at, str(error))
        return None


def _check(checks: Validator, of: Dataset, at: str) -> None:
    checks.name(of.namespace, at, bytes_max=ID_BYTES_MAX)
    checks.name(of.name, at, bytes_max=NAME_BYTES_MAX)
