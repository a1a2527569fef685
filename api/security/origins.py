"""Cross-origin requests of browsers (CORS), which are answered only to pages of listed origins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ConfigurationError

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
    """Return the app with access for pages of the listed origins, or the app itself if none are listed."""
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
        return self._app(environ, _with_headers(start_response, added))


def _with_headers(start_response: StartResponse, added: list[tuple[str, str]]) -> StartResponse:
    """Return a `start_response` that appends headers to the app's headers."""

    def start(status: str, headers: list[tuple[str, str]], *exc_info: Any) -> Any:
        return start_response(status, [*headers, *added], *exc_info)

    return start
