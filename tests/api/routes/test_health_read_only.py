"""A server that may only read its store: it is ready, says so, and refuses every write at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from api import create_app
from fll_hbase.runtime.config import Settings
from fll_hbase.store.factory import open_store
from tests.support.api_client import path
from tests.support.lineage_documents import copying

# Root without capabilities has the rights of an owner, and none beyond them.
WITHOUT_CAPABILITIES = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.geteuid() == 0 else []

# Prints status, headers and body of each request of its input.
SERVER = """
import json, sys
from api import create_app
from fll_hbase.runtime.config import Settings
from fll_hbase.store.factory import open_store

settings = Settings(store="sqlite:///" + sys.argv[1])
client = create_app(open_store(settings), settings).test_client()
for method, path, body in json.load(sys.stdin):
    answer = client.open(path, method=method, json=body)
    print(json.dumps([answer.status_code, dict(answer.headers), answer.get_data(as_text=True)]))
"""
EVENT = {
    "eventType": "COMPLETE",
    "eventTime": "2026-10-24T08:00:00Z",
    "producer": "https://example.com",
    "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/definitions/RunEvent",
    "run": {"runId": "0d3b5f0e-7a1e-7000-8000-000000000001"},
    "job": {"namespace": "ns1", "name": "job"},
    "outputs": [{"namespace": "ns1", "name": "b"}],
}
DOCUMENT = copying("a", "b", "id")
SQL = {"run": copying("a", "b")["run"] | {"run": "of SQL"}, "sql": "INSERT INTO t SELECT x FROM s"}
WRITES = [
    ("POST", path("ns1", "lineage"), copying("a", "b", "other")),
    (
        "POST",
        path("ns1", "sql"),
        SQL,
    ),
    ("POST", "/api/v1/lineage", EVENT),
    ("PUT", path("ns1", "endpoints", "b", "fields", "id", "tags", "pii"), {}),
    ("DELETE", "/v3/lineage?before=2020-01-01", None),
]


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    file = tmp_path / "lineage.db"
    settings = Settings(store=f"sqlite:///{file}")
    with closing(open_store(settings)) as store:
        answer = create_app(store, settings).test_client().post(path("ns1", "lineage"), json=DOCUMENT)
    assert answer.status_code == 201, answer.text
    file.chmod(0o444)
    tmp_path.chmod(0o555)
    return file


def answers(file: Path, *requests: tuple[str, str, Any]) -> list[tuple[int, dict[str, str], str]]:
    ended = subprocess.run(
        [*WITHOUT_CAPABILITIES, sys.executable, "-c", SERVER, str(file)],
        input=json.dumps(requests),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
    return [tuple(json.loads(line)) for line in ended.stdout.splitlines()]


def test_it_is_ready_and_says_that_it_only_reads(store_path: Path) -> None:
    (status, _, body), (list_status, _, _) = answers(
        store_path, ("GET", "/readyz", None), ("GET", "/v3/namespaces", None)
    )
    assert (status, json.loads(body)) == (200, {"status": "ready", "readOnly": True})
    assert list_status == 200


def test_every_write_is_refused_without_a_retry(store_path: Path) -> None:
    for (method, url, _), (status, headers, body) in zip(WRITES, answers(store_path, *WRITES), strict=True):
        assert status == 403, (method, url, body)
        assert json.loads(body)["type"] == "urn:fll-hbase:problem:read-only", (method, url)
        assert "Retry-After" not in headers, (method, url)
        assert str(store_path) not in body, (method, url)
