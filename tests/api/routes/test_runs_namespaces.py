"""Lists of the runs of a namespace's programs, and of all."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from fll_hbase.store.read import namespace_runs
from tests.support.api_client import ALL, assert_problem, error_paths, get_json, path, record_new
from tests.support.lineage_documents import Json, copying

pytestmark = pytest.mark.hbase

FIRST_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
AWKWARD = "a/b | % 🙂"


def run(name: str, *, hours: int, program: str = "load", **more: Any) -> Json:
    """The member `run` of a document; it starts some hours after FIRST_MS."""
    members = {"application": "shop", "type": "spark", "program": program, "run": name}
    return {**members, "startTime": FIRST_MS + hours * HOUR_MS, **more}


@pytest.fixture
def history(client: FlaskClient) -> FlaskClient:
    """Six runs of two namespaces, one failed and one running."""
    record_new(
        client,
        copying("raw", "orders", "UID", run=run("r0", hours=0)),
        copying("raw", "orders", "UID", run=run("r1", hours=1, state="FAIL")),
        copying("orders", "bills", "UID", run=run("r2", hours=2, program=AWKWARD)),
        copying("raw", "orders", "UID", run=run("r3", hours=3, state="RUNNING")),
    )
    for name, hours in (("o1", 1), ("o2", 2)):
        document = copying("raw", "orders", "UID", run=run(name, hours=hours))
        answer = client.post(path(AWKWARD, "lineage"), json=document)
        assert answer.status_code == 201
    return client


def names(answer: Json) -> list[str]:
    return [item["run"] for item in answer["runs"]]


def test_a_namespace_lists_its_runs_newest_first(history: FlaskClient) -> None:
    listed = get_json(history, "ns1", "runs", **ALL)
    assert names(listed) == ["r3", "r2", "r1", "r0"]
    assert listed["runs"][2] == {
        "run": "r1",
        "namespace": "ns1",
        "application": "shop",
        "version": "",
        "type": "spark",
        "program": "load",
        "startTime": FIRST_MS + HOUR_MS,
        "state": "FAIL",
        "checksum": listed["runs"][0]["checksum"],
    }
    assert names(get_json(history, AWKWARD, "runs", **ALL)) == ["o2", "o1"]


def test_all_namespaces_are_merged(history: FlaskClient) -> None:
    answer = history.get("/v3/runs", query_string=ALL)
    assert names(answer.get_json()) == ["r3", "o2", "r2", "o1", "r1", "r0"]
    assert "truncated" not in answer.get_json()


def test_a_window_is_exact(history: FlaskClient) -> None:
    second = FIRST_MS // 1000 + HOUR_MS // 1000
    answer = history.get("/v3/runs", query_string={"start": second, "end": f"{second}.001"})
    assert names(answer.get_json()) == ["o1", "r1"]
    assert (answer.headers["Window-Start"], answer.headers["Window-End"]) == (
        f"{second}.000",
        f"{second}.001",
    )
    assert names(get_json(history, "ns1", "runs", start=second, end=second)) == []


@pytest.mark.parametrize(
    ("filters", "listed"),
    [
        ({"program": "load"}, ["r3", "o2", "o1", "r1", "r0"]),
        ({"program": AWKWARD}, ["r2"]),
        ({"program": "loa"}, []),
        ({"state": "FAIL"}, ["r1"]),
        ({"state": "RUNNING"}, ["r3"]),
        ({"state": "ABORT"}, []),
        ({"state": "COMPLETE", "program": "load"}, ["o2", "o1", "r0"]),
    ],
    ids=["program", "awkward program", "part of a program", "failed", "running", "aborted", "both"],
)
def test_filters(history: FlaskClient, filters: Json, listed: list[str]) -> None:
    assert names(history.get("/v3/runs", query_string={**ALL, **filters}).get_json()) == listed


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_pages_list_each_run_once(history: FlaskClient, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespace_runs, "EXAMINED_MAX", 2)
    target = f"/v3/runs?start=0&end=now&limit={limit}&state=COMPLETE"
    listed: list[str] = []
    while target:
        answer = history.get(target)
        assert answer.status_code == 200
        assert len(answer.get_json()["runs"]) <= limit
        listed += names(answer.get_json())
        link = answer.headers.get("Link", "")
        target = link.partition(">")[0][1:]
    assert listed == ["o2", "r2", "o1", "r0"]


def test_a_namespace_without_programs_is_404(history: FlaskClient) -> None:
    assert_problem(history.get(path("missing", "runs"), query_string=ALL), 404)
    assert_problem(history.get(path("missing", "openlineage"), query_string=ALL), 404)
    assert names(get_json(history, "ns1", "runs", start="1", end="2")) == []


@pytest.mark.parametrize(
    ("params", "parameter"),
    [
        ({"state": "fail"}, "state"),
        ({"state": ""}, "state"),
        ({"program": ""}, "program"),
        ({"field": "x"}, "field"),
        ({"limit": "0"}, "limit"),
        ({"cursor": "x"}, "cursor"),
        ({"cursor": "WyIweHwxIl0"}, "cursor"),
        ({"start": "2", "end": "1"}, "start"),
    ],
    ids=["case", "no state", "no program", "unknown", "no limit", "no cursor", "bad tail", "backwards"],
)
def test_wrong_parameters_are_named(client: FlaskClient, params: Json, parameter: str) -> None:
    for target in ("/v3/runs", "/v3/openlineage", path("ns1", "runs")):
        answer = client.get(target, query_string=params)
        assert parameter in error_paths(answer, 400)


def test_an_empty_store_has_no_runs(client: FlaskClient) -> None:
    assert client.get("/v3/runs").get_json() == {"runs": []}
    assert client.get("/v3/openlineage").get_json() == []


def test_openlineage_has_the_events_of_the_same_runs(history: FlaskClient) -> None:
    events = get_json(history, "ns1", "openlineage", **ALL, limit=2)
    assert [event["eventType"] for event in events] == ["RUNNING", "COMPLETE"]
    dataset_events = get_json(history, "ns1", "endpoints", "bills", "openlineage", **ALL)
    assert dataset_events[0] in events
    assert len(history.get("/v3/openlineage", query_string=ALL).get_json()) == 6
