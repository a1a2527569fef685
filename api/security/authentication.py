"""Authentication: WSGI middleware that finds the principal of each request, or refuses it."""

from __future__ import annotations

import hashlib
import hmac
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from cachetools import LRUCache

from fll_hbase.model.access import PREFIX, Principal, parse_token
from fll_hbase.runtime import deadline
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import (
    ConfigurationError,
    LineageError,
    StoreUnavailable,
    TooManyRequests,
    Unauthenticated,
)
from fll_hbase.store.access import AccessStore

from ..wire.environ import METRICS_PATH, PRINCIPAL, peer
from ..wire.paths import raw_path
from ..wire.problems import refuse
from .buckets import TokenBuckets
from .hosts import is_loopback

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_NO_DIGEST = "0" * 64

NONE, TOKENS, JWT = "none", "tokens", "jwt"

OPEN_PATHS = frozenset({"/healthz", "/readyz", "/", "/page.js", "/details.js", "/page.css"})
"""Paths that are answered to anyone: probes, and the files of the page, which contain no stored data."""

CACHE_SECONDS, CHECK_SECONDS_MAX = 5.0, 4.0
"""How long a result is valid, and how long a check may take. A revoked token stops working within the sum."""

CACHED_MAX = 10_000
CREDENTIALS_CHARACTERS_MAX = 16_384
METRICS_TOKEN_CHARACTERS_MIN = 32

_CREDENTIALS = re.compile(r"[A-Za-z0-9._~+/-]+=*", re.ASCII)  # b64token of RFC 6750

ATTEMPTS_BURST, ATTEMPTS_PER_SECOND = 20, 1.0
"""Wrong credentials that one address may send at once, and per second on average."""

_ADVICE = "send a bearer token (`Authorization: Bearer <token>`; clients of fll read it from FLL_TOKEN)"


@dataclass(frozen=True, slots=True)
class Verified:
    """A principal, and until when its credentials are valid: epoch milliseconds, or None for no end."""

    principal: Principal
    until_ms: int | None


class Verifier(Protocol):
    """Checks credentials of one kind. Threads may share it."""

    def verify(self, credentials: str) -> Verified:
        """Return the principal of credentials.

        Raises Unauthenticated, whose text never quotes the credentials, if they are invalid. If they cannot
        be checked, raises StoreUnavailable after a limited time, ConfigurationError or CorruptRow.
        """


class TokenVerifier:
    """Checks tokens against the store, with one read each."""

    def __init__(self, access: AccessStore) -> None:
        self._access = access

    def verify(self, credentials: str) -> Verified:
        """Return the principal of a stored token; raise Unauthenticated for others, expired and revoked ones.

        Raises StoreUnavailable, ConfigurationError and CorruptRow.
        """
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
        if not stored.is_valid(now_ms()):
            raise Unauthenticated("the token was revoked" if stored.revoked_ms else "the token has expired")
        return Verified(Principal(f"token:{stored.name}", stored.grants, id=token.id), stored.expires_ms)


class _Unchecked(StoreUnavailable):
    """A token cannot be checked, because the table or the identity provider does not answer."""

    client_text = "the token cannot be checked now; the server's log says why. Try again"


@dataclass(frozen=True, slots=True)
class _Result:
    """The outcome of a check of credentials, and the time it began, in monotonic seconds."""

    began_at: float
    verified: Verified | None
    detail: str = ""


