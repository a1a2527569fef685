"""The interface of what checks credentials, and its results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from fll_hbase.model.access import Principal


@dataclass(frozen=True, slots=True)
class Verified:
    """A principal, and until when its credentials are valid: milliseconds since 1970, None for ever."""

    principal: Principal
    until_ms: int | None


class Verifier(Protocol):
    """Checks credentials of one kind. Threads may share it."""

    def verify(self, credentials: str) -> Verified:
        """Return whose credentials these are.

        Raises Unauthenticated for those that are not valid, whose text never quotes them; and
        StoreUnavailable, in bounded time, where it cannot be known.
        """
