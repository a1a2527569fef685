"""Names of columns without an alias, as Spark 4.3 and PostgreSQL 15 were seen to give them."""

from __future__ import annotations

import pytest

from fll_hbase.sources.sql.dialects import facts_of
from fll_hbase.sources.sql.names.column_names import generated_name, is_generated

SPARK = {
    "x": "x",
    "(x)": "x",
    "CAST(x AS double)": "x",
    "TRY_CAST(x AS int)": "x",
    "(x)::string": "x",
    "int(x)": "x",
    "CAST(x + 1 AS int)": "CAST((x + 1) AS INT)",
    "CAST(CAST(x AS int) AS string)": "CAST(CAST(x AS INT) AS STRING)",
    "x + y * 2": "(x + (y * 2))",
    "s.x - y % 3": "(x - (y % 3))",
    "-x": "(- x)",
    "-1.5": "-1.5",
    "x <> 1": "(NOT (x = 1))",
    "x <=> y": "(x <=> y)",
    "x < 1 AND y > 2 OR NOT x IN (1, 2)": "(((x < 1) AND (y > 2)) OR (NOT (x IN (1, 2))))",
    "x IS NOT NULL": "(x IS NOT NULL)",
    "x BETWEEN 1 AND 2": "between(x, 1, 2)",
    "n NOT LIKE 'a%'": "(NOT n LIKE a%)",
    "n RLIKE 'a'": "RLIKE(n, a)",
    "n || 'a' || n": "concat(concat(n, a), n)",
    "UPPER(n)": "upper(n)",
    "substr(n, 1, 2)": "substr(n, 1, 2)",
    "COUNT(*)": "count(1)",
    "count(DISTINCT x, y)": "count(DISTINCT x, y)",
    "sum(x) / count(*)": "(sum(x) / count(1))",
    "nvl(x, 0)": "nvl(x, 0)",
    "IF(x > 1, x, y)": "(IF((x > 1), x, y))",
    "CASE WHEN x = 1 THEN 'a' ELSE n END": "CASE WHEN (x = 1) THEN a ELSE n END",
    "CASE x WHEN 1 THEN 'a' END": "CASE WHEN (x = 1) THEN a END",
    "date '2026-11-23'": "DATE '2026-11-23'",
    "current_date": "current_date()",
    "split(n, ',')": "split(n, ,, -1)",
    "arr[0]": "arr[0]",
    "row_number() OVER (PARTITION BY x ORDER BY y DESC)": (
        "row_number() OVER (PARTITION BY x ORDER BY y DESC NULLS LAST "
        "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    ),
    "sum(x) OVER (ORDER BY y)": (
        "sum(x) OVER (ORDER BY y ASC NULLS FIRST RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    ),
    "sum(x) OVER (ORDER BY y ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)": (
        "sum(x) OVER (ORDER BY y ASC NULLS FIRST ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)"
    ),
    "sum(x) FILTER (WHERE y > 1)": "sum(x) FILTER (WHERE (y > 1))",
    "(SELECT max(z) FROM u)": "scalarsubquery()",
    "EXISTS (SELECT 1 FROM u)": "exists()",
}

POSTGRES = {
    "x": "x",
    "(x)": "x",
    "x::text": "x",
    "CAST(x + 1 AS int)": "int4",
    "1::double precision": "float8",
    "upper(n)::text": "upper",
    "x + 1": "?column?",
    "n || 'a'": "?column?",
    "'a'": "?column?",
    "x IS NULL": "?column?",
    "MAX(s.x)": "max",
    "count(*)::int": "count",
    "pg_catalog.lower(n)": "lower",
    "trim(n)": "btrim",
    "substring(n FROM 1 FOR 2)": "substring",
    "extract(month FROM d)": "extract",
    "coalesce(x, 0)": "coalesce",
    "CASE WHEN x = 1 THEN n ELSE upper(n) END": "upper",
    "CASE WHEN x = 1 THEN n ELSE 'a' END": "case",
    "CASE WHEN x = 1 THEN n END": "case",
    "sum(x) OVER (PARTITION BY y)": "sum",
    "sum(x) FILTER (WHERE y > 1)": "sum",
    "date '2026-11-23'": "date",
    "current_date": "current_date",
    "array[x]": "array",
    "arr[1]": "arr",
    "(SELECT max(z) FROM u)": "max",
    "(SELECT x AS q)": "q",
    "EXISTS (SELECT 1)": "exists",
}


def name_of(dialect: str, text: str) -> str:
    return generated_name(facts_of(dialect), text, number=3, unnamed=1, is_table=lambda table: table == "s")


@pytest.mark.parametrize(("text", "name"), SPARK.items())
def test_spark(text: str, name: str) -> None:
    assert name_of("spark", text) == name


@pytest.mark.parametrize(("text", "name"), POSTGRES.items())
def test_postgres(text: str, name: str) -> None:
    assert name_of("postgres", text) == name


@pytest.mark.parametrize(
    ("dialect", "name"),
    [("hive", "_c3"), ("trino", "_col3"), ("bigquery", "f1_"), ("snowflake", ""), ("tsql", "")],
)
def test_other_dialects(dialect: str, name: str) -> None:
    assert name_of(dialect, "x + 1") == name


@pytest.mark.parametrize(
    "text", ["", "(", "x +", "1, 2", "SELECT", "lag(x) OVER (ORDER BY y)", "UPPER(" * 200]
)
def test_a_form_that_is_not_known_has_no_name(text: str) -> None:
    assert name_of("spark", text) == ""


def test_generated_names() -> None:
    assert is_generated(facts_of("trino"), "_col1")
    assert not is_generated(facts_of("spark"), "_col1")
    assert is_generated(facts_of("postgres"), "?column?")
