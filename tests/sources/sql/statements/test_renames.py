"""Renames: names with brackets in SQL Server's procedure, and temporary tables, which no schema completes."""

from __future__ import annotations

import pytest

from tests.support.sql_readings import direct, read


@pytest.mark.parametrize("table", ["dbo.orders", "[dbo].[orders]", '"dbo"."orders"', "[dbo].orders"])
def test_names_with_brackets(table: str) -> None:
    schema = {"dbo.orders": ["amount"]}
    renamed = read(f"EXEC sp_rename '{table}', 'old'", dialect="tsql", schema=schema)
    assert direct(renamed) == {"dbo.old.amount": {"dbo.orders.amount"}}
    for column in ("amount", "[amount]"):
        text = f"EXEC sp_rename '{table}.{column}', 'net', 'COLUMN'"
        assert direct(read(text, dialect="tsql", schema=schema)) == {"dbo.orders.net": {"dbo.orders.amount"}}


def test_a_renamed_temporary_table_is_found_after_use() -> None:
    text = """
        CREATE TEMP TABLE x AS SELECT a FROM s; ALTER TABLE x RENAME TO y; USE SCHEMA z;
        INSERT INTO t (a) SELECT a FROM y; INSERT INTO t (b) SELECT b FROM x
    """
    schema = {"C.Z.X": ["B"], "C.S.S": ["A"]}
    lineage = read(text, dialect="snowflake", defaults={"catalog": "C", "schema": "S"}, schema=schema)
    assert direct(lineage) == {"C.Z.T.A": {"C.S.S.A"}, "C.Z.T.B": {"C.Z.X.B"}}


def test_a_temporary_table_that_is_renamed_with_a_schema_is_not_found_in_another() -> None:
    text = """
        CREATE TEMP TABLE x AS SELECT a FROM s; ALTER TABLE x RENAME TO q.y; USE SCHEMA z;
        INSERT INTO t (a) SELECT a FROM y
    """
    schema = {"C.Z.Y": ["A"], "C.S.S": ["A"]}
    lineage = read(text, dialect="snowflake", defaults={"catalog": "C", "schema": "S"}, schema=schema)
    assert direct(lineage) == {"C.Z.T.A": {"C.Z.Y.A"}}
