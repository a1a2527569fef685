"""Tools over HTTP: every query, with the rights, limits and errors of the server."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from mcp import Client
from mcp.shared.exceptions import MCPError

from api import create_app
from api.observability.logs import open_log
from api.observability.observer import AuditLog, RequestObserver
from api.wire.budget import CLIENT_LEFT
from api.wire.environ import PRINCIPAL
from fll_hbase.mcp.query_tools import query_tools
from fll_hbase.model.access import Grant, Principal, Role
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.assistants import (
    MODES,
    body_of,
    call_message,
    calls_of,
    command,
    over_http,
    over_stdio,
    post,
    text_of,
)
from tests.support.lineage_documents import copying, run
from tests.support.sampled_store import load_recent
from tests.support.served_app import serving

WINDOW = {"start": "2025-07-01", "end": "2025-10-10"}
FIELD = {"namespace": "bank", "name": "DailyTransactions", "field": "UID"}
SOURCE, TARGET = {"namespace": "bank", "name": "in"}, {"namespace": "bank", "name": "out"}
DOCUMENT = copying(SOURCE, TARGET, "a", run=run("run-1"))
READER = Principal("reader", (Grant(Role.READER, "bank"),))
RECORDER = Principal("recorder", (Grant(Role.RECORDER, "bank"),))


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a store that tests only read."""
    return load_recent(tmp_path_factory.mktemp("recent"))


@pytest.fixture
def client(url: str) -> Iterator[FlaskClient]:
    """A client of an app over the store."""
    store = LineageStore(open_table(url))
    yield create_app(store).test_client()
    store.close()


@pytest.fixture
def empty() -> FlaskClient:
    """A client of an app over an empty store."""
    return create_app(LineageStore(open_table("sqlite:///:memory:"))).test_client()


