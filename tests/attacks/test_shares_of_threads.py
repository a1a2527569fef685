"""The batches of one recorder, while another one records and somebody asks."""

from __future__ import annotations

import gzip
import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from api.routes.recording import BATCH_DOCUMENTS
from fll_hbase.model.access import Role
from tests.support.granted_server import ADMIN, GrantedServer, granted_server
from tests.support.lineage_documents import copying, run
from tests.support.profiles import PROFILE
from tests.support.raw_http import head
from tests.support.waiting import eventually

BATCHES, LINES = (14, 20_000) if PROFILE == "long" else (3, 40_000)
PROCESS_BATCHES = 4 if PROFILE == "long" else 1
"""Batches that a process of so many threads runs at a time."""

REQUESTS = 300 if PROFILE == "long" else 15


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GrantedServer]:
    # Of two threads one batch has one, so that few of them are enough.
    monkeypatch.setenv("FLL_THREADS", "8" if PROFILE == "long" else "2")
    monkeypatch.setenv("FLL_REQUEST_SECONDS", "5")
    with granted_server(tmp_path) as started:
        yield started


def batch(number: int) -> bytes:
    text = json.dumps(copying("a", "b", "x", run=run("RUN")))
    lines = (text.replace('"RUN"', f'"batch-{number}-{line}"') for line in range(LINES))
    return gzip.compress("\n".join(lines).encode())


def recorded(server: GrantedServer, admin: str) -> int:
    """How many documents the server has recorded."""
    name = "fll_documents_total{"
    metrics = server.get(admin, "/metrics").body.decode().splitlines()
    return sum(int(float(line.rpartition(" ")[2])) for line in metrics if line.startswith(name))


def test_others_are_served_and_batches_end_with_their_client(server: GrantedServer) -> None:
    admin = server.token(*ADMIN)
    tokens = {name: server.token((Role.RECORDER, name), name=name) for name in ("many", "other")}
    reader = server.token((Role.READER, "*"), name="reader")
    # Each is known to the server, as those of clients are that have been there for a while.
    for token in (*tokens.values(), reader):
        server.get(token, "/v3/namespaces")
    with ExitStack() as connections:
        for number in range(BATCHES):
            body = batch(number)
            connection = connections.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            headers = {"Content_Encoding": "gzip", "Authorization": f"Bearer {tokens['many']}"}
            target = "/v3/namespaces/many/lineage/batch"
            connection.sendall(head("POST", target, Content_Length=str(len(body)), **headers) + body)
        statuses = []
        for number in range(REQUESTS):
            document = copying("c", "d", "y", run=run(f"other-{number}"))
            statuses.append(
                server.send(tokens["other"], "POST", "/v3/namespaces/other/lineage", document).status
            )
            statuses.append(
                server.get(reader, "/v3/namespaces/other/endpoints/d/fields/lineage?start=0").status
            )
            questions = {"questions": [{"path": "/v3/namespaces"}]}
            statuses.append(server.send(reader, "POST", "/v3/questions", questions).status)
        assert statuses == [201, 200, 200] * REQUESTS
        # A batch of another client does not wait for those.
        lines = "\n".join(json.dumps(copying("c", "d", "y", run=run(f"line-{n}"))) for n in range(10))
        assert (
            server.send(tokens["other"], "POST", "/v3/namespaces/other/lineage/batch", lines.encode()).status
            == 200
        )
        documents = recorded(server, admin)
        assert documents < BATCHES * LINES, "the batches are not done yet"

    def has_ended() -> bool:
        count = recorded(server, admin)
        time.sleep(1)
        return recorded(server, admin) == count

    eventually(has_ended, "the batches have ended with their client")
    # Parts that began until the server noticed: it looks between two of them.
    assert recorded(server, admin) <= documents + PROCESS_BATCHES * 6 * BATCH_DOCUMENTS
