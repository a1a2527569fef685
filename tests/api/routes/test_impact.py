"""POST /v3/impact answers as the query in Python does, changes nothing, and needs the role reader."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from flask.testing import FlaskClient

from api import create_app
from fll_hbase.client.local.local_client import LocalClient
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.api_client import assert_problem, record_new
from tests.support.lineage_documents import copying, run

URL = "/v3/impact"
NOW_MS = 1_600_000_000_000
DROP = {"namespace": "ns", "name": "b", "field": "x", "change": "drop"}


def recorded(**settings: Any) -> tuple[LineageStore, FlaskClient]:
    """A copy from a to b and one from b to c."""
    store = LineageStore(open_table("sqlite:///:memory:"), Settings(**settings))
    client = create_app(store, store.settings).test_client()
    for number, (source, destination) in enumerate(("ab", "bc")):
        recorded_run = run(f"r{number}", start_ms=NOW_MS + number)
        record_new(client, copying(source, destination, "x", run=recorded_run), namespace="ns")
    return store, client


def test_the_answer_is_that_of_python() -> None:
    store, client = recorded()
    response = client.post(f"{URL}?start=0&end=4102444800", json={"fields": [DROP]})
    assert response.status_code == 200, response.text
    local = LocalClient(store).impact(fields=(DROP,), start=0, end=4102444800).body
    assert response.json == msgspec.json.decode(msgspec.json.encode(local))
    (change,) = response.json["changes"]
    assert [item["name"] for item in change["downstream"]["fields"]] == ["c"]


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ([], [""]),
        ({}, [""]),
        ({"fields": {}}, ["fields"]),
        ({"fields": [DROP, 7, {**DROP, "change": "x"}]}, ["fields.1", "fields.2.change"]),
        ({"documents": [{"sql": "SELECT"}], "namespace": "ns"}, ["documents.0.run"]),
        ({"documents": [], "more": 1}, ["more"]),
    ],
)
def test_every_error_has_its_path(body: Any, paths: list[str]) -> None:
    _, client = recorded()
    response = client.post(URL, json=body)
    assert response.status_code == 400, response.text
    assert [error["at"] for error in response.json["errors"]] == paths


def test_unknown_fields_other_types_and_large_bodies() -> None:
    _, client = recorded(document_bytes_max=2_000)
    assert_problem(client.post(URL, json={"fields": [{**DROP, "field": "nope"}]}), 404)
    assert_problem(client.post(URL, data=b"{}", content_type="text/plain"), 415)
    assert_problem(client.post(URL, json={"namespace": "n" * 3_000}), 413)
    assert client.get(URL).status_code == 405
