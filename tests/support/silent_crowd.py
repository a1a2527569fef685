"""Connections from many addresses of this machine that send nothing; also as a program."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

PAUSE_SECONDS = 0.002
OPEN_MAX = 15_000
"""Connections that are kept open; of more the first are closed."""


def connection_from(source: str, port: int) -> socket.socket:
    """A connection from an address of this machine, made without a wait for the other end."""
    connection = socket.socket()
    connection.setblocking(False)
    connection.bind((source, 0))
    connection.connect_ex(("127.0.0.1", port))
    return connection


def sources(count: int) -> list[str]:
    """So many addresses of this machine."""
    return [f"127.0.0.{number + 1}" for number in range(count)]


def has_ended(connection: socket.socket) -> bool:
    """Whether the other end has closed a connection, which is not blocking."""
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def status(connection: HTTPConnection) -> int:
    connection.request("GET", "/v3/namespaces")
    with connection.getresponse() as response:
        response.read()
        return response.status


def connect_for_ever(port: int, per_second: int, addresses: list[str]) -> None:
    """Open connections at a rate, and say nothing on them."""
    connections: list[socket.socket] = []
    began, opened = time.monotonic(), 0
    while True:
        while opened < (time.monotonic() - began) * per_second:
            connections.append(connection_from(addresses[opened % len(addresses)], port))
            opened += 1
        for connection in connections[:-OPEN_MAX]:
            connection.close()
        del connections[:-OPEN_MAX]
        time.sleep(PAUSE_SECONDS)


@contextmanager
def silent_crowd(port: int, *, per_second: int, addresses: int) -> Iterator[None]:
    """Return a context in which another process opens silent connections."""
    command = [sys.executable, "-m", "tests.support.silent_crowd", str(port), str(per_second), str(addresses)]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[2])
    try:
        yield
        assert process.poll() is None, "the crowd ended early"
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    connect_for_ever(int(sys.argv[1]), int(sys.argv[2]), sources(int(sys.argv[3])))
