"""Does field lineage appear when the Spark agent is pointed at this server?"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote
from uuid import uuid4

import requests

from spark_agent.conftest import Done

FILES = "file"
DAY = "2026-01-31"


def lineage(done: Done, namespace: str, name: str, **query: str) -> Any:
    return done.asked(path(namespace, name, "fields/lineage"), start="now-1h", **query)


def path(namespace: str, name: str, what: str) -> str:
    return f"/v3/namespaces/{quote(namespace, safe='')}/endpoints/{quote(name, safe='')}/{what}"


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


def of_revenue(done: Done, table: str) -> list[dict[str, Any]]:
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


def test_a_table_is_made_of_exactly_these_fields(done: Done) -> None:
    table = done.name("warehouse/revenue")
    assert lineage(done, FILES, table, direction="backward") == of_revenue(done, table)


def test_a_table_answers_to_its_name_in_the_catalogue(done: Done) -> None:
    symlink = next(
        identifier
        for event in done.told
        for output in event["outputs"]
        for identifier in output["facets"].get("symlinks", {"identifiers": []})["identifiers"]
    )
    assert symlink["name"] == "default.revenue"
    found = lineage(done, symlink["namespace"], symlink["name"], direction="backward")
    assert [each["fieldmap"] for each in found] == [
        each["fieldmap"] for each in of_revenue(done, done.name("warehouse/revenue"))
    ]


def test_the_next_job_goes_on_from_there(done: Done) -> None:
    halves, table = done.name("halves"), done.name("warehouse/revenue")
    found = lineage(done, FILES, halves, direction="backward", level="2", indirect="false")
    assert found[0] == entry(table, halves, direct("country", "country"), direct("revenue", "half"))
    assert {(each["source"]["name"], each["level"]) for each in found[1:]} == {
        (done.name("customers"), 2),
        (done.name("orders"), 2),
    }


def test_no_event_was_lost(done: Done) -> None:
    assert "Could not emit" not in done.log
    assert len(done.told) > 20
    runs = {event["run"]["runId"] for event in done.told}
    for run in runs:
        found = done.asked(f"/v3/runs/{run}")
        told = sorted(event["eventType"] for event in done.told if event["run"]["runId"] == run)
        assert sorted(event["eventType"] for event in found["events"]) == told
    names = {done.asked(f"/v3/runs/{run}")["application"] for run in runs}
    assert names == {"shop_daily"}


def test_both_runs_of_one_write_are_kept_and_know_their_parent(done: Done) -> None:
    found = done.asked(path(FILES, done.name("warehouse/revenue"), "runs"), start="now-1h")["runs"]
    writes = [run for run in found if run["direction"] == "backward"]
    assert len(writes) == 2
    assert {run["state"] for run in writes} == {"COMPLETE"}
    assert {run["type"] for run in writes} == {"SPARK"}
    (parent,) = {run["parent"] for run in writes}
    assert done.asked(f"/v3/runs/{parent}")["program"] == "shop_daily"


def test_the_fields_are_in_the_catalogue_with_their_types(done: Done) -> None:
    fields = done.asked(path(FILES, done.name("orders"), "fields"))["fields"]
    assert {field["name"]: field["type"] for field in fields} == {
        "amount": "double",
        "customer_id": "integer",
        "order_id": "integer",
        "status": "string",
    }


def test_runs_that_never_end_do_not_seem_to_run_for_ever(done: Done) -> None:
    """What was told today, told of a day long past."""
    runs = {event["run"]["runId"]: str(uuid4()) for event in done.told}
    kinds: dict[str, set[str]] = {}
    moved = []
    for event in done.told:
        run = runs[event["run"]["runId"]]
        kinds.setdefault(run, set()).add(event["eventType"])
        moved.append(
            {**event, "eventTime": DAY + event["eventTime"][10:], "run": {**event["run"], "runId": run}}
        )
    answer = requests.post(f"{done.url}/api/v1/lineage/batch", json=moved, timeout=30)
    assert answer.json()["summary"]["successful"] == len(moved)
    silent = {run for run, found in kinds.items() if found == {"START"}}
    assert silent
    for run in kinds:
        assert done.asked(f"/v3/runs/{run}").get("state") == (None if run in silent else "COMPLETE")
    orders = path(FILES, done.name("orders"), "runs")
    states = {
        run["run"]: run.get("state")
        for run in done.asked(orders, start="1769817600", end="1769904000")["runs"]
    }
    assert set(states) & silent
    assert set(states.values()) == {None, "COMPLETE"}
    today = done.asked(orders, start="now-1h")["runs"]
    assert {run.get("state") for run in today} == {"RUNNING", "COMPLETE"}
