"""Words of SQL that decide which rows a query has, whatever its dialect."""

from __future__ import annotations

import pytest

from fll_hbase.sources.sql.script.source_text import sql_row_words


@pytest.mark.parametrize(
    ("joined", "name"),
    [
        ("orders AS o", "orders"),
        ("dev.Orders o", "orders"),
        ('"dev"."orders"', "orders"),
        ("[dbo].[orders] o", "orders"),
        ("`project`.`dev`.`orders`", "orders"),
        ("`project.dev.orders` o", "orders"),
        ("(SELECT 1) o", "("),
        ("", ""),
        # Only the beginning is read, so that many joins do not each read what follows them.
        (f"{'a.' * 100}b", "a"),
    ],
)
def test_a_join_has_the_name_of_its_table(joined: str, name: str) -> None:
    assert sql_row_words(f"SELECT 1 FROM t LEFT JOIN {joined}") == {"LEFT": 1, f"JOIN {name}": 1}
