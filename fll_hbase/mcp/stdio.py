"""MCP over standard input and output: for an assistant that starts this process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from fll_hbase.ingest.document_batches import locate
from fll_hbase.ingest.ndjson import InputLine
from fll_hbase.mcp.tool_server import ToolSource, create_server, require_sdk
from fll_hbase.runtime.errors import LineageError

if TYPE_CHECKING:
    from fll_hbase.client.connection import Connection
    from fll_hbase.ingest.outcomes import RecordResult
    from fll_hbase.queries.query import Answer, Query

Connect = Callable[[], "AbstractContextManager[Connection]"]
"""A function that returns a client for one call of a tool."""

_log = logging.getLogger(__name__)


def serve(connect: Connect, *, can_record: bool, bytes_max: int, seconds: float) -> None:
    """Answer on standard output until standard input ends. Raises ConfigurationError without the SDK.

    `seconds` bounds a call on a store of this process; a client of a server has its own bounds.
    """
    require_sdk()

    def read_answer(query: Query[Any]) -> Answer[Any]:
        with connect() as client:
            return client.read_answer(query)

    def record(raw: bytes, namespace: str) -> RecordResult:
        with connect() as client:
            (result,) = client.record([locate(InputLine(1, raw), namespace=namespace)])
        if isinstance(result, LineageError):
            raise result
        return result

    recorder = record if can_record else None
    asyncio.run(_serve(ToolSource(read_answer, recorder, _error_text, bytes_max, seconds)))


async def _serve(source: ToolSource) -> None:
    """Serve the tools of a source on standard input and output until the input ends."""
    from mcp.server.stdio import stdio_server

    server = create_server(source)
    # It sends whatever else is printed to standard error.
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())


def _error_text(error: Exception) -> str:
    """Return the text of an error; log an unforeseen one on standard error."""
    if isinstance(error, LineageError):
        return str(error)
    _log.error("a tool failed", exc_info=error)
    return "internal error; the standard error of `fll mcp` has its cause"
