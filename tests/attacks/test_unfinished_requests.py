"""Requests that never end, more than memory has room for: they are refused, others are answered."""

from __future__ import annotations

import re
import resource
import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.support.profiles import PROFILE
from tests.support.raw_http import answer, head
from tests.support.server_process import Server
from tests.support.silent_crowd import connection_from, has_ended, sources, status
from tests.support.waiting import PATIENCE_SECONDS, eventually

pytestmark = pytest.mark.slow

COUNT = 8_000 if PROFILE == "long" else 3_000
GROWTH_BYTES_MAX = 224 * 2**20
"""More than the 128 MiB of all requests that arrive; all that are sent are 360 MB, or 960."""

ENDLESS = {
    "head": b"GET /x HTTP/1.1\r\nHost: localhost\r\nX-A: " + b"a" * 120_000,
    "body": head("POST", "/v3/namespaces/a/lineage", Content_Length="200000") + b" " * 120_000,
    "fields": head("POST", "/x", Content_Length="9")[:-2]
    + b"".join(b"H%d: a\r\n" % n for n in range(10_000)),
}


@pytest.fixture
def lone(tmp_path: Path) -> Iterator[Server]:
    """A server of one worker."""
    with Server(tmp_path / "store.db", workers=1) as started:
        yield started


@pytest.fixture(autouse=True)
def many_files() -> Iterator[None]:
    """Descriptors for all clients."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, COUNT + 500)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def peak_bytes(pid: int) -> int:
    """The largest memory that a process ever had."""
    match = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert match
    return 1_024 * int(match[1])


@pytest.mark.parametrize("kind", ENDLESS)
def test_memory_is_bounded(lone: Server, kind: str) -> None:
    (worker,) = lone.workers()
    earlier = peak_bytes(worker)
    with ExitStack() as stack:
        slow = stack.enter_context(connection_from("127.0.0.1", lone.port))
        other = HTTPConnection("127.0.0.1", lone.port, timeout=PATIENCE_SECONDS)
        stack.enter_context(closing(other))
        assert status(other) == 200
        request = head("GET", "/v3/namespaces")
        slow.sendall(request[:-1])
        addresses = sources(200)
        crowd = [
            stack.enter_context(connection_from(addresses[number % 200], lone.port))
            for number in range(COUNT)
        ]
        send_all(crowd, ENDLESS[kind])
        # A few turns of the event loop: what the clients have sent may not be read yet.
        assert {status(other) for _ in range(20)} == {200}
        assert peak_bytes(worker) - earlier < GROWTH_BYTES_MAX
        # What is small may be slow.
        slow.sendall(request[-1:])
        slow.settimeout(PATIENCE_SECONDS)
        assert answer(slow).status == 200
    assert lone.workers() == [worker]


def test_half_a_connection_is_no_connection(lone: Server) -> None:
    with ExitStack() as stack:
        crowd = [stack.enter_context(connection_from("127.0.0.1", lone.port)) for _ in range(200)]
        for connection in crowd:
            connection.sendall(ENDLESS["head"][:50])
            connection.shutdown(socket.SHUT_WR)
        eventually(lambda: all(map(has_ended, crowd)), "the other half is closed")


def send_all(crowd: list[socket.socket], data: bytes) -> None:
    """Send data on all connections at once, as fast as the other end takes it or until it refuses."""
    left = dict.fromkeys(crowd, 0)
    ends_at = time.monotonic() + PATIENCE_SECONDS
    while left:
        assert time.monotonic() < ends_at, f"{len(left)} connections have not sent all"
        poll = select.poll()
        numbers = {connection.fileno(): connection for connection in left}
        for number in numbers:
            poll.register(number, select.POLLOUT)
        for number, _ in poll.poll(1_000):
            connection = numbers[number]
            try:
                left[connection] += connection.send(data[left[connection] :])
            except BlockingIOError:
                continue
            except ConnectionError:
                left[connection] = len(data)
            if left[connection] >= len(data):
                del left[connection]
