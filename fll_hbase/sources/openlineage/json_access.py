"""Tolerant access to JSON objects: null means missing, unknown members are ignored."""

from __future__ import annotations

from typing import Any

from fll_hbase.sources.validation import Validator, child_path

DELETED = "_deleted"


def members(validator: Validator, value: object, path: str, *, optional: bool = False) -> dict[str, Any]:
    """Return an object with any members; an optional null is missing, anything else invalid adds an error."""
    if isinstance(value, dict):
        return value
    if value is not None or not optional:
        validator.members(value, path, ())
    return {}


def facet(validator: Validator, facets: dict[str, Any], name: str, path: str) -> dict[str, Any] | None:
    """Return a facet; None if it is missing, an empty object if it is deleted."""
    data = facets.get(name)
    if data is None:
        return None
    value = members(validator, data, child_path(path, name))
    # A deleted facet is newer information (spec: `_deleted`); a missing one changes nothing.
    return {} if value.get(DELETED) is True else value


def text(
    validator: Validator, holder: dict[str, Any], name: str, path: str, *, required: bool = False
) -> str:
    """Return a string; "" if it is missing or null and not `required`; `?` with an error if invalid."""
    if required:
        return validator.required(holder, name, path)
    return "" if holder.get(name) is None else validator.optional(holder, name, path)


def list_items(validator: Validator, holder: dict[str, Any], name: str, path: str) -> list[Any]:
    """Return an array; [] if it is missing or null, and with an error if it is no array."""
    return [] if holder.get(name) is None else validator.items(holder, name, path)
