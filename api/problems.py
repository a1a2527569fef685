"""Which status tells which error, and how: RFC 9457 problems, one table."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, NamedTuple

from flask import Flask, Response, current_app
from werkzeug.exceptions import BadRequest, HTTPException
from werkzeug.exceptions import NotFound as RouteNotFound

from api.responses import encoded
from fll_hbase import rest_json
from fll_hbase.errors import (
    ChecksumConflict,
    ConfigurationError,
    CorruptRow,
    FieldError,
    InputError,
    InvalidLineage,
    InvalidQuery,
    LineageError,
    NotFound,
    StoreUnavailable,
    TooLarge,
    UnreadableDocument,
)

MEDIA_TYPE = "application/problem+json"
_TYPE = "urn:fll-hbase:problem:"
_log = logging.getLogger(__name__)


class _Meaning(NamedTuple):
    status: HTTPStatus
    name: str
    title: str


_TABLE: dict[type[LineageError], _Meaning] = {
    UnreadableDocument: _Meaning(HTTPStatus.BAD_REQUEST, "unreadable-document", "Unreadable document"),
    InvalidQuery: _Meaning(HTTPStatus.BAD_REQUEST, "bad-question", "Bad question"),
    InvalidLineage: _Meaning(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid-lineage", "Invalid lineage"),
    NotFound: _Meaning(HTTPStatus.NOT_FOUND, "never-seen", "Never seen"),
    ChecksumConflict: _Meaning(HTTPStatus.CONFLICT, "checksum-conflict", "Checksum conflict"),
    TooLarge: _Meaning(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too-large", "Too large"),
    StoreUnavailable: _Meaning(HTTPStatus.SERVICE_UNAVAILABLE, "store-away", "Store away"),
    ConfigurationError: _Meaning(HTTPStatus.SERVICE_UNAVAILABLE, "store-away", "Store away"),
    CorruptRow: _Meaning(HTTPStatus.INTERNAL_SERVER_ERROR, "corrupt-row", "Corrupt row"),
}
_INTERNAL = _Meaning(HTTPStatus.INTERNAL_SERVER_ERROR, "internal", "Internal error")


class BadName(BadRequest):
    """A path segment that is no name; raised while the path is matched, where only this kind is heeded."""

    def __init__(self, faults: Iterable[FieldError]) -> None:
        self.problem = InvalidQuery(faults)
        super().__init__(str(self.problem))


def body(error: LineageError) -> dict[str, Any]:
    """The problem that tells an error."""
    meaning = _TABLE.get(type(error), _INTERNAL)
    told: dict[str, Any] = {
        "type": _TYPE + meaning.name,
        "title": meaning.title,
        "status": meaning.status.value,
        "detail": str(error),
    }
    if isinstance(error, InputError):
        told["errors"] = rest_json.faults(error.errors)
    return told


def register(app: Flask) -> None:
    """Make the app answer every error as a problem."""
    app.register_error_handler(LineageError, _lineage_error)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Exception, _unexpected)


def not_here(detail: str) -> Response:
    """The problem of a place where nothing is done, with what to do instead."""
    return _http_error(RouteNotFound(detail))


def _lineage_error(error: LineageError) -> Response:
    told = body(error)
    if told["status"] >= HTTPStatus.INTERNAL_SERVER_ERROR:
        _log.error("%s: %s", type(error).__name__, error)
    response = _response(told)
    if told["status"] == HTTPStatus.SERVICE_UNAVAILABLE:
        response.headers["Retry-After"] = str(current_app.config["FLL_RETRY_AFTER_SECONDS"])
    return response


def _http_error(error: HTTPException) -> Response:
    if isinstance(error, BadName):
        return _lineage_error(error.problem)
    status = HTTPStatus(error.code or HTTPStatus.INTERNAL_SERVER_ERROR)
    slug = status.phrase.lower().replace(" ", "-")
    told = {
        "type": _TYPE + slug,
        "title": status.phrase,
        "status": status.value,
        "detail": error.description or status.description,
    }
    response = _response(told)
    for name, value in error.get_headers():
        if name.lower() not in ("content-type", "content-length"):
            response.headers[name] = value
    return response


def _unexpected(error: Exception) -> Response:
    _log.exception("unexpected error")
    told = {
        "type": _TYPE + _INTERNAL.name,
        "title": _INTERNAL.title,
        "status": _INTERNAL.status.value,
        "detail": "an error of the server; its log says more, under this answer's X-Request-ID",
    }
    return _response(told)


def _response(told: dict[str, Any]) -> Response:
    return Response(encoded(told), status=told["status"], mimetype=MEDIA_TYPE)
