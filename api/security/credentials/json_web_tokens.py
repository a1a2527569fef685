"""JSON web tokens of an identity provider: signature, issuer, audience and times; user and groups."""

from __future__ import annotations

from typing import Any

import jwt

from fll_hbase.model.access import Principal, Subject, SubjectKind
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import Unauthenticated
from fll_hbase.store.access import AccessStore, is_name

from .signing_keys import ALGORITHMS, SigningKeys
from .verifier import Verified

SKEW_SECONDS = 60
"""How far the clocks of the provider and of this machine may differ."""

GROUPS_MAX = 500

_INVALID = (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError, AttributeError)
"""Errors that PyJWT raises for invalid tokens: its own, and errors from bad numbers and deep nesting."""

_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (jwt.ExpiredSignatureError, "has expired"),
    (jwt.ImmatureSignatureError, "is not valid yet"),
    (jwt.InvalidAudienceError, "is for another audience"),
    (jwt.InvalidIssuerError, "has another issuer"),
    (jwt.MissingRequiredClaimError, "lacks a claim: exp, iss, aud and sub are required"),
    (jwt.InvalidSignatureError, "has a wrong signature"),
)


class JwtVerifier:
    """Checks tokens of one issuer for one audience, and finds the grants of their users and groups."""

    def __init__(self, keys: SigningKeys, access: AccessStore, settings: Settings) -> None:
        self._keys = keys
        self._access = access
        self._settings = settings

    def verify(self, credentials: str) -> Verified:
        """Return the principal of a token. Raises Unauthenticated, StoreUnavailable."""
        algorithm, key_id = _header(credentials)
        key = self._keys.find(key_id, algorithm)
        claims = self._claims(credentials, key, algorithm)
        subjects = _subjects(claims, self._settings.jwt_groups)
        # The union of the grants of user and groups, each once.
        granted = self._access.grants(subjects)
        grants = {grant: None for subject in subjects for grant in granted.get(subject, ())}
        until_ms = (int(claims["exp"]) + SKEW_SECONDS) * 1_000
        return Verified(Principal(f"user:{claims['sub']}", tuple(grants)), until_ms)

    def _claims(self, credentials: str, key: Any, algorithm: str) -> dict[str, Any]:
        """Check signature, issuer, audience and times; return the claims. Raises Unauthenticated."""
        try:
            claims: dict[str, Any] = jwt.decode(
                credentials,
                key,
                # The key decides the algorithm, never the header of the token.
                algorithms=[algorithm],
                audience=self._settings.jwt_audience,
                issuer=self._settings.jwt_issuer,
                leeway=SKEW_SECONDS,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except _INVALID as error:
            reason = next((text for kind, text in _REASONS if isinstance(error, kind)), "is not valid")
            raise Unauthenticated(f"the token {reason}") from error
        return claims


def _header(credentials: str) -> tuple[str, str | None]:
    """Return the algorithm and key id (may be None) of a token, both unverified. Raises Unauthenticated."""
    try:
        header = jwt.get_unverified_header(credentials)
    except _INVALID as error:
        raise Unauthenticated("the token is neither of this server nor a JSON web token") from error
    algorithm, key_id = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise Unauthenticated(f"the token must be signed with one of {', '.join(ALGORITHMS)}")
    # `jku`, `x5u` and `jwk`, which name or contain a key, are ignored: keys come from the configured issuer.
    if "crit" in header or not isinstance(key_id, str | None):
        raise Unauthenticated("the header of the token is not one that this server understands")
    return algorithm, key_id


def _subjects(claims: dict[str, Any], groups_claim: str) -> list[Subject]:
    """Return the user and the groups with valid names. Raises Unauthenticated for other types or too many."""
    user, groups = claims["sub"], claims.get(groups_claim, [])
    names = [groups] if isinstance(groups, str) else groups
    is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not is_list or not isinstance(user, str) or not is_name(user):
        raise Unauthenticated(f"the claims sub and {groups_claim} of the token must be names")
    if len(names) > GROUPS_MAX:
        raise Unauthenticated(f"the token has more than {GROUPS_MAX} groups; let its issuer leave some out")
    # Groups with invalid names cannot have grants.
    valid = dict.fromkeys(name for name in names if is_name(name))
    return [Subject(SubjectKind.USER, user), *(Subject(SubjectKind.GROUP, name) for name in valid)]
