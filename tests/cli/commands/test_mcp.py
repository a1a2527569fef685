"""`fll mcp`: an assistant starts it, calls its tools, and ends it; only protocol is on its output."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from api import create_app
from fll_hbase.mcp.query_tools import query_tools
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.assistants import PROGRAM, ROOT, body_of, command, over_stdio, text_of
from tests.support.commands import fll
from tests.support.lineage_documents import copying
from tests.support.served_app import serving
from tests.support.waiting import PATIENCE_SECONDS

SOURCE, TARGET = {"namespace": "shop", "name": "in"}, {"namespace": "shop", "name": "out"}
CALL = {"document": copying(SOURCE, TARGET, "a"), "namespace": "shop"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.fixture
def url(tmp_path: Path) -> str:
    """The URL of a store with one dataset."""
    url = f"sqlite:///{tmp_path}/store.db"
    line = json.dumps(CALL["document"] | {"namespace": "shop"}).encode()
    assert fll("record", "-", "--namespace", "shop", "--store", url, stdin=line).exit_code == 0
    return url


def _started(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*PROGRAM, "mcp", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | environment,
    )


def _send(process: subprocess.Popen[str], *messages: Any) -> None:
    assert process.stdin is not None
    process.stdin.write("".join(f"{json.dumps(message)}\n" for message in messages))
    process.stdin.flush()


def _receive(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def _call(number: int, name: str, arguments: Any) -> Any:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


@pytest.mark.slow
def test_a_store_is_read_and_recorded_to_with_write(url: str) -> None:
    async def work(client: Client) -> list[str]:
        listed = [item.name for item in (await client.list_tools()).tools]
        hits = body_of(await client.call_tool("search", {"text": "OUT"}))
        assert hits["answer"]["results"][0]["name"] == "out"
        assert body_of(await client.call_tool("record", CALL))["outcome"] == "repeated"
        refused = await client.call_tool("record", {"document": {"run": 3}, "namespace": "shop"})
        assert refused.is_error
        assert "operations" in text_of(refused)
        return listed

    listed = over_stdio(command("--store", url, "--write"), work, mode="legacy")
    assert listed == [*query_tools(), "record"]


@pytest.mark.slow
def test_a_server_is_read_with_the_rights_of_its_token(url: str) -> None:
    async def work(client: Client) -> list[str]:
        listed = [item.name for item in (await client.list_tools()).tools]
        fields = body_of(await client.call_tool("fields", TARGET))
        assert [item["name"] for item in fields["answer"]["fields"]] == ["a"]
        missing = await client.call_tool("fields", TARGET | {"name": "none"})
        assert missing.is_error
        assert "none" in text_of(missing)
        return listed

    store = LineageStore(open_table(url))
    with serving(create_app(store)) as server:
        started = command("--server", f"http://127.0.0.1:{server.port}", FLL_TOKEN="fll_token")
        assert over_stdio(started, work) == [*query_tools()]
    store.close()


@pytest.mark.slow
def test_a_stalled_server_delays_no_other_message_and_not_the_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        process = _started("--server", f"http://127.0.0.1:{silent.getsockname()[1]}")
        _send(process, HELLO)
        assert _receive(process)["result"]["serverInfo"]["name"] == "fll_hbase"
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
        _send(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        _send(process, _call(2, "namespaces", {}), _call(3, "namespaces", {}), cancel)
        _send(process, {"jsonrpc": "2.0", "id": 4, "method": "ping"})
        answered = _receive(process)
        while answered["id"] != 4:
            # A version of the protocol may answer what is cancelled, too.
            assert "error" in answered
            answered = _receive(process)
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)
        assert (process.returncode, errors) == (0, "")


@pytest.mark.slow
def test_only_protocol_is_on_the_output(url: str) -> None:
    process = _started("--store", url, FLL_LOG_LEVEL="debug")
    _send(process, HELLO, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert process.stdin is not None
    process.stdin.write("not JSON\n[]\n\n")
    _send(process, [_call(2, "tags", {})], _call(3, "search", {"text": 3}), _call(4, "nope", {}))
    _send(process, _call(5, "search", {"text": "x" * 1_000_000}), _call(6, "search", {"text": "a"}))
    answers: dict[Any, Any] = {}
    while not {1, 3, 4, 5, 6} <= answers.keys():
        answered = _receive(process)
        answers[answered.get("id")] = answered
    assert answers[3]["result"]["isError"]
    assert answers[4]["error"]["code"] == -32602
    assert answers[6]["result"]["structuredContent"]["complete"]
    output, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, output) == (0, "")


def test_wrong_options_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = fll("mcp", "--store", "sqlite:///x", "--server", "http://127.0.0.1:1")
    assert both.exit_code == 2
    missing = fll("mcp", "--store", f"sqlite:///{tmp_path}/none.db")
    assert missing.exit_code != 0
    assert "none.db" in missing.stderr
    # As if it were not installed: Python refuses to import a module that is None.
    monkeypatch.setitem(sys.modules, "mcp.server.lowlevel", None)
    without = fll("mcp", "--server", "http://127.0.0.1:1")
    assert without.exit_code != 0
    assert "pip install '.[mcp]'" in without.stderr