class Authentication:
    """WSGI middleware that sets PRINCIPAL, or answers 401, 429 for guesses, or 503 if a check is impossible.

    Results are cached by the hash of the credentials for CACHE_SECONDS, counted from before the check. While
    the store is away, only cached results let a request through.
    """

    def __init__(
        self,
        app: WSGIApplication,
        verifiers: Mapping[str, Verifier],
        *,
        retry_after_seconds: int,
        metrics_token: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._verifiers = verifiers
        self._retry_after_seconds = retry_after_seconds
        self._metrics_token = metrics_token.encode()
        self._clock = clock
        self._lock = Lock()
        self._results: LRUCache[bytes, _Result] = LRUCache(CACHED_MAX)
        self._attempts = TokenBuckets(per_second=ATTEMPTS_PER_SECOND, burst=ATTEMPTS_BURST, clock=clock)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        # Only this middleware may set the principal.
        environ.pop(PRINCIPAL, None)
        if not is_open(environ) and not self._is_scrape(environ):
            try:
                environ[PRINCIPAL] = self._verified(environ).principal
            except LineageError as error:
                seconds = self._retry_after_seconds
                return refuse(environ, start_response, error, retry_after_seconds=seconds)
        return self._app(environ, start_response)

    def _is_scrape(self, environ: WSGIEnvironment) -> bool:
        """Return whether a request asks for metrics with FLL_METRICS_TOKEN, which needs no store."""
        if not self._metrics_token or environ.get("PATH_INFO") != METRICS_PATH:
            return False
        scheme, _, token = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
        is_right = hmac.compare_digest(token.strip(" ").encode(), self._metrics_token)
        return is_right and scheme.lower() == "bearer" and raw_path(environ) == METRICS_PATH

    def _verified(self, environ: WSGIEnvironment) -> Verified:
        """Return the principal of a request. Results are cached by token for CACHE_SECONDS.

        Raises Unauthenticated, TooManyRequests, StoreUnavailable, ConfigurationError, CorruptRow.
        """
        credentials = _credentials(environ.get("HTTP_AUTHORIZATION"))
        verifier = self._verifiers.get(TOKENS if credentials.startswith(PREFIX) else JWT)
        if verifier is None:
            raise Unauthenticated(f"this server does not accept this kind of token: {_ADVICE}")
        digest = hashlib.sha256(credentials.encode()).digest()
        with self._lock:
            cached = self._results.get(digest)
        if cached is None or self._clock() - cached.began_at > CACHE_SECONDS:
            # A token that was valid before is always checked: guesses by others behind the same proxy must
            # not lock its owner out.
            if cached is None or cached.verified is None:
                seconds = self._attempts.seconds_until(peer(environ))
                if seconds:
                    detail = "too many wrong tokens come from this address; try again later"
                    raise TooManyRequests(detail, retry_after_seconds=math.ceil(seconds))
            cached = self._check(verifier, credentials, cached)
            with self._lock:
                self._results[digest] = cached
        return self._valid(cached, environ)

    def _valid(self, result: _Result, environ: WSGIEnvironment) -> Verified:
        """Return the caller. Raises Unauthenticated for an expired or wrong token; wrong ones are counted."""
        verified = result.verified
        if verified is None:
            self._attempts.take(peer(environ))
            raise Unauthenticated(f"{result.detail}; {_ADVICE}")
        if verified.until_ms is not None and now_ms() >= verified.until_ms:
            raise Unauthenticated(f"the token has expired; {_ADVICE}")
        return verified

    def _check(self, verifier: Verifier, credentials: str, earlier: _Result | None) -> _Result:
        """Verify a token within CHECK_SECONDS_MAX; the result for a wrong token has no `verified`.

        The result keeps the `verified` object of the earlier result if nothing changed. Raises
        StoreUnavailable, ConfigurationError and CorruptRow.
        """
        began_at = self._clock()
        try:
            with deadline.limited(deadline.seconds_left(CHECK_SECONDS_MAX)):
                verified = verifier.verify(credentials)
        except Unauthenticated as error:
            return _Result(began_at, None, str(error))
        except StoreUnavailable as error:
            raise _Unchecked(f"the token cannot be checked now: {error}") from error
        # The same object if nothing changed, because a principal caches what it derives from its grants.
        if earlier is not None and earlier.verified is not None and earlier.verified == verified:
            verified = earlier.verified
        return _Result(began_at, verified)


def is_open(environ: WSGIEnvironment) -> bool:
    """Return whether a request is answered to anyone: GET or HEAD of one of OPEN_PATHS, as sent."""
    # The decoded path is a cheap first check: open paths contain no escapes, so the raw path is equal.
    may_be_open = environ.get("PATH_INFO") in OPEN_PATHS and environ["REQUEST_METHOD"] in ("GET", "HEAD")
    return may_be_open and raw_path(environ) in OPEN_PATHS


def _credentials(header: str | None) -> str:
    """Return the token of a Bearer header. Raises Unauthenticated for None, other headers and bad tokens."""
    scheme, _, credentials = (header or "").partition(" ")
    if scheme.lower() != "bearer":
        raise Unauthenticated(f"authentication required: {_ADVICE}", is_invalid=False)
    credentials = credentials.strip(" ")
    if len(credentials) > CREDENTIALS_CHARACTERS_MAX or not _CREDENTIALS.fullmatch(credentials):
        raise Unauthenticated(f"the token is too long, or no token; {_ADVICE}")
    return credentials


def authentication_kinds(settings: Settings) -> frozenset[str]:
    """Return the kinds of FLL_AUTH, empty for `none`.

    Raises ConfigurationError with the faults of FLL_AUTH, of the settings of JWT, and of FLL_METRICS_TOKEN.
    """
    kinds = frozenset(kind.strip() for kind in settings.auth.split(","))
    faults = [f"invalid value FLL_AUTH={settings.auth!r}: expected none, tokens, jwt or tokens,jwt"]
    if kinds <= {TOKENS, JWT} or kinds == {NONE}:
        faults = _jwt_faults(settings) if JWT in kinds else []
    if 0 < len(settings.metrics_token) < METRICS_TOKEN_CHARACTERS_MIN:
        faults.append(
            f"FLL_METRICS_TOKEN is too short: use at least {METRICS_TOKEN_CHARACTERS_MIN} characters"
        )
    if faults:
        raise ConfigurationError("; ".join(faults))
    return kinds - {NONE}


def _jwt_faults(settings: Settings) -> list[str]:
    """Return a string for each missing or wrong setting of JWT."""
    required = {"FLL_JWT_ISSUER": settings.jwt_issuer, "FLL_JWT_AUDIENCE": settings.jwt_audience}
    required["FLL_JWT_GROUPS"] = settings.jwt_groups
    faults = [f"FLL_AUTH={JWT} needs {name}" for name, value in required.items() if not value]
    urls = {"FLL_JWT_ISSUER": settings.jwt_issuer, "FLL_JWT_JWKS_URL": settings.jwt_jwks_url}
    faults += [
        f"invalid value {name}={url!r}: expected a URL with https, or with http on this machine"
        for name, url in urls.items()
        if url and not _is_safe_url(url)
    ]
    return faults


def _is_safe_url(url: str) -> bool:
    """Return whether a URL uses HTTPS, or HTTP to this machine; false for an invalid URL."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host)))


def require_authentication(settings: Settings) -> None:
    """Raise ConfigurationError for invalid FLL_AUTH, or if others reach server or metrics without a token.

    They reach a server on a loopback address through its proxies. `allow_unauthenticated` permits both.
    """
    is_reached = settings.proxies or not is_loopback(settings.host)
    is_open_to_all = not authentication_kinds(settings) and is_reached
    if is_open_to_all and not settings.allow_unauthenticated:
        where = "the proxy" if settings.proxies else settings.address
        raise ConfigurationError(
            f"anyone who reaches {where} could read and change everything: turn on authentication"
            " with FLL_AUTH (docs/operate/security.md), or allow it with --allow-unauthenticated or"
            " FLL_ALLOW_UNAUTHENTICATED=1"
        )
    is_scraped_by_all = settings.metrics_host and not settings.metrics_token
    if is_scraped_by_all and not (is_loopback(settings.metrics_host) or settings.allow_unauthenticated):
        raise ConfigurationError(
            f"anyone who reaches {settings.metrics_address} could read the metrics: set FLL_METRICS_TOKEN, or"
            " allow it with --allow-unauthenticated or FLL_ALLOW_UNAUTHENTICATED=1"
        )


def with_metrics_token(app: WSGIApplication, settings: Settings) -> WSGIApplication:
    """Return the app of the metrics listener, protected by FLL_METRICS_TOKEN if that is set."""
    if not settings.metrics_token:
        return app
    seconds = settings.retry_after_seconds
    return Authentication(app, {}, retry_after_seconds=seconds, metrics_token=settings.metrics_token)


def with_authentication(app: WSGIApplication, access: AccessStore, settings: Settings) -> WSGIApplication:
    """Return the app behind the authentication of FLL_AUTH; itself for `none`. Raises ConfigurationError."""
    verifiers = create_verifiers(access, settings)
    if not verifiers:
        return app
    return Authentication(
        app, verifiers, retry_after_seconds=settings.retry_after_seconds, metrics_token=settings.metrics_token
    )


def create_verifiers(access: AccessStore, settings: Settings) -> dict[str, Verifier]:
    """Return the verifier of each kind of FLL_AUTH, by kind, empty for `none`. Raises ConfigurationError."""
    kinds = authentication_kinds(settings)
    verifiers: dict[str, Verifier] = {TOKENS: TokenVerifier(access)} if TOKENS in kinds else {}
    if JWT in kinds:
        # Imported on demand: importing cryptography takes a tenth of a second in every process.
        from .json_web_tokens import JwtVerifier, SigningKeys, key_set_fetcher

        fetch = key_set_fetcher(issuer=settings.jwt_issuer, jwks_url=settings.jwt_jwks_url)
        verifiers[JWT] = JwtVerifier(SigningKeys(fetch), access, settings)
    return verifiers
