"""Users and groups of an identity provider, to whom grants are given."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class SubjectKind(Enum):
    """The kind of a name of an identity provider."""

    USER = "user"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class Subject:
    """A user by its `sub`, or a group; printed as `user:ana` and `group:etl`."""

    kind: SubjectKind
    name: str

    def __str__(self) -> str:
        return f"{self.kind.value}:{self.name}"
