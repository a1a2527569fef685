"""Columns that documents derive and do not list are bounded, as far as they are in memory at once."""

from __future__ import annotations

from typing import Any

import pytest

from fll_hbase.model.datasets import Dataset
from fll_hbase.runtime.errors import TooLarge
from fll_hbase.sources import derived_columns, sql
from fll_hbase.sources.derived_columns import DERIVED_MAX, TooManyColumns
from fll_hbase.sources.sql.names.table_schemas import LOOKED_UP_MAX, TableSchemas
from tests.support import dbt_artifacts

WIDE = {"w": [f"c{number}" for number in range(5_000)]}
RUN = {"application": "a", "type": "t", "program": "p", "run": "r", "startTime": 1_700_000_000_000}


def read(text: str, dialect: str = "spark", **members: Any) -> sql.ScriptReading:
    document = {"run": RUN, "sql": text, "dialect": dialect, **members}
    return sql.read_document(document, namespace="ns", columns=lambda _: None)


def listed(text: str, count: int, separator: str = ", ") -> str:
    return separator.join(text.format(number) for number in range(count))


def doubled(levels: int) -> str:
    """A query that selects all columns of the one before twice, and so on."""
    queries = [f"c{n} AS (SELECT * FROM c{n - 1} a CROSS JOIN c{n - 1} b)" for n in range(1, levels + 1)]
    return f"WITH c0 AS (SELECT 1 AS x), {', '.join(queries)} SELECT * FROM c{levels}"


PIVOTED = listed("c{} IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)", 8, " ")
DERIVED = {
    "cross joins": f"INSERT INTO o {doubled(40)}",
    "a table many times": f"INSERT INTO o SELECT t0.c1 FROM {listed('(SELECT * FROM w) AS t{}', 100)}",
    "parentheses": f"INSERT INTO o SELECT * FROM {'(' * 8}w{' CROSS JOIN w) CROSS JOIN (w' * 8}{')' * 8}",
    "names": f"INSERT INTO o SELECT t0.y FROM {listed('w AS t{}(y)', 100)}",
    "structs": f"INSERT INTO o SELECT {listed('struct(*) AS a{}', 1_000)} FROM w",
    "copies": f"INSERT INTO o SELECT {listed('x AS a{}', 3_000)} FROM (SELECT struct(*) AS x FROM w)",
    "conditions": "INSERT INTO o WITH c0 AS (SELECT struct(*) AS x FROM w), {} SELECT * FROM c999".format(
        ", ".join(f"c{n} AS (SELECT x FROM c{n - 1} WHERE x > {n})" for n in range(1, 1_000))
    ),
    "views": listed("CREATE TEMPORARY VIEW v{} AS SELECT * FROM w", 100, ";"),
    "writes": listed("INSERT INTO o{} SELECT * FROM w", 100, ";"),
}


@pytest.mark.parametrize("name", DERIVED)
def test_columns_that_a_script_derives_have_an_end(name: str) -> None:
    with pytest.raises(TooManyColumns, match=r"statement \d+ derives more than 100,000 columns"):
        read(DERIVED[name], schema=WIDE)


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("duckdb", f"INSERT INTO o SELECT * FROM w PIVOT (sum(a) FOR {PIVOTED})"),
        ("duckdb", f"CREATE TABLE o AS PIVOT w ON {PIVOTED.replace(') ', '), ')} USING sum(a)"),
        ("oracle", f"INSERT ALL {listed('INTO t{}', 100, ' ')} SELECT * FROM w"),
    ],
)
def test_products_have_an_end(dialect: str, text: str) -> None:
    with pytest.raises(TooLarge, match=r"statement 1.*more than \d+,000 columns"):
        read(text, dialect, schema=WIDE if dialect != "oracle" else {"W": WIDE["w"]})


def test_columns_of_the_catalogue_have_an_end() -> None:
    tables = TableSchemas("ns", {}, lambda _: ["c"] * (LOOKED_UP_MAX // 2))
    for name in ("a", "b"):
        tables.schema(Dataset("ns", name))
    with pytest.raises(TooManyColumns, match="more than 500,000 columns of the catalogue"):
        tables.schema(Dataset("ns", "c"))


def test_what_a_document_lists_is_not_derived() -> None:
    """Nor is what a statement needs no longer at its end."""
    insert = f"INSERT INTO o SELECT {listed('c{0} AS b{0}', 500)} FROM w"
    with derived_columns.part() as part:
        assert len(read(";".join([insert] * 10), schema=WIDE).operations.info.operations) == 5_002
    assert part.count == 0
    reading = read(";".join(["INSERT INTO o SELECT c1 FROM (SELECT * FROM w)"] * 50), schema=WIDE)
    assert len(reading.operations.info.operations) == 52


def test_a_part_releases_what_it_does_not_keep() -> None:
    with derived_columns.part():
        for _ in range(10):
            with derived_columns.part() as inner:
                derived_columns.derive(DERIVED_MAX // 2)
                inner.keep(10)
        derived_columns.derive(DERIVED_MAX - 100)
        with pytest.raises(TooManyColumns):
            derived_columns.derive(1)
    derived_columns.derive(DERIVED_MAX * 2)


def test_a_model_of_dbt_that_derives_too_many_costs_its_own_columns() -> None:
    wide = dbt_artifacts.node("wide", doubled(40))
    parsed = dbt_artifacts.read(dbt_artifacts.document(wide, dbt_artifacts.A, dbt_artifacts.B))
    (detail,) = [str(warning) for warning in parsed.warnings if "100,000" in str(warning)]
    assert "model.p.wide" in detail
    (run,) = (recorded for recorded in parsed.runs if recorded.run.program == "model.p.b")
    assert dbt_artifacts.edges(run) == {"id": ["s.a.id"], "y": ["s.a.x"]}
