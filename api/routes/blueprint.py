"""Common parts of all groups of routes: a blueprint with strict query parsing, and the objects of the app."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import flask_smorest
from flask import current_app, g, request

from fll_hbase.ingest.outcomes import ParsedDocument, RecordResult
from fll_hbase.ingest.registry import DocumentFormat, DocumentReader
from fll_hbase.model.access import Role
from fll_hbase.runtime import deadline
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import (
    ConfigurationError,
    DeadlineExceeded,
    LineageError,
    RequestCancelled,
    StoreUnavailable,
)
from fll_hbase.runtime.json_types import Json
from fll_hbase.store.lineage_store import LineageStore

from ..openapi.answer_schemas import Problem
from ..openapi.query_schemas import body_schema
from ..security.limits import Turns
from ..security.rights import View, Views, require
from ..wire import bodies, notes
from ..wire.budget import CLIENT_LEFT
from ..wire.problems import MEDIA_TYPE, report_refused
from ..wire.query_params import QueryParser, now_ms

PART_DOCUMENTS = 2_000
"""Documents of a batch that are recorded in one call."""

_log = logging.getLogger(__name__)

Route = TypeVar("Route", bound=Callable[..., Any])

_PROBLEMS = {
    400: "The query or document is invalid",
    401: "No valid token, where the server asks for one",
    403: "A page of another origin asks for a change, or the principal may not make it",
    404: "Nothing of this name is recorded",
    409: "Another program recorded the run id, or two contents have the same checksum",
    413: "Too large",
    415: "Unsupported media type",
    421: "The server does not answer for this host; see FLL_ALLOWED_HOSTS",
    422: "Well-formed, but not lineage",
    429: "More requests or bytes than a client may send; retry after the time given",
    503: "The store does not answer; retry after the time given",
}

_PROBLEM = body_schema(Problem)()
_STATUSES_OF_ALL = (401, 421, 429)


class Blueprint(flask_smorest.Blueprint):  # type: ignore[misc]
    """A group of routes whose queries QueryParser parses."""

    ARGUMENTS_PARSER = QueryParser()

    def problems(self, *statuses: int) -> Callable[[Route], Route]:
        """Return a decorator that documents the statuses of a route's problems, and what all routes have."""

        def decorate(view: Route) -> Route:
            # Every route checks the Host, the principal and its limits, and routes with a body also check the
            # Origin (api/security/hosts.py, api/security/authentication.py, api/security/limits.py).
            for status in sorted({*statuses, *_STATUSES_OF_ALL, *([403] if 415 in statuses else [])}):
                view = self.alt_response(
                    status, schema=_PROBLEM, content_type=MEDIA_TYPE, description=_PROBLEMS[status]
                )(view)
            return view

        return decorate

    def requires(
        self, schema: Json, *, media_type: str = "application/json", example: Json | None = None
    ) -> Callable[[Route], Route]:
        """Return a decorator that documents the body that a route needs, with an example unless None."""
        content = {"schema": schema, **({"example": example} if example else {})}
        decorate: Callable[[Route], Route] = self.doc(
            requestBody={"required": True, "content": {media_type: content}}
        )
        return decorate


def store() -> LineageStore:
    """Return the store of the app, as the principal of the request sees it."""
    return _view().store


def settings() -> Settings:
    """Return the settings of the app."""
    app_settings: Settings = current_app.extensions["fll-settings"]
    return app_settings


def reader() -> DocumentReader:
    """Return the document reader of the caller's view, with its cache of parsed operations."""
    return _view().reader


def _view() -> View:
    """Return the view of the store that the caller may see, selected once for each request."""
    # One view for each request, so that its parts number hidden names consistently.
    if "view" not in g:
        # From the app instead of a global, because tests have many apps, each with its own store.
        views: Views = current_app.extensions["fll-views"]
        g.view = views.select(request.environ)
    view: View = g.view
    return view


def body(role: Role, namespace: str | None = None) -> bytes:
    """Return the body of a request that needs a role in a namespace, or in any namespace for None.

    Raises Forbidden before anything is read, and the errors of `read_body`: TooLarge, UnreadableDocument,
    UnsupportedMediaType and DeadlineExceeded.
    """
    require(request.environ, role, namespace)
    limits = settings()
    return bodies.read_body(request, bytes_max=limits.document_bytes_max, ratio_max=limits.gzip_ratio_max)


def read_document(document_format: DocumentFormat, *, namespace: str | None) -> ParsedDocument:
    """Read the body of the request as one document, for a principal that may record in the namespace.

    Raises UnreadableDocument, InvalidLineage, TooLarge, StoreUnavailable, ConfigurationError and CorruptRow
    (the catalogue), or an error of `body`. If the time of the request ends meanwhile, the error says that
    nothing was stored.
    """
    raw = body(Role.RECORDER, namespace)
    with deadline.reading():
        return reader().read(raw, document_format, namespace=namespace, now_ms=now_ms())


def client_left() -> bool:
    """Return whether the client has closed the connection, or its half, and waits for no answer."""
    return bool(request.environ.get(CLIENT_LEFT, bool)())


@contextmanager
def turn_of_batch() -> Iterator[None]:
    """Return a context that waits for the turn of this client's batches and holds it (see `Turns`).

    The wait has no time limit. The block has the whole time of a request again.
    """
    turns: Turns = current_app.extensions["fll-turns"]
    with turns.hold(request.environ), deadline.renewed():
        yield


def ingest_batch(
    documents: Sequence[ParsedDocument | LineageError], *, take_over: bool = False
) -> list[RecordResult | LineageError]:
    """Record documents; return one result or error each, in order. Raises CorruptRow for a damaged store.

    If the store is unavailable, that error is the result of every document of the part without its own error.
    Each part of PART_DOCUMENTS documents gets the full time of a request. After a part that exceeds it, no
    further part of the request is tried, since each would wait as long for a store that hangs. The same goes
    for a client that leaves between two parts. Refused documents are counted, noted and logged.
    """
    results: list[RecordResult | LineageError] = []
    for start in range(0, len(documents), PART_DOCUMENTS):
        if start and client_left():
            g.exceeded = RequestCancelled("the client has left: this was not recorded")
        part = documents[start : start + PART_DOCUMENTS]
        results += _refuse(part, g.exceeded) if "exceeded" in g else _ingest_part(part, take_over)
    errors = [result for result in results if isinstance(result, LineageError)]
    report_refused(errors)
    # By identity, because one object may be the error of many documents.
    for error in {id(error): error for error in errors if error.client_text}.values():
        _log.error("request %s: %s: %s", g.get("request_id", ""), type(error).__name__, error)
    return results


def _ingest_part(
    documents: Sequence[ParsedDocument | LineageError], take_over: bool
) -> list[RecordResult | LineageError]:
    """Record documents with their own time budget; a failure of the store is each valid one's result.

    A DeadlineExceeded is also noted in `g.exceeded`. Raises CorruptRow.
    """
    try:
        with deadline.renewed():
            return notes.ingest_documents(store(), documents, take_over=take_over)
    # Not one 503 for all, because errors of documents are final and only the others may be sent again.
    except (StoreUnavailable, ConfigurationError) as error:
        if isinstance(error, DeadlineExceeded):
            g.exceeded = error
        return _refuse(documents, error)


def _refuse(
    documents: Sequence[ParsedDocument | LineageError], error: LineageError
) -> list[RecordResult | LineageError]:
    """Return for each document its own error if it has one, else `error`."""
    return [document if isinstance(document, LineageError) else error for document in documents]
