"""`/metrics` is exact over all processes, bounded in its labels, and answered whatever the store does."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from tests.operators.conftest import StartServer
from tests.operators.scrapes import Scrape, scrape
from tests.support.server_process import Server
from tests.support.small_documents import document
from tests.support.waiting import eventually

LINEAGE = "/v3/namespaces/{namespace}/endpoints/{name}/fields/lineage"
DOCUMENT = "/v3/namespaces/{namespace}/lineage"
UNITS = ("_seconds", "_bytes", "_runs", "_info", "_in_use", "_waiting", "_workers")

_WITHOUT = """
import sys
sys.modules["prometheus_client"] = None
sys.modules["opentelemetry"] = None
from fll_hbase import connect
with connect("sqlite:///:memory:") as client:
    print(client.namespaces())
"""


def ask(port: int, path: str, **headers: str) -> int:
    """Send a request on a connection of its own; the status of the answer."""
    return requests.get(f"http://127.0.0.1:{port}{path}", headers=headers, timeout=120).status_code


def record(port: int, sent: object) -> int:
    """Post a document; the status of the answer."""
    url = f"http://127.0.0.1:{port}/v3/namespaces/shop/lineage"
    return requests.post(url, json=sent, timeout=120).status_code


@contextmanager
def locked(path: Path, kind: int) -> Iterator[None]:
    """The lock of a file as another process has it."""
    with path.open("a+b") as file:
        fcntl.flock(file, kind)
        yield


def metrics_directory(server: Server) -> Path:
    """The directory that the server shares its metrics in."""
    environment = Path(f"/proc/{server.workers()[0]}/maps").read_text()
    (directory,) = set(re.findall(r"(/\S*/fll-metrics-\w+)/", environment))
    return Path(directory)


class TestSeveralProcesses:
    """Each answers for all."""

    @pytest.mark.slow
    def test_the_sum_is_exact(self, start_server: StartServer) -> None:
        server = start_server()
        count = scrape(server.port).total("fll_http_requests_total", route="/v3/namespaces")
        with ThreadPoolExecutor(4) as threads:
            answers = list(threads.map(lambda _: ask(server.port, "/v3/namespaces"), range(200)))
        assert answers == [200] * 200
        ended = [scrape(server.port) for _ in range(5)]
        counts = {answer.total("fll_http_requests_total", route="/v3/namespaces") for answer in ended}
        assert counts == {count + 200}
        for answer in ended:
            observed = answer.total("fll_http_request_duration_seconds_count", route="/v3/namespaces")
            assert observed == count + 200
        assert ended[-1].total("fll_workers") == 2
        assert len(list(metrics_directory(server).glob("counter_*.db"))) == 2

    @pytest.mark.slow
    def test_a_killed_worker_loses_no_count_and_leaves_no_file(self, start_server: StartServer) -> None:
        server = start_server()
        directory = metrics_directory(server)
        for _ in range(30):
            assert ask(server.port, "/v3/namespaces") == 200
        count = scrape(server.port).total("fll_http_requests_total", route="/v3/namespaces")
        for _ in range(3):
            killed = server.workers()[0]
            os.kill(killed, signal.SIGKILL)
            eventually(lambda pid=killed: pid not in server.workers(), "it is gone")  # type: ignore[misc]
            server.wait_for_all_workers()
        ended = scrape(server.port)
        assert ended.total("fll_http_requests_total", route="/v3/namespaces") == count
        assert ended.total("fll_worker_exits_total") == 3
        assert ended.total("fll_workers") == 2
        slots = {path.stem.rpartition("_")[2] for path in directory.glob("*.db")}
        assert slots == {"0", "1", "2"}

    @pytest.mark.slow
    def test_a_worker_that_is_killed_while_it_creates_its_files_stops_no_other(
        self, start_server: StartServer
    ) -> None:
        server = start_server()
        directory = metrics_directory(server)
        assert ask(server.port, "/v3/namespaces") == 200
        killed = server.workers()[0]
        os.kill(killed, signal.SIGSTOP)
        # No worker has ended: the first one has the files of slot 1.
        for path in directory.glob("*_1.db"):
            path.write_bytes(b"")
        assert scrape(server.port).total("fll_workers") == 1
        os.kill(killed, signal.SIGKILL)
        eventually(lambda: killed not in server.workers(), "it is gone")
        server.wait_for_all_workers()
        assert scrape(server.port).total("fll_workers") == 2

    @pytest.mark.slow
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_the_directory_goes_with_the_server(self, start_server: StartServer, number: int) -> None:
        server = start_server()
        directory = metrics_directory(server)
        assert directory.exists()
        os.kill(server.master, number)
        assert server.ends(120) == 0
        assert not directory.exists()

    @pytest.mark.slow
    def test_a_killed_server_leaves_its_directory_until_the_next_start(
        self, start_server: StartServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        server = start_server()
        (first,) = tmp_path.glob("fll-metrics-*")
        (tmp_path / "fll-metrics-unknown").mkdir()
        server.kill()
        assert first.exists()
        for _ in range(2):
            other = Server(tmp_path / "other.db", workers=1)
            with other:
                assert scrape(other.port).total("fll_workers") == 1
                assert not first.exists()
                with Server(tmp_path / "third.db", workers=1):
                    assert scrape(other.port).total("fll_workers") == 1
        assert (tmp_path / "fll-metrics-unknown").exists()


class TestLabels:
    """Routes, not paths; and no name of anybody's data."""

    @pytest.mark.slow
    def test_unknown_paths_and_methods_are_one(self, start_server: StartServer) -> None:
        server = start_server(workers=1)
        for number in range(50):
            assert ask(server.port, f"/secret-{number}") == 404
            url = f"http://127.0.0.1:{server.port}/secret"
            assert requests.request(f"SECRET{number}", url, timeout=120).status_code in (404, 405)
            path = f"/v3/namespaces/secret-{number}/endpoints/secret-{number}/fields/lineage"
            assert ask(server.port, path) == 404
        scraped = scrape(server.port)
        assert scraped.total("fll_http_requests_total", route="none", method="GET", status="404") == 50
        assert scraped.total("fll_http_requests_total", route="none", method="other") == 50
        assert scraped.total("fll_http_requests_total", route=LINEAGE, status="404") == 50
        assert "secret" not in scraped.text.lower()
        assert len(scraped.text) < 40_000

    @pytest.mark.slow
    def test_both_ways_of_a_request_have_the_same_route(self, start_server: StartServer) -> None:
        server = start_server(workers=1)
        path = "/v3/namespaces/shop/endpoints/invoices/fields/lineage?start=0&end=now"
        assert record(server.port, document("r1")) == 201
        assert ask(server.port, path) == 200
        assert ask(server.port, f"{path}&level=20") == 200
        url = f"http://127.0.0.1:{server.port}/v3/namespaces/shop/lineage?dryRun=true"
        assert requests.post(url, json=document("r2"), timeout=120).status_code == 200
        scraped = scrape(server.port)
        assert scraped.total("fll_http_requests_total", route=LINEAGE, status="200") == 2
        assert scraped.total("fll_http_requests_total", route=DOCUMENT, method="POST") == 2


