"""Names of SQL's tables meet those of OpenLineage and DataHub, whatever their case and qualifiers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.operations import Read
from fll_hbase.model.run_events import decode_lineage
from fll_hbase.sources import openlineage, sql
from fll_hbase.sources.datahub.urns import parse_dataset

ENGINES = {
    "bigquery": ("bigquery", "bigquery", "{0}.{1}.{2}", "{0}.{1}.{2}"),
    "hive": ("hive://metastore:9083", "hive", "{1}.{2}", "{1}.{2}"),
    "postgres": ("postgres://db:5432", "postgres", "{0}.{1}.{2}", "{0}.{1}.{2}"),
    "snowflake": ("snowflake://org-account", "snowflake", "{0}.{1}.{2}", "{0}.{1}.{2}"),
    "spark": ("hive://metastore:9083", "hive", "{1}.{2}", "{1}.{2}"),
    "trino": ("trino://host:8080", "trino", "{0}.{1}.{2}", "{0}.{1}.{2}"),
    "tsql": ("mssql://db:1433", "mssql", "{0}.{1}.{2}", "{0}.{1}.{2}"),
}
"""By dialect: namespace of OpenLineage, platform of DataHub, and the name of a table in each."""

STORED = {"snowflake": str.upper, "bigquery": str, "tsql": str}
"""How an engine stores a name that is written in lower case; others store it in lower case."""

WORDS = st.sampled_from(["shop", "sales", "orders", "t_1", "raw", "daily2"])


def read(document: dict[str, Any]) -> sql.ScriptReading:
    run = {"application": "a", "type": "sql", "program": "p", "run": "r", "startTime": 10**12}
    return sql.read_document({"run": run, **document}, namespace="own", columns=lambda _: None)


def openlineage_dataset(namespace: str, name: str) -> Dataset:
    """Return the dataset of an event's output."""
    event = {
        "eventTime": "2026-11-23T10:00:00Z",
        "producer": "p",
        "run": {"runId": "r"},
        "job": {"namespace": "j", "name": "n"},
        "outputs": [{"namespace": namespace, "name": name}],
    }
    parsed = openlineage.read(event).event
    assert parsed is not None
    return Dataset(*decode_lineage(parsed.bodies[parsed.event.lineage_digest]).datasets[0])


def change_case(dialect: str, name: str, number: int) -> str:
    """Write a name in another case, unless the dialect tells such names apart."""
    return name if dialect in ("bigquery", "tsql") else (name, name.upper(), name.title())[number]


@given(st.sampled_from(sorted(ENGINES)), WORDS, WORDS, WORDS, st.integers(1, 3), st.integers(0, 2))
def test_one_table_is_one_dataset(
    dialect: str, catalog: str, schema: str, table: str, count: int, case: int
) -> None:
    """Its name in SQL may lack the catalog and schema that are defaults."""
    namespace, platform, pattern, urn_pattern = ENGINES[dialect]
    stored = STORED.get(dialect, str.lower)
    written = ".".join(change_case(dialect, part, case) for part in (catalog, schema, table)[-count:])
    reading = read(
        {
            "sql": f"INSERT INTO {written} (a) SELECT b FROM somewhere.else_.other",
            "dialect": dialect,
            "defaults": {"catalog": catalog, "schema": schema},
            "datasetNamespace": namespace,
            "aliasNamespaces": [platform],
        }
    )
    (destination,) = reading.operations.info.destinations
    parts = [stored(part) for part in (catalog, schema, table)]
    assert destination == openlineage_dataset(namespace, pattern.format(*parts))
    aliases = {item.dataset: item.aliases for item in reading.metadata}
    # DataHub's connector for Snowflake writes names in lower case.
    name = urn_pattern.format(*(parts if dialect != "snowflake" else map(str.lower, parts)))
    urn = f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"
    assert aliases[destination] == (parse_dataset(urn),)
    assert not [warning for warning in reading.warnings if "lacks" in warning.detail]


