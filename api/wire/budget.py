"""The time of one request: FLL_REQUEST_SECONDS, or less where the client prefers it (RFC 7240)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fll_hbase.queries import impact, query_batch
from fll_hbase.runtime import deadline

from .environ import MCP_PATH, with_headers

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

RECEIVED, CLIENT_LEFT = "fll.received", "fll.client_left"
"""Variables of our server in the WSGI environment: when the request was complete (monotonic seconds), and a
function that returns whether its client has closed the connection. Other servers need not set them."""

QUERY_PATHS = (query_batch.PATH, impact.PATH)
"""Paths of queries that are sent by POST, because they have a body, and change nothing."""

_READS = ("GET", "HEAD", "OPTIONS")
# Preferences are separated by commas, and a value may be quoted. Nine digits are 30 years.
_WAIT = re.compile(r'(?:^|,)\s*wait\s*=\s*"?([1-9][0-9]{0,8})"?\s*(?=$|[,;])', re.ASCII | re.IGNORECASE)


def is_read(method: str, path: str) -> bool:
    """Return whether a request changes nothing; `path` is decoded.

    A call of a tool counts as a query. If it records a document, it sets HAS_WRITTEN.
    """
    return method in _READS or (method == "POST" and path in (*QUERY_PATHS, MCP_PATH))


def preferred_seconds(prefer: str) -> int | None:
    """Return the seconds of `wait` in a Prefer header, or None if the header has no valid value.

    The first valid one of several values counts. As RFC 7240 requires, 0 and invalid values are ignored.
    """
    match = _WAIT.search(prefer)
    return int(match[1]) if match else None


def request_seconds(prefer: str, *, longest: float) -> float:
    """Return the budget of a request with this Prefer header: `longest`, or less if the client prefers it."""
    preferred = preferred_seconds(prefer)
    return longest if preferred is None else min(preferred, longest)


class RequestBudget:
    """WSGI middleware that sets the deadline of each request; a query is cancelled when its client leaves."""

    def __init__(self, app: WSGIApplication, *, seconds: float) -> None:
        self._app = app
        self._seconds = seconds

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        prefer = environ.get("HTTP_PREFER", "")
        seconds = request_seconds(prefer, longest=self._seconds)
        # Only queries are cancelled: a client may send a document and leave, and expects it to be recorded.
        can_leave = CLIENT_LEFT in environ and is_read(
            environ["REQUEST_METHOD"], environ.get("PATH_INFO", "")
        )
        left = {"is_cancelled": environ[CLIENT_LEFT]} if can_leave else {}
        with deadline.limited(seconds, began=environ.get(RECEIVED), **left):
            if preferred_seconds(prefer) is None:
                return self._app(environ, start_response)
            applied = "Preference-Applied", f"wait={seconds:g}"
            return self._app(environ, with_headers(start_response, applied))
