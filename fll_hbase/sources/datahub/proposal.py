"""A metadata change proposal: one aspect of one entity."""

from __future__ import annotations

from dataclasses import dataclass

from fll_hbase.sources.validation import Part

UPSERT = "UPSERT"
PATCH = "PATCH"
DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of one aspect of one entity.

    `value` is the parsed JSON of the aspect, null for a deletion. `urn_path` is the JSON path of the urn.
    `observed_ms` is the time at which the client observed the aspect, in ms since 1970, or 0 if unknown.
    """

    urn: str
    aspect: str
    change: str
    value: Part
    urn_path: str
    observed_ms: int


def without_nulls(part: Part) -> Part:
    """Return an object without its nulls; allow unknown members, and add an error for other values."""
    # DataHub's clients write null for unset members.
    members = {name: member for name, member in part.as_object().members.items() if member is not None}
    return Part(part.validator, members, part.path) if part.is_object else part
