"""Hosts and origins of requests, so that pages of other sites cannot use a server on their reader's machine.

A page can make a browser send requests to 127.0.0.1. With DNS rebinding it does so under its own name, and
may also read the answers. Such requests name its site in Host or Origin, which scripts cannot change. Only
pages of listed origins get answers across origins (CORS).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from flask import Flask, Request, request
from werkzeug.exceptions import Forbidden, HTTPException

from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ConfigurationError

from ..wire.environ import with_headers

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
REQUEST_HEADERS = (
    "Authorization, Content-Type, Content-Encoding, If-None-Match, Last-Event-ID, Mcp-Method, Mcp-Name,"
    " Mcp-Protocol-Version, Mcp-Session-Id, Prefer, Traceparent, X-Request-ID"
)
RESPONSE_HEADERS = (
    "Base-End, Base-Start, ETag, Link, Location, Preference-Applied, Principal, Retained-From, Retry-After,"
    " Truncated, Truncated-By, Window-End, Window-Start, WWW-Authenticate, X-Request-ID"
)
PREFLIGHT_SECONDS = "600"
"""How long a browser keeps the answer to its preflight."""

ANY = "*"

SITE_HEADER, CROSS_SITE = "Sec-Fetch-Site", "cross-site"
"""Header in which browsers describe the site of the requesting page. Scripts cannot change it."""

_LOCAL = "localhost"
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


def allowed_origins(settings: Settings) -> frozenset[str]:
    """Return the origins of FLL_CORS_ORIGINS. Raises ConfigurationError naming each text that is not one."""
    origins = frozenset(text.strip() for text in settings.cors_origins.split(",") if text.strip())
    faults = sorted(origin for origin in origins if not _is_origin(origin))
    if faults:
        raise ConfigurationError(
            f"FLL_CORS_ORIGINS contains {', '.join(map(repr, faults))}, which is not an origin: expected a"
            " form such as https://portal.example.com, in lower case, with any port that is not the default"
        )
    return origins


def _is_origin(text: str) -> bool:
    """Return whether a string is exactly `scheme://host[:port]` of HTTP(S), in lower case, without `*`."""
    try:
        parts = urlsplit(text)
        is_bare = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in text
    except ValueError:
        return False
    # `*` is refused: pages of any site could use a server without authentication.
    return is_bare and text == f"{parts.scheme}://{parts.netloc}" and text == text.lower() and "*" not in text


def with_cross_origin(app: WSGIApplication, settings: Settings) -> WSGIApplication:
    """Return the app open to pages of the listed origins, or itself for none. Raises ConfigurationError."""
    origins = allowed_origins(settings)
    return CrossOrigin(app, origins) if origins else app


class CrossOrigin:
    """WSGI middleware that answers preflights, and lets pages of the origins read answers."""

    def __init__(self, app: WSGIApplication, origins: frozenset[str]) -> None:
        self._app = app
        self._origins = origins

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        origin = environ.get("HTTP_ORIGIN")
        is_allowed = origin in self._origins
        is_preflight = (
            environ["REQUEST_METHOD"] == "OPTIONS" and "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in environ
        )
        if is_allowed and is_preflight:
            # Before authentication: a browser sends no token with it.
            headers = {
                "Access-Control-Allow-Origin": origin,
                "Access-Control-Allow-Methods": METHODS,
                "Access-Control-Allow-Headers": REQUEST_HEADERS,
                "Access-Control-Max-Age": PREFLIGHT_SECONDS,
                "Vary": "Origin",
            }
            start_response("204 No Content", [(name, str(value)) for name, value in headers.items()])
            return [b""]
        # On every answer, so that a cache does not serve the answer for one origin to another.
        added = [("Vary", "Origin")]
        if is_allowed:
            added += [
                ("Access-Control-Allow-Origin", str(origin)),
                ("Access-Control-Expose-Headers", RESPONSE_HEADERS),
            ]
        return self._app(environ, with_headers(start_response, *added))


class MisdirectedRequest(HTTPException):
    """The request names a Host of another server: a 421 (RFC 9110, 15.5.20), which werkzeug lacks."""

    code = HTTPStatus.MISDIRECTED_REQUEST.value


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """Names that are allowed in addition to `localhost` and addresses. With `is_any`, every name is allowed.

    `origins` are other sites whose pages may make changes.
    """

    names: frozenset[str]
    is_any: bool = False
    origins: frozenset[str] = frozenset()

    def allows(self, authority: str) -> bool:
        """Return whether Host or the authority of an origin may be used: a name, with or without a port."""
        name = host_name(authority)
        # Addresses are harmless: DNS rebinding can only redirect names.
        return self.is_any or name in self.names or name == _LOCAL or _is_address(name)


def allowed_hosts(settings: Settings) -> AllowedHosts:
    """Return the hosts of FLL_ALLOWED_HOSTS and the origins of FLL_CORS_ORIGINS. Raises ConfigurationError.

    `*` in FLL_ALLOWED_HOSTS allows every host. Without the setting, a server that others can reach does so.
    """
    names = frozenset(name.strip().lower() for name in settings.allowed_hosts.split(",") if name.strip())
    is_open = not names and not is_loopback(settings.host)
    return AllowedHosts(names, is_open or ANY in names, allowed_origins(settings))


def is_loopback(host: str) -> bool:
    """Return whether an address to listen on is reachable from this machine only."""
    name = host.lower().rstrip(".")
    return name == _LOCAL or (_is_address(name) and ip_address(name).is_loopback)


@lru_cache(maxsize=256)
def host_name(authority: str) -> str:
    """Return the name or address of `host:port` in lower case, or "" for any other text."""
    try:
        return (urlsplit(f"//{authority}").hostname or "").rstrip(".")
    except ValueError:
        return ""


@lru_cache(maxsize=256)
def _is_address(name: str) -> bool:
    """Return whether a string is an IPv4 or IPv6 address."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def register_host_check(app: Flask, settings: Settings) -> None:
    """Register hooks on the app that refuse requests from pages of other sites, and foreign hosts.

    If every host is allowed, no host is foreign. Raises ConfigurationError for invalid origins.
    """
    hosts = allowed_hosts(settings)
    app.before_request(lambda: _check_site(request, hosts))
    if not hosts.is_any:
        app.before_request(lambda: _check_request(request, hosts))


