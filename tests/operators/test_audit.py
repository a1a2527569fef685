"""The audit log: who wrote, was denied or asked about tagged fields; whole lines, whatever happens to it."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import requests

from api.observability.logs import LogFile
from api.observability.observer import AuditLog, Queried
from api.wire.environ import QUERIED
from fll_hbase.model.datasets import Dataset
from fll_hbase.runtime import deadline
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Row, open_table
from fll_hbase.tables.base import Columns
from fll_hbase.tables.observed import ObservedTable
from tests.operators.conftest import StartServer
from tests.operators.scrapes import scrape
from tests.support.server_process import Server
from tests.support.small_documents import document

NewLines = Callable[[], list[dict[str, Any]]]

TOKEN = "fll_secret_token"
FIELDS = "/v3/namespaces/shop/endpoints/invoices/fields"
WINDOW = "?start=0&end=now"

_APPEND = """
import sys
from fll_hbase.api.observability.logs import LogFile
log = LogFile(sys.argv[1])
for number in range(300):
    log.write((sys.argv[2] * 3000 + "\\n").encode())
"""

_FULL = """
import resource, sys
from fll_hbase.api.observability.logs import LogFile
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
log = LogFile(sys.argv[1])
failures = 0
for number in range(20):
    try:
        log.write(b"x" * 2999 + b"\\n")
    except OSError:
        failures += 1
print(failures)
"""


def ask(server: Server, method: str, path: str, **options: Any) -> requests.Response:
    headers = {"Authorization": f"Bearer {TOKEN}", **options.pop("headers", {})}
    url = f"http://127.0.0.1:{server.port}{path}"
    return requests.request(method, url, headers=headers, timeout=120, **options)


@pytest.fixture
def audited(start_server: StartServer, tmp_path: Path) -> Server:
    """A server with an audit log, one run and a tagged field."""
    server = start_server(FLL_AUDIT_LOG=str(tmp_path / "audit.log"))
    record_tagged(server)
    return server


@pytest.fixture(scope="class")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Such a server, for all tests of a class."""
    folder = tmp_path_factory.mktemp("audited")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLL_AUDIT_LOG", str(folder / "audit.log"))
        with Server(folder / "store.db") as server:
            record_tagged(server)
            yield server


@pytest.fixture
def new_lines(shared: Server) -> NewLines:
    """Returns the lines that the audit log has since the test began."""
    start = len(lines(shared))
    return lambda: lines(shared)[start:]


def record_tagged(server: Server) -> None:
    assert ask(server, "POST", "/v3/namespaces/shop/lineage", json=document()).status_code == 201
    assert ask(server, "PUT", f"{FIELDS}/total/tags/pii", json={}).status_code == 201


def lines(server: Server) -> list[dict[str, Any]]:
    text = server.store.with_name("audit.log").read_text()
    assert TOKEN not in text
    assert "operations" not in text
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.slow
class TestLines:
    """One for each event, with what it was about."""

    def test_writes(self, shared: Server) -> None:
        first, second = lines(shared)[:2]
        assert set(first) == {
            "event", "time", "request_id", "remote", "method", "route", "status", "path",
        }  # fmt: skip
        assert (first["event"], first["method"], first["status"]) == ("write", "POST", 201)
        assert first["path"] == "/v3/namespaces/shop/lineage"
        assert second["path"] == f"{FIELDS}/total/tags/pii"

    def test_a_denied_request(self, shared: Server, new_lines: NewLines) -> None:
        headers = {"Origin": "https://evil.example"}
        answer = ask(shared, "POST", "/v3/namespaces/shop/lineage", json=document("r2"), headers=headers)
        assert answer.status_code == 403
        line = new_lines()[-1]
        assert (line["event"], line["status"]) == ("denied", 403)

    @pytest.mark.parametrize(
        ("path", "field"),
        [
            (f"{FIELDS}/total/lineage{WINDOW}", "total"),
            (f"{FIELDS}/total/history{WINDOW}", "total"),
            (f"{FIELDS}/lineage{WINDOW}", ""),
            (f"{FIELDS}/lineage{WINDOW}&level=20", ""),
            ("/v3/namespaces/shop/endpoints/invoices", ""),
            (f"/v3/namespaces/shop/endpoints/invoices/runs{WINDOW}&field=total", "total"),
            (f"/v3/reports/provenance{WINDOW}&namespace=shop&endpoint=invoices&field=total", "total"),
        ],
    )
    def test_a_question_about_a_tagged_field(
        self, shared: Server, new_lines: NewLines, path: str, field: str
    ) -> None:
        assert ask(shared, "GET", path).status_code == 200
        line = new_lines()[-1]
        assert (line["event"], line["tags"], line["dataset"]) == ("question", "pii", "shop/invoices")
        assert line.get("field", "") == field

    def test_a_batch_has_a_line_for_each(self, shared: Server, new_lines: NewLines) -> None:
        paths = [f"{FIELDS}/total/lineage{WINDOW}", f"{FIELDS}/lineage{WINDOW}"]
        questions = {"questions": [{"path": path} for path in [*paths, *paths]]}
        assert ask(shared, "POST", "/v3/questions", json=questions).status_code == 200
        audited_questions = [line for line in new_lines() if line["event"] == "question"]
        assert [line.get("field", "") for line in audited_questions] == ["total", ""]

    def test_a_question_with_a_body(self, shared: Server, new_lines: NewLines) -> None:
        change = {"namespace": "shop", "name": "invoices", "field": "total", "change": "drop"}
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "impact", "arguments": {"fields": [change]}},
        }
        accept = {"Accept": "application/json", "MCP-Protocol-Version": "2025-06-18"}
        assert ask(shared, "POST", "/v3/impact", json={"fields": [change]}).status_code == 200
        assert ask(shared, "POST", "/mcp", json=message, headers=accept).status_code == 200
        for line in new_lines():
            assert (line["event"], line["tags"], line["field"]) == ("question", "pii", "total")
        assert len(new_lines()) == 2

    def test_other_questions_have_none(self, shared: Server, new_lines: NewLines) -> None:
        orders = "/v3/namespaces/shop/endpoints/orders/fields"
        for path in (
            f"{orders}/net/lineage{WINDOW}",
            f"{orders}/lineage{WINDOW}",
            "/v3/namespaces",
            "/metrics",
        ):
            assert ask(shared, "GET", path).status_code == 200
        assert ask(shared, "GET", f"{orders}/nothing/lineage{WINDOW}").status_code == 404
        assert new_lines() == []

    def test_a_name_cannot_write_a_line(self, shared: Server, new_lines: NewLines) -> None:
        path = "/v3/namespaces/shop%0A%7B%7D/lineage"
        # The document names another namespace: an attempt is a line, too.
        assert ask(shared, "POST", path, json=document()).status_code == 400
        odd = requests.Request("POST", f"http://127.0.0.1:{shared.port}/v3/x").prepare()
        odd.url = f"http://127.0.0.1:{shared.port}/v3/\x85\u2028x"
        assert requests.Session().send(odd, timeout=120).status_code == 404
        written = new_lines()
        assert [line["event"] for line in written] == ["write"] * 2
        assert written[0]["path"] == path

    def test_an_invalid_question_is_none(self, shared: Server, new_lines: NewLines) -> None:
        for names in (
            "namespace=shop&endpoint=invoices&field=%ff",
            f"namespace=shop&endpoint={'x' * 90_000}",
        ):
            path = f"/v3/reports/provenance{WINDOW}&{names}&unknown=1"
            assert ask(shared, "GET", path).status_code == 400
        assert new_lines() == []

    def test_the_metric_counts_lines(self, shared: Server) -> None:
        writes = [line for line in lines(shared) if line["event"] == "write"]
        assert scrape(shared.port).total("fll_audit_lines_total", event="write") == len(writes) >= 2


