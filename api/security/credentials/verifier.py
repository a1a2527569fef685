"""Verifiers of credentials: the interface, and the verifier of the store's tokens."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from fll_hbase.model.access import Principal
from fll_hbase.model.access_tokens import parse_token
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.errors import Unauthenticated
from fll_hbase.store.access import AccessStore

_NO_DIGEST = "0" * 64


@dataclass(frozen=True, slots=True)
class Verified:
    """A principal, and until when its credentials are valid: epoch milliseconds, or None for no end."""

    principal: Principal
    until_ms: int | None


class Verifier(Protocol):
    """Checks credentials of one kind. Threads may share it."""

    def verify(self, credentials: str) -> Verified:
        """Return the principal of credentials.

        Raises Unauthenticated, whose text never quotes the credentials, if they are invalid. Raises
        StoreUnavailable, after a limited time, if they cannot be checked.
        """


class TokenVerifier:
    """Checks tokens against the store, with one read each."""

    def __init__(self, access: AccessStore, *, clock: Callable[[], int] = now_ms) -> None:
        self._access = access
        self._clock = clock

    def verify(self, credentials: str) -> Verified:
        """Return the principal of a token. Raises Unauthenticated, StoreUnavailable."""
        try:
            token = parse_token(credentials)
        except ValueError as error:
            raise Unauthenticated(f"the token {error}") from error
        stored = self._access.token(token.id)
        # Compare even if the token is unknown, so that the time of the answer does not reveal which ids
        # exist.
        is_equal = hmac.compare_digest(stored.sha256 if stored else _NO_DIGEST, token.digest())
        if stored is None or not is_equal:
            raise Unauthenticated("the token is unknown")
        # Only the owner of the token gets this detail.
        if not stored.is_valid(self._clock()):
            raise Unauthenticated("the token was revoked" if stored.revoked_ms else "the token has expired")
        return Verified(Principal(f"token:{stored.name}", stored.grants, id=token.id), stored.expires_ms)
