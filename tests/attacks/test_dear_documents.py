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
OBJECTS_BYTES = 15_000_000 if PROFILE == "long" else 5_000_000
GROWTH_MB_MAX = 12 * OBJECTS_BYTES // 1_000_000
"""Bodies and their copies in several threads; what is parsed of one took four times as much."""
TARGETS = [
    TARGET,
    "/api/v1/lineage",
    "/api/v1/lineage/batch",
    *(f"/v3/namespaces/n/{route}" for route in ("lineage", "sql", "pipelines", "dbt")),
    "/v3/questions",
]


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


@pytest.mark.parametrize("item", [b'{"a":0}', b"[]"])
def test_small_objects_do_not_fill_the_memory(server: GrantedServer, item: bytes) -> None:
    token = server.token((Role.ADMIN, "*"))
    assert server.send(token, "POST", "/v3/namespaces/n/lineage", copying("a", "b", "x")).status == 201
    first_mb = server.peak_memory_mb()
    objects = b'{"operations":[' + b",".join([item] * (OBJECTS_BYTES // (len(item) + 1))) + b"]}"
    for target in TARGETS:
        answer = server.send(token, "POST", target, objects)
        assert answer.status == 413, target
        assert b"objects and arrays; send it in parts" in answer.body
    lines = objects + b"\n" + json.dumps(copying("a", "b", "x", run=run("other"))).encode()
    answer = server.send(
        token, "POST", "/v3/namespaces/n/lineage/batch", lines, Content_Type="application/x-ndjson"
    )
    assert [json.loads(line)["status"] for line in answer.body.splitlines()] == [413, 201]
    assert server.peak_memory_mb() - first_mb < GROWTH_MB_MAX
