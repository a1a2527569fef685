"""Logs are lines of JSON that no request can forge, quiet by default, and text on a terminal."""

from __future__ import annotations

import json
import logging
import os
import pty
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from api.observability.logs import JsonFormatter, TextFormatter, request_id, to_line, to_text
from fll_hbase.runtime.errors import StoreUnavailable
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables.hbase_url import GatewayAddress
from fll_hbase.tables.thrift_pool import ThriftPool
from tests.operators.conftest import StartServer
from tests.support.ports import free_port
from tests.support.server_process import Server
from tests.support.small_documents import document

FLL = str(Path(sys.executable).with_name("fll"))
ACCESS = {"time", "request_id", "remote", "method", "route", "status", "duration_ms", "bytes"}
texts = st.text(st.characters(codec="utf-8"))


def lines(server: Server) -> list[dict[str, Any]]:
    """The lines of JSON of a server's log; the first line is that of `fll serve`."""
    first, *others = server.store.with_suffix(".log").read_text().splitlines()
    assert first.startswith("Serving sqlite:")
    return [json.loads(line) for line in others]


def access_lines(server: Server) -> list[dict[str, Any]]:
    return [line for line in lines(server) if "route" in line and line["route"] != "/readyz"]


def get(server: Server, path: str, **headers: str) -> requests.Response:
    return requests.get(f"http://127.0.0.1:{server.port}{path}", headers=headers, timeout=120)


class TestAccessLog:
    """A line for each request, without names."""

    def test_members(self, start_server: StartServer) -> None:
        server = start_server(FLL_ACCESS_LOG="-")
        began = time.monotonic()
        answer = get(server, "/v3/namespaces", **{"X-Request-ID": "mine"})
        waited_ms = 1_000 * (time.monotonic() - began)
        assert get(server, "/v3/namespaces/secret/endpoints/secret?prefix=secret").status_code == 400
        assert get(server, "/", **{"X-Long": "x" * 2**18}).status_code == 431
        first, second, third = access_lines(server)
        assert set(first) == ACCESS
        assert (first["request_id"], first["bytes"]) == ("mine", len(answer.content))
        assert (first["method"], first["route"], first["status"]) == ("GET", "/v3/namespaces", 200)
        assert first["remote"] == third["remote"] == "127.0.0.1"
        assert 0 < first["duration_ms"] <= waited_ms
        assert second["route"] == "/v3/namespaces/{namespace}/endpoints/{name}"
        assert (third["route"], third["status"]) == ("none", 431)
        assert "secret" not in server.store.with_suffix(".log").read_text()

    @pytest.mark.slow
    def test_none_by_default(self, start_server: StartServer) -> None:
        server = start_server()
        assert get(server, "/v3/namespaces").status_code == 200
        assert lines(server) == []

    @pytest.mark.slow
    def test_text_on_a_terminal(self, tmp_path: Path) -> None:
        terminal, output = pty.openpty()
        port = free_port()
        command = [
            FLL,
            "serve",
            "--store",
            f"sqlite:///{tmp_path}/s.db",
            "--port",
            str(port),
            "--workers",
            "1",
        ]
        environment = {**os.environ, "FLL_ACCESS_LOG": "-"}
        process = subprocess.Popen(command, env=environment, stderr=output)
        os.close(output)
        text = ""
        try:
            while "route=/healthz" not in text:
                with suppress(requests.ConnectionError):
                    requests.get(f"http://127.0.0.1:{port}/healthz", timeout=120)
                if select.select([terminal], [], [], 0.2)[0]:
                    text += os.read(terminal, 4096).decode()
        finally:
            process.terminate()
            process.wait(120)
            os.close(terminal)
        assert "method=GET route=/healthz status=200" in text
        assert "{" not in text

    @pytest.mark.slow
    def test_a_file_of_two_processes(self, start_server: StartServer, tmp_path: Path) -> None:
        server = start_server(FLL_ACCESS_LOG=str(tmp_path / "access.log"))
        ids = {f"id{number}" for number in range(60)}
        for name in ids:
            get(server, "/v3/namespaces", **{"X-Request-ID": name})
        written = [json.loads(line) for line in (tmp_path / "access.log").read_text().splitlines()]
        assert ids <= {line["request_id"] for line in written}
        assert os.stat(tmp_path / "access.log").st_mode & 0o777 == 0o640

    @pytest.mark.slow
    def test_an_unsafe_id_is_replaced(self, start_server: StartServer) -> None:
        server = start_server(workers=1, FLL_ACCESS_LOG="-")
        assert (
            get(server, "/v3/namespaces", **{"X-Request-ID": "bad\x7f"}).headers["X-Request-ID"] != "bad\x7f"
        )
        (line,) = access_lines(server)
        assert len(line["request_id"]) == 32


