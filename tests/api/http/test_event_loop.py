"""The event loop and the server in this process: idle connections cost nothing, failures are problems."""

from __future__ import annotations

import errno
import gc
import logging
import os
import re
import select
import socket
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from gunicorn.glogging import Logger
from waitress import wasyncore
from waitress.buffers import OverflowableBuffer

from api.http.connection import REQUESTS_MAX, Connection
from api.http.event_loop import BULK_EVENTS_MAX, EventLoop
from api.http.event_server import HttpServer
from api.observability.observer import AnsweredRequest, RequestObserver
from api.server import COLLECT_EVERY, HttpWorker, _Server
from fll_hbase.runtime.config import Settings
from tests.support.raw_http import Server, answer, head
from tests.support.served_app import serving
from tests.support.waiting import PATIENCE_SECONDS, eventually

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

IDLE = 300


class Counted(wasyncore.dispatcher):  # type: ignore[misc]
    """One end of a pair of sockets that counts how often the loop asks it."""

    def __init__(self, loop: EventLoop) -> None:
        self.questions = 0
        self.received = b""
        near, self.far = socket.socketpair()
        super().__init__(near, loop)
        self.connected = True

    def readable(self) -> bool:
        self.questions += 1
        return True

    def writable(self) -> bool:
        return False

    def handle_read(self) -> None:
        self.received += self.recv(100)


def test_idle_connections_are_not_examined() -> None:
    loop = EventLoop()
    idle, busy = [Counted(loop) for _ in range(IDLE)], Counted(loop)
    loop.poll(0.0)
    questions = sum(other.questions for other in idle)
    for number in range(100):
        busy.far.sendall(bytes([number]))
        loop.poll(PATIENCE_SECONDS)
    assert busy.received == bytes(range(100))
    assert sum(other.questions for other in idle) == questions
    for other in [*idle, busy]:
        other.far.close()
    loop.poll(1.0)
    loop.close()


class Bulk(Counted):
    """A socket that sends much and is not done."""

    is_bulk = True


def test_what_pours_in_is_read_after_all_others_a_few_at_a_time() -> None:
    loop = EventLoop()
    crowd, small = [Bulk(loop) for _ in range(10 * BULK_EVENTS_MAX)], Counted(loop)
    loop.poll(0.0)
    for other in [*crowd, small]:
        other.far.sendall(b"x" * 1_000)
    loop.poll(PATIENCE_SECONDS)
    assert small.received == b"x" * 100
    assert sum(len(other.received) for other in crowd) == 100 * BULK_EVENTS_MAX
    # One that has changed is among the others, and none waits for ever.
    crowd[-1].is_bulk = False
    loop.refresh(crowd[-1])
    while not all(len(other.received) == 1_000 for other in crowd):
        earlier = sum(len(other.received) for other in crowd[:-1])
        loop.poll(PATIENCE_SECONDS)
        assert sum(len(other.received) for other in crowd[:-1]) - earlier <= 100 * BULK_EVENTS_MAX
    for other in [*crowd, small]:
        other.far.close()
    eventually(lambda: loop.poll(0.0) or not loop, "all are closed")
    loop.close()


def test_a_closed_connection_is_forgotten() -> None:
    loop = EventLoop()
    first = Counted(loop)
    loop.refresh(first)
    first.close()
    # The next one may get the descriptor of the first.
    second = Counted(loop)
    loop.poll(0.0)
    second.far.sendall(b"x")
    loop.poll(PATIENCE_SECONDS)
    assert second.received == b"x"
    second.far.close()
    loop.close()


