"""Flow policies and their report over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from api import create_app
from api.wire.environ import PRINCIPAL
from fll_hbase.model.access import Grant, Principal, Role
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.api_client import assert_problem, error_paths, record_new, target
from tests.support.lineage_documents import copying

WINDOW = "start=0&end=now"
FLOW = {"tag": "PII", "into": "ns1/people"}


def put(client: FlaskClient, policy: str, /, **body: Any) -> Any:
    return client.put(target("v3", "policies", policy), json=body)


@pytest.fixture
def people(client: FlaskClient) -> FlaskClient:
    """A client of a store in which the tagged field email of raw is copied to people."""
    return with_people(client)


def with_people(client: FlaskClient) -> FlaskClient:
    record_new(client, copying("raw", "people", "email"))
    names = ("namespaces", "ns1", "endpoints", "raw", "fields", "email", "tags", "PII")
    assert client.put(target("v3", *names), json={}).status_code == 201
    return client


def test_a_flow_policy_is_set_kept_replaced_and_removed(people: FlaskClient) -> None:
    first = put(people, "p", **FLOW)
    assert first.status_code == 201
    assert first.json == {"name": "p", **FLOW, "influence": "value", "at": first.json["at"]}
    again = put(people, "p", influence="value", **FLOW)
    assert (again.status_code, again.json) == (200, first.json)
    assert people.get("/v3/policies/p").json == first.json
    assert people.get("/v3/policies").json == {"policies": [first.json]}
    update = put(people, "p", tag="PII", onlyInto="bank/*", influence="any", unlessMasked=True)
    assert (update.status_code, update.json["onlyInto"], update.json["unlessMasked"]) == (200, "bank/*", True)
    assert "into" not in update.json
    # One name is one policy, of either kind.
    assert put(people, "p", tag="PII", maxAge="1d").json.keys() == {"name", "tag", "maxAge", "at"}
    assert people.delete("/v3/policies/p").status_code == 204
    assert_problem(people.get("/v3/policies/p"), 404)


def test_every_error_of_a_body_at_once(people: FlaskClient) -> None:
    wrong = put(people, "p", into="ns1", onlyInto=1, influence="some", unlessMasked="yes", maxAge="1d")
    assert error_paths(wrong, 400) == ["influence", "into", "maxAge", "onlyInto", "tag", "unlessMasked"]
    assert error_paths(put(people, "p", tag="PII", influence="any"), 400) == [""]
    assert error_paths(put(people, "p", tag="PII", into=""), 400) == ["into"]
    assert error_paths(put(people, "p", tag="PIJ", into="ns1/*"), 422) == ["tag"]
    assert people.get("/v3/policies").json == {"policies": []}


def test_the_report_lists_each_violation(people: FlaskClient) -> None:
    put(people, "p", **FLOW)
    body: Any = people.get(f"/v3/reports/flows?policy=p&{WINDOW}").json
    (violation,) = body["violations"]
    assert violation["source"] == {"namespace": "ns1", "name": "raw", "field": "email"}
    assert (violation["name"], violation["hops"], violation["path"][1]["kind"]) == ("people", 1, "copied")
    (program,) = violation["programs"]
    assert (program["runs"], program["current"]) == (1, True)
    assert program["firstStart"] == program["lastStart"]
    assert body["verdict"].startswith("Violated: data of 1 of 1 field with the tag PII")
    # The window is exact: its end is excluded, its start included.
    start_ms = program["firstStart"]
    for ends, count in (((start_ms, start_ms + 1), 1), ((start_ms + 1, start_ms + 9), 0), ((0, start_ms), 0)):
        start, end = (f"{ms / 1000:.3f}" for ms in ends)
        listed: Any = people.get(f"/v3/reports/flows?policy=p&start={start}&end={end}").json
        assert len(listed["violations"]) == count
        assert listed["verdict"].startswith("Violated" if count else "Kept")


@pytest.mark.parametrize(
    ("patterns", "forbids_none"),
    [
        ({"into": "ns2/*"}, True),
        ({"into": "ns1/peple"}, True),
        ({"into": "*", "onlyInto": "ns1/*"}, True),
        ({"into": "ns1/raw"}, False),
        ({"into": "*w"}, False),
    ],
)
def test_a_policy_that_forbids_no_recorded_dataset_is_kept_and_says_so(
    people: FlaskClient, patterns: dict[str, str], forbids_none: bool
) -> None:
    put(people, "p", tag="PII", **patterns)
    body: Any = people.get(f"/v3/reports/flows?policy=p&{WINDOW}").json
    assert body["verdict"].startswith("Kept: no data of 1 field with the tag PII reaches a forbidden field.")
    assert ("No recorded dataset matches its patterns" in body["verdict"]) == forbids_none
    assert body.get("forbidsNone", False) == forbids_none


def test_the_report_as_csv_and_as_a_page(people: FlaskClient) -> None:
    put(people, "p", **FLOW)
    url = f"/v3/reports/flows?policy=p&{WINDOW}"
    lines = people.get(url, headers={"Accept": "text/csv"}).text.splitlines()
    assert lines[0].startswith("sourceNamespace,sourceName,sourceField,namespace,name,field,hops,path,kinds")
    assert lines[1].startswith("ns1,raw,email,ns1,people,email,1,ns1/raw.email > ns1/people.email,copied")
    page = people.get(url, headers={"Accept": "text/html"}).text
    assert "Flows by policy p" in page
    assert "ns1/people.email" in page


def test_each_report_refuses_the_other_kind_of_policy(people: FlaskClient) -> None:
    put(people, "flow", **FLOW)
    put(people, "age", tag="PII", maxAge="1d")
    assert error_paths(people.get("/v3/reports/retention?policy=flow"), 400) == ["policy"]
    assert error_paths(people.get("/v3/reports/flows?policy=age"), 400) == ["policy"]
    assert_problem(people.get("/v3/reports/flows?policy=none"), 404)


def test_a_flow_policy_needs_a_steward_of_all_namespaces() -> None:
    app = create_app(LineageStore(open_table("sqlite:///:memory:")))
    with_people(app.test_client())

    def answer(method: str, *grants: Grant) -> int:
        principal = Principal("ana", grants)
        status: int = (
            app.test_client()
            .open("/v3/policies/p", method=method, json=FLOW, environ_overrides={PRINCIPAL: principal})
            .status_code
        )
        return status

    assert answer("PUT", Grant(Role.STEWARD, "ns1")) == 403
    assert answer("PUT", Grant(Role.READER, "*")) == 403
    assert answer("PUT", Grant(Role.STEWARD, "*")) == 201
    assert answer("GET", Grant(Role.READER, "ns1")) == 200
    assert answer("GET", Grant(Role.READER, "ns2")) == 404
    assert answer("DELETE", Grant(Role.STEWARD, "ns1")) == 403
