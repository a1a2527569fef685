"""A real server over a store of its own, and a client that costs next to nothing."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import time
from pathlib import Path


class Server:
    """`fll serve` over a store on a free port of 127.0.0.1."""

    def __init__(self, store: str, *, workers: int = 2) -> None:
        """`store` is its URL."""
        self.store = store
        self.port = _free_port()
        command = [str(Path(sys.executable).with_name("fll")), "serve", "--store", store]
        options = ["--port", str(self.port), "--workers", str(workers)]
        self._process = subprocess.Popen([*command, *options])
        deadline = time.monotonic() + 30
        while not self._ready():
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise RuntimeError("the server did not start")
            time.sleep(0.05)

    def connect(self) -> http.client.HTTPConnection:
        return connect(self.port)

    def resident_bytes(self) -> int:
        """Memory of the server and all its workers."""
        listed = subprocess.run(
            ["ps", "-o", "rss=", "--pid", str(self._process.pid), "--ppid", str(self._process.pid)],
            check=True,
            capture_output=True,
            text=True,
        )
        return 1024 * sum(map(int, listed.stdout.split()))

    def stored_bytes(self) -> int:
        """What a SQLite store takes on disk."""
        path = Path(self.store.removeprefix("sqlite:///"))
        return sum(os.stat(file).st_size for file in path.parent.glob(path.name + "*"))

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(30)

    def _ready(self) -> bool:
        try:
            return call(self.connect(), "GET", "/readyz")[0] == 200
        except OSError:
            return False


def connect(port: int) -> http.client.HTTPConnection:
    """A connection to a server of this machine."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.connect()
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def call(
    connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None = None
) -> tuple[int, bytes]:
    """One request and its whole answer."""
    connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
    response = connection.getresponse()
    return response.status, response.read()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
