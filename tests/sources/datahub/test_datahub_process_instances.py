"""Runs whose datasets alone DataHub's clients send, in two aspects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from api import create_app
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table

WINDOW = "start=2020-01-01&end=2100-01-01"
URN = "urn:li:dataProcessInstance:abc"
SOURCE, TARGET = (f"urn:li:dataset:(urn:li:dataPlatform:hive,c18.{name},PROD)" for name in "st")


@pytest.fixture
def client() -> Iterator[FlaskClient]:
    store = LineageStore(open_table("sqlite:///:memory:"))
    yield create_app(store).test_client()
    store.close()


def proposal(aspect: str, value: dict[str, Any], urn: str = URN) -> dict[str, Any]:
    return {
        "entityType": "dataProcessInstance",
        "entityUrn": urn,
        "changeType": "UPSERT",
        "aspectName": aspect,
        "aspect": {"value": json.dumps(value), "contentType": "application/json"},
    }


READS = proposal("dataProcessInstanceInput", {"inputs": [SOURCE]})
WRITES = proposal("dataProcessInstanceOutput", {"outputs": [], "outputEdges": [{"destinationUrn": TARGET}]})


def send(client: FlaskClient, *proposals: dict[str, Any]) -> list[Any]:
    answers = [client.post("/aspects?action=ingestProposal", json={"proposal": item}) for item in proposals]
    assert [answer.status_code for answer in answers] == [200] * len(proposals)
    return [answer.json["entities"][0] for answer in answers]


def lineage(client: FlaskClient) -> list[Any]:
    path = f"/v3/namespaces/hive/endpoints/c18.t/fields/lineage?direction=backward&{WINDOW}"
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    entries: list[Any] = answer.json
    return entries


@pytest.mark.parametrize("proposals", [(READS, WRITES), (WRITES, READS), (READS, WRITES, READS, WRITES)])
def test_both_aspects_are_one_run(client: FlaskClient, proposals: tuple[dict[str, Any], ...]) -> None:
    entities = send(client, *proposals)
    assert len({entity["runs"][0]["run"] for entity in entities}) == 1
    (entry,) = lineage(client)
    assert (entry["source"]["name"], entry["destination"]["name"]) == ("c18.s", "c18.t")
    assert (entry["unknown"], entry["fieldmap"]) == (True, [])


def test_runs_are_not_mixed(client: FlaskClient) -> None:
    other = proposal("dataProcessInstanceInput", {"inputs": [SOURCE]}, f"{URN}-2")
    send(client, other, WRITES)
    assert lineage(client) == []


def test_an_aspect_without_datasets_is_counted(client: FlaskClient) -> None:
    (entity,) = send(client, proposal("dataProcessInstanceInput", {"inputs": []}))
    assert entity["runs"] == []
    assert entity["aspects"][0]["outcome"] == "counted"


def test_a_urn_that_cannot_be_read_is_left_out(client: FlaskClient) -> None:
    value = {"inputs": [SOURCE, "urn:li:dataset:nothing"]}
    answer = client.post(
        "/aspects?action=ingestProposal", json={"proposal": proposal("dataProcessInstanceInput", value)}
    )
    assert answer.status_code == 200, answer.text
    assert len(answer.json["warnings"]) == 1
    assert answer.json["entities"][0]["aspects"][0]["outcome"] == "recorded"
