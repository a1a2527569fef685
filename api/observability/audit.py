"""The audit log: a line for each write, each denied request and each query about a tagged field.

A line names the principal, the path and the status, but contains neither a token nor a body. A failure to
write the log does not stop a request; the server's log and a metric report it (decision 45).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from flask import Flask, request

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import LineageError, NotFound
from fll_hbase.runtime.metrics import Counter
from fll_hbase.store.tags import TagStore

from ..wire.budget import is_read
from ..wire.environ import HAS_WRITTEN, QUERIED
from ..wire.paths import raw_uri
from .logs import LogFile, line_format

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


class Queried(NamedTuple):
    """The subject of a query: a field of a dataset, or all its fields if `field` is empty."""

    dataset: Dataset
    field: str


def note_query(environ: WSGIEnvironment, dataset: Dataset, field: str = "") -> None:
    """Note the subject of a request for the audit log."""
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
        """Return the tags of a field or of a dataset's fields, joined by commas; `unknown` on a failure."""
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
