"""A metadata change proposal: one aspect of one entity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fll_hbase.sources.validation import Validator

UPSERT = "UPSERT"
PATCH = "PATCH"
DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class Proposal:
    """One aspect of one entity.

    `value` is its JSON, which stands at the place `at`; None where the aspect or all of the entity is to go.
    `urn_at` is the place of the urn. `observed_ms` is when the client saw it, 0 where it does not say.
    """

    urn: str
    aspect: str
    change: str
    value: object
    path: str
    urn_path: str
    observed_ms: int


def object_without_nulls(validator: Validator, value: object, path: str) -> dict[str, Any]:
    """Return a JSON object without its nulls; unknown members are allowed."""
    if isinstance(value, dict):
        return {name: member for name, member in value.items() if member is not None}
    return validator.members(value, path, ())
