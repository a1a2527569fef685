"""Field lineage of a Spark job whose OpenLineage agent sends events to this server."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote
from uuid import uuid4

import requests

from tests.spark_agent.conftest import FinishedJob

FILES = "file"
DAY = "2026-01-31"


def lineage(done: FinishedJob, namespace: str, name: str, **query: str) -> Any:
    return done.get(path(namespace, name, "fields/lineage"), start="now-1h", **query)


def path(namespace: str, name: str, resource: str) -> str:
    return f"/v3/namespaces/{quote(namespace, safe='')}/endpoints/{quote(name, safe='')}/{resource}"


def entry(source: str, destination: str, *pairs: dict[str, str]) -> dict[str, Any]:
    return {
        "source": {"namespace": FILES, "name": source},
        "destination": {"namespace": FILES, "name": destination},
        "fieldmap": list(pairs),
        "level": 1,
        "direction": "backward",
    }


def direct(start: str, end: str) -> dict[str, str]:
    return {"from": start, "to": end}


def shaped(start: str) -> dict[str, str]:
    return {"from": start, "to": "*", "influence": "indirect", "scope": "dataset"}


def revenue_entries(done: FinishedJob, table: str) -> list[dict[str, Any]]:
    return [
        entry(
            done.name("customers"),
            table,
            shaped("country"),
            direct("country", "country"),
            shaped("customer_id"),
            direct("name", "last_name"),
        ),
        entry(
            done.name("orders"),
            table,
            direct("amount", "revenue"),
            shaped("customer_id"),
            shaped("status"),
        ),
    ]


def test_a_table_is_made_of_exactly_these_fields(done: FinishedJob) -> None:
    table = done.name("warehouse/revenue")
    assert lineage(done, FILES, table, direction="backward") == revenue_entries(done, table)


def test_a_table_answers_to_its_name_in_the_catalogue(done: FinishedJob) -> None:
    symlink = next(
        identifier
        for event in done.events
        for output in event["outputs"]
        for identifier in output["facets"].get("symlinks", {"identifiers": []})["identifiers"]
    )
    assert symlink["name"] == "default.revenue"
    entries = lineage(done, symlink["namespace"], symlink["name"], direction="backward")
    assert [item["fieldmap"] for item in entries] == [
        item["fieldmap"] for item in revenue_entries(done, done.name("warehouse/revenue"))
    ]


def test_the_next_job_goes_on_from_there(done: FinishedJob) -> None:
    halves, table = done.name("halves"), done.name("warehouse/revenue")
    entries = lineage(done, FILES, halves, direction="backward", level="2", indirect="false")
    assert entries[0] == entry(table, halves, direct("country", "country"), direct("revenue", "half"))
    assert {(item["source"]["name"], item["level"]) for item in entries[1:]} == {
        (done.name("customers"), 2),
        (done.name("orders"), 2),
    }


def test_no_event_was_lost(done: FinishedJob) -> None:
    assert "Could not emit" not in done.log
    assert len(done.events) > 20
    runs = {event["run"]["runId"] for event in done.events}
    for run in runs:
        details = done.get(f"/v3/runs/{run}")
        sent = sorted(event["eventType"] for event in done.events if event["run"]["runId"] == run)
        assert sorted(event["eventType"] for event in details["events"]) == sent
    names = {done.get(f"/v3/runs/{run}")["application"] for run in runs}
    assert names == {"shop_daily"}


def test_both_runs_of_one_write_are_kept_and_know_their_parent(done: FinishedJob) -> None:
    runs = done.get(path(FILES, done.name("warehouse/revenue"), "runs"), start="now-1h")["runs"]
    writes = [run for run in runs if run["direction"] == "backward"]
    assert len(writes) == 2
    assert {run["state"] for run in writes} == {"COMPLETE"}
    assert {run["type"] for run in writes} == {"SPARK"}
    (parent,) = {run["parent"] for run in writes}
    assert done.get(f"/v3/runs/{parent}")["program"] == "shop_daily"


def test_the_fields_are_in_the_catalogue_with_their_types(done: FinishedJob) -> None:
    fields = done.get(path(FILES, done.name("orders"), "fields"))["fields"]
    assert {field["name"]: field["type"] for field in fields} == {
        "amount": "double",
        "customer_id": "integer",
        "order_id": "integer",
        "status": "string",
    }


def test_runs_that_never_end_do_not_seem_to_run_for_ever(done: FinishedJob) -> None:
    """The events of today, sent again with the date of a day long past."""
    runs = {event["run"]["runId"]: str(uuid4()) for event in done.events}
    kinds: dict[str, set[str]] = {}
    moved = []
    for event in done.events:
        run = runs[event["run"]["runId"]]
        kinds.setdefault(run, set()).add(event["eventType"])
        moved.append(
            {**event, "eventTime": DAY + event["eventTime"][10:], "run": {**event["run"], "runId": run}}
        )
    answer = requests.post(f"{done.url}/api/v1/lineage/batch", json=moved, timeout=120)
    assert answer.json()["summary"]["successful"] == len(moved)
    silent = {run for run, event_types in kinds.items() if event_types == {"START"}}
    assert silent
    for run in kinds:
        assert done.get(f"/v3/runs/{run}").get("state") == (None if run in silent else "COMPLETE")
    orders = path(FILES, done.name("orders"), "runs")
    states = {
        run["run"]: run.get("state") for run in done.get(orders, start="1769817600", end="1769904000")["runs"]
    }
    assert set(states) & silent
    assert set(states.values()) == {None, "COMPLETE"}
    today = done.get(orders, start="now-1h")["runs"]
    assert {run.get("state") for run in today} == {"RUNNING", "COMPLETE"}
