"""Documents that are dear to read: of who has no right they are not read, of others they end in time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fll_hbase.model.access import Role
from tests.support.granted_server import GrantedServer, granted_server
from tests.support.large_documents import DOCUMENTS
from tests.support.lineage_documents import copying, run
from tests.support.profiles import PROFILE

MEGABYTES = 15 if PROFILE == "long" else 2
REQUESTS = 100 if PROFILE == "long" else 5
TARGET = "/aspects?action=ingestFile"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GrantedServer]:
    monkeypatch.setenv("FLL_REQUEST_SECONDS", "3")
    with granted_server(tmp_path) as started:
        yield started


def test_others_record_and_reading_ends(server: GrantedServer) -> None:
    without, many, other = (
        server.token(grant, name=name)
        for name, grant in (
            ("without", (Role.READER, "*")),
            ("many", (Role.RECORDER, "*")),
            ("other", (Role.RECORDER, "other")),
        )
    )
    body = json.dumps(DOCUMENTS["pairs"][1](MEGABYTES * 1_000_000)).encode()
    assert [server.send(without, "POST", TARGET, body).status for _ in range(4)] == [403] * 4
    with ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(server.send, many, "POST", TARGET, body) for _ in range(2)]
        for number in range(REQUESTS):
            document = copying("c", "d", "y", run=run(f"other-{number}"))
            assert server.send(other, "POST", "/v3/namespaces/other/lineage", document).status == 201
    # 503 where the time went to others: the same document may fit another time.
    for answer in answers:
        assert answer.result().status in (413, 503)
        assert b"nothing was stored" in answer.result().body
