"""SQL that is dear to read: who sends it gets an answer in time, and others are served meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fll_hbase.model.access import Role
from tests.support.costly_sql import COSTLY
from tests.support.granted_server import GrantedServer, granted_server
from tests.support.profiles import PROFILE
from tests.support.raw_http import Answer

AT_ONCE = 16
MEMORY_MAX_MB = 1_000
OWNER = ((Role.RECORDER, "shop"),)
ATTACKER = ((Role.RECORDER, "other"),)
REPEATS = 3 if PROFILE == "long" else 1


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GrantedServer]:
    with granted_server(Path(tmp_path_factory.mktemp("costly"))) as started:
        yield started


def document(namespace: str, run: str, sql: str, dialect: str = "spark") -> dict[str, Any]:
    details = {"application": "a", "type": "t", "program": "p", "run": run, "startTime": 1_763_683_200_000}
    return {"run": details, "namespace": namespace, "sql": sql, "dialect": dialect}


def event(sql: str) -> dict[str, Any]:
    """An event of OpenLineage whose SQL is read for the columns of its output."""
    return {
        "eventTime": "2026-11-23T10:00:00Z",
        "eventType": "COMPLETE",
        "producer": "https://example.org",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": "018f3a6c-0000-7000-8000-000000000001"},
        "job": {"namespace": "other", "name": "n", "facets": {"sql": {"query": sql}}},
        "inputs": [],
        "outputs": [{"namespace": "other", "name": "o", "facets": {}}],
    }


@pytest.mark.parametrize("name", COSTLY)
def test_costly_sql_stops_no_one(server: GrantedServer, name: str) -> None:
    """16 at once are refused, and the records of another principal go through meanwhile."""
    attacker, owner = server.token(*ATTACKER, name="attacker"), server.token(*OWNER, name="owner")
    dialect, sql = COSTLY[name]
    costly = json.dumps(document("other", "costly", sql, dialect)).encode()

    def attack(_: int) -> Answer:
        return server.send(attacker, "POST", "/v3/namespaces/other/sql", costly)

    def record(number: int) -> Answer:
        sent = document("shop", f"{name} {number}", "INSERT INTO totals SELECT a FROM orders")
        return server.send(owner, "POST", "/v3/namespaces/shop/sql", sent)

    with ThreadPoolExecutor(AT_ONCE) as executor:
        attacks = [executor.submit(attack, number) for number in range(AT_ONCE * REPEATS)]
        recorded = [record(number).status for number in range(5)]
        refused = [future.result() for future in attacks]
    assert recorded == [201] * 5
    assert {answer.status for answer in refused} <= {413, 429, 503}, [answer.body[:200] for answer in refused]
    assert server.peak_memory_mb() < MEMORY_MAX_MB


@pytest.mark.parametrize("name", ["indexes", "pipes", "types", "cross joins"])
def test_the_sql_of_events_is_bounded_too(server: GrantedServer, name: str) -> None:
    attacker = server.token(*ATTACKER, name="attacker")
    answer = server.send(attacker, "POST", "/api/v1/lineage", event(COSTLY[name][1]))
    assert answer.status == 201
    assert "no columns are derived from it" in str(answer.json["warnings"])
    assert server.peak_memory_mb() < MEMORY_MAX_MB
