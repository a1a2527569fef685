"""The server: slow clients hold no thread, requests that cannot be answered in time are refused, health is.

The real process has one worker with four threads, of which reads or writes use three at most.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from api import create_app
from api.routes.recording import BATCH_DOCUMENTS
from fll_hbase.client.remote.http_session import HttpSession
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.api_client import ALL, path, record_new
from tests.support.api_process import fll_program, wait_until_ready
from tests.support.lineage_documents import copying, encoded, run
from tests.support.locked_file import stored
from tests.support.ports import free_port
from tests.support.raw_http import Server, answer, chunk, head
from tests.support.waiting import PATIENCE_SECONDS, eventually

pytestmark = pytest.mark.slow

THREADS, REQUEST_SECONDS = 4, 10
SLOW_CLIENTS = 40
PROBES = ("/healthz", "/readyz", "/v3/namespaces")

FIELDS = [f"{number} {'x' * 1_000}" for number in range(1_500)]
"""So many and so long that an answer with each of them twice fits into no buffer of the system."""

TARGET = path("ns1", "lineage")
QUESTION = path("ns1", "endpoints", "a", "fields", "lineage", **ALL)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server") / "store.db"


@pytest.fixture(scope="module")
def server(store: Path) -> Iterator[Server]:
    """`fll serve` with one small worker, over a store with one large run."""
    table = open_table(f"sqlite:///{store}")
    record_new(create_app(LineageStore(table)).test_client(), copying("a", "b", *FIELDS))
    table.close()
    port = free_port()
    environment = {
        **os.environ,
        "FLL_WORKERS": "1",
        "FLL_THREADS": str(THREADS),
        "FLL_REQUEST_SECONDS": str(REQUEST_SECONDS),
    }
    with store.with_suffix(".log").open("wb") as log:
        command = [fll_program(), "serve", "--store", f"sqlite:///{store}", "--port", str(port)]
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    served = Server(port, store.with_suffix(".log"))
    try:
        wait_until_ready(served, process)
        yield served
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def answers(server: Server) -> None:
    """Health, a question and a document are answered although others are slow."""
    assert server.get("/healthz").status == server.get("/v3/namespaces").status == 200
    eventually(lambda: server.get("/readyz").status == 200, "a check of the store has ended")
    assert server.post(TARGET, encoded(copying("a", "c", "x", run=run("r2")))).status in (200, 201)


def test_a_client_that_speaks_tls_learns_it_at_once(server: Server) -> None:
    """It would wait for an answer, and the server for the rest of a request; a body may begin as it likes."""
    session = HttpSession(f"https://127.0.0.1:{server.port}")
    with closing(session), pytest.raises(ConfigurationError, match="does not speak TLS; write http://"):
        session.request("GET", "v3", "namespaces")
    with server.connected() as connection:
        connection.sendall(b"\x16\x03\x01")
        assert "plain HTTP" in answer(connection).problem["detail"]
    with server.connected() as connection:
        connection.sendall(head("POST", TARGET, Content_Length="3"))
        time.sleep(0.1)
        connection.sendall(b"\x16\x03\x01")
        assert "plain HTTP" not in str(answer(connection).problem)


class TestSlowClients:
    """More slow clients than threads, of every kind, and others are answered as before."""

    def test_idle(self, server: Server) -> None:
        with ExitStack() as stack:
            connections = [stack.enter_context(server.connected()) for _ in range(SLOW_CLIENTS)]
            answers(server)
            for connection in connections:
                connection.sendall(head("GET", "/healthz"))
                assert answer(connection).status == 200, "they were open all the time"

    @pytest.mark.parametrize("sent", ["head", "body", "chunks"])
    def test_a_byte_at_a_time(self, server: Server, sent: str) -> None:
        body = encoded(copying("a", "d", "x", run=run("slow")))
        requests = {
            "head": head("GET", "/v3/namespaces"),
            "body": head("POST", TARGET, Content_Length=str(len(body))) + body,
            "chunks": head("POST", TARGET, Transfer_Encoding="chunked") + chunk(body) + chunk(b""),
        }
        request = requests[sent]
        begun = len(request) - 30
        with ExitStack() as stack:
            connections = [stack.enter_context(server.connected()) for _ in range(SLOW_CLIENTS)]
            for connection in connections:
                connection.sendall(request[:begun])
            for byte in request[begun:-1]:
                for connection in connections:
                    connection.sendall(bytes([byte]))
            answers(server)
            for connection in connections:
                connection.sendall(request[-1:])
            assert {answer(connection).status for connection in connections} <= {200, 201}

    @pytest.mark.slow
    def test_answers_that_are_not_read(self, server: Server) -> None:
        with ExitStack() as stack:
            connections = [stack.enter_context(self._unread(server)) for _ in range(SLOW_CLIENTS)]
            for connection in connections:
                connection.sendall(head("GET", QUESTION))
            answers(server)
            first = answer(connections[0])
            assert len(first.json[0]["fieldmap"]) == len(FIELDS), "read at last, it is complete"

    @contextmanager
    def _unread(self, server: Server) -> Iterator[socket.socket]:
        """A connection whose client has room for next to nothing."""
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            connection.settimeout(PATIENCE_SECONDS)
            connection.connect(("127.0.0.1", server.port))
            yield connection


class TestHangingStore:
    """Another process has the write lock: writes are refused in time, reads and health go on."""

    @pytest.mark.slow
    def test_every_answer_within_the_time_of_a_request(self, server: Server, store: Path) -> None:
        bodies = [encoded(copying("a", "e", "x", run=run(f"h{number}"))) for number in range(SLOW_CLIENTS)]
        meanwhile: Counter[str] = Counter()
        answers(server)
        for _ in range(2):
            with stored(Path(f"{store}.lock")), ThreadPoolExecutor(SLOW_CLIENTS) as threads:
                writes = [threads.submit(server.post, TARGET, body, Prefer="wait=3") for body in bodies]
                while not all(write.done() for write in writes):
                    for target in PROBES:
                        assert server.get(target).status == 200, target
                        meanwhile[target] += not all(write.done() for write in writes)
            details = {}
            for write in writes:
                refusal = write.result()
                assert refusal.problem["status"] == 503
                assert refusal.headers["retry-after"].isdigit()
                details[refusal.problem["type"].rpartition(":")[2]] = refusal.problem["detail"]
            # How many of them find a thread in time depends on the machine; test_dispatcher has the rules.
            assert details.keys() <= {"store-away", "overloaded"}
            assert "the 3 s of this request are over" in details["store-away"]
        assert all(meanwhile[target] for target in PROBES), "answered while writes waited"
        answers(server)

    @pytest.mark.slow
    def test_a_shorter_time_ends_also_while_waiting_for_a_thread(self, server: Server, store: Path) -> None:
        body = encoded(copying("a", "e", "x", run=run("hurry")))
        with ThreadPoolExecutor(THREADS) as threads, stored(Path(f"{store}.lock")):
            others = [threads.submit(server.post, TARGET, body) for _ in range(THREADS)]
            time.sleep(0.2)
            refusal = server.post(TARGET, body, Prefer="wait=1")
            assert not any(other.done() for other in others), "they have ten seconds"
        assert refusal.status == 503


class TestRefusals:
    """Requests that never reach the app are answered with problems, too."""

    @pytest.mark.parametrize(
        ("raw", "status"),
        [
            (b"GET / HT TP/1.1\r\n\r\n", 400),
            (b"nonsense\r\n\r\n", 400),
            (b"get / HTTP/1.1\r\n\r\n", 400),
            (b"GET /\x01 HTTP/1.1\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
            (b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
            (b"GET / HTTP/1.1\r\nX: " + b"x" * 2**17 + b"\r\n\r\n", 431),
            (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 2**15, 400),
            (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n", 400),
            (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n", 400),
            (b"POST / HTTP/1.1\r\nContent-Length: " + b"1" * 5_000 + b"\r\n\r\n", 400),
        ],
    )
    def test_a_request_that_cannot_be_read(self, server: Server, raw: bytes, status: int) -> None:
        with server.connected() as connection:
            connection.sendall(raw)
            payload = answer(connection)
            assert payload.problem["status"] == payload.status == status
            assert re.fullmatch(r"[0-9a-f]{32}", payload.headers["x-request-id"])
            assert payload.headers["connection"] == "close"
            assert connection.recv(1) == b""

    def test_a_large_body_is_refused_while_it_is_sent(self, server: Server) -> None:
        with server.connected() as connection:
            size = 64 * 2**20
            connection.sendall(head("POST", TARGET, Content_Length=str(size), X_Request_ID="mine"))
            with contextlib.suppress(ConnectionError):
                for _ in range(8):
                    connection.sendall(b" " * 2**16)
            payload = answer(connection)
        assert (payload.status, payload.headers["x-request-id"]) == (413, "mine")


class TestClientsThatLeave:
    """A question without a client ends, and its connection costs nothing more."""

    @pytest.mark.parametrize("version", [b"1.0", b"1.1"])
    def test_a_question(self, server: Server, version: bytes) -> None:
        """Of HTTP/1.0 half a connection is none, since a proxy would close the whole of it."""
        with server.connected() as connection:
            request = head("GET", "/v3/namespaces", X_Request_ID="left-early")
            connection.sendall(request.replace(b"HTTP/1.1", b"HTTP/" + version))
            connection.shutdown(socket.SHUT_WR)
            payload = answer(connection)
        assert payload.status == 200 or (version, payload.status) == (b"1.0", 503)
        if payload.status == 503:
            assert "the client closed the connection" in payload.problem["detail"]
            # Its operator has no part in it.
            assert "request left-early" not in server.log.read_text()

    @pytest.mark.slow
    def test_half_a_connection_gets_the_answer_to_a_batch_of_many_parts(self, server: Server) -> None:
        lines = [encoded(copying("a", "h", "x", run=run(f"half-{n}"))) for n in range(BATCH_DOCUMENTS + 10)]
        body = b"\n".join(lines)
        with server.connected() as connection:
            connection.sendall(
                head("POST", f"{TARGET}/batch?dryRun=true", Content_Length=str(len(body))) + body
            )
            connection.shutdown(socket.SHUT_WR)
            payload = answer(connection)
        assert [json.loads(line)["status"] for line in payload.body.splitlines()] == [200] * len(lines)

    def test_a_document_is_recorded(self, server: Server) -> None:
        body = encoded(copying("left", "behind", "x", run=run("left")))
        with server.connected() as connection:
            connection.sendall(head("POST", TARGET, Content_Length=str(len(body))) + body)
        eventually(lambda: server.get("/v3/runs/left").status == 200, "the document is recorded")

    def test_in_mid_body(self, server: Server) -> None:
        for _ in range(SLOW_CLIENTS):
            with server.connected() as connection:
                connection.sendall(head("POST", TARGET, Content_Length="1000") + b"{")
        answers(server)


class TestConnections:
    """Requests of one connection follow each other, sent ahead or not."""

    def test_requests_sent_ahead_are_answered_in_order(self, server: Server) -> None:
        ids = [f"id-{number}" for number in range(50)]
        with server.connected() as connection:
            requests = [head("GET", "/healthz", Connection="keep-alive", X_Request_ID=name) for name in ids]
            connection.sendall(b"".join(requests) + head("GET", "/healthz", X_Request_ID="last"))
            with connection.makefile("rb") as answers:
                names = re.findall(rb"X-Request-Id: (\S+)", answers.read())
        assert [name.decode() for name in names] == [*ids, "last"]

    @pytest.mark.parametrize(
        ("method", "target", "status"),
        [
            ("GET", "/v3/namespaces", 304),
            ("HEAD", "/v3/namespaces", 304),
            ("GET", "/docs/swagger-ui.css", 304),
            ("HEAD", "/docs", 200),
            ("OPTIONS", "/v3/namespaces", 200),
            ("HEAD", "/nothing", 404),
        ],
    )
    def test_an_answer_without_a_body_leaves_its_connection_open(
        self, server: Server, method: str, target: str, status: int
    ) -> None:
        tag = server.get(target).headers.get("etag", "") if status == 304 else ""
        with server.connected() as connection:
            for _ in range(2):
                connection.sendall(head(method, target, Connection="keep-alive", If_None_Match=tag))
                headed = answer(connection, method)
                assert (headed.status, headed.body) == (status, b"")
                assert "connection" not in headed.headers
            connection.sendall(head("GET", "/healthz"))
            assert answer(connection).status == 200

    def test_a_304_closes_the_connection_where_the_client_wants_it(self, server: Server) -> None:
        tag = server.get("/v3/namespaces").headers["etag"]
        with server.connected() as connection:
            connection.sendall(head("GET", "/v3/namespaces", If_None_Match=tag))
            headed = answer(connection)
            assert (headed.status, headed.headers["connection"]) == (304, "close")
            assert connection.recv(1) == b""

    @pytest.mark.slow
    def test_many_requests_on_many_connections(self, server: Server) -> None:
        def client(number: int) -> set[int]:
            statuses = set()
            with server.connected() as connection:
                for turn in range(20):
                    body = encoded(copying("a", "f", "x", run=run(f"k{number}-{turn}")))
                    length = str(len(body))
                    request = head("POST", TARGET, Connection="keep-alive", Content_Length=length)
                    connection.sendall(request + body)
                    statuses.add(answer(connection).status)
                    connection.sendall(head("GET", "/v3/namespaces", Connection="keep-alive"))
                    statuses.add(answer(connection).status)
            return statuses

        with ThreadPoolExecutor(12) as threads:
            assert set().union(*threads.map(client, range(12))) == {200, 201}

    @pytest.mark.slow
    def test_a_large_batch_and_its_large_answer(self, server: Server) -> None:
        lines = [encoded(copying("a", "g", "x" * 2_000, run=run(f"b{number}"))) for number in range(4_000)]
        payload = server.post(f"{TARGET}/batch?dryRun=true", b"".join(lines))
        assert len(payload.body) > 2**23
        assert [json.loads(line)["status"] for line in payload.body.splitlines()] == [200] * len(lines)