class TestWarnings:
    """An operator reads of each event that needs attention, once."""

    @pytest.mark.slow
    def test_a_refused_document_has_no_names(self, start_server: StartServer) -> None:
        server = start_server(workers=1)
        url = f"http://127.0.0.1:{server.port}/v3/namespaces/shop/lineage"
        assert requests.post(url, json={"secret": 1}, timeout=120).status_code == 400
        body = b'{"secret": 1}\n{"secret": 2}\n'
        headers = {"Content-Type": "application/x-ndjson"}
        assert requests.post(f"{url}/batch", data=body, headers=headers, timeout=120).status_code == 200
        assert [line["message"] for line in lines(server)] == [
            "documents refused: 1 unreadable-document",
            "documents refused: 2 unreadable-document",
        ]
        assert all(line["request_id"] for line in lines(server))
        assert "secret" not in server.store.with_suffix(".log").read_text()

    @pytest.mark.slow
    def test_a_worker_that_ends(self, start_server: StartServer) -> None:
        server = start_server()
        killed = server.workers()[0]
        os.kill(killed, signal.SIGKILL)
        server.wait_for_all_workers()
        messages = [line["message"] for line in lines(server) if line["logger"] == "fll_hbase.api.server"]
        assert messages == [f"worker process {killed} ended, another one starts"]

    @pytest.mark.slow
    def test_a_stop_is_silent(self, start_server: StartServer) -> None:
        server = start_server()
        assert server.terminate(120) == 0
        assert lines(server) == []

    def test_a_lost_gateway_once_for_an_outage(self, caplog: pytest.LogCaptureFixture) -> None:
        pool = ThriftPool([GatewayAddress("127.0.0.1", free_port())], timeout_seconds=1.0, connections_max=2)
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                pool.run(lambda connection: connection.tables())
        (message,) = caplog.messages
        assert message.startswith("gateway 127.0.0.1:")
        assert "Connection refused" in message

    def test_a_commit_that_starts_over(
        self, caplog: pytest.LogCaptureFixture, contended_store: LineageStore
    ) -> None:
        from fll_hbase.ingest.ingest import ingest
        from fll_hbase.ingest.outcomes import ParsedDocument
        from fll_hbase.ingest.registry import DocumentReader, format_named

        reader = DocumentReader(columns=contended_store.catalogue.field_names)
        read = reader.read(
            json.dumps(document("run\n1")).encode(), format_named("lineage"), namespace="shop", now_ms=0
        )
        assert isinstance(read, ParsedDocument)
        ingest(contended_store, [read])
        (message,) = caplog.messages
        assert message.startswith("the commit of run 'run\\n1' starts over")


class TestSettings:
    """Wrong ones end the process with one line."""

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("name", "value", "complaint"),
        [
            ("FLL_LOG_LEVEL", "loud", "expected one of debug, info, warning, error, critical"),
            (
                "FLL_ACCESS_LOG",
                "/nowhere/access.log",
                "FLL_ACCESS_LOG='/nowhere/access.log' cannot be opened",
            ),
            ("FLL_AUDIT_LOG", "/nowhere/audit.log", "FLL_AUDIT_LOG='/nowhere/audit.log' cannot be opened"),
            ("OTEL_TRACES_EXPORTER", "zipkin", "expected otlp, console or none"),
        ],
    )
    def test_it_names_the_variable(self, tmp_path: Path, name: str, value: str, complaint: str) -> None:
        command = [FLL, "serve", "--store", f"sqlite:///{tmp_path}/s.db", "--port", str(free_port())]
        environment = {**os.environ, name: value}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 2
        assert name in done.stderr
        assert complaint in done.stderr
        assert len(done.stderr.splitlines()) == 1

    @pytest.mark.slow
    def test_info_says_more(self, start_server: StartServer) -> None:
        server = start_server(workers=1, FLL_LOG_LEVEL="INFO")
        assert any("Booting worker" in line["message"] for line in lines(server))


class TestForgery:
    """Whatever a client sends, a line is one line."""

    @given(texts, texts)
    def test_json(self, name: str, value: str) -> None:
        line = to_line({"fixed": value, "path": name, "status": 200}).decode()
        assert line.endswith("\n")
        assert line.count("\n") == len(line.splitlines()) == 1
        assert line[:-1].isprintable() or not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in line[:-1])
        assert json.loads(line)["status"] == 200

    @given(texts, texts)
    def test_text_for_a_terminal(self, name: str, value: str) -> None:
        line = to_text({"principal": value, "path": name, "status": 200}).decode()
        assert line.endswith("\n")
        assert line.count("\n") == len(line.splitlines()) == 1
        assert "status=200" in line

    @given(texts)
    def test_formatters(self, text: str) -> None:
        try:
            raise ValueError(text)
        except ValueError:
            record = logging.LogRecord("a", logging.ERROR, "f", 1, "%s", (text,), sys.exc_info())
        members = json.loads(JsonFormatter().format(record))
        assert (members["level"], members["logger"]) == ("error", "a")
        assert "ValueError" in members["exception"]
        first, *others = TextFormatter().format(record).splitlines()
        assert "ERROR" in first
        assert others
        assert all(line.startswith("    ") for line in others)

    def test_a_line_has_the_id_of_its_request(self) -> None:
        token = request_id.set("r1")
        try:
            record = logging.LogRecord("a", logging.ERROR, "f", 1, "text", (), None)
            assert json.loads(JsonFormatter().format(record))["request_id"] == "r1"
        finally:
            request_id.reset(token)
