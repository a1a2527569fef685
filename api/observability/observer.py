"""Observation of answered requests: counts, the access log and the audit log."""

from __future__ import annotations

import logging
import time
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from fll_hbase.runtime import tracing
from fll_hbase.runtime.metrics import Counter, Histogram

from ..wire.environ import PRINCIPAL, ROUTE
from .audit import AuditLog
from .logs import LogFile, format_time, line_format, request_id

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

NO_ROUTE = "none"
"""The route of a request that no route answered, for example because it was refused."""

CLIENT_LEFT_STATUS = "499"
"""The status of a request whose client left before an answer began. No such answer is sent."""

REQUESTS = Counter("fll_http_requests_total", "Requests that were answered.", ["route", "method", "status"])
SECONDS = Histogram(
    "fll_http_request_duration_seconds",
    "Time from the end of a request to the end of its answer, without the time that its client needs.",
    ["route", "method"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
REFUSED = Counter("fll_http_refused_total", "Requests that were refused.", ["reason"])

_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_REASONS = {
    "400": "malformed",
    "401": "unauthenticated",
    "403": "forbidden",
    "408": "slow",
    "413": "too_large",
    "421": "host",
    "429": "rate",
    "431": "head_too_large",
    "501": "malformed",
    "503": "overloaded",
}
"""Reasons of refusals by status. Only the server's own answers count, not the app's 400, 413 and 503."""

_REASONS_OF_APP = {status: _REASONS[status] for status in ("401", "403", "421", "429")}

_log = logging.getLogger(__name__)


class AnsweredRequest(NamedTuple):
    """A request and the status of its answer; `environ` is empty if the app did not get it."""

    method: str
    status: str
    received_at: float
    size_bytes: int
    remote: str
    environ: WSGIEnvironment

    @property
    def route(self) -> str:
        """Return the path of the route that answered, as in the OpenAPI document, or NO_ROUTE."""
        route: str = self.environ.get(ROUTE, NO_ROUTE)
        return route


class RequestObserver:
    """Observes every answered request. Threads may share it."""

    def __init__(self, *, access: LogFile | None = None, audit: AuditLog | None = None) -> None:
        self._access = access
        self._audit = audit

    def observe(self, answered: AnsweredRequest) -> None:
        """Count a request and write it to the access and audit logs; raises nothing."""
        seconds = time.monotonic() - answered.received_at
        REQUESTS.add(1, answered.route, answered.method, answered.status)
        SECONDS.observe(seconds, answered.route, answered.method)
        reason = (_REASONS_OF_APP if answered.environ else _REASONS).get(answered.status)
        if reason is not None:
            REFUSED.add(1, reason)
        if self._access is not None:
            self._log_access(self._access, answered, seconds)
        if self._audit is not None and answered.environ:
            self._audit.note(answered.environ, answered.status, members(answered))

    def _log_access(self, log: LogFile, answered: AnsweredRequest, seconds: float) -> None:
        """Write the line of a request to the access log; report an OSError in the server's log."""
        line = line_format(log)(
            {**members(answered), "duration_ms": round(1000 * seconds, 3), "bytes": answered.size_bytes}
        )
        try:
            log.write(line)
        except OSError as error:
            # The answer does not depend on the log. This line informs the operator.
            _log.error("the access log cannot be written: %s", error)


def members(answered: AnsweredRequest) -> dict[str, str | int]:
    """Return the members of a request's line in both logs: with the current time, without path and query."""
    principal = answered.environ.get(PRINCIPAL)
    trace = tracing.current()
    return {
        "time": format_time(time.time()),
        "request_id": request_id.get(),
        "trace_id": trace.trace_id if trace else "",
        "principal": principal.name if principal else "",
        # Several tokens may have one name.
        "token_id": principal.id if principal else "",
        "remote": answered.environ.get("REMOTE_ADDR", answered.remote),
        "method": answered.method,
        "route": answered.route,
        "status": int(answered.status),
    }


def method_of(command: str) -> str:
    """Return the method of a request, or `other` for a method outside _METHODS, such as CONNECT."""
    return command if command in _METHODS else "other"


def status_of(phrase: str) -> str:
    """Return the first three digits of a status line such as `404 Not Found`, or `500` without them."""
    number = phrase[:3]
    return number if number.isdigit() else str(HTTPStatus.INTERNAL_SERVER_ERROR.value)
