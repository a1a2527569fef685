"""Changes of tables without a query: columns afterwards, and what the API answers of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from api import create_app
from fll_hbase.capture.resolver.dump import Node
from fll_hbase.capture.resolver.table_changes import changed_columns, listed_columns, write_lifecycle
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.capture.golden_dumps import recorded, resolve, resolver

COLUMNS = {"id": "long", "s": "struct<a:integer>", "v": "string"}


def change(*changes: Any) -> tuple[dict[str, str], dict[str, str]]:
    return changed_columns(Node("AlterColumns", [0], {"changes": list(changes)}), COLUMNS)


def test_columns_after_each_change() -> None:
    assert change(["AddColumn", ["n"], "date"]) == ({**COLUMNS, "n": "date"}, {})
    assert change(["DeleteColumn", ["s"], None]) == ({"id": "long", "v": "string"}, {})
    assert change(["UpdateColumnType", ["id"], "decimal"])[0]["id"] == "decimal"
    assert change(["UpdateColumnComment", ["id"], None]) == (COLUMNS, {})
    columns, renamed = change(["RenameColumn", ["id"], "key"])
    assert next(iter(columns.items())) == ("key", "long")
    assert renamed == {"key": "id"}


def test_replaced_columns_are_deleted_and_added() -> None:
    deleted = [["DeleteColumn", [name], None] for name in COLUMNS]
    assert change(*deleted, ["AddColumn", ["id"], "string"]) == ({"id": "string"}, {})


def test_the_type_of_a_struct_whose_fields_change_is_unknown() -> None:
    columns, renamed = change(["AddColumn", ["s", "b"], "long"], ["RenameColumn", ["s", "a"], "c"])
    assert columns == {**COLUMNS, "s": ""}
    assert renamed == {}


@pytest.mark.parametrize("damaged", [[], ["AddColumn", [], "x"], ["AddColumn", "x", "y"], 7])
def test_what_is_no_change_is_an_error(damaged: Any) -> None:
    with pytest.raises(ValueError, match="is not a change of a column"):
        change(damaged)


@given(st.lists(st.text()), st.lists(st.text()))
def test_a_column_without_a_type_is_listed(names: list[str], types: list[str]) -> None:
    columns = listed_columns({"fields": names, "types": types})
    assert list(columns) == list(dict.fromkeys(names))
    assert listed_columns({"types": types}) == {}


@pytest.mark.parametrize(
    ("kind", "members", "is_create", "lifecycle"),
    [
        ("InsertIntoHadoopFsRelationCommand", {"mode": "Overwrite"}, False, "OVERWRITE"),
        ("InsertIntoHadoopFsRelationCommand", {"mode": "Append"}, False, ""),
        ("InsertIntoHadoopFsRelationCommand", {"mode": "ErrorIfExists"}, False, ""),
        ("InsertIntoHiveTable", {"overwrite": True}, False, "OVERWRITE"),
        ("CreateDataSourceTableAsSelectCommand", {"mode": "ErrorIfExists"}, True, "CREATE"),
        ("CreateDataSourceTableAsSelectCommand", {"mode": "Append"}, True, ""),
        ("SaveAsV1TableCommand", {"mode": "Overwrite"}, True, "OVERWRITE"),
        ("CreateTableAsSelect", {}, True, "CREATE"),
        ("ReplaceTableAsSelect", {}, True, "OVERWRITE"),
        ("OverwriteByExpression", {}, False, "OVERWRITE"),
        ("AppendData", {}, False, ""),
        ("ReplaceData", {}, False, ""),
    ],
)
def test_life_cycles_of_writes(kind: str, members: dict[str, Any], is_create: bool, lifecycle: str) -> None:
    assert write_lifecycle(Node(kind, [], members), is_create=is_create) == lifecycle


@pytest.fixture(scope="module")
def client() -> Iterator[FlaskClient]:
    """A server that has the changes of Iceberg's tables."""
    store = LineageStore(open_table("sqlite:///:memory:"))
    server = create_app(store).test_client()
    resolving = resolver()
    jobs = recorded("iceberg-4.1.ndjson")
    for job in ("application", "_iceberg_tables", "_iceberg_columns"):
        for event in resolve(jobs[job], by=resolving):
            answer = server.post("/api/v1/lineage", json=event)
            assert answer.status_code == 201, answer.text
    yield server
    store.close()


def path_of(table: str) -> str:
    return f"/v3/namespaces/file/endpoints/{quote(f'/data/ice/db/{table}', safe='')}"


def test_the_catalogue_has_the_fields_of_a_table_that_was_only_created(client: FlaskClient) -> None:
    answer = client.get(f"{path_of('merged')}/fields")
    assert {field["name"]: field["type"] for field in answer.get_json()["fields"]} == {
        "id": "long",
        "v": "string",
        "n": "integer",
    }


def test_a_renamed_column_is_answered_with_its_former_name(client: FlaskClient) -> None:
    answer = client.get(f"{path_of('copied')}/fields/lineage?direction=backward&start=0&end=now%2B1d")
    (entry,) = [entry for entry in answer.get_json() if entry["source"]]
    assert entry["source"]["name"] == "/data/ice/db/copied"
    assert {(pair["from"], pair["to"]) for pair in entry["fieldmap"]} == {("v", "vv")}
