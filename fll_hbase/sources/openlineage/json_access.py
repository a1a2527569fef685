"""What is in a foreign object: members that are looked for, whatever else it holds."""

from __future__ import annotations

from typing import Any

from fll_hbase.sources.validation import Validator, inside

DELETED = "_deleted"


def members(checks: Validator, value: object, at: str, *, optional: bool = False) -> dict[str, Any]:
    """An object with any members; null is as good as absent where it is optional."""
    if isinstance(value, dict):
        return value
    if value is not None or not optional:
        checks.members(value, at, ())
    return {}


def facet(checks: Validator, facets: dict[str, Any], name: str, at: str) -> dict[str, Any] | None:
    """The facet of that name; None where there is none, an empty object where it is deleted."""
    said = facets.get(name)
    if said is None:
        return None
    found = members(checks, said, inside(at, name))
    return {} if found.get(DELETED) is True else found


def text(checks: Validator, holder: dict[str, Any], name: str, at: str, *, required: bool = False) -> str:
    """A text; null is as good as absent where it is not required."""
    if required:
        return checks.required(holder, name, at)
    return "" if holder.get(name) is None else checks.optional(holder, name, at)


def listed(checks: Validator, holder: dict[str, Any], name: str, at: str) -> list[Any]:
    """An array; null is as good as absent."""
    return [] if holder.get(name) is None else checks.items(holder, name, at)
