"""Traces: `traceparent` is validated, logged and passed on; spans are exported where they are configured."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from api.observability.otel import OtelTracer
from fll_hbase.client.opening import connect
from fll_hbase.runtime import tracing
from fll_hbase.tables import open_table
from fll_hbase.tables.observed import ObservedTable
from tests.operators.conftest import StartServer
from tests.support.threaded_server import in_thread

TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
HEADER = f"00-{TRACE}-{CALLER}-01"
hexadecimal = st.text("0123456789abcdef", min_size=32, max_size=32)


class TestTheHeader:
    """W3C Trace Context, 3.2.2."""

    @given(hexadecimal, hexadecimal, st.integers(0, 255))
    def test_a_valid_one_is_passed_on(self, trace: str, parent: str, flags: int) -> None:
        header = f"00-{trace}-{parent[:16]}-{flags:02x}"
        context = tracing.parse_traceparent(header)
        if trace.strip("0") and parent[:16].strip("0"):
            assert context is not None
            assert context.traceparent == header
        else:
            assert context is None

    @pytest.mark.parametrize(
        "header",
        [
            "",
            "x",
            HEADER.upper(),
            HEADER + "-more",
            HEADER[:-1],
            f" {HEADER}",
            f"{HEADER}\n",
            f"ff{HEADER[2:]}",
            f"00-{'0' * 32}-{CALLER}-01",
            f"00-{TRACE}-{'0' * 16}-01",
            f"01{HEADER[2:]}-{'x' * 1000}",
            HEADER.replace("0", "\u0660"),
        ],
    )
    def test_an_invalid_one_is_ignored(self, header: str) -> None:
        assert tracing.parse_traceparent(header) is None

    def test_a_later_version_may_have_more(self) -> None:
        context = tracing.parse_traceparent(f"01{HEADER[2:]}-more")
        assert context is not None
        assert context.traceparent == HEADER

    @given(st.text())
    def test_any_text_is_safe(self, text: str) -> None:
        context = tracing.parse_traceparent(text)
        assert context is None or len(context.trace_id) == 32


@pytest.mark.slow
def test_a_command_passes_on_the_trace_of_its_scheduler(
    start_server: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start_server(workers=1, FLL_ACCESS_LOG="-")
    monkeypatch.setenv("TRACEPARENT", HEADER)
    with connect(f"http://127.0.0.1:{server.port}") as client:
        client.namespaces()
    monkeypatch.setenv("TRACEPARENT", "invalid")
    with connect(f"http://127.0.0.1:{server.port}") as client:
        client.namespaces()
    first, *lines = server.store.with_suffix(".log").read_text().splitlines()
    traces = [
        parsed.get("trace_id") for parsed in map(json.loads, lines) if parsed["route"] == "/v3/namespaces"
    ]
    assert first.startswith("Serving")
    assert traces == [TRACE, None]


class TestSpans:
    """Of requests, and of their calls to the table."""

    def test_a_call_is_below_its_request(self) -> None:
        exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        table = ObservedTable(open_table("sqlite:///:memory:"))
        tracing.export(OtelTracer(provider))
        try:
            table.get(b"before any request")
            with tracing.request(HEADER) as span:
                table.get(b"row")
                assert tracing.outgoing({}).startswith(f"00-{TRACE}-")
                span.end("GET", "/v3/namespaces", "503")
            assert tracing.current() is None
        finally:
            tracing.export(None)
            table.close()
        call, request = exporter.get_finished_spans()
        assert (call.name, request.name) == ("table.get", "GET /v3/namespaces")
        assert call.parent.span_id == request.context.span_id
        assert f"{request.context.trace_id:032x}" == TRACE
        assert f"{request.parent.span_id:016x}" == CALLER
        assert dict(request.attributes) == {
            "http.request.method": "GET",
            "http.route": "/v3/namespaces",
            "http.response.status_code": 503,
        }
        assert not request.status.is_ok

    @pytest.mark.slow
    def test_a_server_sends_them_to_a_collector(self, start_server: StartServer) -> None:
        with collector() as (url, received):
            server = start_server(OTEL_TRACES_EXPORTER="otlp", OTEL_EXPORTER_OTLP_ENDPOINT=url)
            path = "/v3/namespaces/secret/endpoints/secret/fields/secret/lineage?start=0"
            headers = {"traceparent": HEADER}
            answer = requests.get(f"http://127.0.0.1:{server.port}{path}", headers=headers, timeout=120)
            assert answer.status_code == 404
            assert server.terminate(120) == 0
        spans = [span for span in received if span.trace_id.hex() == TRACE]
        (request,) = [span for span in spans if span.kind == Span.SPAN_KIND_SERVER]
        assert request.name == "GET /v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/lineage"
        assert request.parent_span_id.hex() == CALLER
        assert {span.parent_span_id for span in spans if span is not request} == {request.span_id}
        assert "secret" not in str(received)

    @pytest.mark.slow
    def test_nothing_is_imported_without_the_variable(self, start_server: StartServer) -> None:
        server = start_server(workers=1)
        maps = Path(f"/proc/{server.workers()[0]}/maps").read_text()
        assert "opentelemetry" not in maps
        assert "google/_upb" not in maps

    @pytest.mark.slow
    def test_what_is_not_installed_is_named(self, tmp_path: Path) -> None:
        program = (
            "import sys; sys.modules['opentelemetry.exporter'] = None\n"
            "from fll_hbase.api.command import main\n"
            "main(['serve', '--store', 'sqlite:///:memory:', '--port', '1'])"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={"OTEL_TRACES_EXPORTER": "otlp", "PATH": ""},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 2
        assert "pip install '.[server,otel]'" in done.stderr


@contextmanager
def collector() -> Iterator[tuple[str, list[Span]]]:
    """The URL of a collector, and the spans that it has received."""
    received: list[Span] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            raw = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
            for resource in ExportTraceServiceRequest.FromString(raw).resource_spans:
                received.extend(span for scope in resource.scope_spans for span in scope.spans)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            """Log nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    with in_thread(server):
        yield f"http://127.0.0.1:{server.server_port}", received
