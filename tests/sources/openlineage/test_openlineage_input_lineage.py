"""Lineage that an event has of one of its inputs is recorded as a statement about that dataset."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from api import create_app
from api.wire.environ import PRINCIPAL
from fll_hbase.model.access import Grant, Principal, Role
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table

WINDOW = "start=2026-01-01&end=2027-01-01"
VIEW = "/v3/namespaces/db/endpoints/view"


@pytest.fixture
def client() -> FlaskClient:
    return create_app(LineageStore(open_table("sqlite:///:memory:"))).test_client()


def facet(field: str, source: str, source_field: str) -> dict[str, Any]:
    inputs = [{"namespace": "db", "name": source, "field": source_field}]
    return {"columnLineage": {"fields": {field: {"inputFields": inputs}}}}


def event(
    event_type: str = "COMPLETE", *, minute: int = 0, run: str = "one", **facets: Any
) -> dict[str, Any]:
    return {
        "eventTime": f"2026-03-01T02:{minute:02}:00Z",
        "eventType": event_type,
        "run": {"runId": run},
        "job": {"namespace": "jobs", "name": "clicks"},
        "inputs": [{"namespace": "db", "name": "view", "facets": facets or facet("a", "base", "x")}],
        "outputs": [{"namespace": "db", "name": "o", "facets": facet("b", "view", "a")}],
    }


def send(client: FlaskClient, *events: dict[str, Any], principal: Principal | None = None) -> list[Any]:
    environ = {PRINCIPAL: principal} if principal else {}
    answers = [client.post("/api/v1/lineage", json=item, environ_overrides=environ) for item in events]
    assert [answer.status_code for answer in answers] == [201] * len(events)
    return [answer.json for answer in answers]


def ask(client: FlaskClient, path: str) -> Any:
    answer = client.get(f"{path}{'&' if '?' in path else '?'}{WINDOW}")
    assert answer.status_code == 200, answer.text
    return answer.json


def pairs(client: FlaskClient, name: str, direction: str, level: int = 1) -> set[tuple[str, ...]]:
    path = f"/v3/namespaces/db/endpoints/{name}/fields/lineage?direction={direction}&level={level}"
    return {
        (entry["source"]["name"], pair["from"], entry["destination"]["name"], pair["to"])
        for entry in ask(client, path)
        for pair in entry["fieldmap"]
    }


def test_the_lineage_of_an_input_is_that_of_its_dataset(client: FlaskClient) -> None:
    (answer,) = send(client, event())
    assert "warnings" not in answer
    expected = {("base", "x", "view", "a"), ("view", "a", "o", "b")}
    assert pairs(client, "o", "backward", 2) == expected
    assert pairs(client, "base", "forward", 2) == expected


def test_the_run_that_read_it_did_not_write_it(client: FlaskClient) -> None:
    send(client, event())
    runs = ask(client, f"{VIEW}/runs")["runs"]
    assert {(run["run"], run["direction"]) for run in runs if run["run"] == "one"} == {("one", "forward")}
    (statement,) = [run for run in runs if run["direction"] == "backward"]
    assert (statement["type"], statement["namespace"], statement["program"]) == ("DATASET", "db", "view")
    assert statement["parent"] == "one"
    stated = client.get(f"/v3/runs/{statement['run']}").json
    assert stated["parentJob"] == {"namespace": "jobs", "name": "clicks", "run": "one"}
    assert client.get("/v3/runs/one").json["checksum"] != stated["checksum"]


def test_all_events_of_a_run_make_one_statement(client: FlaskClient) -> None:
    send(client, event("START"), event("RUNNING", minute=1), event(minute=2), event(minute=2))
    send(client, event(run="two", minute=9))
    statements = [run for run in ask(client, f"{VIEW}/runs")["runs"] if run["type"] == "DATASET"]
    assert [run["parent"] for run in statements] == ["two", "one"]
    assert len({run["checksum"] for run in statements}) == 1


def test_a_failed_run_states_as_well_as_any(client: FlaskClient) -> None:
    send(client, event("START"), event("FAIL", minute=1))
    assert pairs(client, "view", "backward") == {("base", "x", "view", "a")}
    assert pairs(client, "o", "backward") == set()


@pytest.mark.parametrize(
    "facets",
    [
        {"columnLineage": {"fields": {}}},
        {"columnLineage": {"_deleted": True}},
        {"columnLineage": {"fields": {"a": {"inputFields": [{"namespace": "db"}]}}}},
        {"columnLineage": None},
    ],
    ids=["empty", "deleted", "broken", "null"],
)
def test_a_facet_without_lineage_states_nothing(client: FlaskClient, facets: dict[str, Any]) -> None:
    send(client, event(**facets))
    assert {run["run"] for run in ask(client, f"{VIEW}/runs")["runs"]} == {"one"}


def test_nested_fields_of_the_source_are_those_of_its_schema(client: FlaskClient) -> None:
    document = event(**facet("a", "base", "x.y"))
    schema = {"fields": [{"name": "x", "fields": [{"name": "y"}]}]}
    document["inputs"].append({"namespace": "db", "name": "base", "facets": {"schema": schema}})
    send(client, document)
    assert pairs(client, "view", "backward") == {("base", "x/y", "view", "a")}


def test_batches_are_read_alike(client: FlaskClient) -> None:
    summary = client.post("/api/v1/lineage/batch", json=[event(), event(run="two")]).json
    assert (summary["summary"]["successful"], summary["summary"]["failed"]) == (2, 0)
    assert pairs(client, "view", "backward") == {("base", "x", "view", "a")}


def test_without_the_right_to_write_the_input_the_run_itself_is_recorded(client: FlaskClient) -> None:
    rights = (Grant(Role.RECORDER, "jobs"), Grant(Role.RECORDER, "out"), Grant(Role.READER, "db"))
    document = event()
    document["outputs"][0]["namespace"] = "out"
    (answer,) = send(client, document, principal=Principal("etl", rights))
    (warning,) = answer["warnings"]
    assert warning["at"] == "inputs"
    assert "'db'" in warning["detail"]
    assert ask(client, "/v3/namespaces/out/endpoints/o/runs")["runs"]
    path = f"/v3/namespaces/db/endpoints/view/fields/lineage?direction=backward&{WINDOW}"
    assert client.get(path).status_code == 404


def test_an_export_has_the_statement_as_a_run(client: FlaskClient) -> None:
    send(client, event(run="0190aaaa-0000-7000-8000-000000000001"))
    again = create_app(LineageStore(open_table("sqlite:///:memory:"))).test_client()
    exported = ask(client, "/v3/openlineage")
    assert len(exported) == 2
    send(again, *exported)
    for path in (f"{VIEW}/runs", f"{VIEW}/fields/lineage", f"{VIEW}/fields/a/lineage"):
        assert ask(again, path) == ask(client, path)
