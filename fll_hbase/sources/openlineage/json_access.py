"""Tolerant access to JSON objects: null means missing, unknown members are ignored, wrong types left out.

A value of a wrong type adds a warning and counts as missing, unless it is required.
"""

from __future__ import annotations

from typing import Any

from fll_hbase.sources.validation import Validator, child_path

DELETED = "_deleted"


def members(validator: Validator, value: object, path: str, *, optional: bool = False) -> dict[str, Any]:
    """Return an object with any members, {} for another value.

    That is an error; if the object is `optional`, a warning, and nothing for null.
    """
    if isinstance(value, dict):
        return value
    if not optional:
        validator.members(value, path, ())
    elif value is not None:
        validator.warn_type(value, path, "an object")
    return {}


def facet(
    validator: Validator,
    facets: dict[str, Any],
    name: str,
    path: str,
    *,
    member: str = "",
    member_type: type[dict[str, Any]] | type[list[Any]] = dict,
) -> dict[str, Any] | None:
    """Return a facet; None if it is missing or invalid (with a warning), {} if it is deleted.

    A facet whose `member` has another type than `member_type` is invalid: an empty one would replace that of
    an earlier event.
    """
    data = facets.get(name)
    if data is None:
        return None
    item_path = child_path(path, name)
    if not isinstance(data, dict):
        validator.warn_type(data, item_path, "an object")
        return None
    # A deleted facet is newer information (spec: `_deleted`); a missing one changes nothing.
    if data.get(DELETED) is True:
        return {}
    value = data.get(member) if member else None
    if value is not None and not isinstance(value, member_type):
        expected = "an object" if member_type is dict else "an array"
        validator.warn_type(value, child_path(item_path, member), expected)
        return None
    return data


def text(
    validator: Validator, holder: dict[str, Any], name: str, path: str, *, required: bool = False
) -> str:
    """Return a string; "" if it is missing, null or invalid and not `required`, else `?` with an error."""
    if required:
        return validator.required(holder, name, path)
    value = holder.get(name)
    if value is None:
        return ""
    # The fast path of nearly all texts, see `Validator.name`.
    if type(value) is str and value.isascii():
        return value
    errors_before = validator.errors.count
    value = validator.name(value, child_path(path, name))
    return "" if validator.leave_out(child_path(path, name), errors_before=errors_before) else value


def list_items(validator: Validator, holder: dict[str, Any], name: str, path: str) -> list[Any]:
    """Return an array; [] if it is missing or null, also, with a warning, for any other value."""
    value = holder.get(name)
    if value is None:
        return []
    if isinstance(value, list):
        return value
    validator.warn_type(value, child_path(path, name), "an array")
    return []
