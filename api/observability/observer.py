"""Observation of answered requests: counts, the access log and the audit log.

The audit log has a line for each write, each denied request and each query about a tagged field. A line names
the principal, the path and the status, but contains neither a token nor a body. A failure to write the log
does not stop a request; the server's log and a metric report it (decision 45).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from flask import Flask, request

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.runtime import deadline, tracing
from fll_hbase.runtime.errors import LineageError, NotFound
from fll_hbase.runtime.metrics import Counter, Histogram
from fll_hbase.store.tags import TagStore

from ..wire.budget import is_read
from ..wire.environ import HAS_WRITTEN, PRINCIPAL, QUERIED, ROUTE
from ..wire.paths import raw_uri
from .logs import LogFile, format_time, line_format, request_id

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

TAG_SECONDS = 2.0
"""Time for reading the tags of the queried fields, in addition to the time of the request."""

TAGS_MAX = 100
"""Maximum number of tags, over all fields of a dataset, that are read for a line."""

FAILURE_PAUSE_SECONDS = 60.0
"""Minimum time between two reports that the log cannot be written."""

LINES = Counter("fll_audit_lines_total", "Lines that were written to the audit log.", ["event"])
FAILURES = Counter("fll_audit_failures_total", "Lines that could not be written to the audit log.")

_DENIED = ("401", "403")
_log = logging.getLogger(__name__)

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


class Queried(NamedTuple):
    """The subject of a query: a field of a dataset, or all its fields if `field` is empty."""

    dataset: Dataset
    field: str


def note_query(environ: WSGIEnvironment, dataset: Dataset, field: str = "") -> None:
    """Note the subject of a request for the audit log, once; do nothing if the server has no QUERIED."""
    noted = environ.get(QUERIED)
    if noted is not None and Queried(dataset, field) not in noted:
        noted.append(Queried(dataset, field))


def register_query_hook(app: Flask) -> None:
    """Register a hook on the app that notes the dataset or field of each GET, even in a batch."""
    app.before_request(_note_request)


def _note_request() -> None:
    """Note the dataset and field that a GET names in its path or parameters, if it names a dataset."""
    path = request.view_args or {}
    # Reports name their dataset in parameters; lists of runs and programs may name a field there.
    names = {**request.args.to_dict(), **path}
    name = path.get("name") or request.args.get("endpoint", "")
    if request.method == "GET" and name and names.get("namespace"):
        note_query(request.environ, Dataset(names["namespace"], name), names.get("field", ""))


class AuditLog:
    """Writes the audit log. Threads may share it. It reads tags from the store of the app."""

    def __init__(self, file: LogFile, tags: TagStore) -> None:
        self._file = file
        self._format = line_format(file)
        self._tags = tags
        self._reported_at = -FAILURE_PAUSE_SECONDS

    def note(self, environ: WSGIEnvironment, status: str, members: Mapping[str, str | int]) -> None:
        """Log a denied request, a write, or the queries about tagged data. Raises nothing.

        `members` are the members of the access log.
        """
        described = {**members, "path": raw_uri(environ).partition("?")[0]}
        if status in _DENIED:
            self._write("denied", described)
            return
        if HAS_WRITTEN in environ or not is_read(environ["REQUEST_METHOD"], environ.get("PATH_INFO", "")):
            self._write("write", described)
        # An invalid query has no subject: its names may not even be valid names.
        queries = () if status == "400" else environ.get(QUERIED, ())
        # One limit for all queries of a batch, because the request thread is needed for other requests.
        with deadline.limited(TAG_SECONDS):
            for queried in queries:
                tags = self._tags_of(queried)
                if tags:
                    about = {"dataset": str(queried.dataset), "field": queried.field, "tags": tags}
                    self._write("question", {**described, **about})

    def _tags_of(self, queried: Queried) -> str:
        """Return a field's tags, or the first TAGS_MAX of a dataset's, each once, sorted, joined by commas.

        "" for an unknown name, `unknown` if the store cannot answer.
        """
        try:
            if queried.field:
                stored = self._tags.field_tags(DatasetField(queried.dataset, queried.field))
            else:
                stored = list(islice(self._tags.dataset_tags(queried.dataset), TAGS_MAX))
        except NotFound:
            return ""
        except LineageError as error:
            # Better one line too many: the store may have answered the query before it failed.
            _log.warning("the audit log does not know the tags of a question: %s", error)
            return "unknown"
        return ", ".join(sorted({entry.tag for entry in stored}))

    def _write(self, event: str, members: Mapping[str, str | int]) -> None:
        """Write a line. Count a failure, and log failures at most once in FAILURE_PAUSE_SECONDS."""
        try:
            self._file.write(self._format({"event": event, **members}))
        except OSError as error:
            FAILURES.add()
            now = time.monotonic()
            if now - self._reported_at >= FAILURE_PAUSE_SECONDS:
                self._reported_at = now
                _log.error("the audit log cannot be written, lines are lost: %s", error)
        else:
            LINES.add(1, event)


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
