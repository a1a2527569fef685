"""A server process that takes tokens, and requests with tokens of given grants."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fll_hbase.model.access import Grant, Role
from fll_hbase.store.access import AccessStore
from fll_hbase.tables import open_table
from tests.support.raw_http import Answer
from tests.support.raw_http import Server as RawServer
from tests.support.token_server import TokenServer

ADMIN = ((Role.ADMIN, "*"),)


class GrantedServer:
    """`fll serve` with FLL_AUTH=tokens over a SQLite store."""

    def __init__(self, server: TokenServer) -> None:
        self._raw = RawServer(server.port, server.store.with_suffix(".log"))
        self._store = server.store
        self.port = server.port
        self._server = server

    def peak_memory_mb(self) -> int:
        """The most memory that any worker has had, in MiB."""
        statuses = (Path(f"/proc/{worker}/status").read_text() for worker in self._server.workers())
        return max(int(status.split("VmHWM:")[1].split()[0]) for status in statuses) // 1024

    def token(self, *grants: tuple[Role, str], name: str = "somebody") -> str:
        """Create a token and return its text."""
        table = open_table(f"sqlite:///{self._store}")
        try:
            return AccessStore(table).create_token(name, [Grant(*grant) for grant in grants])[1].text()
        finally:
            table.close()

    def send(self, token: str, method: str, target: str, body: Any = None, **headers: str) -> Answer:
        """Send one request with a token; `body` is JSON, or bytes as they are."""
        raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        length = {"Content_Length": str(len(raw))} if body is not None else {}
        return self._raw.exchange(method, target, raw, Authorization=f"Bearer {token}", **length, **headers)

    def get(self, token: str, target: str, **headers: str) -> Answer:
        """Send one GET with a token."""
        return self.send(token, "GET", target, **headers)


@contextmanager
def granted_server(folder: Path, *, workers: int = 1) -> Iterator[GrantedServer]:
    """A server that ends at the end."""
    with TokenServer(folder / "store.db", workers=workers) as server:
        assert isinstance(server, TokenServer)
        yield GrantedServer(server)
