"""A server with scripted responses: those of a busy, broken or foreign server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.threaded_server import HttpServer, in_thread


@dataclass(frozen=True)
class Reply:
    """One answer; `cut` closes the connection without it."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False


@dataclass
class Scripted:
    """The URL of the server, its replies to come, and the path and body of each request."""

    url: str
    replies: list[Reply]
    requests: list[tuple[str, bytes]] = field(default_factory=list)


@contextmanager
def serving(*replies: Reply) -> Iterator[Scripted]:
    """Answers in order, the last one again and again."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            scripted.requests.append((self.path, self.rfile.read(length)))
            left = scripted.replies
            reply = left.pop(0) if len(left) > 1 else left[0]
            if reply.cut:
                self.close_connection = True
                return
            self.send_response(reply.status)
            for name, value in {**reply.headers, "Content-Length": str(len(reply.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)

        do_GET = answer  # noqa: N815 (the name http.server looks for)
        do_POST = answer  # noqa: N815 (likewise)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = HttpServer(("127.0.0.1", 0), Handler)
    scripted = Scripted(f"http://127.0.0.1:{server.server_port}", list(replies))
    with in_thread(server):
        yield scripted
