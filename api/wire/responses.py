"""Responses: JSON, entity tags, compression, request ids and links to the next page."""

from __future__ import annotations

import gzip
import re
import uuid
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import msgspec
import xxhash
from flask import Flask, Response, g, request
from werkzeug.datastructures import Accept
from werkzeug.http import parse_accept_header

from fll_hbase.model.window import Window
from fll_hbase.queries.time_window import epoch_seconds as epoch_seconds

from .environ import PREFIX, ROUTE

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

# Smaller bodies gain little: header and trailer of gzip alone take 18 bytes.
COMPRESSED_BYTES_MIN = 1024
_SECURITY_HEADERS = (
    ("X-Content-Type-Options", "nosniff"),
    # Addresses contain names of datasets, which must not reach other sites.
    ("Referrer-Policy", "no-referrer"),
    # A page of another site that embeds an answer cannot even learn whether it is a 200 or a 404.
    ("Cross-Origin-Resource-Policy", "same-origin"),
)
CONTENT_SECURITY_POLICY = "Content-Security-Policy"
_NO_CONTENT = "default-src 'none'; frame-ancestors 'none'"
"""Default policy of an answer: a browser loads nothing for it and embeds it nowhere."""

_SECURITY_HEADERS_TLS = (*_SECURITY_HEADERS, ("Strict-Transport-Security", "max-age=31536000"))
_PATH_PARAM = re.compile(r"<(?:[^<:>]*:)?([^<>]*)>")
# Visible ASCII only: the id is repeated in a header and in logs, where a line break or escape does harm.
_REQUEST_ID = re.compile(r"[\x21-\x7e]{1,200}", re.ASCII)


def to_json(body: Any) -> bytes:
    """Return a value as JSON in UTF-8."""
    return msgspec.json.encode(body)


def json_response(body: Any, status: int = 200) -> Response:
    """Return a response with a value as JSON."""
    return Response(to_json(body), status=status, content_type="application/json")


def windowed_response(body: Any, window: Window, *, retained_from_ms: int | None = None) -> Response:
    """Return a response with a value as JSON, and the window of the query in its headers.

    `retained_from_ms` is the retention horizon, given only if the window begins before it.
    """
    response = json_response(body)
    if retained_from_ms is not None:
        response.headers["Retained-From"] = epoch_seconds(retained_from_ms)
    response.headers["Window-Start"] = epoch_seconds(window.start_ms)
    response.headers["Window-End"] = epoch_seconds(window.stop_ms)
    return response


def add_limits(response: Response, truncated_by: Sequence[str]) -> None:
    """Add headers that name the limits, if any, that cut an answer whose body has no member for them."""
    if truncated_by:
        response.headers["Truncated"] = "true"
        response.headers["Truncated-By"] = ", ".join(truncated_by)


def with_next_link(response: Response, **parameters: str | None) -> Response:
    """Add the Link to the next page: this query with `parameters`, without those that are None; return it."""
    params = {**g.get("query_params", {}), **parameters}
    query = urlencode({name: value for name, value in params.items() if value is not None}, quote_via=quote)
    # PATH_INFO is the raw path (see `RawPath`), in which names are still escaped.
    path = request.environ.get(PREFIX, "") + request.environ["PATH_INFO"]
    response.headers["Link"] = f'<{path}?{query}>; rel="next"'
    return response


def request_id(sent: str) -> str:
    """Return the id that a client sent if it has 1 to 200 visible ASCII characters, else a new id."""
    return sent if _REQUEST_ID.fullmatch(sent) else uuid.uuid4().hex


def register_response_hooks(app: Flask) -> None:
    """Register hooks on the app that give a request its id and ROUTE, and `finish` every response."""
    app.before_request(_begin_request)
    app.after_request(lambda response: finish(response, request.environ, g.get("request_id", "")))


def security_headers(scheme: str) -> tuple[tuple[str, str], ...]:
    """Return the security headers of every answer, and HSTS for `https`, so that browsers use only TLS."""
    return _SECURITY_HEADERS_TLS if scheme == "https" else _SECURITY_HEADERS


def _begin_request() -> None:
    """Set `g.request_id`, and ROUTE in the environment unless no route has the path and method."""
    g.request_id = request_id(request.headers.get("X-Request-ID", ""))
    # Without a rule the path is unknown, or does not support the method.
    if request.url_rule is not None:
        request.environ[ROUTE] = route_path(request.url_rule.rule)


@lru_cache(maxsize=1_000)
def route_path(rule: str) -> str:
    """Return the rule of a route of Flask as the OpenAPI document has it: `{name}` for `<converter:name>`."""
    return _PATH_PARAM.sub(r"{\1}", rule)


def finish(response: Response, environ: WSGIEnvironment, request_id: str) -> Response:
    """Add request id, security headers, entity tag and gzip to a response, in place; return it.

    A 200 to GET or HEAD has a tag, and becomes a 304 if the client sent that tag. Bodies are compressed from
    COMPRESSED_BYTES_MIN bytes on if the client accepts it. A streamed response has neither tag nor gzip.
    """
    response.headers.add("X-Request-ID", request_id)
    for name, value in security_headers(environ.get("wsgi.url_scheme", "")):
        response.headers.add(name, value)
    if CONTENT_SECURITY_POLICY not in response.headers:
        response.headers.add(CONTENT_SECURITY_POLICY, _NO_CONTENT)
    # A tag or gzip needs the whole body in memory; a batch answer that was spooled to disk may be large.
    if response.is_streamed or response.direct_passthrough:
        return response
    is_read = environ["REQUEST_METHOD"] in ("GET", "HEAD") and response.status_code == 200
    tag = xxhash.xxh3_64_hexdigest(response.get_data()) if is_read else ""
    if (response.content_length or 0) >= COMPRESSED_BYTES_MIN:
        # Also on the plain answer, so that a cache does not send it to a client that accepts gzip, or vice
        # versa.
        response.vary.add("Accept-Encoding")
        if _accepts_gzip(environ.get("HTTP_ACCEPT_ENCODING", "")):
            # mtime 0: equal answers have equal bytes, and so equal strong entity tags.
            response.set_data(gzip.compress(response.get_data(), compresslevel=6, mtime=0))
            response.headers["Content-Encoding"] = "gzip"
            # Strong tags name bytes, so each encoding has its own (RFC 9110, 8.8.3.3).
            tag += "-gzip"
    if is_read:
        response.set_etag(tag)
        if "HTTP_IF_NONE_MATCH" in environ:
            # The only condition: werkzeug would also apply Range and If-Match, and turn a complete answer
            # into a 206 or 412.
            condition = {name: environ[name] for name in ("REQUEST_METHOD", "HTTP_IF_NONE_MATCH")}
            response.make_conditional(condition)
    return response


@lru_cache(maxsize=256)
def _accepts_gzip(accept_encoding: str) -> bool:
    """Return whether an Accept-Encoding header allows gzip."""
    return bool(parse_accept_header(accept_encoding, Accept)["gzip"] > 0)
