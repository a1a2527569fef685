"""Open connections: who is silent longest, how many an address and a worker have, how many a turn accepts."""

from __future__ import annotations

import logging
import resource
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.http.event_server import ACCEPTED_MAX, HttpServer, SilentFirst, WorkerLoads
from api.observability.observer import RequestObserver
from fll_hbase.runtime.config import Settings
from tests.support.silent_crowd import connection_from
from tests.support.waiting import PATIENCE_SECONDS, eventually

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

MANY = 1_000


@dataclass(eq=False)
class FakeConnection:
    """The members of a connection that are looked at."""

    active_at: float
    connected: bool = True
    requests: list[Any] = field(default_factory=list)
    request: Any = None
    total_outbufs_len: int = 0


class Counted(list[Any]):
    """A list that counts what is read from it."""

    read_count = 0

    def __iter__(self) -> Iterator[Any]:
        for connection in super().__iter__():
            self.read_count += 1
            yield connection


def test_one_costs_the_same_whatever_their_number() -> None:
    connections = Counted(FakeConnection(number) for number in range(MANY))
    silent = SilentFirst(connections)
    assert [silent.take() for _ in range(MANY)] == list(connections)
    # Once to sort all, and once by the comparison above.
    assert connections.read_count == 2 * MANY


@given(
    st.lists(st.tuples(st.sampled_from(["open", "speak", "begin", "end", "close", "take"]), st.integers(0)))
)
def test_the_one_that_is_silent_longest_is_the_first(steps: list[tuple[str, int]]) -> None:
    connections: list[FakeConnection] = []
    silent = SilentFirst(connections)  # type: ignore[arg-type]
    for now, (step, number) in enumerate(steps):
        connection = connections[number % len(connections)] if connections else FakeConnection(now)
        if step == "open":
            connections.append(FakeConnection(now))
        elif step == "take":
            idle = [other for other in connections if not other.requests]
            first = silent.take()
            assert first is min(idle, key=lambda other: other.active_at, default=None)
            _close(connections, first)
        elif step == "close":
            _close(connections, connection)
        else:
            connection.active_at = now
            connection.requests = ["a request"] if step == "begin" else []


def _close(connections: list[FakeConnection], connection: Any) -> None:
    if connection in connections:
        connection.connected = False
        connections.remove(connection)


def test_an_answer_or_an_upload_on_its_way_is_closed_last() -> None:
    sending, receiving, idle, begins = connections = [FakeConnection(number) for number in range(4)]
    sending.total_outbufs_len = 1
    receiving.request = "a request"
    silent = SilentFirst(connections)  # type: ignore[arg-type]
    closed = [silent.take()]
    _close(connections, idle)
    # After all were sorted; and one that is idle opens.
    begins.total_outbufs_len = 1
    connections.append(FakeConnection(4))
    for _ in range(4):
        closed.append(silent.take())
        _close(connections, closed[-1])
    assert [first.active_at for first in closed if first is not None] == [2, 4, 0, 1, 3]


def test_a_worker_accepts_until_another_one_has_fewer() -> None:
    loads = WorkerLoads()
    assert loads.share(1, 100) is None, "it is alone"
    loads.note(1, 100)
    loads.note(2, 3)
    loads.note(3, 0)
    assert [loads.share(1, 100), loads.share(2, 3), loads.share(3, 0)] == [0, 0, 4]
    loads.remove(3)
    assert [loads.share(1, 100), loads.share(2, 3)] == [0, 98]


@contextmanager
def listening(waiting: int, **options: Any) -> Iterator[tuple[HttpServer, list[socket.socket]]]:
    """A server that does not run, and clients whose connections wait to be accepted."""
    with socket.create_server(("127.0.0.1", 0), backlog=waiting) as listener, ExitStack() as stack:
        settings = Settings(threads=1, **options.pop("settings", {}))
        server = HttpServer(hello, listener, settings, RequestObserver(), **options)
        port = listener.getsockname()[1]
        clients = [stack.enter_context(connection_from("127.0.0.1", port)) for _ in range(waiting)]
        yield server, clients
        for connection in list(server.active_channels.values()):
            connection.handle_close()


