"""Tools for assistants over HTTP: each request is answered alone, so that processes share nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from flask import Blueprint, Request, Response, current_app, g, request
from werkzeug.datastructures import Headers

from fll_hbase.ingest.document_batches import locate
from fll_hbase.ingest.ndjson import InputLine
from fll_hbase.ingest.outcomes import RecordResult
from fll_hbase.mcp.tool_server import ToolSource, create_server, require_sdk
from fll_hbase.model.access import Principal, Role
from fll_hbase.model.datasets import Dataset
from fll_hbase.queries.query import Answer, Query
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import ConfigurationError, LineageError
from fll_hbase.store.rights.numbering import begin_answer

from ..observability.observer import note_query
from ..security.rights import require
from ..wire import problems, responses
from ..wire.environ import HAS_WRITTEN, MCP_PATH, PRINCIPAL
from ..wire.notes import ingest_documents
from ..wire.query_params import now_ms
from .blueprint import body, reader, settings, store
from .queries import answer_query

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

# Flask's own class: MCP describes its tools itself, and the OpenAPI document describes the REST API.
blueprint = Blueprint("mcp", __name__)

# It writes a line for each start of its session manager, which here is each request.
logging.getLogger("mcp").setLevel(logging.WARNING)

Message: TypeAlias = MutableMapping[str, Any]

AsgiApp: TypeAlias = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]

RunningApp: TypeAlias = AbstractAsyncContextManager[AsgiApp]
"""A context in which an app runs."""

_SENT_HEADERS = frozenset({"authorization", "content-encoding", "content-length", "cookie"})
"""Headers of a request that an app does not get: credentials, and how the body was sent."""


@blueprint.route(MCP_PATH, methods=["POST"])
def mcp() -> Response:
    """Answer one message of MCP in JSON through the SDK, which handles the protocol; 501 without the SDK."""
    raw = body(Role.RECORDER if _can_record() else Role.READER)
    try:
        require_sdk()
    except ConfigurationError as error:
        problem = problems.status_problem(HTTPStatus.NOT_IMPLEMENTED, str(error))
        return Response(responses.to_json(problem), problem["status"], content_type=problems.MEDIA_TYPE)
    record = _record if _can_record() else None
    server = create_server(ToolSource(_read_answer, record, _error_text, settings().mcp_bytes_max))
    return call_asgi(_run(server, body_bytes=len(raw)), request, raw)


@asynccontextmanager
async def _run(server: Server[Any], *, body_bytes: int) -> AsyncIterator[AsgiApp]:
    """Run the ASGI app of a server for one request, without sessions and streams."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    # The body was read within the limits of all documents.
    manager = StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, max_request_body_size=max(body_bytes, 1)
    )
    async with manager.run():
        yield cast(AsgiApp, manager.handle_request)


def _can_record() -> bool:
    """Return whether the principal of the request may record runs in any namespace."""
    principal: Principal | None = request.environ.get(PRINCIPAL)
    return principal is None or principal.may_anywhere(Role.RECORDER)


def _read_answer(query: Query[Any]) -> Answer[Any]:
    """Return the answer to a query, and note its subject for the audit log. Raises LineageError."""
    namespace, name = getattr(query, "namespace", ""), getattr(query, "name", "")
    if namespace and name:
        note_query(request.environ, Dataset(namespace, name), getattr(query, "field", None) or "")
    # A page may be read twice, and hidden names are numbered within one answer.
    begin_answer()
    return answer_query(query)


def _record(raw: bytes, namespace: str) -> RecordResult:
    """Record a document, by default in `namespace`, even if its client leaves. Raises LineageError."""
    document = locate(InputLine(1, raw), namespace=namespace)
    program_namespace = document.namespace or None
    require(request.environ, Role.RECORDER, program_namespace)
    request.environ[HAS_WRITTEN] = True
    # A budget of its own, which does not end when the client leaves.
    with deadline.limited(settings().request_seconds):
        parsed = reader().read(raw, document.head, namespace=program_namespace, now_ms=now_ms())
        (result,) = ingest_documents(store(), [parsed])
    if isinstance(result, LineageError):
        raise result
    return result


def _error_text(error: Exception) -> str:
    """Return the detail of an error's problem; errors of the server are logged as for other routes."""
    seconds = current_app.config["FLL_RETRY_AFTER_SECONDS"]
    response = problems.error_response(error, request_id=g.get("request_id", ""), retry_after_seconds=seconds)
    return str(response.get_json()["detail"])


def call_asgi(running: RunningApp, request: Request, body: bytes) -> Response:
    """Return the whole answer of an ASGI app to a request with this body, which is decompressed.

    The app runs in the current thread, with its context variables, and in an event loop of its own: a call
    that blocks delays no other request. Raises the errors of the app.
    """
    return asyncio.run(_call(running, _scope(request, body), body))


async def _call(running: RunningApp, scope: Message, body: bytes) -> Response:
    """Run the app with the body as one message; return its whole answer, without Content-Length."""
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
    """Return the ASGI scope of a request, without _SENT_HEADERS but with the length of `body`."""
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