class TestRefusals:
    """Requests that the app never sees count, too."""

    @pytest.mark.slow
    def test_reasons(self, start_server: StartServer) -> None:
        server = start_server(workers=1, FLL_DOCUMENT_BYTES_MAX="1000")
        assert ask(server.port, "/", **{"X-Long": "x" * 2**18}) == 431
        large = requests.post(
            f"http://127.0.0.1:{server.port}/api/v1/lineage", data=b"x" * 10**5, timeout=120
        )
        assert large.status_code == 413
        assert ask(server.port, "/v3/namespaces", Host="evil.example") == 421
        scraped = scrape(server.port)
        assert {labels["reason"]: value for labels, value in scraped.samples("fll_http_refused_total")} == {
            "head_too_large": 1,
            "too_large": 1,
            "host": 1,
        }
        assert scraped.total("fll_http_requests_total", route="none", status="431") == 1

    @pytest.mark.slow
    def test_shed_requests_and_a_store_that_hangs(self, start_server: StartServer, tmp_path: Path) -> None:
        server = start_server(workers=1, FLL_THREADS="2", FLL_REQUEST_SECONDS="4")
        with locked(tmp_path / "store.db.lock", fcntl.LOCK_EX), ThreadPoolExecutor(12) as threads:
            posts = [threads.submit(record, server.port, document("r0"))]
            # Whoever waits behind one that runs for so long would wait for longer than its own four seconds.
            time.sleep(2)
            posts += [threads.submit(record, server.port, document(f"r{n}")) for n in range(1, 12)]
            assert scrape(server.port).total("fll_workers") == 1
            assert {post.result() for post in posts} == {503}
        scraped = scrape(server.port)
        assert scraped.total("fll_http_refused_total", reason="overloaded") > 0
        assert scraped.total("fll_http_requests_total", method="POST", status="503") == 12


