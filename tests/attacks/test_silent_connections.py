"""Connections that send nothing, more than a process can have: all others are served as before."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path
from statistics import quantiles

import pytest

from tests.support.profiles import PROFILE
from tests.support.server_process import Server
from tests.support.silent_crowd import connection_from, has_ended, silent_crowd, sources, status
from tests.support.waiting import PATIENCE_SECONDS, eventually

pytestmark = pytest.mark.slow

SECONDS = 20.0 if PROFILE == "long" else 3.0
PER_SECOND = 1_500
BACKLOG_SECONDS = 2.0
"""How long a server that accepts too slowly needs to have a long queue."""

CONNECTIONS_MAX = 1_000
"""So many an address may have."""

FILES_MAX = 512
"""With so few descriptors a process has 156 connections."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of two workers."""
    with Server(tmp_path_factory.mktemp("silent") / "store.db") as started:
        yield started


@pytest.fixture
def lone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server of one worker, which lets an address have twenty connections."""
    monkeypatch.setenv("FLL_ADDRESS_CONNECTIONS_MAX", "20")
    with Server(tmp_path / "store.db", workers=1) as started:
        yield started


def seconds_of_questions(port: int, seconds: float) -> list[float]:
    """The times of questions, each on a connection of its own, one after the other."""
    times = []
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        began = time.monotonic()
        with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)) as connection:
            assert status(connection) == 200
        times.append(time.monotonic() - began)
        time.sleep(0.005)
    return times


def sockets(pid: int) -> int:
    """How many descriptors of a process are sockets."""
    return sum(is_socket(path) for path in Path(f"/proc/{pid}/fd").iterdir())


def is_socket(path: Path) -> bool:
    try:
        return os.readlink(path).startswith("socket:")
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("addresses", [1, 200])
def test_others_are_answered_while_they_come(server: Server, addresses: int) -> None:
    quiet = seconds_of_questions(server.port, SECONDS)
    with silent_crowd(server.port, per_second=PER_SECOND, addresses=addresses):
        time.sleep(BACKLOG_SECONDS)
        loud = seconds_of_questions(server.port, SECONDS)
    assert len(loud) > len(quiet) / 3
    if PROFILE == "long":
        assert quantiles(loud, n=100)[-1] < 3 * max(quantiles(quiet, n=100)[-1], 0.01)


def test_workers_share_them(server: Server) -> None:
    """A worker that does not run for milliseconds is not waited for: it gets more of the later ones."""
    with ExitStack() as stack:
        eventually(lambda: max(map(sockets, server.workers())) < 50, "those of another test are closed")
        for opened in range(100, CONNECTIONS_MAX + 1, 100):
            for _ in range(100):
                stack.enter_context(connection_from("127.0.0.1", server.port))
            eventually(
                lambda opened=opened: sum(map(sockets, server.workers())) >= opened, "all are accepted"
            )
            if min(map(sockets, server.workers())) > 3 * opened / 8:
                return
    pytest.fail(f"a worker has less than three eighths of {CONNECTIONS_MAX} connections")


def test_an_address_has_its_share(lone: Server) -> None:
    """The connections of an address replace one another, not those of others, which may be older."""
    (worker,) = lone.workers()
    with ExitStack() as stack:
        other = HTTPConnection("127.0.0.1", lone.port, PATIENCE_SECONDS, source_address=("127.0.0.2", 0))
        stack.enter_context(closing(other))
        assert status(other) == 200
        earlier = sockets(worker)
        crowd = [
            stack.enter_context(connection_from(address, lone.port))
            for address in ("127.0.0.1", "127.0.0.3")
            for _ in range(100)
        ]
        seconds_of_questions(lone.port, 0.1)
        eventually(lambda: sum(map(has_ended, crowd)) >= 160, "those beyond twenty are closed")
        assert sockets(worker) - earlier <= 40
        assert not has_ended(crowd[-1]), "the newest ones stay"
        assert status(other) == 200


def test_a_full_process_closes_those_that_are_silent_longest(lone: Server) -> None:
    worker = _with_few_files(lone)
    with ExitStack() as stack:
        crowd = [
            stack.enter_context(connection_from(address, lone.port))
            for address in sources(200)
            for _ in range(3)
        ]
        seconds_of_questions(lone.port, 0.1)
        eventually(lambda: sum(map(has_ended, crowd)) >= 400, "silent connections are closed")
        assert sockets(worker) < FILES_MAX / 2
        assert has_ended(crowd[0])
        assert not has_ended(crowd[-1])
        assert lone.workers() == [worker]


def _with_few_files(server: Server) -> int:
    """Let the only worker be replaced by one with few descriptors; return its id."""
    (first,) = server.workers()
    resource.prlimit(server.master, resource.RLIMIT_NOFILE, (FILES_MAX, FILES_MAX))
    os.kill(first, signal.SIGKILL)
    eventually(lambda: server.workers() not in ([], [first]), "another worker")
    (second,) = server.wait_for_all_workers()
    return second
