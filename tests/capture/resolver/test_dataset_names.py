"""Names of datasets by the naming rules of OpenLineage."""

from __future__ import annotations

from typing import Any

import pytest

from fll_hbase.capture.resolver.dataset_names import dataset_names
from fll_hbase.capture.resolver.jdbc_query import stored_parts

URLS = {
    "jdbc:postgresql://db/shop": ("postgres://db:5432", "shop.t"),
    "jdbc:postgresql://db:6000/shop": ("postgres://db:6000", "shop.t"),
    "jdbc:mysql://db:3306/shop": ("mysql://db:3306", "shop.t"),
    "jdbc:sqlserver://db:1433;databaseName=shop": ("sqlserver://db:1433", "shop.t"),
    "jdbc:oracle:thin:@db:1521:shop": ("oracle://db:1521", "shop.T"),
    "jdbc:oracle:thin:@//db:1521/shop": ("oracle://db:1521", "shop.T"),
    "jdbc:sqlite:/data/shop.db": ("sqlite:/data/shop.db", "t"),
}


@pytest.mark.parametrize("url", URLS)
def test_databases(url: str) -> None:
    (name,) = dataset_names({"kind": "jdbc", "url": url, "name": "t"})
    assert name[:2] == URLS[url]


TABLE = {"table": {"name": "spark_catalog.shop.t", "location": "hdfs://nn/wh/shop.db/t"}}


@pytest.mark.parametrize(
    ("metastore", "namespace"), [(None, "hdfs://nn/wh"), ("meta:9083", "hive://meta:9083")]
)
def test_a_table_of_hive_has_the_name_of_its_metastore(metastore: str | None, namespace: str) -> None:
    (name,) = dataset_names({**TABLE, "metastore": metastore})
    assert name == ("hdfs://nn", "/wh/shop.db/t", (namespace, "shop.t"))


QUERIES: dict[str, list[str]] = {
    "(SELECT * FROM a JOIN s.b ON a.x = b.x WHERE a.y = '') SPARK_GEN_SUBQ_0": ["a", "s.b"],
    "(WITH c AS (SELECT 0 FROM a) SELECT * FROM c) q": ["a"],
    "(this is no query": [],
    "": [],
}


@pytest.mark.parametrize("query", QUERIES)
def test_tables_of_a_database_query(query: str) -> None:
    names = dataset_names({"kind": "jdbc", "url": "jdbc:mysql://db/", "query": query})
    assert [name.name for name in names] == QUERIES[query]


ROWS: list[tuple[dict[str, Any], list[tuple[str, str, Any]]]] = [
    (
        {"kind": "kafka", "topic": "a, b", "servers": "k1:9092,k2:9092"},
        [("kafka://k1:9092", "a", None), ("kafka://k1:9092", "b", None)],
    ),
    ({"kind": "kafka", "topic": '{"a":[0,1]}', "servers": "k:1"}, [("kafka://k:1", "a", None)]),
    ({"kind": "kafka", "servers": "k:1"}, []),
    (
        {"kind": "files", "paths": ["file:/in/a.json", "file:/in/b.json"], "stream": True},
        [("file", "/in", None)],
    ),
    (
        {"table": {"name": "spark_catalog.sales.t", "location": "file:/wh/sales.db/t"}},
        [("file", "/wh/sales.db/t", ("file:/wh", "sales.t"))],
    ),
    (
        {"paths": ["file:/wh/t/a.parquet"], "stream": True, "table": {"name": "t", "location": "file:/wh/t"}},
        [("file", "/wh/t", ("file:/wh", "t"))],
    ),
    (
        {"table": {"name": "t", "location": "s3a://b/wh/t"}},
        [("s3://b", "wh/t", ("s3://b/wh", "t"))],
    ),
    ({"identifier": "db.t", "catalog": "ice"}, [("ice", "db.t", None)]),
    ({"kind": "sink", "class": "ConsoleTable"}, []),
    ({"kind": "rdd", "ids": [1]}, []),
    ({}, []),
]


@pytest.mark.parametrize(("row", "names"), ROWS)
def test_rows(row: dict[str, Any], names: list[tuple[str, str, Any]]) -> None:
    assert dataset_names(row) == names


def test_a_bracket_is_a_letter_of_a_name_in_brackets() -> None:
    assert stored_parts("[db].[dbo].[a[b]", "tsql") == ("db", "dbo", "a[b")