def _call(client: FlaskClient, name: str, arguments: Any, **options: Any) -> Any:
    response = post(client, call_message(name, arguments), **options)
    assert response.status_code == 200, response.text
    return response.json["result"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", [*MODES, "stdio"])
def test_the_client_of_the_sdk_calls_every_tool(url: str, mode: str) -> None:
    store = LineageStore(open_table(url))
    runs = create_app(store).test_client().get("/v3/namespaces/bank/runs?start=0").json["runs"]
    values: dict[str, tuple[Any, ...]] = {name: (value,) for name, value in (FIELD | WINDOW).items()}
    values |= {"run": (runs[0]["run"],), "checksum": (runs[0]["checksum"],), "limit": (2,), "text": ("uid",)}
    values |= {"tag": ("PII",), "policy": ("none",), "fields": ([FIELD | {"change": "drop"}],)}

    async def call_all(client: Client) -> dict[str, Any]:
        listed = (await client.list_tools()).tools
        assert [item.name for item in listed] == [*query_tools(), "record"]
        assert client.instructions is not None
        return {
            name: await client.call_tool(name, arguments)
            for name, tool in query_tools().items()
            for arguments in calls_of(tool, values)
        }

    with serving(create_app(store)) as server:
        address = f"http://127.0.0.1:{server.port}"
        if mode == "stdio":
            results = over_stdio(command("--server", address, "--write"), call_all)
        else:
            results = over_http(f"{address}/mcp", call_all, mode=mode)
    store.close()
    for name in [name for name, tool in query_tools().items() if "policy" in tool.parameters]:
        assert "'none'" in text_of(results.pop(name)), name
    for name, result in results.items():
        body = body_of(result)
        assert json.loads(text_of(result)) == body
        assert len(text_of(result).encode()) <= 20_000, name
        windowed = "start" in query_tools()[name].parameters and name != "field_tags"
        assert not windowed or body["window"]["start"] == "2025-07-01T00:00:00.000Z", name


def test_answers_equal_those_of_the_rest_api(client: FlaskClient) -> None:
    rest = client.get("/v3/namespaces/bank/endpoints/DailyTransactions/fields/UID").json
    result = _call(client, "field_details", FIELD)
    assert result["structuredContent"]["answer"]["tags"] == rest["tags"]
    assert result["structuredContent"]["answer"]["type"] == rest["type"]
    events = _call(client, "events", {})
    assert "each process of this server" in events["structuredContent"]["answer"]["covers"]


@pytest.mark.parametrize(
    ("tool", "arguments", "target"),
    [
        ("fields", {"namespace": "bank", "name": "none"}, "/v3/namespaces/bank/endpoints/none/fields"),
        (
            "history",
            {**FIELD, "start": "now"},
            "/v3/namespaces/bank/endpoints/DailyTransactions/fields/UID/history?start=now%2B1d&end=now",
        ),
        ("content", {"checksum": "0" * 32}, f"/v3/contents/{'0' * 32}"),
        ("datasets", {"namespace": "bank", "cursor": "x"}, "/v3/namespaces/bank/endpoints?cursor=x"),
    ],
)
def test_errors_have_the_text_of_the_rest_api(
    client: FlaskClient, tool: str, arguments: dict[str, Any], target: str
) -> None:
    if tool == "history":
        arguments = {**arguments, "start": "now+1d", "end": "now"}
    result = _call(client, tool, arguments)
    assert result["isError"]
    assert result["content"][0]["text"] == client.get(target).json["detail"]
    assert "structuredContent" not in result


def test_what_is_not_one_message_is_refused(client: FlaskClient) -> None:
    message = call_message("search", {"text": "uid"})
    for body in ([message, message], [], 3, "x", {"id": 1}):
        for version in ("2025-06-18", "2026-07-28"):
            response = post(client, body, **{"MCP-Protocol-Version": version})
            assert response.status_code == 400, (body, version)
            assert response.json["error"]["code"] < 0
    deep = b"[" * 100_000
    assert client.post("/mcp", data=deep, content_type="application/json").status_code in (400, 406)


def test_methods_and_media_types(client: FlaskClient) -> None:
    for method in ("GET", "DELETE", "PUT"):
        answer = client.open("/mcp", method=method)
        assert answer.status_code == 405
        assert "POST" in answer.headers["Allow"]
    assert client.post("/mcp", data="{}", content_type="text/plain").status_code == 415
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert post(client, ping, Accept="text/html").status_code == 406
    assert post(client, ping).json == {"jsonrpc": "2.0", "id": 1, "result": {}}
    notification = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    assert post(client, notification).status_code == 202


def test_unknown_tools_and_methods_are_protocol_errors(client: FlaskClient) -> None:
    for name in ("nope", "x" * 100_000, ""):
        error = post(client, call_message(name, {})).json["error"]
        assert error["code"] == -32602
        assert len(error["message"]) < 1_000
    # Half of a character is not JSON for the parser of the SDK.
    assert post(client, call_message("\ud800", {})).json["error"]["code"] == -32700
    unknown = {"jsonrpc": "2.0", "id": 1, "method": "resources/list"}
    assert post(client, unknown).json["error"]["code"] == -32601


@pytest.mark.parametrize("count", [10, 1_000, 50_000])
def test_an_error_about_many_arguments_is_bounded(client: FlaskClient, count: int) -> None:
    result = _call(client, "search", {f"argument{number}": number for number in range(count)})
    assert result["isError"]
    assert len(result["content"][0]["text"]) <= 20_000


def test_a_body_beyond_the_limit_of_documents_is_refused(url: str) -> None:
    store = LineageStore(open_table(url))
    client = create_app(store, Settings(document_bytes_max=1_000)).test_client()
    assert post(client, call_message("search", {"text": "x" * 2_000})).status_code == 413
    assert post(client, call_message("search", {"text": "uid"})).status_code == 200
    store.close()


def test_record_is_offered_to_those_who_may(empty: FlaskClient) -> None:
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    for principal, offered in ((READER, False), (RECORDER, True)):
        tools = post(empty, listing, environ={PRINCIPAL: principal}).json["result"]["tools"]
        assert ("record" in [item["name"] for item in tools]) == offered
        assert all(item["annotations"]["readOnlyHint"] == (item["name"] != "record") for item in tools)
    stranger = Principal("stranger", ())
    assert post(empty, listing, environ={PRINCIPAL: stranger}).status_code == 403
    document = {"document": DOCUMENT, "namespace": "bank"}
    refused = post(empty, call_message("record", document), environ={PRINCIPAL: READER})
    assert refused.json["error"]["message"] == "Unknown tool: 'record'"
    other = _call(empty, "record", {**document, "namespace": "hospital"}, environ={PRINCIPAL: RECORDER})
    assert other["isError"]
    assert "`recorder`" in other["content"][0]["text"]


def test_a_run_is_recorded_once(empty: FlaskClient) -> None:
    document = {"document": DOCUMENT, "namespace": "bank"}
    outcomes = [_call(empty, "record", document)["structuredContent"]["outcome"] for _ in range(2)]
    assert outcomes == ["recorded", "repeated"]
    assert [item["run"] for item in empty.get("/v3/runs?start=0").json["runs"]] == ["run-1"]
    for arguments in ({}, {"document": []}, {"document": {}, "namespace": 3}, {"document": {}, "x": 1}):
        assert _call(empty, "record", arguments)["isError"]


def test_a_client_that_leaves_cancels_a_query_and_not_a_record(empty: FlaskClient) -> None:
    left = {CLIENT_LEFT: lambda: True}
    document = {"document": DOCUMENT, "namespace": "bank"}
    assert _call(empty, "record", document, environ=left)["structuredContent"]["outcome"] == "recorded"
    query = {**TARGET, "field": "a", "start": "2000-01-01"}
    result = _call(empty, "reach", query, environ=left)
    assert result["isError"]
    assert "the client closed the connection" in result["content"][0]["text"]
    assert not _call(empty, "reach", query)["isError"]


def test_calls_are_in_the_audit_log(url: str, tmp_path: Path) -> None:
    store = LineageStore(open_table("sqlite:///:memory:"))
    settings = Settings(audit_log=str(tmp_path / "audit.log"))
    app = create_app(store, settings)
    log = open_log(settings.audit_log, setting="FLL_AUDIT_LOG")
    assert log is not None
    observer = RequestObserver(audit=AuditLog(log, store.tags))
    client = app.test_client()
    assert client.post("/v3/namespaces/bank/lineage", json=DOCUMENT).status_code == 201
    path = "/v3/namespaces/bank/endpoints/out/fields/a/tags/PII"
    assert client.put(path, json={}).status_code == 201

    async def call(assistant: Client) -> None:
        await assistant.call_tool("field_details", {**TARGET, "field": "a"})
        document = {"document": copying(SOURCE, TARGET, "a", run=run("run-2")), "namespace": "bank"}
        body_of(await assistant.call_tool("record", document))

    with serving(app, settings, observer) as server:
        over_http(f"http://127.0.0.1:{server.port}/mcp", call)
    lines = (tmp_path / "audit.log").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    assert [item["event"] for item in events] == ["question", "write"]
    assert events[0]["tags"] == "PII"
    assert {item["path"] for item in events} == {"/mcp"}


def test_two_calls_at_once(url: str) -> None:
    import anyio

    store = LineageStore(open_table(url))

    async def call_both(client: Client) -> list[Any]:
        results: list[Any] = []

        async def search(text: str) -> None:
            results.append(await client.call_tool("search", {"text": text}))

        async with anyio.create_task_group() as group:
            for text in ("uid", "risk") * 5:
                group.start_soon(search, text)
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("nope", {})
        return results

    with serving(create_app(store)) as server:
        results = over_http(f"http://127.0.0.1:{server.port}/mcp", call_both)
    store.close()
    assert len(results) == 10
    assert all(body_of(result)["answer"]["results"] for result in results)


def test_pages_of_listed_origins_may_send_the_headers_of_the_protocol(url: str) -> None:
    store = LineageStore(open_table(url))
    client = create_app(store, Settings(cors_origins="https://app.example.com")).test_client()
    headers = {"Origin": "https://app.example.com", "Access-Control-Request-Method": "POST"}
    allowed = client.options("/mcp", headers=headers).headers["Access-Control-Allow-Headers"]
    assert {"Mcp-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name"} <= {*allowed.split(", ")}
    foreign = {"Origin": "https://evil.example.com", "Host": "localhost"}
    assert post(client, call_message("search", {"text": "uid"}), **foreign).status_code == 403
    store.close()


def test_without_the_sdk_the_answer_says_what_to_install(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if it were not installed: Python refuses to import a module that is None.
    monkeypatch.setitem(sys.modules, "mcp.server.lowlevel", None)
    response = post(client, call_message("search", {"text": "uid"}))
    assert response.status_code == 501
    assert "pip install '.[mcp]'" in response.json["detail"]