@pytest.mark.parametrize("dialect", sql.DIALECTS)
def test_runs_meet_whatever_their_case(dialect: str) -> None:
    if dialect in ("bigquery", "clickhouse", "mysql", "tsql"):
        # These engines store names as they are written; within a script any case is the same table.
        text = "CREATE TABLE Orders AS SELECT a FROM s; INSERT INTO u SELECT a FROM ORDERS"
        reading = read({"sql": text, "dialect": dialect})
        assert reading.operations.info.destinations[0] in reading.operations.info.sources
        return
    first = read({"sql": "CREATE TABLE Orders AS SELECT A FROM s", "dialect": dialect})
    second = read({"sql": "INSERT INTO t (b) SELECT a FROM ORDERS", "dialect": dialect})
    assert first.operations.info.destinations == second.operations.info.sources


def test_names_that_earlier_runs_recorded() -> None:
    """A name as written is the dataset's if only this one is in the catalogue."""
    run = {"application": "a", "type": "sql", "program": "p", "run": "r", "startTime": 10**12}
    document = {"run": run, "sql": "INSERT INTO t (a) SELECT a FROM Orders"}
    for recorded, name in (({"Orders"}, "Orders"), ({"orders"}, "orders"), ({"orders", "Orders"}, "orders")):
        reading = sql.read_document(
            document,
            namespace="own",
            columns=lambda dataset, recorded=recorded: ["a"] if dataset.name in recorded else None,  # type: ignore[misc]
        )
        assert reading.operations.info.sources == (Dataset("own", name),)


def test_use_and_common_table_expressions() -> None:
    """USE completes names of tables, not of common table expressions and temporary views."""
    text = """CREATE TEMP VIEW v AS SELECT b FROM s; USE d;
        WITH x AS (SELECT a FROM s) INSERT INTO t (a, b) SELECT x.a, v.b FROM x, v"""
    reading = read({"sql": text})
    assert reading.operations.info.sources == (Dataset("own", "d.s"), Dataset("own", "s"))
    assert reading.operations.info.destinations == (Dataset("own", "d.t"),)


@pytest.mark.parametrize("table", ["totals", "public.totals", "shop.public.totals", "TOTALS"])
def test_the_schema_has_names_as_in_the_sql(table: str) -> None:
    """Columns by position are found under any name of a table, also without a namespace of its own."""
    defaults = {"catalog": "shop", "schema": "public"}
    for names in ({}, {"datasetNamespace": "postgres://db:5432"}):
        reading = read(
            {
                "sql": "INSERT INTO totals SELECT SUM(a) FROM s",
                "dialect": "postgres",
                "schema": {table: ["total"]},
                "defaults": defaults,
                **names,
            }
        )
        (destination,) = reading.operations.info.destinations
        assert destination.name == "shop.public.totals"
        assert not reading.warnings


def test_variables_of_snowflake_are_not_columns() -> None:
    text = "SET low = 5; COPY INTO t (a, b) FROM (SELECT $1, $2 + $low FROM @stage/x.csv)"
    operations = read({"sql": text, "dialect": "snowflake"}).operations.info.operations
    (source,) = (operation for operation in operations if isinstance(operation, Read))
    assert [field.name for field in source.outputs] == ["$1", "$2"]


def test_a_path_has_the_name_of_captured_jobs_as_an_alias() -> None:
    """In their own namespace they are one name, and a bucket that no namespace can name has no alias."""
    for uri, namespace, aliases in (
        ("s3a://lake/orders", "own", (Dataset("s3://lake", "orders"),)),
        ("dbfs:/orders", "dbfs", (Dataset("dbfs", "/orders"),)),
        (f"s3://{'b' * 1100}/orders", "own", ()),
        ("/lake/orders", "own", ()),
    ):
        text = f"INSERT INTO t (a) SELECT a FROM parquet.`{uri}`"
        reading = read({"sql": text, "datasetNamespace": namespace})
        assert [item.aliases for item in reading.metadata] == [aliases] * bool(aliases)
        assert reading.operations.info.sources == (Dataset(namespace, uri),)
