"""The MCP server: lists and calls tools by the official SDK, over any of its transports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any

import msgspec

from fll_hbase.mcp.bounded_answer import bounded_answer
from fll_hbase.mcp.query_tools import PAGE_LIMIT, query_tools
from fll_hbase.queries.acknowledgements import field_errors
from fll_hbase.queries.query import Answer, Query
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import ConfigurationError, FieldError, InvalidQuery
from fll_hbase.runtime.json_types import Json
from fll_hbase.runtime.release import VERSION
from fll_hbase.runtime.threads import start_in_background

if TYPE_CHECKING:
    import mcp_types as types
    from mcp.server.lowlevel import Server

    from fll_hbase.ingest.outcomes import RecordResult

RECORD = "record"
"""The name of the tool that records a document."""

WARNINGS_MAX = 10
"""Warnings about a recorded document that the tool returns. A text has at most 2,000 characters."""

INSTRUCTIONS = f"""Field-level lineage: runs of programs with the fields that they read and wrote.

Names: a dataset has `namespace` and `name`, a field also has `field`; `*` is the dataset as a whole. Write
each name alone, exactly as recorded. If you do not know it, call `search` with a part of it.

Windows: tools look at runs that started from `start` (included) to `end` (excluded), by default the last 30
days. Write `2026-03-01`, `2026-03-01T06:00:00Z` or `now-7d`. March 2026 is start=2026-03-01, end=2026-04-01.
All times are in UTC.

Tools by subject:
- readers of a field and values derived from it: `consumption`. Only programs: `programs` (direction=forward)
- origins of a field: `provenance`. Its operations: `derivations` or `field_lineage`
- effects of a change of a field, SQL or a dbt project: `impact`. Neighbours of a dataset: `lineage`
- fields at any distance: `reach`
- changes between windows: `diff` of a field, `dataset_diff`, `history`
- runs of a dataset: `runs`. Others: `namespace_runs`, `all_runs`. One run: `run`
- names: `search`, `namespaces`, `datasets`, `fields`. Tags such as PII: `tagged_fields`, `field_tags`
- policies: `policies`. Data that is older than one allows: `retention`. Data where one forbids it: `flows`

Answers are short. If `complete` is false, `leftOut` says what is missing. Call the tool again with the
arguments of `next` added for more. Lists have {PAGE_LIMIT} items unless `limit` says otherwise. Runs that
started before `retainedFrom` may have been deleted.
"""

_RECORD_HELP = "Record the lineage of one run: a native document or an OpenLineage event."
_RECORD_SCHEMA: Json = {
    "type": "object",
    "properties": {
        "document": {"type": "object"},
        "namespace": {"type": "string", "description": "If the document has no namespace"},
    },
    "required": ["document"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class ToolSource:
    """The functions behind the tools: those of a store, or of a server. Several threads may call them.

    `read_answer` returns the answer to one page of a query. `record` records a document in JSON, in a
    namespace that is "" if it is not given; None offers no tool that records. Both raise LineageError.
    `error_text` returns the text of any error, and logs an error whose cause is not the client. `bytes_max`
    bounds the answer of a call. `seconds` is the time of a call, which then gets its own thread; None leaves
    it in the current one, with its deadline.
    """

    read_answer: Callable[[Query[Any]], Answer[Any]]
    record: Callable[[bytes, str], RecordResult] | None
    error_text: Callable[[Exception], str]
    bytes_max: int
    seconds: float | None = None


def require_sdk() -> None:
    """Raise ConfigurationError if the SDK is not installed."""
    try:
        import mcp.server.lowlevel  # noqa: F401
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"tools for assistants need {error.name}, which is not installed: pip install '.[mcp]' in the"
            " source tree, or append [mcp] to the wheel's name"
        ) from error


def create_server(source: ToolSource) -> Server[Any]:
    """Return an MCP server with a tool for each query, and with `record` if the source can record.

    Errors of tools are results, but an unknown tool raises MCPError. Call `require_sdk` first.
    """
    # Imported here, because the SDK takes longer to import than all other modules together.
    import mcp_types as types
    from mcp.server.lowlevel import Server
    from mcp.shared.exceptions import MCPError

    async def list_tools(*_: Any) -> types.ListToolsResult:
        tools = [
            _described(item.name, item.description, item.input_schema) for item in query_tools().values()
        ]
        if source.record is not None:
            tools.append(_described(RECORD, _RECORD_HELP, _RECORD_SCHEMA, is_read=False))
        return types.ListToolsResult(tools=tools)

    async def call_tool(_: Any, call: types.CallToolRequestParams) -> types.CallToolResult:
        if call.name not in query_tools() and (call.name != RECORD or source.record is None):
            raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown tool: {call.name[:100]!a}")
        work = partial(_result, source, call.name, call.arguments or {})
        return work() if source.seconds is None else await _call_in_thread(work, source.seconds)

    return Server(
        "fll_hbase",
        version=VERSION,
        title="Field lineage",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _described(name: str, description: str, input_schema: Json, *, is_read: bool = True) -> types.Tool:
    """Return the description of a tool; recording a run again changes nothing."""
    import mcp_types as types

    hints = types.ToolAnnotations(
        read_only_hint=is_read, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    return types.Tool(name=name, description=description, input_schema=input_schema, annotations=hints)


def _result(source: ToolSource, name: str, arguments: Json) -> types.CallToolResult:
    """Return the result of a call as text and structured content, or any error as text cut to `bytes_max`."""
    import mcp_types as types

    try:
        if tool := query_tools().get(name):
            answer = bounded_answer(tool.to_query(arguments), source.read_answer, bytes_max=source.bytes_max)
        else:
            answer = _record(source, arguments)
        text = msgspec.json.encode(answer).decode()
    except Exception as error:  # noqa: BLE001 (every error is an answer; the source logs unforeseen ones)
        # An error may quote every argument of a call.
        text = source.error_text(error).encode(errors="replace")[: source.bytes_max].decode(errors="ignore")
        return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=answer)


def _record(source: ToolSource, arguments: Json) -> Json:
    """Record the document of a call, and return its acknowledgement with the first warnings.

    Raises InvalidQuery with every invalid argument, and the error of a document that is not recorded.
    """
    document, namespace = arguments.get("document"), arguments.get("namespace") or ""
    listed = _RECORD_SCHEMA["properties"]
    errors = [
        FieldError(name, f"unknown parameter; parameters here: {', '.join(listed)}")
        for name in arguments
        if name not in listed
    ]
    if not isinstance(document, dict):
        errors.append(FieldError("document", "invalid value: expected an object"))
    if not isinstance(namespace, str):
        errors.append(FieldError("namespace", "invalid value: expected a string"))
    if errors or source.record is None:
        raise InvalidQuery(errors)
    result = source.record(msgspec.json.encode(document), namespace)
    return {
        "outcome": result.outcome.value,
        "runs": msgspec.to_builtins(result.runs),
        "warnings": field_errors(result.warnings[:WARNINGS_MAX]),
    }


async def _call_in_thread(work: Callable[[], types.CallToolResult], seconds: float) -> types.CallToolResult:
    """Return the result of `work()`, which has `seconds` in a thread of its own.

    If this task is cancelled, the deadline of the thread is over, and its next check ends the work.
    """
    cancelled = Event()

    def call() -> types.CallToolResult:
        with deadline.limited(seconds, is_cancelled=cancelled.is_set):
            return work()

    try:
        return await asyncio.wrap_future(start_in_background(call))
    finally:
        cancelled.set()
