"""Run ids that another program recorded are refused, on every route that records documents."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.support.api_client import (
    ALL,
    assert_problem,
    batch,
    get_json,
    lineage,
    lines,
    path,
    record,
    record_new,
    send,
)
from tests.support.lineage_documents import Json, copying, encoded, first_design, run

pytestmark = pytest.mark.hbase

SQL = "INSERT INTO b SELECT x FROM a"
CONFIG: Json = {
    "stages": [
        {
            "name": "in",
            "plugin": {"name": "File", "type": "batchsource", "properties": {"referenceName": "a"}},
            "outputSchema": '{"type":"record","name":"r","fields":[{"name":"x","type":"string"}]}',
        },
        {
            "name": "out",
            "plugin": {"name": "File", "type": "batchsink", "properties": {"referenceName": "b"}},
        },
    ],
    "connections": [{"from": "in", "to": "out"}],
}


def other(name: str = "r1", **members: Any) -> Json:
    """The run of another program with the same id."""
    return run(name, program="weekly", **members)


ROUTES: dict[str, tuple[str, Json]] = {
    "lineage": ("lineage", copying("c", "d", "y", run=other())),
    "first": ("lineage", first_design(run="r1", program="weekly")),
    "sql": ("sql", {"run": other(), "sql": SQL}),
    "pipelines": ("pipelines", {"run": other(), "config": CONFIG}),
}


@pytest.mark.parametrize("route", ROUTES)
class TestRoutes:
    def test_another_program_is_refused_by_name(self, client: FlaskClient, route: str) -> None:
        record_new(client, copying("a", "b", "x"))
        name, document = ROUTES[route]
        listed = get_json(client, "ns1", "endpoints")
        for query in ({}, {"dryRun": "true"}, {"replace": "false"}):
            answer = client.post(path("ns1", name, **query), json=document)
            assert_problem(answer, 409)
            assert answer.json["type"] == "urn:fll-hbase:problem:run-of-another-program"
            assert "'nightly' of application 'shop' in namespace 'ns1'" in answer.json["detail"]
        assert get_json(client, "ns1", "endpoints") == listed
        assert client.get("/v3/runs/r1").json["program"] == "nightly"

    def test_replace_transfers_the_run(self, client: FlaskClient, route: str) -> None:
        record_new(client, copying("a", "b", "x"))
        name, document = ROUTES[route]
        dry_run = client.post(path("ns1", name, replace="true", dryRun="true"), json=document)
        assert dry_run.status_code == 200
        answer = client.post(path("ns1", name, replace="true"), json=document)
        assert (answer.status_code, answer.json["recorded"], answer.json["replaced"]) == (200, True, True)
        assert client.get("/v3/runs/r1").json["program"] == "weekly"
        assert client.post(path("ns1", name), json=document).json["recorded"] is False
        assert_problem(record(client, copying("a", "b", "x")), 409)


@pytest.mark.parametrize("member", ["application", "program"])
def test_each_part_of_the_program_counts(client: FlaskClient, member: str) -> None:
    record_new(client, copying("a", "b", "x"))
    assert_problem(record(client, copying("a", "b", "x", run=run(**{member: "other | %é"}))), 409)
    assert record(client, copying("a", "b", "x")).json["recorded"] is False


def test_lines_of_a_batch(client: FlaskClient) -> None:
    """Of two lines with one id the later one is refused if it is of another program."""
    documents = (
        copying("a", "b", "x", run=run("id")),
        copying("c", "d", "y", run=other("id")),
        copying("a", "b", "z", run=run("id")),
    )
    body = encoded(*documents)
    dry_run = lines(send(client, body, "lineage/batch?dryRun=true").data)
    assert [answer["status"] for answer in dry_run] == [200, 409, 200]
    assert [answer["status"] for answer in batch(client, body)] == [201, 409, 200]
    again = batch(client, body)
    assert [(answer["status"], answer.get("recorded")) for answer in again] == [
        (200, False),
        (409, None),
        (200, False),
    ]
    assert client.get(path("ns1", "endpoints", "d", "runs")).status_code == 404
    replaced = lines(send(client, body, "lineage/batch?replace=true").data)
    assert [answer["status"] for answer in replaced] == [200, 200, 200]
    assert client.get("/v3/runs/id").json["program"] == "nightly"


def test_events_belong_to_no_program(client: FlaskClient) -> None:
    """Agents name the job of one run differently, and their ids are UUIDs: events of a run are merged."""
    event = {
        "eventType": "COMPLETE",
        "eventTime": "2026-03-01T00:00:00Z",
        "producer": "https://example.com",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": "0199f1f0-0000-7000-8000-000000000001"},
        "inputs": [{"namespace": "ns1", "name": "a"}],
        "outputs": [{"namespace": "ns1", "name": "b"}],
    }
    for job in ("first", "second"):
        answer = client.post("/api/v1/lineage", json=event | {"job": {"namespace": "ns1", "name": job}})
        assert answer.status_code == 201
    document = copying("a", "b", "x", run=run(event["run"]["runId"]))
    assert record(client, document).json["replaced"] is True
    assert_problem(client.post("/api/v1/lineage?replace=true", json=event), 400)


@pytest.mark.parametrize("start_ms", [0, 1_442_863_938, 10**11 - 1, 10**11])
def test_a_start_in_seconds_is_a_warning(client: FlaskClient, start_ms: int) -> None:
    answer = record(client, copying("a", "b", "x", run=run(start_ms=start_ms)))
    assert answer.status_code == 201
    warnings = answer.json.get("warnings", [])
    assert [warning["at"] for warning in warnings] == ["run.startTime"] * (start_ms < 10**11)
    assert lineage(client, "a", **ALL) != []


@pytest.mark.parametrize("query", ["replace", "replace=1", "replace=true&replace=true", "Replace=true"])
def test_other_values_of_replace_are_errors(client: FlaskClient, query: str) -> None:
    answer = client.post(f"/v3/namespaces/ns1/lineage?{query}", data=json.dumps(copying("a", "b", "x")))
    assert answer.status_code in (400, 415)
    assert_problem(client.post(f"/v3/namespaces/ns1/lineage?{query}", json=copying("a", "b", "x")), 400)
