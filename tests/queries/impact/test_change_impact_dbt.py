"""Impact of changed dbt projects, which dbt itself compiled: every consequence is listed, and no other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fll_hbase.client.local.local_client import LocalClient
from fll_hbase.ingest.document_batches import batch_documents
from fll_hbase.ingest.ndjson import InputLine
from fll_hbase.queries.impact import comparison
from fll_hbase.queries.impact.change_impact import Change, ImpactAnswer
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table

GOLDEN = Path(__file__).parents[2] / "golden" / "impact"
NAMESPACE = "duckdb://market/market.main."
START, END = "2026-11-01", "2027-01-01"


def document(name: str) -> dict[str, Any]:
    """Return the artifacts of a build of `project/`: of the recorded one, or with the changes of a case."""
    read: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text())
    return read


@pytest.fixture(scope="module")
def client() -> Iterator[LocalClient]:
    """A store with the build of the project before any change."""
    client = LocalClient(LineageStore(open_table("sqlite:///:memory:")), owned=True)
    line = InputLine(1, msgspec.json.encode(document("base")))
    for batch in batch_documents(iter([line]), namespace="shop", documents_max=1):
        for result in client.record(batch):
            assert not isinstance(result, Exception), result
    yield client
    client.close()


def impact(client: LocalClient, changed: dict[str, Any]) -> ImpactAnswer:
    return client.impact(namespace="shop", documents=(changed,), start=START, end=END).body


def facts(body: ImpactAnswer) -> dict[tuple[str, str, str], tuple[set[str], set[str]]]:
    """Return, by kind, field and new name of each change, the fields and models downstream."""
    return {
        (item.kind, str(item.field).removeprefix(NAMESPACE), item.to): downstream(item)
        for item in body.changes
    }


def downstream(change: Change) -> tuple[set[str], set[str]]:
    if change.downstream is None:
        return set(), set()
    fields = {str(item).removeprefix(NAMESPACE) for item in change.downstream.fields}
    return fields, {str(item.program).rpartition(".")[2] for item in change.downstream.programs}


ORDERS = {"orders.order_id", "orders.gross", "orders.placed_on", "orders.*"}
TOTALS = {"city_totals.city", "city_totals.total", "city_totals.*"}
CASES: dict[str, dict[tuple[str, str, str], tuple[set[str], set[str]]]] = {
    "base": {},
    "refactored": {},
    "dropped": {("removed", "orders.email", ""): (set(), set())},
    "renamed": {("renamed", "stg_customers.email", "mail"): ({"orders.email"}, {"orders"})},
    "retyped": {
        ("retyped", "stg_orders.amount", ""): (
            {"orders.gross", "city_totals.total"},
            {"orders", "city_totals"},
        )
    },
    "filtered": {
        ("rows", "stg_orders.*", ""): (ORDERS | TOTALS, {"orders", "city_totals"}),
    },
    "literal": {("literals", "stg_orders.*", ""): (ORDERS | TOTALS, {"orders", "city_totals"})},
    "expression": {("derived", "orders.gross", ""): ({"city_totals.total"}, {"city_totals"})},
    "removed": {
        ("removed", "city_totals.city", ""): (set(), set()),
        ("removed", "city_totals.total", ""): (set(), set()),
    },
}


@pytest.mark.parametrize("case", sorted(CASES))
def test_consequences_of_a_change(client: LocalClient, case: str) -> None:
    body = impact(client, document(case))
    assert facts(body) == CASES[case]
    models = {str(item.program).rpartition(".")[2]: item.status for item in body.programs}
    expected = dict.fromkeys(
        ("raw_orders", "raw_customers", "stg_orders", "stg_customers", "orders", "city_totals"), "compared"
    )
    assert models == expected | ({"city_totals": "removed"} if case == "removed" else {})
    assert not body.truncated


def test_a_model_that_cannot_be_read_is_unknown_not_unchanged(client: LocalClient) -> None:
    body = impact(client, document("opaque"))
    assert facts(body) == {("unknown", "city_totals.*", ""): (set(), set())}
    (unknown,) = (item for item in body.programs if item.status != "compared")
    assert (unknown.program, unknown.status) == ("model.market.city_totals", "unknown")
    assert any("city_totals" in item.path for item in body.warnings)


def test_a_model_without_compiled_sql_is_not_compared(client: LocalClient) -> None:
    changed = document("dropped")
    del changed["manifest"]["nodes"]["model.market.orders"]["compiled_code"]
    body = impact(client, changed)
    statuses = {item.program: item.status for item in body.programs}
    assert statuses["model.market.orders"] == "not_compiled"
    assert facts(body) == {}


def test_a_new_model_is_unrecorded(client: LocalClient) -> None:
    changed = document("base")
    nodes = changed["manifest"]["nodes"]
    node = {**nodes["model.market.city_totals"], "alias": "new", "relation_name": '"market"."main"."new"'}
    nodes["model.market.new"] = node
    statuses = {item.program: item.status for item in impact(client, changed).programs}
    assert statuses["model.market.new"] == "unrecorded"


def test_removed_models_are_searched_among_the_newest_runs(
    client: LocalClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "PROJECT_RUNS_MAX", 2)
    body = impact(client, document("base"))
    assert any("newest 2 runs" in item.detail for item in body.warnings)
    assert not body.truncated


def test_programs_of_the_change_are_marked(client: LocalClient) -> None:
    (change,) = impact(client, document("filtered")).changes
    assert change.downstream is not None
    assert all(item.in_change for item in change.downstream.programs)
