"""Policies on the age of data over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.support.api_client import assert_problem, error_paths, errors_by_path, record_new, target
from tests.support.lineage_documents import copying
from tests.support.tag_requests import STRANGE, pages

FIELD = {"namespace": "ns1", "name": "people", "field": "email"}


def put(client: FlaskClient, policy: str, /, **body: Any) -> Any:
    return client.put(target("v3", "policies", policy), json=body)


@pytest.fixture
def people(client: FlaskClient) -> FlaskClient:
    """A client of a store that has the field email of people, with the tags PII and STRANGE."""
    record_new(client, copying("raw", "people", "email"))
    for tag in ("PII", STRANGE):
        names = ("namespaces", "ns1", "endpoints", "people", "fields", "email", "tags", tag)
        assert client.put(target("v3", *names), json={}).status_code == 201
    return client


def test_a_policy_is_created_kept_updated_and_removed(people: FlaskClient) -> None:
    body = {"maxAge": "90d", "tag": "PII", "description": "Three months"}
    first = put(people, "gdpr", **body)
    assert first.status_code == 201
    assert first.json == {"name": "gdpr", **body, "at": first.json["at"]}
    again = put(people, "gdpr", name="gdpr", **body)
    assert (again.status_code, again.json) == (200, first.json)
    update = put(people, "gdpr", maxAge="2w", tag="PII")
    assert (update.status_code, update.json["maxAge"], update.json["tag"]) == (200, "2w", "PII")
    assert "description" not in update.json
    assert people.get("/v3/policies/gdpr").json == update.json
    assert people.delete("/v3/policies/gdpr").status_code == 204
    assert_problem(people.delete("/v3/policies/gdpr"), 404)
    assert_problem(people.get("/v3/policies/gdpr"), 404)
    assert people.get("/v3/policies").json == {"policies": []}
    assert put(people, "gdpr", **body).status_code == 201


def test_a_policy_on_a_field_has_its_name_in_its_namespace(people: FlaskClient) -> None:
    assert put(people, "gdpr", maxAge="1h", tag="PII").status_code == 201
    on_field = put(people, "gdpr", maxAge="2w", field=FIELD)
    assert (on_field.status_code, put(people, "gdpr", maxAge="2w", field=FIELD).status_code) == (201, 200)
    assert [item["maxAge"] for item in people.get("/v3/policies").json["policies"]] == ["1h", "2w"]
    assert_problem(people.get("/v3/policies/gdpr"), 409)
    assert_problem(people.delete("/v3/policies/gdpr"), 409)
    assert_problem(people.get("/v3/reports/retention?policy=gdpr"), 409)
    assert people.get("/v3/policies/gdpr?namespace=*").json["tag"] == "PII"
    assert people.get(f"/v3/policies/gdpr?namespace={FIELD['namespace']}").json == on_field.json
    assert_problem(people.get("/v3/policies/gdpr?namespace=none"), 404)
    assert people.delete("/v3/policies/gdpr?namespace=*").status_code == 204
    assert people.get("/v3/policies/gdpr").json == on_field.json


def test_policies_are_listed_by_name_page_by_page(people: FlaskClient) -> None:
    names = sorted(["b", "a", STRANGE, "é", "ab"])
    for name in names:
        assert put(people, name, maxAge="1h", tag=STRANGE).status_code == 201
    assert [policy["name"] for policy in pages(people, "/v3/policies", "policies", limit=2)] == names


def test_every_error_of_a_body_at_once(people: FlaskClient) -> None:
    answer = put(people, "p", name="q", maxAge="90", description=1, tag="PII", field={"name": ""})
    assert error_paths(answer, 400) == [
        "",
        "description",
        "field.field",
        "field.name",
        "field.namespace",
        "maxAge",
        "name",
    ]
    assert error_paths(put(people, "p"), 400) == ["", "maxAge"]
    assert error_paths(put(people, "p", maxAge="1d", field=[]), 400) == ["field"]
    assert errors_by_path(put(people, "p", maxAge=7, tag="PII")) == {
        "maxAge": "must be a string, is a number"
    }
    assert people.get("/v3/policies").json == {"policies": []}


@pytest.mark.parametrize("age", ["0d", "-1d", "1.5d", "1d12h", "1 d", "1D", "P90D", "d", "1234567890d", "١d"])
def test_text_that_is_no_age(people: FlaskClient, age: str) -> None:
    assert error_paths(put(people, "p", maxAge=age, tag="PII"), 400) == ["maxAge"]


@pytest.mark.parametrize(
    ("subject", "member", "near"),
    [
        ({"tag": "PPI"}, "tag", "PII"),
        ({"tag": "pii"}, "tag", "PII"),
        ({"field": {**FIELD, "field": "emial"}}, "field.field", "email"),
        ({"field": {**FIELD, "field": "Email"}}, "field.field", "email"),
        ({"field": {**FIELD, "name": "peeple"}}, "field.name", "people"),
        ({"field": {**FIELD, "name": "p" * 200}}, "field.name", ""),
        ({"field": {**FIELD, "namespace": "elsewhere"}}, "field.name", ""),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_policy_about_nothing_is_refused_with_near_names(
    people: FlaskClient, subject: Any, member: str, near: str
) -> None:
    answer = put(people, "p", maxAge="1d", **subject)
    errors = {fault["at"]: fault["detail"] for fault in assert_problem(answer, 422)["errors"]}
    assert list(errors) == [member]
    assert ("; near: " in errors[member] and repr(near) if near else "was never recorded") in errors[member]
    assert people.get("/v3/policies").json == {"policies": []}
    url = target("v3", "policies", "p", allowUnknown="true")
    assert people.put(url, json={"maxAge": "1d", **subject}).status_code == 201
    assert len(people.get("/v3/policies").json["policies"]) == 1


def test_a_policy_needs_a_body_of_json(people: FlaskClient) -> None:
    assert_problem(people.put("/v3/policies/q", data=b"{}"), 415)
