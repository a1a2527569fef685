"""JSON web tokens of an identity provider, and its signing keys (RFC 7517), which are cached and rotated.

Keys are fetched in the background, and requests wait for a fetch only for a limited time. Only the configured
addresses are ever fetched: redirects and addresses in tokens are not followed.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import jwt
import requests
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from fll_hbase.model.access import Principal, Subject, SubjectKind
from fll_hbase.runtime import deadline
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import StoreUnavailable, Unauthenticated
from fll_hbase.store.access import AccessStore, is_name

from .authentication import Verified

ALGORITHMS = {"RS256": ("RSA", None), "ES256": ("EC", "P-256"), "EdDSA": ("OKP", "Ed25519")}
"""Type and curve of the keys of each algorithm that is accepted."""

RSA_BITS_MIN = 2_048
DOCUMENT_BYTES_MAX, KEYS_MAX = 2**20, 100
STEP_SECONDS, FETCH_SECONDS_MAX = 3.0, 8.0
"""How long each step of a fetch may take, and the whole fetch."""

WAIT_SECONDS = 3.0
"""How long a request waits for a fetch."""

PAUSE_SECONDS = 10.0
"""Minimum time between two fetches, whatever key ids tokens name."""

HANGING_SECONDS, FETCHES_MAX = 60.0, 3
"""Time after which another fetch starts while one hangs, and most fetches at a time."""

FRESH_SECONDS, USABLE_SECONDS = 300.0, 3_600.0
"""Age at which keys are fetched again, and age up to which they are valid while the provider is away."""

Key = tuple[str | None, str, Any]
"""The id, the algorithm and the public key."""

_log = logging.getLogger(__name__)

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


class ProviderAway(StoreUnavailable):
    """The identity provider does not answer, so tokens cannot be checked now."""


@dataclass(frozen=True, slots=True)
class _Keys:
    """The keys of one fetch, and when it began."""

    keys: tuple[Key, ...] = ()
    fetched_at: float = float("-inf")
    """In monotonic seconds."""

    def find(self, key_id: str | None, algorithm: str) -> Any | None:
        """Return the key with this algorithm and id (None: any id), or None unless exactly one matches."""
        matches = [key for name, kind, key in self.keys if kind == algorithm and key_id in (None, name)]
        return matches[0] if len(matches) == 1 else None


@dataclass(slots=True)
class _Fetch:
    """A fetch that runs or has ended; `error` is empty unless it failed. Times are monotonic seconds."""

    began_at: float = float("-inf")
    ended: threading.Event = field(default_factory=threading.Event)
    error: str = ""


class SigningKeys:
    """The keys that a function fetches, as the decoded set of RFC 7517. Threads may share it."""

    def __init__(
        self, fetch: Callable[[], Mapping[str, Any]], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._fetch = fetch
        self._clock = clock
        self._lock = threading.Lock()
        self._keys = _Keys()
        self._running = 0
        self._latest = _Fetch()
        self._latest.ended.set()

    def find(self, key_id: str | None, algorithm: str) -> Any:
        """Return the public key of a token; wait for a fetch if it is unknown or as old as USABLE_SECONDS.

        From FRESH_SECONDS on, a fetch runs in the background. Raises Unauthenticated for a key that the
        fetched set lacks, DeadlineExceeded, or ProviderAway, after at most WAIT_SECONDS.
        """
        keys, now = self._keys, self._clock()
        key = keys.find(key_id, algorithm)
        if key is not None and now - keys.fetched_at < USABLE_SECONDS:
            if now - keys.fetched_at >= FRESH_SECONDS:
                self._begin()
            return key
        latest = self._begin()
        if not latest.ended.wait(deadline.seconds_left(WAIT_SECONDS)):
            raise ProviderAway("the identity provider does not answer in time; try again")
        keys = self._keys
        if self._clock() - keys.fetched_at >= USABLE_SECONDS or latest.error:
            raise ProviderAway(f"the identity provider is away: {latest.error or 'no keys'}; try again")
        key = keys.find(key_id, algorithm)
        if key is None:
            raise Unauthenticated("the token is signed with a key that its issuer does not have")
        return key

    def _begin(self) -> _Fetch:
        """Begin a fetch in a thread unless one runs or began within PAUSE_SECONDS; return the latest one.

        One that runs for HANGING_SECONDS does not prevent another one, up to FETCHES_MAX at a time.
        """
        with self._lock:
            now = self._clock()
            pause = PAUSE_SECONDS if self._latest.ended.is_set() else HANGING_SECONDS
            # A provider that sends a byte now and then can stay within the limit of each step for hours.
            if now - self._latest.began_at >= pause and self._running < FETCHES_MAX:
                self._running += 1
                self._latest = _Fetch(now)
                threading.Thread(target=self._run, args=(self._latest,), daemon=True, name="jwks").start()
            return self._latest

    def _run(self, fetch: _Fetch) -> None:
        """Fetch the keys and wake the waiting threads. On failure keep the old keys and log the error."""
        try:
            self._keys = _Keys(parse_keys(self._fetch()), fetch.began_at)
        except (ProviderAway, requests.RequestException, ValueError) as error:
            fetch.error = str(error) or type(error).__name__
            _log.warning("the keys of the identity provider cannot be fetched: %s", fetch.error)
        finally:
            with self._lock:
                self._running -= 1
            fetch.ended.set()


def parse_keys(document: Mapping[str, Any]) -> tuple[Key, ...]:
    """Return the usable signing keys of a key set; ValueError without a list of at most KEYS_MAX keys."""
    items = document.get("keys")
    if not isinstance(items, list) or len(items) > KEYS_MAX:
        raise ValueError(f"the key set has no list `keys` of at most {KEYS_MAX}")
    return tuple(key for item in items if isinstance(item, dict) and (key := _parse_key(item)) is not None)


def _parse_key(item: Mapping[str, Any]) -> Key | None:
    """Return a key of a key set, or None if it is not for signing, or (logged) is unreadable or weak."""
    kinds = (item.get("kty"), item.get("crv"))
    # `kty` and `crv` decide, never the header of a token, which could make a public key an HMAC secret.
    algorithm = next((name for name, kind in ALGORITHMS.items() if kind == kinds), None)
    if algorithm is None or item.get("use", "sig") != "sig" or item.get("alg", algorithm) != algorithm:
        return None
    key_id = item.get("kid")
    try:
        key = jwt.PyJWK(dict(item), algorithm=algorithm).key
    # A broken key must not make the others unusable.
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        _log.warning("a key of the identity provider cannot be read: %s", error)
        return None
    is_weak = isinstance(key, RSAPublicKey) and key.key_size < RSA_BITS_MIN
    if is_weak or not isinstance(key_id, str | None):
        _log.warning("ignoring a key of the identity provider: below 2,048 bits, or the id is not a text")
        return None
    return key_id, algorithm, key


def key_set_fetcher(*, issuer: str, jwks_url: str) -> Callable[[], Mapping[str, Any]]:
    """Return a function that fetches the key set of a URL, or of an issuer by its OpenID configuration.

    The function raises ValueError for a configuration of another issuer or with keys at another server, and
    the errors of `_fetch_json`.
    """

    def fetch() -> Mapping[str, Any]:
        if jwks_url:
            return _fetch_json(jwks_url)
        document = _fetch_json(issuer.rstrip("/") + "/.well-known/openid-configuration")
        url = document.get("jwks_uri")
        if document.get("issuer") != issuer or not isinstance(url, str):
            raise ValueError(f"the OpenID configuration names another issuer than {issuer}")
        if origin(url) != origin(issuer):
            raise ValueError(
                f"the keys are on another server: set FLL_JWT_JWKS_URL={url[:200]!r} if you trust it"
            )
        return _fetch_json(url)

    return fetch


def origin(url: str) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port of a URL, each as it is written: no default port. Raises ValueError."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


def _fetch_json(url: str) -> dict[str, Any]:
    """Return the JSON object at a URL. Raises RequestException, and ValueError for any other text.

    Raises ProviderAway for a status other than 200, beyond DOCUMENT_BYTES_MAX, and after FETCH_SECONDS_MAX.
    """
    began = time.monotonic()
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    with requests.get(
        url, headers=headers, timeout=STEP_SECONDS, allow_redirects=False, stream=True
    ) as response:
        if response.status_code != 200:
            raise ProviderAway(f"{url} answers {response.status_code}")
        body = bytearray()
        for chunk in response.iter_content(2**14):
            body += chunk
            if len(body) > DOCUMENT_BYTES_MAX or time.monotonic() - began > FETCH_SECONDS_MAX:
                raise ProviderAway(f"the answer of {url} is too large or too slow")
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{url} is not JSON") from error
    if not isinstance(document, dict):
        raise ValueError(f"{url} is not a JSON object")
    return document


class JwtVerifier:
    """Checks tokens of one issuer for one audience, and finds the grants of their users and groups."""

    def __init__(self, keys: SigningKeys, access: AccessStore, settings: Settings) -> None:
        self._keys = keys
        self._access = access
        self._settings = settings

    def verify(self, credentials: str) -> Verified:
        """Return the principal of a token, until `exp` + SKEW_SECONDS. Raises as `Verifier.verify` does."""
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
    """Return the user and the groups with valid names, each once. One group may be a text instead of a list.

    Raises Unauthenticated for a user without a valid name, other types, and over GROUPS_MAX groups.
    """
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
