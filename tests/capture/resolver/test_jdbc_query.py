"""Queries of JDBC sources: which fields of the database's tables their columns come from."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fll_hbase.capture.resolver.dataset_names import DatasetName, dataset_names
from fll_hbase.capture.resolver.jdbc_query import CHARACTERS_MAX, QueryLineage, query_lineage
from fll_hbase.capture.resolver.plan_lineage import Direct
from tests.support.capture.golden_dumps import recorded, resolve, short

POSTGRES = "jdbc:postgresql://db/shop"


def lineage(query: str, url: str = POSTGRES) -> QueryLineage:
    return query_lineage({"kind": "jdbc", "url": url, "query": f"({query}) SPARK_GEN_SUBQ_0"})


def columns(query: str, url: str = POSTGRES) -> dict[str, list[str]]:
    return {name: _direct(column.direct) for name, column in lineage(query, url).columns.items()}


def _direct(inputs: Any) -> list[str]:
    return sorted(f"{item[0].name}.{item[1]} {Direct(item[2]).name}{' masked' * item[3]}" for item in inputs)


def rows(query: str) -> list[str]:
    return sorted(f"{item[0].name}.{item[1]} {item[2]}" for item in lineage(query).rows)


def test_kinds_of_columns() -> None:
    aggregates = "SUM(c) * d AS z, COUNT(*) AS n, COUNT(e) AS m"
    query = f"SELECT a AS x, b + 1 AS y, {aggregates}, 0 AS k FROM t GROUP BY a, b, d"
    assert columns(query) == {
        "x": ["shop.t.a IDENTITY"],
        "y": ["shop.t.b TRANSFORMATION"],
        "z": ["shop.t.c AGGREGATION", "shop.t.d TRANSFORMATION"],
        "n": [],
        "m": ["shop.t.e AGGREGATION masked"],
        "k": [],
    }


def test_kinds_through_subqueries() -> None:
    query = "SELECT s / 0 AS h, m FROM (SELECT SUM(a + b) AS s, MAX(c) AS m FROM sales.t) q"
    inputs = {
        "h": ["shop.sales.t.a AGGREGATION", "shop.sales.t.b AGGREGATION"],
        "m": ["shop.sales.t.c AGGREGATION"],
    }
    assert columns(query) == inputs


def test_a_name_that_a_subquery_defines_again() -> None:
    query = "SELECT a + 0 AS a FROM (SELECT MAX(a) AS a FROM t) q"
    assert columns(query) == {"a": ["shop.t.a AGGREGATION"]}


def test_rows() -> None:
    query = "SELECT t.a FROM t JOIN u ON t.k = u.k WHERE u.b > 0 GROUP BY t.a ORDER BY 1"
    expected = ["t.a GROUP_BY", "t.a SORT", "t.k JOIN", "u.b FILTER", "u.k JOIN"]
    assert rows(query) == [f"shop.{item}" for item in expected]


def test_columns_of_a_star_are_those_of_its_only_table() -> None:
    result = lineage("SELECT *, a + b AS c FROM t WHERE d > 0")
    assert _direct(result.column("Any Name").direct) == ["shop.t.Any Name IDENTITY"]
    assert _direct(result.column("C").direct) == ["shop.t.a TRANSFORMATION", "shop.t.b TRANSFORMATION"]


@pytest.mark.parametrize("query", ["SELECT a FROM t", "SELECT * FROM (SELECT MAX(a) AS a FROM t) q"])
def test_columns_that_a_complete_query_lacks_have_no_inputs(query: str) -> None:
    assert lineage(query).column("b").direct == frozenset()


def test_names_of_other_databases() -> None:
    assert columns("SELECT `a` FROM `t`", "jdbc:mysql://db:1/shop") == {"a": ["shop.t.a IDENTITY"]}
    assert columns("SELECT TOP 0 [a] FROM [t]", "jdbc:sqlserver://db;databaseName=shop") == {
        "a": ["shop.t.a IDENTITY"]
    }


UNREADABLE = {
    "empty": "",
    "no SQL": "SELECT FROM WHERE",
    "long": f"SELECT {'a,' * CHARACTERS_MAX} b",
    "deep": f"SELECT {'(' * 900}a{')' * 900} FROM t",
    "too deep": f"SELECT a FROM {'(SELECT a FROM ' * 4_000}t{') q' * 4_000}",
    "conditions": f"SELECT {'CASE WHEN a THEN ' * 4_000}b{' END' * 4_000} FROM t",
    "joins": f"SELECT a FROM {'t JOIN ' * 60}t",
}


@pytest.mark.parametrize("query", UNREADABLE.values(), ids=UNREADABLE)
def test_a_query_that_cannot_be_read_is_a_warning(query: str, caplog: pytest.LogCaptureFixture) -> None:
    """Neither an error nor the end of the process, which is the driver of a job."""
    result = lineage(query)
    assert (result.columns, result.rows, result.column("a").direct) == ({}, frozenset(), frozenset())
    assert "a query of a JDBC source" in caplog.text
    assert dataset_names({"kind": "jdbc", "url": POSTGRES, "query": query}) == []


def test_a_statement_is_no_query(caplog: pytest.LogCaptureFixture) -> None:
    assert lineage("DROP TABLE t").columns == {}
    assert "must be one query" in caplog.text


def test_an_event_has_the_fields_of_the_database() -> None:
    """The query sorts by positions and has a constant, which is not recorded."""
    events = resolve(recorded("warehouse-4.3.ndjson")["feat_jdbc"])
    event = next(short(event) for event in events if "jdbc_sorted" in json.dumps(event["outputs"]))
    assert event["inputs"] == ["file:/warehouse/shop_db STOCK"]
    assert event["fields"] == {"product_id": ["STOCK product_id IDENTITY"]}
    assert event["rows"] == ["STOCK on_hand SORT", "STOCK product_id SORT", "STOCK store_id FILTER"]


def test_the_table_is_named_as_other_readers_name_it() -> None:
    (others,) = {lineage("SELECT * FROM public.t").others}
    assert others == DatasetName("postgres://db:5432", "shop.public.t")
