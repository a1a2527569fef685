"""The SQL route: records, refuses, and uses the catalogue of its own store."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.api.conftest import MakeClient
from tests.support.api_client import (
    ALL,
    assert_problem,
    error_paths,
    get_json,
    is_store_empty,
    lineage,
    path,
    record_new,
)
from tests.support.lineage_documents import Json, copying, run

DAILY = "CREATE TABLE totals AS SELECT net + tax AS total FROM orders WHERE day = '2026-11-21'"


def document(sql: Any = DAILY, name: str = "r1", **also: Any) -> Json:
    return {"run": run(name), "sql": sql, **also}


def post(client: FlaskClient, payload: Any, **query: Any) -> TestResponse:
    return client.post(path("ns1", "sql", **query), json=payload)


def pairs(client: FlaskClient, name: str, source: str) -> list[Json]:
    """The field map from a source into an end point."""
    entries = lineage(client, name, direction="backward")
    (entry,) = [first for first in entries if (first["source"] or {}).get("name") == source]
    fieldmap: list[Json] = entry["fieldmap"]
    return fieldmap


def test_recorded_again_and_replaced(client: FlaskClient) -> None:
    answer = post(client, document())
    assert answer.status_code == 201
    checksum = answer.json["checksum"]
    assert answer.json == {"checksum": checksum, "run": "r1", "recorded": True}
    again = post(client, document())
    assert (again.status_code, again.json["recorded"]) == (200, False)
    other = post(client, document("CREATE TABLE totals AS SELECT net AS total FROM orders"))
    assert (other.status_code, other.json["replaced"]) == (200, True)


def test_lineage_direct_and_indirect(client: FlaskClient) -> None:
    assert post(client, document()).status_code == 201
    assert pairs(client, "totals", "orders") == [
        {"from": "day", "to": "*", "influence": "indirect", "scope": "dataset"},
        {"from": "net", "to": "total"},
        {"from": "tax", "to": "total"},
    ]
    query = ("ns1", "endpoints", "totals", "fields", "total", "lineage")
    (transform,) = [
        first for first in get_json(client, *query, **ALL)["operations"] if first["type"] == "TRANSFORM"
    ]
    assert (transform["name"], transform["description"]) == ("totals.total", "net + tax")


def test_a_daily_job_keeps_one_checksum(client: FlaskClient) -> None:
    answers = [
        post(client, document(DAILY.replace("21", day), f"of {day}")).json for day in ("21", "22", "23")
    ]
    assert len({answer["checksum"] for answer in answers}) == 1


def test_a_dry_run_stores_nothing(client: FlaskClient) -> None:
    answer = post(client, document(), dryRun="true")
    assert answer.status_code == 200
    assert [first["name"] for first in answer.json["operations"]] == [
        "read orders",
        "totals.total",
        "write totals",
    ]
    assert answer.json["lineage"][0]["fieldmap"][1:] == [
        {"from": "net", "to": "total"},
        {"from": "tax", "to": "total"},
    ]
    assert is_store_empty(client)


def test_the_catalogue_of_the_store(client: FlaskClient) -> None:
    star = document("CREATE TABLE copied AS SELECT * FROM invoices JOIN people ON who = person", "r2")
    previous = post(client, star, dryRun="true").json
    assert len(previous["warnings"]) == 4
    record_new(
        client, copying("x", "invoices", "who", "sum"), copying("y", "people", "person", run=run("r3"))
    )
    answer = post(client, star)
    assert (answer.status_code, "warnings" in answer.json) == (201, False)
    assert [pair["to"] for pair in pairs(client, "copied", "invoices")] == ["sum", "*", "who"]


def test_what_is_not_known_is_reported_and_not_guessed(client: FlaskClient) -> None:
    answer = post(client, document("INSERT INTO totals SELECT * FROM elsewhere"))
    assert answer.status_code == 201
    assert {warning["at"] for warning in answer.json["warnings"]} == {"sql"}
    payload = " ".join(warning["detail"] for warning in answer.json["warnings"])
    assert "'elsewhere'" in payload
    assert "'totals'" in payload
    (entry,) = lineage(client, "totals", direction="backward")
    assert (entry["source"]["name"], entry["fieldmap"], entry["unknown"]) == ("elsewhere", [], True)


def test_a_script_and_a_dialect(client: FlaskClient) -> None:
    sql = "SELECT a, b INTO #t FROM [my orders]; INSERT INTO totals (total) SELECT a FROM #t"
    assert post(client, document(sql, dialect="tsql")).status_code == 201
    assert pairs(client, "totals", "my orders") == [{"from": "a", "to": "total"}]
    names = [first["name"] for first in get_json(client, "ns1", "endpoints")["endpoints"]]
    assert names == ["my orders", "totals"]


@pytest.mark.parametrize(
    ("payload", "position"),
    [
        ({}, ["run", "sql"]),
        (document("CREATE TABLE"), ["sql"]),
        (document(5), ["sql"]),
        (document(""), ["sql"]),
        (document(dialect="cobol"), ["dialect"]),
        (document(dialect=None), ["dialect"]),
        (document(schema=[]), ["schema"]),
        (document("", schema={"t": "a"}), ["schema.t", "sql"]),
        (document("", schema={"t": ["a", {"type": "int"}]}), ["schema.t.1.name", "sql"]),
        (document(namespace="other"), ["namespace"]),
        ([], [""]),
    ],
)
def test_what_is_400(client: FlaskClient, payload: Any, position: list[str]) -> None:
    assert error_paths(post(client, payload), 400) == position


def test_what_is_nested_too_deeply_is_413(client: FlaskClient) -> None:
    answer = post(client, document("(" * 5000))
    assert_problem(answer, 413)
    assert answer.json["detail"] == "sql: statement 1, line 1: nested too deeply; nothing was stored"
    assert is_store_empty(client)


@pytest.mark.parametrize("sql", ["SELECT * FROM orders", "DROP TABLE orders", "-- nothing"])
def test_what_is_422(client: FlaskClient, sql: str) -> None:
    assert error_paths(post(client, document(sql)), 422) == ["sql"]
    assert error_paths(post(client, document(sql), dryRun="true"), 422) == ["sql"]
    assert is_store_empty(client)


def test_bodies_that_are_none(client: FlaskClient, make_client: MakeClient) -> None:
    route = path("ns1", "sql")
    json_type = {"Content-Type": "application/json"}
    assert_problem(client.post(route, data=b"{", headers=json_type), 400)
    assert_problem(client.post(route, data=DAILY.encode(), headers={"Content-Type": "application/sql"}), 415)
    small = make_client(document_bytes_max=100)
    assert_problem(post(small, document()), 413)
    packed = gzip.compress(json.dumps(document()).encode())
    answer = client.post(route, data=packed, headers={**json_type, "Content-Encoding": "gzip"})
    assert answer.status_code == 201


def test_a_parameter_it_does_not_know(client: FlaskClient) -> None:
    assert error_paths(post(client, document(), colour="red"), 400) == ["colour"]


@pytest.mark.parametrize(
    ("uri", "captured"),
    [
        ("s3a://lake/raw/orders/", {"namespace": "s3://lake", "name": "raw/orders"}),
        ("hdfs://nn:8020/orders", {"namespace": "hdfs://nn:8020", "name": "/orders"}),
    ],
)
def test_a_path_is_the_dataset_of_captured_jobs(client: FlaskClient, uri: str, captured: Json) -> None:
    """A path keeps its name in the namespace of the script, and either name finds the runs of both."""
    record_new(client, copying("source", captured, "id", run=run("job")), namespace="jobs")
    text = f"INSERT INTO loaded (id) SELECT id FROM parquet.`{uri}`"
    assert post(client, document(text)).status_code == 201
    entries = lineage(client, "loaded", direction="backward", level=5)
    assert [entry["source"]["name"] for entry in entries] == [uri, "source"]
    forward = lineage(client, captured["name"], namespace=captured["namespace"], direction="forward")
    assert [entry["destination"]["name"] for entry in forward] == ["loaded"]


def test_words_of_three_sources_for_one_table(client: FlaskClient) -> None:
    """SQL, an OpenLineage event without columns and DataHub's urn meet: each name finds all runs."""
    namespace = "postgres://db:5432"
    names = {"defaults": {"catalog": "shop", "schema": "public"}, "datasetNamespace": namespace}
    text = "INSERT INTO Totals (amount) SELECT SUM(amount) FROM RAW.orders; broken (("
    answer = post(client, document(text, dialect="postgres", aliasNamespaces=["postgres"], **names))
    assert answer.status_code == 201
    assert ["statement 2 is left out" in warning["detail"] for warning in answer.json["warnings"]] == [True]
    event = {
        "eventTime": "1970-01-01T00:00:01Z",
        "eventType": "COMPLETE",
        "producer": "p",
        "run": {"runId": "event"},
        "job": {
            "namespace": "j",
            "name": "load",
            "facets": {"sql": {"query": "insert into raw.orders select amt as amount from raw.file"}},
        },
        "inputs": [{"namespace": namespace, "name": "shop.raw.file"}],
        "outputs": [{"namespace": namespace, "name": "shop.raw.orders"}],
    }
    assert client.post("/api/v1/lineage", json=event).status_code == 201
    for words in (namespace, "postgres"):
        entries = get_json(
            client,
            words,
            "endpoints",
            "shop.public.totals",
            "fields",
            "lineage",
            **ALL,
            direction="backward",
            level=5,
        )
        assert [entry["fieldmap"] for entry in entries] == [
            [{"from": "amount", "to": "amount"}],
            [{"from": "amt", "to": "amount"}],
        ]


