"""The busiest requests, answered without Flask's routing, hooks and schemas, which take as long as the store.

A request is plain if its method, path, parameters and headers have the forms below, which clients usually
send. All other requests go through the Flask app. Both ways use the same functions of the routes, and
tests/api/test_direct_routes.py sends random requests to both and compares the answers (decision 25).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from http import HTTPStatus
from io import BytesIO
from typing import TYPE_CHECKING, Any

from flask import Response

from fll_hbase.ingest.outcomes import ParsedDocument
from fll_hbase.ingest.registry import DocumentReader, format_named
from fll_hbase.model.access import Role
from fll_hbase.queries.lineage import Lineage
from fll_hbase.queries.parameters import Kind, Parameter
from fll_hbase.runtime import clock
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import LineageError

from .observability.observer import note_query
from .routes import openlineage, recording
from .routes.queries import respond
from .security.hosts import allowed_hosts
from .security.rights import Views, require
from .wire import problems, query_params, responses
from .wire.environ import ROUTE
from .wire.paths import NameConverter, NamespaceConverter, raw_uri
from .wire.problems import InvalidName

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

# Characters that `RawPath` would leave as they are.
_NAME = r"([A-Za-z0-9%:@!$&'()*+,;=._~-]+)"
_DOCUMENT = re.compile(rf"/v3/namespaces/{_NAME}/lineage", re.ASCII)
_LINEAGE = re.compile(re.sub(r"{\w+}", lambda _: _NAME, Lineage.path), re.ASCII)

_FLAGS = {"true": True, "false": False}
_LEVELS = {str(level): level for level in range(1, 10)}


def _plain_values(parameter: Parameter) -> dict[str, Any] | None:
    """Return the values of a parameter by their plain texts (counts: 1 to 9), or None for a time."""
    match parameter.kind:
        case Kind.TIME:
            return None
        case Kind.FLAG:
            return _FLAGS
        case Kind.COUNT:
            return _LEVELS
        case _:
            return {word: word for word in parameter.words}


_VALUES = {item.name: _plain_values(item) for item in Lineage.url_parameters()}
_EVENT, _NATIVE = format_named("openlineage"), format_named("lineage")

# int() refuses thousands of digits.
_LENGTH = re.compile(r"[0-9]{1,18}", re.ASCII)
_CONTENT_TYPES = {"application/json", *(f"application/json;{blank}charset=utf-8" for blank in ("", " "))}

_Answer = Callable[[], Response]


class _NotPlain(Exception):
    """The request is not plain and must go through the Flask app."""


class DirectRoutes:
    """WSGI middleware that answers plain requests itself and passes all others on to the app."""

    def __init__(self, app: WSGIApplication, views: Views, settings: Settings) -> None:
        self._app = app
        self._views = views
        self._settings = settings
        self._hosts = allowed_hosts(settings)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            answer = self._answer(environ)
        # Flask also handles errors of names, parameters and documents, because it lists all errors of a
        # request.
        except (_NotPlain, LineageError, InvalidName):
            return self._app(environ, start_response)
        request_id = responses.request_id(environ.get("HTTP_X_REQUEST_ID", ""))
        try:
            response = answer()
        except Exception as error:  # noqa: BLE001 (answered like those that Flask handles)
            seconds = self._settings.retry_after_seconds
            response = problems.error_response(error, request_id=request_id, retry_after_seconds=seconds)
        response = responses.finish(response, environ, request_id)
        if response.status_code == HTTPStatus.NOT_MODIFIED:
            return response(environ, start_response)
        # The response is complete. werkzeug would only look for a relative address, HEAD or a missing length.
        start_response(response.status, response.headers.to_wsgi_list())
        return [response.get_data()]

    def _answer(self, environ: WSGIEnvironment) -> _Answer:
        """Set ROUTE; return a function that answers the request. Raises _NotPlain or the request's errors."""
        path, query = raw_uri(environ).partition("?")[0], environ.get("QUERY_STRING", "")
        self._check_headers(environ)
        view = self._views.select(environ)
        if environ["REQUEST_METHOD"] == "GET" and (match := _LINEAGE.fullmatch(path)):
            lineage = _lineage(NamespaceConverter.decode(match[1]), NameConverter.decode(match[2]), query)
            now_ms = clock.now_ms()
            # Check the window here, so that Flask reports invalid times.
            lineage.window(now_ms)
            environ[ROUTE] = Lineage.path
            if self._settings.audit_log:
                note_query(environ, lineage.dataset)
            return lambda: respond(lineage, lineage.checked_answer(view.store, now_ms=now_ms))
        if environ["REQUEST_METHOD"] == "POST" and not query:
            if path == openlineage.PATH:
                event = self._read(view.reader, environ, None)
                environ[ROUTE] = openlineage.PATH
                return lambda: openlineage.record(view.store, event)
            if match := _DOCUMENT.fullmatch(path):
                document = self._read(view.reader, environ, NamespaceConverter.decode(match[1]))
                environ[ROUTE] = recording.DOCUMENT
                return lambda: recording.record(view.store, document, _NATIVE)
        raise _NotPlain

    def _check_headers(self, environ: WSGIEnvironment) -> None:
        """Raise _NotPlain for a host that may be foreign, a browser's request or a mounted app."""
        host = environ.get("HTTP_HOST", "")
        is_allowed = self._hosts.is_any or not host or self._hosts.allows(host)
        is_browser = "HTTP_ORIGIN" in environ or "HTTP_SEC_FETCH_SITE" in environ
        if not is_allowed or is_browser or environ.get("SCRIPT_NAME"):
            raise _NotPlain

    def _read(
        self, reader: DocumentReader, environ: WSGIEnvironment, namespace: str | None
    ) -> ParsedDocument:
        """Read the document of a request: an event without a namespace, a native document with one.

        Flask can read the body again. Raises _NotPlain for a request that Flask must handle, Forbidden, or
        the errors of the document.
        """
        length = environ.get("CONTENT_LENGTH") or ""
        is_plain = environ.get("CONTENT_TYPE", "").lower() in _CONTENT_TYPES and _LENGTH.fullmatch(length)
        if not is_plain or "HTTP_CONTENT_ENCODING" in environ or "HTTP_TRANSFER_ENCODING" in environ:
            raise _NotPlain
        if int(length) > self._settings.document_bytes_max:
            raise _NotPlain
        require(environ, Role.RECORDER, namespace)
        raw = environ["wsgi.input"].read(int(length))
        # Keep the body, because Flask reads it again if it must handle the request.
        environ["wsgi.input"] = BytesIO(raw)
        document_format = _EVENT if namespace is None else _NATIVE
        return reader.read(raw, document_format, namespace=namespace, now_ms=clock.now_ms())


def _lineage(namespace: str, name: str, query: str) -> Lineage:
    """Return the lineage query of a query string. Raises _NotPlain if Flask must check it."""
    params, errors = query_params.parse_query_string(query, _VALUES.keys())
    # An empty time is an error, not the default.
    if errors or "" in params.values():
        raise _NotPlain
    try:
        values: dict[str, Any] = {
            parameter: text if (plain := _VALUES[parameter]) is None else plain[text]
            for parameter, text in params.items()
        }
    except KeyError as error:
        raise _NotPlain from error
    return Lineage(namespace, name, **values)
