"""An ASGI app gets the request of a WSGI server, and its answer becomes the response."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

import pytest
from flask import Request
from werkzeug.test import EnvironBuilder

from api.routes.assistants import AsgiApp, call_asgi

_seen: ContextVar[str] = ContextVar("seen", default="")


@asynccontextmanager
async def _running(app: AsgiApp) -> AsyncIterator[AsgiApp]:
    yield app


def _request(**members: Any) -> Request:
    return Request(EnvironBuilder("/mcp?a=%C3%A4", method="POST", **members).get_environ())


def test_an_app_gets_the_request_without_credentials() -> None:
    scopes: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scopes.append((scope, await receive(), _seen.get()))
        await send({"type": "http.response.start", "status": 202, "headers": []})
        await send({"type": "http.response.body"})

    _seen.set("of the request")
    headers = {"Authorization": "Bearer secret", "Content-Encoding": "gzip", "Accept": "application/json"}
    response = call_asgi(_running(app), _request(headers=headers, data=b"xyz"), b'{"id": 1}')
    assert (response.status_code, response.data) == (202, b"")
    ((scope, message, seen),) = scopes
    assert seen == "of the request"
    assert message == {"type": "http.request", "body": b'{"id": 1}', "more_body": False}
    assert (scope["method"], scope["path"], scope["query_string"]) == ("POST", "/mcp", b"a=%C3%A4")
    sent = dict(scope["headers"])
    assert sent[b"accept"] == b"application/json"
    assert sent[b"content-length"] == b"9"
    assert not {b"authorization", b"content-encoding"} & sent.keys()


def test_parts_of_an_answer_are_joined() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"application/json"), (b"content-length", b"99"), (b"allow", b"POST")]
        await send({"type": "http.response.start", "status": 405, "headers": headers})
        await send({"type": "http.response.body", "body": b"[1,", "more_body": True})
        await send({"type": "http.response.body", "body": b"2]"})

    response = call_asgi(_running(app), _request(), b"")
    assert (response.status_code, response.data) == (405, b"[1,2]")
    assert (response.content_type, response.headers["Allow"]) == ("application/json", "POST")
    assert response.content_length in (None, 5)


def test_errors_of_an_app_are_raised() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        call_asgi(_running(app), _request(), b"")
