"""CPU of a request beside the app: our server and simpler ones, each with an app that does nothing.

The simpler ones show the limit of a server in Python. `sockets alone` receives and sends. `one epoll` is what
several threads on one epoll would save: waitress's parser and answer without a hand-over between threads,
and also without lanes, limits, time-outs, logs and metrics. Requests of all take turns.
"""

from __future__ import annotations

import http.client
import multiprocessing
import select
import socket
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import waitress
from waitress.adjustments import Adjustments
from waitress.parser import HTTPRequestParser
from waitress.task import WSGITask

from api.http.event_server import HttpServer
from api.observability.observer import RequestObserver
from api.server import SWITCH_SECONDS
from bench.report import print_figure
from bench.server import call, connect
from fll_hbase.runtime.config import Settings

ROUNDS, ROUND_REQUESTS = 8, 500
START_SECONDS = 2.0
THREADS = 8
ANSWER, BODY = b"x" * 900, b"y" * 2_000
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(ANSWER)
PATH = "/v3/namespaces/bench/datasets/orders/lineage?start=2024-03-01&end=2024-03-31"
RECEIVED_BYTES = 2**16


def bench(sizes: Sequence[int]) -> None:
    """Measure queries and documents; the sizes of histories play no part."""
    del sizes
    servers = {
        "sockets alone": _serve_sockets,
        "one epoll": _serve_one_epoll,
        "waitress": _serve_waitress,
        "ours": _serve_ours,
    }
    started = {title: _start(serve) for title, serve in servers.items()}
    try:
        time.sleep(START_SECONDS)
        for title, method, body in (("query", "GET", None), ("document of 2 kB", "POST", BODY)):
            _measure(title, method, body, started)
    finally:
        for process, _ in started.values():
            process.kill()
            process.join()


def _measure(
    title: str, method: str, body: bytes | None, servers: dict[str, tuple[BaseProcess, int]]
) -> None:
    """Print the median CPU of a request to each server."""
    connections = {name: connect(port) for name, (_, port) in servers.items()}
    seconds: dict[str, list[float]] = {name: [] for name in servers}
    for _ in range(ROUNDS):
        for name, connection in connections.items():
            began = _cpu_seconds(servers[name][0])
            _send(connection, method, body)
            seconds[name].append(_cpu_seconds(servers[name][0]) - began)
    for name, measured in seconds.items():
        print_figure(
            f"{title}: CPU beside the app, {name}", 1e6 * statistics.median(measured) / ROUND_REQUESTS, "us"
        )


def _send(connection: http.client.HTTPConnection, method: str, body: bytes | None) -> None:
    for _ in range(ROUND_REQUESTS):
        status, answer = call(connection, method, PATH, body)
        if status != 200 or answer != ANSWER:
            raise RuntimeError(f"{method} was answered {status}: {answer[:500]!r}")


def _cpu_seconds(process: BaseProcess) -> float:
    """CPU of all threads of a process, in nanoseconds of the scheduler."""
    tasks = Path(f"/proc/{process.pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text(encoding="ascii").split()[0]) for task in tasks) / 1e9


def _start(serve: Callable[[socket.socket], None]) -> tuple[BaseProcess, int]:
    """Start a server in a process of its own; returns it with its port."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    port: int = listener.getsockname()[1]
    process = multiprocessing.get_context("fork").Process(target=serve, args=[listener], daemon=True)
    process.start()
    listener.close()
    return process, port


def _app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    environ["wsgi.input"].read()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(ANSWER)))])
    return [ANSWER]


def _serve_ours(listener: socket.socket) -> None:
    sys.setswitchinterval(SWITCH_SECONDS)
    HttpServer(_app, listener, Settings(), RequestObserver()).serve(lambda: True)


def _serve_waitress(listener: socket.socket) -> None:
    waitress.serve(_app, sockets=[listener], threads=THREADS)


def _serve_sockets(listener: socket.socket) -> None:
    """Answer whatever has arrived, without parsing more than the length of the body."""
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        received = b""
        while data := connection.recv(RECEIVED_BYTES):
            received += data
            head, separator, body = received.partition(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
            if separator and len(body) >= length:
                received = body[length:]
                connection.sendall(HEAD + ANSWER)


class _Channel:
    """A connection, as waitress's task uses it."""

    check_client_disconnected = None

    def __init__(self, server: _Epoll, connection: socket.socket, address: Any) -> None:
        self.server, self.adj, self.addr = server, server.adj, address
        self.connection = connection
        self.request: HTTPRequestParser | None = None
        self.answer: list[bytes] = []

    def write_soon(self, data: bytes) -> int:
        """Add a part to the answer."""
        self.answer.append(bytes(data))
        return len(data)

    def receive(self) -> bool:
        """Answer the requests that have arrived; return whether the connection stays open."""
        data = self.connection.recv(RECEIVED_BYTES)
        is_open = bool(data)
        while data:
            self.request = self.request or HTTPRequestParser(self.adj)
            data = data[self.request.received(data) :]
            if self.request.completed:
                WSGITask(self, self.request).service()
                self.connection.sendall(b"".join(self.answer))
                self.request.close()
                self.request, self.answer = None, []
        return is_open


class _Epoll:
    """Threads that wait in one epoll: the one that an event wakes parses and answers."""

    effective_port, server_name = 0, "127.0.0.1"
    application = staticmethod(_app)

    def __init__(self, listener: socket.socket) -> None:
        self.adj = Adjustments()
        self._listener = listener
        self._epoll = select.epoll()
        self._epoll.register(listener, select.EPOLLIN | select.EPOLLONESHOT)
        self._channels: dict[int, _Channel] = {}

    def serve(self) -> None:
        """Handle events one by one, without end. Any number of threads may call it."""
        while True:
            ((descriptor, _),) = self._epoll.poll(maxevents=1)
            channel = self._channels.get(descriptor)
            if channel is None:
                self._accept()
            elif not channel.receive():
                del self._channels[descriptor]
                channel.connection.close()
                continue
            self._epoll.modify(descriptor, select.EPOLLIN | select.EPOLLONESHOT)

    def _accept(self) -> None:
        connection, address = self._listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._channels[connection.fileno()] = _Channel(self, connection, address)
        self._epoll.register(connection, select.EPOLLIN | select.EPOLLONESHOT)


def _serve_one_epoll(listener: socket.socket) -> None:
    server = _Epoll(listener)
    for _ in range(THREADS - 1):
        threading.Thread(target=server.serve, daemon=True).start()
    server.serve()