def test_an_app_that_fails_is_a_problem_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    def fail(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        raise RuntimeError("secret")

    with serving(fail) as server, caplog.at_level(logging.ERROR):
        payload = server.get("/x", X_Request_ID="mine")
    assert (payload.problem["status"], payload.headers["x-request-id"]) == (500, "mine")
    assert "X-Request-ID mine" in payload.problem["detail"]
    assert "secret" not in payload.body.decode()
    assert "request mine" in caplog.text
    assert "secret" in caplog.text


def test_an_app_that_fails_in_mid_answer_breaks_the_connection() -> None:
    def fail(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        start_response("200 OK", [("Content-Length", "10")])
        yield b"12345"
        raise RuntimeError("too late")

    with serving(fail) as server, server.connected() as connection:
        connection.sendall(head("GET", "/x", Connection="keep-alive"))
        raw = b"".join(iter(lambda: connection.recv(1_000), b""))
    assert raw.endswith(b"12345")


def test_a_long_answer_in_many_pieces_arrives_as_it_was_sent() -> None:
    pieces = [bytes([number % 256]) * 1_000 for number in range(5_000)]

    def stream(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        start_response("200 OK", [])
        return iter(pieces)

    with serving(stream) as server:
        assert server.get("/x").body == b"".join(pieces)
        assert server.exchange("HEAD", "/x").status == 200


class _SlowLog(RequestObserver):
    """Takes as long to log the first request as the test says."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.may_end = threading.Event(), threading.Event()

    def observe(self, answered: AnsweredRequest) -> None:
        if not self.began.is_set():
            self.began.set()
            self.may_end.wait(PATIENCE_SECONDS)
        super().observe(answered)


def test_a_short_answer_is_sent_after_it_is_logged() -> None:
    slow = _SlowLog()
    with serving(hello, Settings(threads=4), slow) as server, server.connected() as connection:
        connection.sendall(head("GET", "/a", Connection="keep-alive"))
        assert slow.began.wait(PATIENCE_SECONDS)
        connection.sendall(b"GET /b")
        # The event loop has looked at both connections when it answers here.
        assert server.get("/c").body == b"hello"
        assert not _has_answer(connection)
        slow.may_end.set()
        assert answer(connection).body == b"hello"


def test_connections_beyond_the_limit_replace_silent_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.http.event_server.CONNECTIONS_MAX", 5)
    with serving(hello) as server:
        silent = [server.connected() for _ in range(20)]
        assert server.get("/x").body == b"hello"
        eventually(lambda: sum(map(_has_ended, silent)) >= 15, "silent connections are closed")
        for connection in silent:
            connection.close()


def _has_ended(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


@pytest.mark.slow
def test_a_stopping_server_answers_what_has_begun_and_closes() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        begun.set()
        go_on.wait(PATIENCE_SECONDS)
        start_response("200 OK", [("Content-Length", "4")])
        return [b"done"]

    connections = []
    with serving(slow) as server:
        connection = server.connected()
        connection.sendall(head("GET", "/x", Connection="keep-alive"))
        assert begun.wait(PATIENCE_SECONDS)
        connections.append(connection)
        threading.Timer(0.5, go_on.set).start()
    payload = answer(connections[0])
    assert (payload.body, payload.headers["connection"]) == (b"done", "close")
    connections[0].close()


def test_a_stopping_server_does_not_wait_for_slow_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        raise AssertionError("no request was complete")

    with ExitStack() as stack:
        with serving(never) as server:
            slow = stack.enter_context(server.connected())
            slow.sendall(b"GET /x HT")
            idle = stack.enter_context(server.connected())
            monkeypatch.setattr("api.http.event_server.GRACEFUL_SECONDS", 2 * PATIENCE_SECONDS)
        assert _has_ended(slow)
        assert _has_ended(idle)


@contextmanager
def worker_of(
    directory: Path, sockets: int, supervisor_class: type[_Server] = _Server
) -> Iterator[HttpWorker]:
    """A worker in this process that is to stop at once, with so many listening sockets."""
    supervisor = supervisor_class(Settings(store=f"sqlite:///{directory}/store.db"), directory)
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    with ExitStack() as stack:
        listeners = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(sockets)]
        wrapped = [SimpleNamespace(sock=listener) for listener in listeners]
        worker = HttpWorker(0, os.getppid(), wrapped, supervisor, 30, supervisor.cfg, Logger(supervisor.cfg))
        worker.wsgi = supervisor.load()
        worker.alive = False
        try:
            yield worker
        finally:
            gc.unfreeze()
            gc.set_threshold(*thresholds)
            sys.setswitchinterval(interval)


@pytest.mark.slow
def test_a_worker_takes_what_exists_at_its_start_out_of_garbage_collection(tmp_path: Path) -> None:
    with worker_of(tmp_path, 1) as worker:
        worker.run()
        assert gc.get_freeze_count() > len(gc.get_objects())
        # All of them are looked at seldom: no other thread runs meanwhile.
        assert gc.get_threshold()[2] == COLLECT_EVERY


class _WithoutMetrics(_Server):
    """A supervisor whose listener of metrics must not be asked for."""

    def metrics_app(self) -> WSGIApplication:
        raise AssertionError("FLL_METRICS_HOST is empty")


@pytest.mark.slow
def test_a_second_socket_is_not_one_of_metrics_without_the_setting(tmp_path: Path) -> None:
    with worker_of(tmp_path, 2, _WithoutMetrics) as worker:
        worker.run()
        assert gc.get_freeze_count(), "it has served"


def test_bodies_beyond_the_room_for_all_are_refused() -> None:
    def count(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        start_response("200 OK", [])
        return [b"%d" % len(environ["wsgi.input"].read())]

    size = 2**20
    settings = Settings(threads=2, batch_bytes_max=size)
    with serving(count, settings) as server, ExitStack() as stack:
        connections = [stack.enter_context(server.connected()) for _ in range(10)]
        for connection in connections:
            connection.sendall(head("POST", "/lineage/batch", Content_Length=str(size)) + b" " * (size - 1))
        # Ten batches less a byte each, where four have room.
        eventually(lambda: sum(map(_has_answer, connections)) >= 6, "six are refused")
        refused = [connection for connection in connections if _has_answer(connection)]
        assert len(refused) == 6
        for connection in refused:
            payload = answer(connection)
            assert payload.problem["type"].endswith(":overloaded")
            assert payload.headers["retry-after"].isdigit()
        for connection in connections:
            if connection not in refused:
                connection.sendall(b" ")
                assert answer(connection).body == b"%d" % size


def test_complete_bodies_are_no_reason_to_refuse_what_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with accepted(hello) as (http, complete, client), socket.create_connection(client.getpeername()) as other:
        client.sendall(head("POST", "/x", Content_Length="1000") + b" " * 1_000)
        eventually(lambda: bool(http._poll() or complete.requests), "the body is complete")
        other.sendall(b"GET /x HT")
        eventually(lambda: bool(http._poll() or len(http.active_channels) == 2), "the other is accepted")
        (arriving,) = set(http.active_channels.values()) - {complete}
        eventually(lambda: bool(http._poll() or arriving.request), "its head arrives")
        monkeypatch.setattr("api.http.event_server.BATCHES_MAX", 0)
        http._check_times(time.monotonic())
        assert arriving.request is not None
        assert http._body_bytes == 1_000
        arriving.handle_close()


def test_heads_beyond_the_room_for_all_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.http.event_server.MEMORY_BYTES_MAX", 2**20)
    monkeypatch.setattr("api.http.event_server.MEMORY_BYTES_LEFT", 9 * 10**5)
    with serving(hello) as server, ExitStack() as stack:
        small = stack.enter_context(server.connected())
        small.sendall(head("GET", "/small")[:-1])
        connections = [stack.enter_context(server.connected()) for _ in range(30)]
        for connection in connections:
            connection.sendall(head("GET", "/x", X_A="a" * 100_000)[:-1])
        eventually(lambda: sum(map(_has_answer, connections)) >= 19, "eleven have room")
        assert server.get("/y").body == b"hello"
        for connection in filter(_has_answer, connections):
            refused = answer(connection)
            assert refused.problem["type"].endswith(":overloaded")
            assert refused.headers["retry-after"].isdigit()
        small.sendall(b"\n")
        assert answer(small).body == b"hello"


def test_large_requests_that_wait_are_refused_beyond_the_room_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("api.http.event_server.MEMORY_BYTES_MAX", 2**20)
    go_on = threading.Event()

    def wait(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        go_on.wait(PATIENCE_SECONDS)
        return hello(environ, start_response)

    with serving(wait, Settings(threads=2, request_seconds=100)) as server, ExitStack() as stack:
        large = head("POST", "/x", Content_Length="100000") + b" " * 100_000
        requests = [large] * 20 + [head("POST", "/small", Content_Length="0")]
        connections = [stack.enter_context(server.connected()) for _ in requests]
        for connection, request in zip(connections, requests, strict=True):
            connection.sendall(request)
        eventually(
            lambda: sum(map(_has_answer, connections)) >= 9, "ten have room, the one that arrives, too"
        )
        assert not _has_answer(connections[-1])
        go_on.set()
        statuses = [answer(connection).status for connection in connections]
    assert statuses[-1] == 200
    assert statuses.count(503) == 9


def test_requests_that_have_ended_take_no_room() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    http = HttpServer(hello, listener, Settings(threads=2), RequestObserver())
    stopped = threading.Event()
    thread = threading.Thread(target=http.serve, args=[lambda: not stopped.is_set()])
    thread.start()
    server = Server(listener.getsockname()[1], Path("no log"))
    try:
        with ExitStack() as stack:
            connections = [stack.enter_context(server.connected()) for _ in range(20)]
            for number, connection in enumerate(connections):
                request = (
                    head("POST", "/x", Content_Length="300000", Connection="keep-alive") + b" " * 300_000
                )
                connection.sendall(request[: number * 20_000])
            connections[-1].sendall(request[19 * 20_000 :])
            eventually(lambda: http._arriving_bytes > 10**5 and http._body_bytes > 10**6, "all have arrived")
            eventually(lambda: _has_answer(connections[-1]), "one is answered")
        eventually(
            lambda: http._arriving_bytes == http._waiting_bytes == http._body_bytes == 0, "none is left"
        )
    finally:
        stopped.set()
        thread.join(PATIENCE_SECONDS)


def test_heads_of_too_many_fields_are_refused() -> None:
    with serving(hello) as server:
        fields = {f"X{number}": "a" for number in range(197)}
        assert server.exchange("GET", "/x", **fields).status == 200
        assert server.exchange("GET", "/x", **fields, Y="a").problem["status"] == 431


def _has_answer(connection: socket.socket) -> bool:
    return bool(select.select([connection], [], [], 0.0)[0])


@pytest.mark.parametrize("rest", [b"", b"GET /x HT"])
def test_slow_heads_are_refused(monkeypatch: pytest.MonkeyPatch, rest: bytes) -> None:
    monkeypatch.setattr(f"api.http.connection.{'HEAD' if rest else 'IDLE'}_SECONDS", 0.3)

    def never(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        raise AssertionError("no request was complete")

    with serving(never) as server, server.connected() as connection:
        connection.sendall(rest)
        raw = b"".join(iter(lambda: connection.recv(1_000), b""))
    assert raw.startswith(b"HTTP/1.0 408 Request Timeout") if rest else not raw


def hello(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    start_response("200 OK", [("Content-Length", "5")])
    return [b"hello"]


def test_urgent_data_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with serving(hello) as server, server.connected() as connection, caplog.at_level(logging.INFO):
        connection.send(b"!", socket.MSG_OOB)
        time.sleep(0.2)
        assert server.get("/x").body == b"hello"
    # An event that nothing handles would be logged each time.
    assert len(caplog.records) < 10


@pytest.mark.slow
def test_requests_sent_ahead_wait_while_answers_are_not_read() -> None:
    calls = []

    def large(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        calls.append(environ["PATH_INFO"])
        start_response("200 OK", [("Content-Length", str(2**20))])
        return [b"x" * 2**20]

    with serving(large) as server, server.connected() as connection:
        connection.sendall(head("GET", "/x", Connection="keep-alive") * 99 + head("GET", "/x"))
        time.sleep(0.5)
        # The buffers of the system take some; the server collects an answer or two beyond them.
        assert len(calls) < 50
        with connection.makefile("rb") as answers:
            received = answers.read()
    assert received.count(b"HTTP/1.1 200 OK") == len(calls) == 100


def test_a_request_that_expects_100_is_complete_without_a_body() -> None:
    heads = []

    def note(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        heads.append((environ["PATH_INFO"], environ.get("HTTP_X_A"), environ["HTTP_HOST"]))
        return hello(environ, start_response)

    first = head("GET", "/a", Connection="keep-alive", Expect="100-continue", X_A="secret")
    with serving(note) as server, server.connected() as connection:
        connection.sendall(first + head("GET", "/b"))
        with connection.makefile("rb") as answers:
            received = answers.read()
    assert heads == [("/a", "secret", "localhost"), ("/b", None, "localhost")]
    assert received.count(b"200 OK") == 2


def test_a_request_behind_another_gets_its_100() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def echo(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] == "GET":
            begun.set()
            go_on.wait(PATIENCE_SECONDS)
            return hello(environ, start_response)
        start_response("200 OK", [("Content-Length", "2")])
        return [environ["wsgi.input"].read()]

    with serving(echo) as server, server.connected() as connection:
        connection.sendall(head("GET", "/a", Connection="keep-alive"))
        assert begun.wait(PATIENCE_SECONDS)
        connection.sendall(head("POST", "/b", Content_Length="2", Expect="100-continue"))
        time.sleep(0.2)
        go_on.set()
        with connection.makefile("rb") as answers:
            received = b""
            while b"100 Continue" not in received:
                line = answers.readline()
                assert line, received
                received += line
            connection.sendall(b"ab")
            received += answers.read()
    assert received.index(b"hello") < received.index(b"100 Continue")
    assert received.endswith(b"ab")


def test_an_answer_that_no_file_takes_ends_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def large(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        start_response("200 OK", [("Content-Length", str(2**25))])
        return (b"x" * 2**16 for _ in range(2**9))

    def full(self: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    with serving(large) as server, server.connected() as connection:
        with monkeypatch.context() as patched:
            patched.setattr(OverflowableBuffer, "_set_large_buffer", full)
            connection.sendall(head("GET", "/x", Connection="keep-alive"))
            time.sleep(0.5)
            with connection.makefile("rb") as answers:
                assert len(answers.read()) < 2**25
        assert len(server.get("/x").body) == 2**25


def test_a_paused_connection_is_continued_even_if_nothing_is_left_to_send() -> None:
    sent_meanwhile = SimpleNamespace(
        total_outbufs_len=0, is_answering=False, is_paused=True, will_close=False, close_when_flushed=False
    )
    assert Connection.writable(sent_meanwhile)


@contextmanager
def accepted(app: WSGIApplication) -> Iterator[tuple[HttpServer, Connection, socket.socket]]:
    """A server without request threads, which the test polls and serves, its only connection, the client."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        http = HttpServer(app, listener, Settings(threads=2), RequestObserver())
        with socket.create_connection(listener.getsockname(), PATIENCE_SECONDS) as client:
            eventually(lambda: bool(http._poll() or http.active_channels), "it is accepted")
            (connection,) = http.active_channels.values()
            yield http, connection, client
        connection.handle_close()


@contextmanager
def paused() -> Iterator[tuple[HttpServer, Connection]]:
    """A server, and its connection that waits with two requests for its client to take an answer."""

    def large(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        start_response("200 OK", [("Content-Length", str(2**24))])
        return [b"x" * 2**24]

    with accepted(large) as (http, connection, client):
        client.sendall(head("GET", "/x", Connection="keep-alive") * 3)
        eventually(lambda: bool(http._poll() or len(connection.requests) == 3), "the requests arrive")
        connection.service()
        assert (connection.is_paused, len(connection.requests)) == (True, 2)
        assert http._waiting_bytes > 0
        yield http, connection


def test_a_paused_connection_that_is_closed_holds_no_requests() -> None:
    with paused() as (http, connection):
        connection.handle_close()
        assert (connection.requests, connection.is_paused, http._waiting_bytes) == ([], False, 0)


def test_a_paused_connection_that_breaks_while_it_sends_holds_no_requests() -> None:
    with paused() as (http, connection):
        # The client has taken the answer; then a send failed, in a request thread.
        connection.total_outbufs_len = 0
        connection.connected = False
        connection.handle_write()
        assert (connection.requests, connection.is_paused, http._waiting_bytes) == ([], False, 0)


def test_a_connection_that_is_closed_while_it_is_served_does_not_pause() -> None:
    with paused() as (http, connection):
        # The request thread goes on with the second request just when the event loop closes.
        connection.is_paused = False
        connection.handle_close()
        assert not connection._pause()
        connection.service()
        assert (connection.requests, http._waiting_bytes) == ([], 0)


def test_requests_sent_too_far_ahead_are_refused_and_take_little_memory() -> None:
    with accepted(hello) as (http, connection, client):
        client.sendall(b"GET / HTTP/1.1\r\n\r\n" * 3_000)
        eventually(lambda: bool(http._poll() or connection.requests), "they arrive")
        assert len(connection.requests) == REQUESTS_MAX
        assert http._waiting_bytes > 600 * REQUESTS_MAX
        for _ in range(REQUESTS_MAX):
            connection.service()
        assert (connection.requests, http._waiting_bytes) == ([], 0)
        eventually(lambda: bool(http._poll() or connection.linger_until), "all is sent")
        with client.makefile("rb") as answers:
            received = answers.read()
    *others, last = re.findall(rb"HTTP/1.1 (\d+) ", received)
    assert (len(others), last) == (REQUESTS_MAX - 1, b"429")
    # No thread takes what is queued here, so that it may seem to wait for too long.
    assert others[0] == b"200"
    assert set(others) <= {b"200", b"503"}
    assert f"{REQUESTS_MAX} requests of this connection wait".encode() in received
