"""Answers of middleware: problems with the headers of every other answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from api import problems, responses
from fll_hbase.errors import TooManyRequests, Unauthenticated

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment


def refuse(
    environ: WSGIEnvironment, start_response: StartResponse, error: Exception, *, retry_after_seconds: int
) -> Iterable[bytes]:
    """Answer a request with an error. `retry_after_seconds` is for a server that is busy or away."""
    request_id = responses.request_id(environ.get("HTTP_X_REQUEST_ID", ""))
    response = problems.error_response(error, request_id=request_id, retry_after_seconds=retry_after_seconds)
    for name, value in _headers(error).items():
        response.headers[name] = value
    return responses.finish(response, environ, request_id)(environ, start_response)


def _headers(error: Exception) -> Mapping[str, str]:
    if isinstance(error, Unauthenticated):
        # The code of RFC 6750 only where there were credentials.
        return {"WWW-Authenticate": 'Bearer error="invalid_token"' if error.is_invalid else "Bearer"}
    if isinstance(error, TooManyRequests):
        return {"Retry-After": str(error.retry_after_seconds)}
    return {}