def _check_site(req: Request, hosts: AllowedHosts) -> None:
    """Raise Forbidden for a browser's request for a page of another, unlisted site, unless it is a link."""
    if req.headers.get(SITE_HEADER) != CROSS_SITE or req.headers.get("Origin") in hosts.origins:
        return
    # The answer to a link is shown to the reader, but not to the page with the link.
    is_link = req.method == "GET" and req.headers.get("Sec-Fetch-Dest") == "document"
    if not is_link:
        raise Forbidden(
            "a page of another site may not send requests here; list trusted origins in FLL_CORS_ORIGINS"
        )


def _check_request(req: Request, hosts: AllowedHosts) -> None:
    """Raise MisdirectedRequest for a foreign Host, Forbidden for a change requested by another site."""
    host = req.environ.get("HTTP_HOST", "")
    # Every browser sends Host; HTTP/1.0 clients may omit it.
    if host and not hosts.allows(host):
        raise MisdirectedRequest(f"this server does not answer for host {host[:100]!r}; {_ADVICE}")
    origin = req.headers.get("Origin")
    if origin is None or req.method in _READING:
        return
    authority = origin.rpartition("//")[2]
    # `allows` would be too permissive here: another server at `localhost` or at an address is another site.
    if authority != host and host_name(authority) not in hosts.names and origin not in hosts.origins:
        raise Forbidden(f"a page of origin {origin[:100]!r} may not change anything here; {_ADVICE}")


_ADVICE = "add it to FLL_ALLOWED_HOSTS if it is a name of this server or of its proxy"