@pytest.mark.parametrize("defaults", [{"database": "d"}, {"schema": 5}, [], "x"])
def test_defaults_that_are_wrong(client: FlaskClient, defaults: Any) -> None:
    answer = post(client, document(defaults=defaults))
    assert answer.status_code == 400
    assert all(error_path.startswith("defaults") for error_path in error_paths(answer, 400))
    assert is_store_empty(client)


@pytest.mark.parametrize(
    ("dialect", "recorded", "typed"),
    [("spark", "orders", "Orders"), ("postgresql", "orders", "ORDERS"), ("snowflake", "ORDERS", "Orders")],
)
def test_a_name_in_the_case_that_was_typed(
    client: FlaskClient, dialect: str, recorded: str, typed: str
) -> None:
    """The engine stores a name in its own case: the answer names it, and a search finds it."""
    statement = "CREATE TABLE Orders AS SELECT a FROM s"
    assert post(client, document(statement, dialect=dialect)).status_code == 201
    answer = client.get(path("ns1", "endpoints", typed, "fields", "lineage", **ALL, direction="backward"))
    problem = assert_problem(answer, 404)
    assert problem["detail"].endswith(f"{recorded!r} is recorded")
    results = client.get(f"/v3/search?q={typed}").json["results"]
    assert recorded in [result["name"] for result in results]
