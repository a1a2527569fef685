"""The memory of a worker after documents that are refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from fll_hbase.model.access import Role
from tests.support.granted_server import GrantedServer
from tests.support.lineage_documents import copying, run
from tests.support.profiles import PROFILE
from tests.support.token_server import TokenServer

SENT_BYTES = 60_000_000 if PROFILE == "long" else 6_000_000
GROWTH_BYTES_MAX = 12_000_000
"""However much is sent; that of the allocator."""

FIELDS = 400
"""Fields of a document: parsed it takes about ten times its bytes."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TokenServer]:
    with TokenServer(tmp_path / "store.db", workers=1) as started:
        assert isinstance(started, TokenServer)
        yield started


def memory_bytes(pid: int) -> int:
    """The resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def foreign(number: int) -> Any:
    """A document of a namespace that its sender may write to, which writes to another one as well."""
    document = copying("a", "b", *(f"f{number}{field}" for field in range(FIELDS)), run=run(f"r{number}"))
    document["operations"][-1]["destination"]["namespace"] = "other"
    return document


def test_refused_documents_leave_nothing(server: TokenServer) -> None:
    token = GrantedServer(server).token((Role.RECORDER, "mine"))
    connection = HTTPConnection("127.0.0.1", server.port, timeout=120)

    def send(sent_bytes: int, number: int) -> int:
        """Send as much; the number of the last document."""
        while sent_bytes > 0:
            number += 1
            body = json.dumps(foreign(number))
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            connection.request("POST", "/v3/namespaces/mine/lineage", body, headers)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 403
            sent_bytes -= len(body)
        return number

    # What a process takes for its first documents, of this size, it has for all others.
    number = send(500_000, 0)
    (worker,) = server.workers()
    started = memory_bytes(worker)
    send(SENT_BYTES, number)
    connection.close()
    assert memory_bytes(worker) - started < GROWTH_BYTES_MAX
