"""Proxies before the server: the client's address and scheme, and the path below which it finds the API."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from werkzeug.middleware.proxy_fix import ProxyFix

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

PREFIX = "fll.prefix"
"""The member of the WSGI environment with the path that the proxies removed, for links; absent without."""

_PATH = re.compile(r"(?:/[A-Za-z0-9._~-]+)+/?", re.ASCII)


def behind_proxies(app: WSGIApplication, count: int) -> WSGIApplication:
    """Return the app behind `count` proxies, whose X-Forwarded headers count; the app itself for 0."""
    if not count:
        return app
    # Of Host nothing: it is what the proxy passes on, and is checked (FLL_ALLOWED_HOSTS).
    return ProxyFix(ForwardedPrefix(app, count), x_for=count, x_proto=count, x_host=0)


class ForwardedPrefix:
    """WSGI middleware that sets PREFIX.

    Not SCRIPT_NAME, as werkzeug does: a path that happens to begin with the prefix would lose it again.
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
