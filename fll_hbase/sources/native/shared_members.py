"""What do the parts say that several forms of documents share: end points and fields."""

from __future__ import annotations

from typing import Any

from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.operations import KINDS, Influence
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Validator, inside

_INFLUENCES = [influence.value for influence in Influence]


def read_end_point(
    checks: Validator,
    holder: dict[str, Any],
    name: str,
    at: str,
    namespace: str,
    *,
    also: tuple[str, ...] = (),
) -> tuple[Dataset, str]:
    """An end point and its description; its namespace defaults to that of the program.

    `also` are members that the caller knows.
    """
    if name not in holder:
        checks.error(inside(at, name), "missing")
        return Dataset("?", "?"), ""
    place = inside(at, name)
    said = checks.members(holder[name], place, ("namespace", "name", "description", *also))
    if not isinstance(holder[name], dict):
        return Dataset("?", "?"), ""
    own = checks.name(said.get("namespace", namespace), inside(place, "namespace"), bytes_max=ID_BYTES_MAX)
    end_point = Dataset(own, checks.required(said, "name", place, bytes_max=NAME_BYTES_MAX))
    return end_point, checks.optional(said, "description", place)


def read_field(checks: Validator, item: object, at: str) -> Field:
    """An output: a name, or a name and a type."""
    if isinstance(item, dict):
        said = checks.members(item, at, ("name", "type"))
        name = checks.required(said, "name", at, bytes_max=NAME_BYTES_MAX)
        return Field(name, checks.optional(said, "type", at))
    return Field(checks.name(item, at, bytes_max=NAME_BYTES_MAX))


def read_influence(checks: Validator, said: dict[str, Any], at: str) -> tuple[Influence, str]:
    """How an input reaches an output, and what for where that is indirect."""
    influence = Influence(checks.choice(said, "influence", at, _INFLUENCES, Influence.DIRECT.value))
    if "kind" not in said:
        return influence, ""
    kind = checks.choice(said, "kind", at, KINDS, "")
    if influence is Influence.DIRECT:
        checks.error(inside(at, "kind"), 'goes with `"influence": "indirect"` alone')
    return influence, kind
