"""A metadata change proposal: one aspect of one entity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fll_hbase.runtime.errors import ErrorList
from fll_hbase.sources.validation import Validator

UPSERT = "UPSERT"
PATCH = "PATCH"
DELETE = "DELETE"


class MessageValidator(Validator):
    """Also collects, in `refused`, the errors of proposals that cannot be read: their message goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.refused = ErrorList()

    def refuse(self, *, errors_before: int) -> bool:
        """Move the errors after the first `errors_before` to `refused`; return whether there are any."""
        if self.errors.count == errors_before:
            return False
        self.refused.extend(self.errors.remove_after(errors_before))
        return True


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of one aspect of one entity.

    `value` is the parsed JSON of the aspect at the JSON path `path`, None for a deletion; `urn_path` is the
    path of the urn. `observed_ms` is when the client observed the aspect, in ms since 1970, 0 if unknown.
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
    # DataHub's clients write null for members that are not set.
    if isinstance(value, dict):
        return {name: member for name, member in value.items() if member is not None}
    return validator.members(value, path, ())
