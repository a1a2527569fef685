"""Renames by SQL Server's procedure: names may have brackets around their parts."""

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