class TestTheStore:
    """Recording and asking are counted with their costs."""

    @pytest.mark.slow
    def test_questions_commits_and_caches(self, start_server: StartServer) -> None:
        server = start_server(workers=1)
        assert record(server.port, document("r1")) == 201
        assert record(server.port, document("r1")) == 200
        assert record(server.port, {"run": 1}) == 400
        path = "/v3/namespaces/shop/endpoints/invoices/fields/lineage?start=0&end=now"
        assert [ask(server.port, path) for _ in range(2)] == [200, 200]
        assert (
            ask(server.port, "/v3/namespaces/shop/endpoints/invoices/fields/total/history?start=0&end=now")
            == 200
        )
        scraped = scrape(server.port)
        assert scraped.total("fll_documents_total", outcome="recorded") == 1
        assert scraped.total("fll_documents_total", outcome="repeated") == 1
        assert scraped.total("fll_documents_refused_total", reason="unreadable-document") == 1
        assert scraped.total("fll_commit_passes_total") == 2
        assert scraped.total("fll_group_commit_runs_count") == 2
        assert scraped.total("fll_group_commit_runs_sum") == 2
        assert scraped.total("fll_questions_total", kind="lineage") == 2
        assert scraped.total("fll_questions_total", kind="history") == 1
        assert scraped.total("fll_question_calls_total", kind="lineage") >= 2
        assert scraped.total("fll_question_rows_total", kind="lineage") >= 2
        assert scraped.total("fll_content_cache_misses_total") >= 1
        assert scraped.total("fll_content_cache_hits_total") >= 1
        assert scraped.total("fll_build_info") == 1


@pytest.mark.slow
def test_names_follow_the_conventions(start_server: StartServer) -> None:
    scraped = scrape(start_server(workers=1).port)
    assert lint(scraped) == []


def lint(scraped: Scrape) -> list[str]:
    """Return the complaints that promtool would have."""
    complaints = []
    for family in scraped.families:
        # The parser removes the suffix of counters.
        if not re.fullmatch(r"fll_[a-z_]+", family.name):
            complaints.append(f"{family.name}: not in our namespace, or not snake case")
        if not family.documentation.endswith("."):
            complaints.append(f"{family.name}: no help")
        if family.type == "counter":
            complaints += [s.name for s in family.samples if not s.name.endswith("_total")]
        elif family.type in ("gauge", "histogram") and not family.name.endswith(UNITS):
            complaints.append(f"{family.name}: no unit")
        elif family.type not in ("gauge", "histogram"):
            complaints.append(f"{family.name}: {family.type}")
        names = {name for sample in family.samples for name in sample.labels} - {"le"}
        complaints += [f"{family.name}: {name}" for name in names if not re.fullmatch("[a-z]+", name)]
    return complaints


@pytest.mark.slow
def test_the_library_needs_neither_prometheus_nor_opentelemetry() -> None:
    done = subprocess.run([sys.executable, "-c", _WITHOUT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
