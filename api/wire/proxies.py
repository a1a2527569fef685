"""Proxies in front of the server: address and scheme of the client, and the path prefix that it uses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from werkzeug.middleware.proxy_fix import ProxyFix

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

PREFIX = "fll.prefix"
"""The path that the proxies removed, in the WSGI environment, for links; absent if they removed none."""

_PATH = re.compile(r"(?:/[A-Za-z0-9._~-]+)+/?", re.ASCII)


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
