"""Answers that report errors: RFC 9457 problems with the type, title and status of the error class."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING

from flask import Flask, Response, current_app, g, request
from werkzeug.exceptions import BadRequest, HTTPException, MethodNotAllowed
from werkzeug.exceptions import NotFound as RouteNotFound

from fll_hbase.queries import acknowledgements
from fll_hbase.runtime import metrics
from fll_hbase.runtime.errors import (
    ChecksumConflict,
    FieldError,
    Forbidden,
    InputError,
    InvalidLineage,
    InvalidQuery,
    LineageError,
    NotFound,
    RequestCancelled,
    RunIdConflict,
    TooLarge,
    TooManyRequests,
    Unauthenticated,
    UnreadableDocument,
)
from fll_hbase.runtime.json_types import Json

from . import notes, responses
from .responses import to_json

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

MEDIA_TYPE = "application/problem+json"
PATH_HINTS: dict[str, str] = {}
"""Hints for unknown paths, by prefix. Modules of routes add their own."""

NO_ROUTE = "there is no such path; /docs lists the routes, and clients take the URL of the server alone"

METHOD_HINTS: dict[str, str] = {}
"""Hints for a method that a path does not support, by path."""

_TYPE = "urn:fll-hbase:problem:"
_log = logging.getLogger(__name__)

REFUSED = metrics.Counter(
    "fll_documents_refused_total", "Documents and events that were refused.", ["reason"]
)
_DOCUMENT_ERRORS = (UnreadableDocument, InvalidLineage, TooLarge, RunIdConflict, ChecksumConflict)


class InvalidName(BadRequest):
    """A path segment that is not a valid name; `error` is the InvalidQuery for the answer."""

    # An HTTP error, because Flask passes no other error of path matching to the handlers.
    def __init__(self, errors: Iterable[FieldError]) -> None:
        self.error = InvalidQuery(errors)
        super().__init__(str(self.error))


def problem_body(error: LineageError) -> Json:
    """Return an error as a problem, with the text meant for clients and, for an InputError, `errors`."""
    problem = _body(error.slug, error.title, error.status, error.client_text or str(error))
    if isinstance(error, InputError):
        problem["errors"] = acknowledgements.field_errors(error.errors)
    return problem


def register_error_handlers(app: Flask) -> None:
    """Register handlers on the app that answer every error with a problem."""
    app.register_error_handler(HTTPException, _http_error)
    # Without this handler, Flask answers unforeseen errors with HTML.
    app.register_error_handler(Exception, _error)


def status_problem(status: HTTPStatus, detail: str) -> Json:
    """Return a problem without an error class of its own: its type is the name of the status."""
    return _body(status.phrase.lower().replace(" ", "-"), status.phrase, status, detail)


def internal_problem(request_id: str) -> Json:
    """Return the problem of an unforeseen error; the log has its cause under the request id."""
    detail = f"internal error; the server's log has its cause under X-Request-ID {request_id}"
    return _body(LineageError.slug, LineageError.title, LineageError.status, detail)


def error_response(error: Exception, *, request_id: str, retry_after_seconds: int) -> Response:
    """Return an error as a problem response, which is a 500 unless it is a LineageError.

    A 503 has `retry_after_seconds` in its headers; TooManyRequests has its own. Server errors are logged with
    the id of the request; refused documents are reported (`report_refused`).
    """
    if not isinstance(error, LineageError):
        # The text of an unforeseen error may show internals, so only the log has it, under the request id.
        _log.error("request %s: unexpected error", request_id, exc_info=error)
        return _response(internal_problem(request_id))
    report_refused([error])
    # The answer tells the client about its own errors. Errors of the server concern its operator.
    if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        level = logging.INFO if isinstance(error, RequestCancelled) else logging.ERROR
        _log.log(level, "request %s: %s: %s", request_id, type(error).__name__, error)
    response = _response(problem_body(error))
    if error.status == HTTPStatus.SERVICE_UNAVAILABLE:
        response.headers["Retry-After"] = str(retry_after_seconds)
    if isinstance(error, TooManyRequests):
        response.headers["Retry-After"] = str(error.retry_after_seconds)
    if isinstance(error, Unauthenticated):
        # RFC 6750 allows the error code only if the request had credentials.
        challenge = 'Bearer error="invalid_token"' if error.is_invalid else "Bearer"
        response.headers["WWW-Authenticate"] = challenge
    return response


def report_refused(errors: Iterable[LineageError]) -> None:
    """Count, log and note errors of refused documents, note but not count Forbidden, and ignore others."""
    refused = [error for error in errors if isinstance(error, (*_DOCUMENT_ERRORS, Forbidden))]
    notes.refuse(refused)
    counts = Counter(error.slug for error in refused if isinstance(error, _DOCUMENT_ERRORS))
    for slug, count in counts.items():
        REFUSED.add(count, slug)
    if counts:
        # Without the texts of the errors, which quote names in the documents; the sender gets the texts.
        _log.warning("documents refused: %s", ", ".join(f"{count} {slug}" for slug, count in counts.items()))


def _error(error: Exception) -> Response:
    """Return an error as a problem response of the current request (see `error_response`)."""
    seconds = current_app.config["FLL_RETRY_AFTER_SECONDS"]
    return error_response(error, request_id=g.get("request_id", ""), retry_after_seconds=seconds)


def _http_error(error: HTTPException) -> Response:
    """Return an error of Flask or werkzeug as a problem, with a hint for an unknown route or method.

    A request without a route is noted as a refused document.
    """
    if isinstance(error, InvalidName):
        return _error(error.error)
    status = HTTPStatus(error.code or HTTPStatus.INTERNAL_SERVER_ERROR)
    detail = error.description or status.description
    if isinstance(error, RouteNotFound):
        path = f"{request.path}/"
        hints = (hint for prefix, hint in PATH_HINTS.items() if path.startswith(f"{prefix}/"))
        detail = next(hints, NO_ROUTE if detail == RouteNotFound.description else detail)
        notes.refuse([NotFound(detail)])
    if isinstance(error, MethodNotAllowed):
        detail = METHOD_HINTS.get(request.path, detail)
    response = _response(status_problem(status, detail))
    # A 405 must list the methods in Allow (RFC 9110, 15.5.6). Type and length describe werkzeug's HTML page.
    for name, value in error.get_headers():
        if name.lower() not in ("content-type", "content-length"):
            response.headers[name] = value
    return response


def _body(slug: str, title: str, status: HTTPStatus, detail: str) -> Json:
    """Return a problem with these members; `type` is the URN of the slug."""
    return {"type": _TYPE + slug, "title": title, "status": status.value, "detail": detail}


def _response(problem: Json) -> Response:
    """Return a response with a problem as JSON and the status of the problem."""
    return Response(to_json(problem), status=problem["status"], mimetype=MEDIA_TYPE)


def refuse(
    environ: WSGIEnvironment, start_response: StartResponse, error: Exception, *, retry_after_seconds: int
) -> Iterable[bytes]:
    """Answer a WSGI request with the problem of `error_response`, completed by `responses.finish`."""
    request_id = responses.request_id(environ.get("HTTP_X_REQUEST_ID", ""))
    response = error_response(error, request_id=request_id, retry_after_seconds=retry_after_seconds)
    return responses.finish(response, environ, request_id)(environ, start_response)