def hello(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    start_response("200 OK", [("Content-Length", "5")])
    return [b"hello"]


def test_all_that_wait_are_accepted_in_few_turns() -> None:
    with listening(3 * ACCEPTED_MAX) as (server, _):
        counts = []
        for _ in range(4):
            server.handle_accept()
            counts.append(len(server.active_channels))
        assert counts == [ACCEPTED_MAX, 2 * ACCEPTED_MAX, 3 * ACCEPTED_MAX, 3 * ACCEPTED_MAX]
        assert server.readable()


def test_those_beyond_the_share_wait_a_moment_for_other_workers() -> None:
    loads = WorkerLoads()
    loads.note(2, 4)
    with listening(20, loads=loads, slot=1) as (server, _):
        server.handle_accept()
        assert (len(server.active_channels), server.readable()) == (5, False)
        # The other worker is stopped: after the moment they are accepted here.
        eventually(lambda: bool(server._poll() or server.readable()), "it accepts again")
        assert len(server.active_channels) == 20
        assert loads.share(2, 4) == 17


def test_a_worker_that_begins_to_serve_is_seen_by_the_others() -> None:
    loads = WorkerLoads()
    shares = []

    def is_alive() -> bool:
        shares.append(loads.share(2, 4))
        return False

    with listening(0, loads=loads, slot=1) as (server, _):
        server.serve(is_alive)
    assert shares == [0], "it has fewer"
    assert loads.share(2, 4) is None


def test_behind_proxies_an_address_has_any_number() -> None:
    for proxies, count in ((0, 3), (1, 10)):
        settings = {"address_connections_max": 3, "proxies": proxies}
        with listening(10, settings=settings) as (server, _):
            server.handle_accept()
            assert len(server.active_channels) == count


@pytest.mark.parametrize(("address_max", "status"), [(1, b"429 Too Many Requests"), (0, b"503 Service")])
def test_none_is_closed_that_waits_for_an_answer(
    monkeypatch: pytest.MonkeyPatch, address_max: int, status: bytes
) -> None:
    monkeypatch.setattr("api.http.event_server.CONNECTIONS_MAX", 1)
    settings = {"address_connections_max": address_max}
    with listening(1, settings=settings) as (server, clients):
        server.handle_accept()
        # Nothing runs it: no thread is started.
        clients[0].sendall(b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n")
        eventually(lambda: server._poll() or has_request(server), "the request has arrived")
        port = server.socket.getsockname()[1]
        with connection_from("127.0.0.1", port) as second:
            server.handle_accept()
            second.settimeout(PATIENCE_SECONDS)
            with second.makefile("rb") as answer:
                received = answer.read()
        assert received.startswith(b"HTTP/1.1 " + status)
        assert b"\r\nRetry-After: " in received
        assert len(server.active_channels) == 1


def has_request(server: HttpServer) -> bool:
    return any(connection.requests for connection in server.active_channels.values())


def test_without_descriptors_a_server_waits_and_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with listening(3) as (server, clients), caplog.at_level(logging.WARNING):
        highest = max(connection.fileno() for connection in clients)
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, limits[1]))
        try:
            with ExitStack() as stack:
                _fill(stack)
                server.handle_accept()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert (len(server.active_channels), server.readable()) == (0, False)
        assert "no connection can be accepted" in caplog.text
        eventually(lambda: bool(server._poll() or server.readable()), "it accepts again")
        assert len(server.active_channels) == 3


def _fill(stack: ExitStack) -> None:
    """Take the descriptors that are left."""
    try:
        while True:
            stack.enter_context(socket.socket())
    except OSError:
        return


def test_a_clock_that_is_set_closes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(1) as (server, _):
        server.handle_accept()
        (connection,) = server.active_channels.values()
        monkeypatch.setattr("time.time", lambda: 2e10)
        connection.check_time(time.monotonic())
        assert connection.connected
        connection.check_time(time.monotonic() + 76)
        assert not connection.connected
