"""Answers say when their window begins before the retention horizon of the dataset."""

from __future__ import annotations

import re

import pytest
from flask.testing import FlaskClient

from api.app import create_app
from fll_hbase.client.local.local_client import LocalClient
from fll_hbase.keys import layout
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import Window
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.read.horizons import LIFETIME_MS
from fll_hbase.tables import Put, Table, open_table
from tests.api.conftest import MakeTable
from tests.support.api_client import path, record_new
from tests.support.lineage_documents import START_MS, copying

pytestmark = pytest.mark.hbase

HORIZON_MS = START_MS - 500
SECONDS = f"{HORIZON_MS / 1000:.3f}"
QUESTIONS = {
    "high level": ("endpoints", "a", "fields", "lineage"),
    "field": ("endpoints", "b", "fields", "x", "lineage"),
    "first design": ("datasets", "b", "fields", "x", "lineage"),
    "runs": ("endpoints", "a", "runs"),
    "counts": ("endpoints", "a", "runs", "counts"),
    "programs": ("endpoints", "a", "programs"),
    "openlineage": ("endpoints", "a", "openlineage"),
    "reach": ("endpoints", "b", "fields", "x", "reach"),
    "history": ("endpoints", "b", "fields", "x", "history"),
    "diff": ("endpoints", "b", "fields", "x", "diff"),
    "diff of a dataset": ("endpoints", "b", "diff"),
    "inherited tags": ("endpoints", "b", "fields", "x", "tags"),
    "ancestor's fields": ("datasets", "b", "lineage", "fields"),
    "ancestor's field": ("datasets", "b", "lineage", "fields", "x"),
    "ancestor's operations": ("datasets", "b", "lineage", "fields", "x", "operations"),
    "ancestor's dataset": ("datasets", "b", "lineage", "allfieldlineage"),
}
MORE = {"inherited tags": {"inherited": "true"}}
"""Parameters beside the window."""


def mark(table: Table, dataset: Dataset, *horizons_ms: int) -> None:
    """Put the cells of datasets that a purge puts."""
    row = layout.dataset_row(dataset)
    table.write([[Put(row, layout.horizon_column(start_ms), b"") for start_ms in horizons_ms]])


@pytest.fixture
def purged(make_table: MakeTable) -> FlaskClient:
    table = make_table()
    client = create_app(LineageStore(table), Settings()).test_client()
    record_new(client, copying("a", "b", "x"))
    for name in ("a", "b"):
        mark(table, Dataset("ns1", name), HORIZON_MS - 7, HORIZON_MS)
    return client


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_window_before_the_horizon(purged: FlaskClient, question: str) -> None:
    segments, more = QUESTIONS[question], MORE.get(question, {})
    early = f"{(HORIZON_MS - 1) / 1000:.3f}"
    answer = purged.get(path("ns1", *segments, start=early, end="now", **more))
    assert (answer.status_code, answer.headers.get("Retained-From")) == (200, SECONDS)
    # By default the base window of a diff is before the window.
    base = {"baseStart": SECONDS, "baseEnd": SECONDS} if question.startswith("diff") else {}
    for start, end in ((SECONDS, "now"), *((("5", "5"),) if not base else ())):
        answer = purged.get(path("ns1", *segments, start=start, end=end, **base, **more))
        assert answer.status_code == 200
        assert "Retained-From" not in answer.headers


def test_every_route_about_a_window_of_a_dataset_is_here(purged: FlaskClient) -> None:
    paths = purged.get("/openapi.json").get_json()["paths"]
    windowed = [
        path
        for path, item in paths.items()
        if "{name}" in path
        and any(parameter["name"] == "start" for parameter in item.get("get", {}).get("parameters", ()))
    ]
    shapes = {tuple(re.sub(r"\{(\w+)\}", "*", path).split("/")[4:]) for path in windowed}
    assert shapes == {
        tuple("*" if part in ("a", "b", "x") else part for part in parts) for parts in QUESTIONS.values()
    }


@pytest.mark.parametrize("kind", ["consumption", "provenance"])
def test_a_report_names_the_horizon(purged: FlaskClient, kind: str) -> None:
    subject = {"namespace": "ns1", "endpoint": "a" if kind == "consumption" else "b", "field": "x"}
    answer = purged.get(f"/v3/reports/{kind}", query_string={**subject, "start": 0})
    assert answer.headers["Retained-From"] == SECONDS
    assert answer.get_json()["retainedFrom"] == HORIZON_MS
    later = purged.get(f"/v3/reports/{kind}", query_string={**subject, "start": SECONDS})
    assert "retainedFrom" not in later.get_json()


def test_the_direct_way_and_the_long_way(purged: FlaskClient) -> None:
    target = "/v3/namespaces/ns1/endpoints/a/fields/lineage"
    # The escaped letter of a value sends the second one the long way.
    for query in ("start=0&end=now&direction=both", "start=0&end=now&direction=bot%68"):
        assert purged.get(f"{target}?{query}").headers["Retained-From"] == SECONDS
    assert "Retained-From" not in purged.get("/v3/namespaces/ns1/endpoints/never/runs").headers


class CountingTable:
    """Passes calls on and counts them."""

    parallel_calls = 1

    def __init__(self, table: Table) -> None:
        self._table = table
        self.calls = 0

    def __getattr__(self, name: str) -> object:
        self.calls += 1
        return getattr(self._table, name)


def test_a_horizon_is_read_once_a_minute() -> None:
    table = CountingTable(open_table("sqlite:///:memory:"))
    times_ms = [0]
    store = LineageStore(table, clock=lambda: times_ms[0])  # type: ignore[arg-type]
    dataset, window = Dataset("ns1", "a"), Window(0, 10)
    assert store.retained_from_ms(dataset, window) is None
    first_calls = table.calls
    assert first_calls <= 3
    mark(table, dataset, 5)  # type: ignore[arg-type]
    table.calls = 0
    for times_ms[0] in (0, LIFETIME_MS - 1):
        assert store.retained_from_ms(dataset, window) is None
    # Requests of retention, which are read more often.
    assert table.calls == 1
    times_ms[0] = LIFETIME_MS
    assert store.retained_from_ms(dataset, window) == 5
    assert table.calls == first_calls


def test_an_alias_has_the_horizon_of_its_other_names() -> None:
    table = open_table("sqlite:///:memory:")
    name, other = Dataset("ns1", "a"), Dataset("file", "/a")
    table.write([[Put(layout.alias_row(name), layout.alias_column(other), b"")]])
    mark(table, other, 5)
    assert LineageStore(table).retained_from_ms(name, Window(0, 10)) == 5


def test_clients_have_it() -> None:
    table = open_table("sqlite:///:memory:")
    store = LineageStore(table)
    record_new(create_app(store, Settings()).test_client(), copying("a", "b", "x"))
    mark(table, Dataset("ns1", "a"), HORIZON_MS)
    assert LocalClient(store).lineage("ns1", "a", start=0).retained_from_ms == HORIZON_MS
