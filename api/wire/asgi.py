"""A call of an ASGI app within a WSGI request, for a library that has only an ASGI app."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

from flask import Request, Response
from werkzeug.datastructures import Headers

Message: TypeAlias = MutableMapping[str, Any]
AsgiApp: TypeAlias = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]
RunningApp: TypeAlias = AbstractAsyncContextManager[AsgiApp]
"""A context in which an app runs."""

_SENT_HEADERS = frozenset({"authorization", "content-encoding", "content-length", "cookie"})
"""Headers of a request that an app does not get: credentials, and how the body was sent."""


def call_asgi(running: RunningApp, request: Request, body: bytes) -> Response:
    """Return the whole answer of an ASGI app to a request with this body, which is decompressed.

    The app runs in the current thread, with its context variables, and in an event loop of its own: a call
    that blocks delays no other request. Raises the errors of the app.
    """
    return asyncio.run(_call(running, _scope(request, body), body))


async def _call(running: RunningApp, scope: Message, body: bytes) -> Response:
    received: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[Message] = []

    async def receive() -> Message:
        if not received:
            # Only the end of the connection could follow. The deadline of the request watches it.
            await asyncio.Event().wait()
        return received.pop()

    async def send(message: Message) -> None:
        sent.append(message)

    async with running as app:
        await app(scope, receive, send)
    start, *parts = sent
    headers = [(name.decode("latin-1").title(), value.decode("latin-1")) for name, value in start["headers"]]
    # Without its own default type: an answer without a body has none.
    response = Response(b"".join(part.get("body", b"") for part in parts), start["status"])
    response.headers = Headers(item for item in headers if item[0] != "Content-Length")
    return response


def _scope(request: Request, body: bytes) -> Message:
    """Return the ASGI scope of a request."""
    headers = [
        (name.lower().encode("latin-1"), value.encode("latin-1"))
        for name, value in request.headers.items()
        if name.lower() not in _SENT_HEADERS
    ]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.scheme,
        "path": request.path,
        "raw_path": request.path.encode("latin-1", "replace"),
        "root_path": "",
        "query_string": request.query_string,
        "headers": [*headers, (b"content-length", str(len(body)).encode())],
        "client": None,
        "server": None,
    }
