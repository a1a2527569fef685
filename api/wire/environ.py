"""The WSGI environment of a request: our own members, and the address of its client, also behind proxies."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Any

from werkzeug.middleware.proxy_fix import ProxyFix

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

ROUTE = "fll.route"
"""The path of the route that answers, as in the OpenAPI document; absent if no route was reached."""

PRINCIPAL = "fll.principal"
"""The Principal that sends the request, set by authentication; absent without authentication."""

QUERIED = "fll.queried"
"""The subjects of the request for the audit log, a list of `Queried`."""

COUNT_BYTES = "fll.count_bytes"
"""A function that counts further bytes of the request for FLL_RATE_BYTES; absent without that limit."""

IS_ALONE = "fll.is_alone"
"""A function that returns whether no other client is active. Our server sets it; other servers need not."""

HAS_WRITTEN = "fll.has_written"
"""True if a request to a path that only reads has recorded a document; absent otherwise."""

MCP_PATH = "/mcp"
"""The path of tools for assistants."""

METRICS_PATH = "/metrics"
"""The path of metrics, which is answered while the store hangs, and to anyone with FLL_METRICS_TOKEN."""

_TEXT_MAX = 100

PREFIX = "fll.prefix"
"""The path that the proxies removed, in the WSGI environment, for links; absent if they removed none."""

_PATH = re.compile(r"(?:/[A-Za-z0-9._~-]+)+/?", re.ASCII)


def peer(environ: WSGIEnvironment) -> str:
    """Return the client's address as limits count it (see `network`), or `unknown` without one."""
    return network(environ.get("REMOTE_ADDR") or "unknown")


@lru_cache(maxsize=4_096)
def network(text: str) -> str:
    """Return the address to which limits apply: IPv4, also if mapped to IPv6, or the /64 network of an IPv6.

    Text that is not an address is returned, cut to 100 characters.
    """
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        # A proxy may write a word such as `unknown` instead of an address.
        return text[:_TEXT_MAX]
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    # A client usually controls a whole /64 network of 2^64 addresses.
    return str(ip_network((address, 64), strict=False))


def with_headers(start_response: StartResponse, *added: tuple[str, str]) -> StartResponse:
    """Return a `start_response` that appends headers to the app's headers."""

    def start(status: str, headers: list[tuple[str, str]], *exc_info: Any) -> Any:
        return start_response(status, [*headers, *added], *exc_info)

    return start


def behind_proxies(app: WSGIApplication, count: int) -> WSGIApplication:
    """Return the app behind `count` proxies, whose X-Forwarded headers are trusted; the app itself for 0."""
    if not count:
        return app
    # Do not trust X-Forwarded-Host: the proxy passes Host itself on, and it is checked (FLL_ALLOWED_HOSTS).
    return ProxyFix(ForwardedPrefix(app, count), x_for=count, x_proto=count, x_host=0)


class ForwardedPrefix:
    """WSGI middleware that sets PREFIX.

    werkzeug would set SCRIPT_NAME, but then a path that happens to begin with the prefix would lose it.
    """

    def __init__(self, app: WSGIApplication, count: int) -> None:
        self._app = app
        self._count = count

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        values = environ.get("HTTP_X_FORWARDED_PREFIX", "").split(",")
        prefix = values[-self._count].strip() if len(values) >= self._count else ""
        if _PATH.fullmatch(prefix):
            environ[PREFIX] = prefix.rstrip("/")
        return self._app(environ, start_response)
