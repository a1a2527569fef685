"""Raw HTTP over a socket: requests of any bytes to a real server, and its answers."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

SECONDS_MAX = 120


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as it came; header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def problem(self) -> Any:
        assert self.headers["content-type"] == "application/problem+json", self
        assert self.json["status"] == self.status
        return self.json


@dataclass(frozen=True, slots=True)
class Server:
    """A server on this machine; `log` is its output."""

    port: int
    log: Path

    def connected(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), SECONDS_MAX)

    def get(self, target: str | bytes, **headers: str) -> Answer:
        return self.exchange("GET", target, **headers)

    def post(self, target: str | bytes, body: bytes, **headers: str) -> Answer:
        return self.exchange("POST", target, body, Content_Length=str(len(body)), **headers)

    def exchange(self, method: str, target: str | bytes, body: bytes = b"", **headers: str) -> Answer:
        """One request on a connection of its own, the target as the very bytes given."""
        with self.connected() as connection:
            connection.sendall(head(method, target, **headers) + body)
            return answer(connection, method)


def head(method: str, target: str | bytes, **headers: str) -> bytes:
    """The first part of a request; header names take `_` for `-`."""
    raw = target if isinstance(target, bytes) else target.encode()
    all_headers = {"Host": "localhost", "Connection": "close", "Content_Type": "application/json", **headers}
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in all_headers.items()]
    return method.encode() + b" " + raw + b" HTTP/1.1\r\n" + "\r\n".join([*lines, "", ""]).encode()


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body; an empty one ends it."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def answer(connection: socket.socket, method: str = "GET") -> Answer:
    """Read one answer."""
    with HTTPResponse(connection, method=method) as response:
        response.begin()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, response.read())
