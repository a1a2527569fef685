"""Assistants: the SDK's own client over both transports, and single messages to a Flask app."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import anyio
import httpx2
from flask.testing import FlaskClient
from mcp import Client, types
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from werkzeug.test import TestResponse

from fll_hbase.mcp.query_tools import QueryTool
from tests.support.waiting import PATIENCE_SECONDS

T = TypeVar("T")
Json = dict[str, Any]
Session = Callable[[Callable[[Client], Awaitable[T]]], T]

MODES = ("legacy", "auto")
"""Clients with the handshake of versions up to 2025-11-25, and those that try the newest version first."""

PROGRAM = [sys.executable, "-c", "from api.command import main; main()"]
ROOT = str(Path(__file__).parents[2])


def command(*arguments: str, **environment: str) -> StdioServerParameters:
    """Return `fll mcp` with arguments, as an assistant starts it."""
    program, *rest = [*PROGRAM, "mcp", *arguments]
    return StdioServerParameters(
        command=program, args=rest, env={"PYTHONPATH": ROOT, **environment}, cwd=ROOT
    )


def over_stdio(
    started: StdioServerParameters, work: Callable[[Client], Awaitable[T]], *, mode: str = "auto"
) -> T:
    """Return `await work(client)` with a client that starts a process, which ends with it."""

    async def run() -> T:
        with anyio.fail_after(PATIENCE_SECONDS):
            async with Client(stdio_client(started), mode=mode) as client:
                return await work(client)

    return anyio.run(run)


def over_http(
    url: str, work: Callable[[Client], Awaitable[T]], *, mode: str = "auto", headers: Json | None = None
) -> T:
    """Return `await work(client)` with a client of a server at a URL."""

    async def run() -> T:
        with anyio.fail_after(PATIENCE_SECONDS):
            async with (
                httpx2.AsyncClient(headers=headers) as http,
                Client(streamable_http_client(url, http_client=http), mode=mode) as client,
            ):
                return await work(client)

    return anyio.run(run)


def body_of(result: Any) -> Json:
    """Return the structured content of a call that succeeded."""
    assert isinstance(result, types.CallToolResult)
    assert not result.is_error, text_of(result)
    content: Json = result.structured_content
    return content


def text_of(result: Any) -> str:
    """Return the only text of a result."""
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


def post(client: FlaskClient, message: Any, *, environ: Json | None = None, **headers: str) -> TestResponse:
    """Send one message of the handshake era, which needs no handshake without a session."""
    defaults = {"Accept": "application/json", "MCP-Protocol-Version": "2025-06-18", "X-Request-ID": "one"}
    return client.post("/mcp", json=message, headers=defaults | headers, environ_overrides=environ or {})


def call_message(name: str, arguments: Json) -> Json:
    """Return the message that calls a tool."""
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def calls_of(tool: QueryTool, values: dict[str, tuple[Any, ...]]) -> list[Json]:
    """Return arguments of a tool: each combination of `values` of its required parameters.

    Optional parameters get their first value, if they have any. A new required parameter needs values.
    """
    body = {name: values[name][0] for name in tool.body_members if name in values and name != "namespace"}
    required = [name for name, item in tool.parameters.items() if item.required]
    optional = {
        name: values[name][0]
        for name, item in tool.parameters.items()
        if not item.required and name in values and name not in ("namespace", "field", "run")
    }
    combinations = product(*(values[name] for name in required))
    return [{**dict(zip(required, items, strict=True)), **optional, **body} for items in combinations]
