"""How do answers leave: JSON, entity tags, compression, request ids and links to the next page."""

from __future__ import annotations

import gzip
import re
import uuid
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
import xxhash
from flask import Flask, Request, Response, g, request

COMPRESSED_BYTES_MIN = 1024
_REQUEST_ID = re.compile(r"[\x21-\x7e]{1,200}", re.ASCII)


def encoded(body: Any) -> bytes:
    """A value as JSON."""
    return msgspec.json.encode(body)


def json(body: Any, status: int = 200, **headers: str) -> Response:
    """A JSON answer; header names take `_` for `-`."""
    response = Response(encoded(body), status=status, mimetype="application/json")
    for name, value in headers.items():
        response.headers[name.replace("_", "-")] = value
    return response


def linked(response: Response, **parameters: str | None) -> Response:
    """The answer with a link to the next page: this very question, with other parameters."""
    asked = {name: value for name, value in {**g.get("asked", {}), **parameters}.items() if value is not None}
    target = f"{request.environ['PATH_INFO']}?{urlencode(asked, quote_via=quote)}"
    response.headers["Link"] = f'<{target}>; rel="next"'
    return response


def register(app: Flask) -> None:
    """Make the app finish every answer."""
    app.before_request(_identify)
    app.after_request(_finish)


def _identify() -> None:
    given = request.headers.get("X-Request-ID", "")
    g.request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex


def _finish(response: Response) -> Response:
    response.headers["X-Request-ID"] = g.get("request_id", "")
    if response.is_streamed or response.direct_passthrough:
        return response
    readable = request.method in ("GET", "HEAD") and response.status_code == 200
    tag = xxhash.xxh3_64_hexdigest(response.get_data()) if readable else ""
    if response.content_length and response.content_length >= COMPRESSED_BYTES_MIN:
        response.vary.add("Accept-Encoding")
        if request.accept_encodings["gzip"] > 0:
            response.set_data(gzip.compress(response.get_data(), compresslevel=6, mtime=0))
            response.headers["Content-Encoding"] = "gzip"
            tag += "-gzip"
    if readable:
        response.set_etag(tag)
        if request.if_none_match:
            response.make_conditional(_only_if_none_match(request))
    return response


def _only_if_none_match(asked: Request) -> dict[str, str]:
    """The one condition that is heeded: others make no sense of answers that have no past."""
    return {"REQUEST_METHOD": asked.method, "HTTP_IF_NONE_MATCH": asked.headers["If-None-Match"]}
