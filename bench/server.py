"""A real server over its own store, and a client with little overhead."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

START_SECONDS_MAX = 120


class Server:
    """`fll serve` over a store on a free port of 127.0.0.1."""

    def __init__(self, store: str, *, workers: int = 2) -> None:
        """Start the server over the store of a URL, with `workers` processes; returns when it is ready."""
        self.store = store
        self.port = _free_port()
        command = [str(Path(sys.executable).with_name("fll")), "serve", "--store", store]
        options = ["--port", str(self.port), "--workers", str(workers)]
        self._process = subprocess.Popen([*command, *options])
        deadline = time.monotonic() + START_SECONDS_MAX
        while not self._ready():
            if time.monotonic() > deadline or self._process.poll() is not None:
                self._process.kill()
                raise RuntimeError("the server did not start")
            time.sleep(0.05)

    def connect(self) -> http.client.HTTPConnection:
        """Connect to the server."""
        return connect(self.port)

    def resident_bytes(self) -> int:
        """Memory of the server and all its workers."""
        return 1024 * sum(map(int, self._processes("rss")))

    def cpu_seconds(self) -> float:
        """CPU that the server and all its workers have used, in ticks of the system."""
        ticks = 0
        for pid in self._processes("pid"):
            # The name of the command, in brackets, may contain spaces.
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def stored_bytes(self) -> int:
        """The size of a SQLite store on disk, with its write-ahead log."""
        path = Path(self.store.removeprefix("sqlite:///"))
        return sum(os.stat(file).st_size for file in path.parent.glob(path.name + "*"))

    def stop(self) -> None:
        """Stop the server and wait for its end."""
        self._process.terminate()
        self._process.wait(30)

    def _processes(self, column: str) -> list[str]:
        """A column of `ps` for the server and its workers."""
        pid = str(self._process.pid)
        command = ["ps", "-o", f"{column}=", "--pid", pid, "--ppid", pid]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()

    def _ready(self) -> bool:
        try:
            return call(self.connect(), "GET", "/readyz")[0] == 200
        except OSError:
            return False


def connect(port: int) -> http.client.HTTPConnection:
    """Connect to a server of this machine, without Nagle delays."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.connect()
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def call(
    connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None = None
) -> tuple[int, bytes]:
    """Send one request; returns the status and the body of the response."""
    connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
    response = connection.getresponse()
    return response.status, response.read()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
