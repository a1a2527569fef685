"""A server that stands between clients and a real one, and is slow, busy or away."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

import requests

from tests.support.threaded_server import HttpServer, in_thread


@dataclass
class Gate:
    """Rules for requests: each waits `delay_seconds`; the first `busy` ones are 503."""

    url: str
    delay_seconds: float = 0.0
    busy: int = 0
    retry_after: str = "1"
    times: list[float] = field(default_factory=list)
    """When each request came (monotonic)."""


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port at which nothing listens, and that no other process gets; `gated` may listen at it."""
    with socket.socket() as reserved:
        # Two sockets may have one port if both have this option and only one of them listens.
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        yield reserved.getsockname()[1]


@contextmanager
def gated(server: str, *, delay_seconds: float = 0.0, busy: int = 0, port: int = 0) -> Iterator[Gate]:
    """Requests go through to a real server, as the gate says."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            gate.times.append(time.monotonic())
            time.sleep(gate.delay_seconds)
            if gate.busy > 0:
                gate.busy -= 1
                self._reply(503, {"Retry-After": gate.retry_after}, b"")
                return
            headers = {"Content-Type": self.headers.get("Content-Type") or ""}
            if "Authorization" in self.headers:
                headers["Authorization"] = self.headers["Authorization"]
            method, url = self.command, f"{server}{self.path}"
            reply = requests.request(method, url, data=body, headers=headers, timeout=300)
            self._reply(reply.status_code, {"Content-Type": reply.headers["Content-Type"]}, reply.content)

        def _reply(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = answer  # noqa: N815 (the names http.server looks for)

        def log_message(self, format: str, *args: object) -> None:
            pass

    gateway = HttpServer(("127.0.0.1", port), Handler)
    gate = Gate(f"http://127.0.0.1:{gateway.server_port}", delay_seconds, busy)
    with in_thread(gateway):
        yield gate
