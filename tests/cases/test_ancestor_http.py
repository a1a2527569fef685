"""Times are parsed and queries refused as by the ancestor, except where the design decides otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from flask.testing import FlaskClient

from api import create_app
from fll_hbase.queries import time_window
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.cases.ancestor import DECIDED_OTHERWISE, case_id, cases

MORE_TIMES = {"time-now-1w": 1_234_567_890 - 7 * 86_400}
"""Times that the ancestor refuses, in seconds: weeks are a unit of the contract."""

KNOWN_DATASETS = [("ns1", "test"), ("default", "dummy")]
FAR = "now+99999d"

each_time_case = pytest.mark.parametrize("case", cases("time"), ids=case_id)
http_cases = pytest.mark.parametrize("case", cases("http"), ids=case_id)


@pytest.fixture(scope="module")
def client() -> Iterator[FlaskClient]:
    """A store that knows the end points of the cases, but nothing of their windows."""
    store = LineageStore(open_table("sqlite:///:memory:"))
    client = create_app(store).test_client()
    for number, (namespace, name) in enumerate(KNOWN_DATASETS):
        answer = client.post(f"/v3/namespaces/{namespace}/lineage", json=document(f"run {number}", name))
        assert answer.status_code == 201
    yield client
    store.close()


def document(run: str, name: str) -> dict[str, Any]:
    """A run long after the windows of the cases."""
    inputs = [{"origin": "read", "name": "a"}]
    return {
        "run": {"application": "a", "type": "b", "program": "c", "run": run, "startTime": 1_700_000_000_000},
        "operations": [
            {"type": "READ", "name": "read", "source": {"name": name}, "outputs": ["a"]},
            {"type": "WRITE", "name": "write", "destination": {"name": "copy"}, "inputs": inputs},
        ],
    }


def query_string(request: dict[str, Any]) -> str:
    """The high-level question, which stands for every question of the ancestor about a data set."""
    params = {"level" if name == "levels" else name: value for name, value in request.items()}
    given = {
        name: params[name] for name in ("start", "end", "direction", "level") if params.get(name) is not None
    }
    endpoint = request["endpoint"]
    return f"/v3/namespaces/{endpoint['ns']}/endpoints/{endpoint['name']}/fields/lineage?{urlencode(given)}"


def with_known_names(text: str) -> str:
    """A question with that start, whose window no end before it makes a fault."""
    return f"/v3/namespaces/ns1/endpoints/test/fields/lineage?start={quote(text)}&end={quote(FAR)}"


@each_time_case
def test_a_time_is_that_second(case: dict[str, Any]) -> None:
    now_ms = case["now_s"] * 1000
    if case["id"] in MORE_TIMES:
        expected = MORE_TIMES[case["id"]]
        assert time_window.parse_seconds(case["expression"], now_ms=now_ms) == expected
    elif "error" in case["expect"]:
        with pytest.raises(ValueError, match=r"is not a time|is before 1970"):
            time_window.parse_seconds(case["expression"], now_ms=now_ms)
    else:
        assert time_window.parse_seconds(case["expression"], now_ms=now_ms) == case["expect"]["seconds"]


@each_time_case
def test_a_question_takes_what_is_a_time_and_refuses_the_rest(
    client: FlaskClient, case: dict[str, Any]
) -> None:
    answer = client.get(with_known_names(case["expression"]))
    is_refused = "error" in case["expect"] and case["id"] not in MORE_TIMES
    assert answer.status_code == (400 if is_refused else 200)
    if answer.status_code == 400:
        assert [fault["at"] for fault in answer.json["errors"]] == ["start"]


@http_cases
def test_a_question_is_answered_with_that_status(client: FlaskClient, case: dict[str, Any]) -> None:
    answer = client.get(query_string(case["request"]))
    assert answer.status_code == DECIDED_OTHERWISE.get(case["id"], case["expect"]["status"])
    if answer.status_code == 200 and case["request"].get("end") is not None:
        assert answer.json == []
    if answer.status_code == 400:
        assert answer.mimetype == "application/problem+json"
        assert answer.json["errors"]


@http_cases
def test_an_end_point_never_seen_is_refused_or_404(client: FlaskClient, case: dict[str, Any]) -> None:
    never = {**case["request"], "endpoint": {"ns": "nosuchns", "name": "nosuch"}}
    expected = DECIDED_OTHERWISE.get(case["id"], case["expect"]["status"])
    assert client.get(query_string(never)).status_code == (400 if expected == 400 else 404)


def test_what_is_decided_otherwise_is_otherwise() -> None:
    expected = {case["id"]: case["expect"]["status"] for case in cases("http")}
    assert all(expected[name] != status for name, status in DECIDED_OTHERWISE.items())
    times = {case["id"]: case["expect"] for case in cases("time")}
    assert all("error" in times[name] for name in MORE_TIMES)