class _Hanging(ObservedTable):
    """A table that does not answer until the deadline."""

    waits = 0

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        seconds = deadline.seconds_left(10)
        self.waits += 1
        time.sleep(seconds)
        raise deadline.unavailable("it hangs")


@pytest.mark.slow
def test_a_store_that_hangs_delays_a_batch_once(tmp_path: Path) -> None:
    table = _Hanging(open_table("sqlite:///:memory:"))
    store = LineageStore(table)
    audit = AuditLog(LogFile(str(tmp_path / "audit.log")), store.tags)
    questions = [Queried(Dataset("ns", "name"), str(number)) for number in range(50)]
    environ = {"REQUEST_METHOD": "POST", "PATH_INFO": "/v3/questions", QUERIED: questions}
    audit.note(environ, "200", {"status": 200})
    assert table.waits == 1
    written = [json.loads(line) for line in (tmp_path / "audit.log").read_text().splitlines()]
    assert [line["tags"] for line in written] == ["unknown"] * 50


class TestTheFile:
    """Rotated, full, and shared."""

    @pytest.mark.slow
    def test_after_rotation_it_is_a_new_file(self, audited: Server, tmp_path: Path) -> None:
        (tmp_path / "audit.log").rename(tmp_path / "audit.log.1")
        for number in range(10):
            ask(audited, "POST", "/v3/namespaces/shop/lineage", json=document(f"n{number}"))
        assert len((tmp_path / "audit.log.1").read_text().splitlines()) == 2
        assert len(lines(audited)) == 10

    @pytest.mark.slow
    def test_a_full_disk_stops_no_request(self, start_server: StartServer) -> None:
        server = start_server(workers=1, FLL_AUDIT_LOG="/dev/full")
        for number in range(3):
            answer = ask(server, "POST", "/v3/namespaces/shop/lineage", json=document(f"n{number}"))
            assert answer.status_code == 201
        assert scrape(server.port).total("fll_audit_failures_total") == 3
        text = server.store.with_suffix(".log").read_text()
        assert text.count("the audit log cannot be written, lines are lost") == 1
        assert "No space left on device" in text

    def test_lines_of_several_processes_are_whole(self, tmp_path: Path) -> None:
        path = tmp_path / "lines"
        command = [sys.executable, "-c", _APPEND, str(path)]
        processes = [subprocess.Popen([*command, letter]) for letter in "abcd"]
        assert [process.wait(60) for process in processes] == [0] * 4
        written = path.read_text().splitlines()
        assert sorted(written) == sorted(letter * 3000 for letter in "abcd" for _ in range(300))

    def test_threads_that_rotate(self, tmp_path: Path) -> None:
        log = LogFile(str(tmp_path / "lines"))
        threads = [threading.Thread(target=lambda: [log.write(b"x\n") for _ in range(500)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for number in range(20):
            if (tmp_path / "lines").exists():
                (tmp_path / "lines").rename(tmp_path / f"lines.{number}")
        for thread in threads:
            thread.join()
        log.close()
        assert sum(len(path.read_text().splitlines()) for path in tmp_path.glob("lines*")) == 2000

    def test_no_part_of_a_line_stays_where_the_disk_is_full(self, tmp_path: Path) -> None:
        path = tmp_path / "lines"
        command = [sys.executable, "-c", _FULL, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
        assert done.stdout == "17\n"
        assert path.read_text().splitlines() == ["x" * 2999] * 3
        assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY

    @pytest.mark.slow
    def test_it_is_not_for_everybody(self, audited: Server, tmp_path: Path) -> None:
        assert os.stat(tmp_path / "audit.log").st_mode & 0o007 == 0
