"""Columns that documents derive and do not list are bounded, as far as they are in memory at once."""

from __future__ import annotations

import contextvars
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import RequestCancelled, TooLarge
from fll_hbase.sources import derived_columns, sql
from fll_hbase.sources.derived_columns import DERIVED_MAX, RETAINED_MAX, TooManyColumns
from fll_hbase.sources.sql import long_scripts
from fll_hbase.sources.sql.names.table_schemas import LOOKED_UP_MAX, TableSchemas
from fll_hbase.sources.sql.parser import parse_script
from fll_hbase.sources.sql.script.script_state import ScriptState
from fll_hbase.sources.sql.statements.statement_reader import read_statements
from tests.support import dbt_artifacts

WIDE = {"w": [f"c{number}" for number in range(5_000)]}
RUN = {"application": "a", "type": "t", "program": "p", "run": "r", "startTime": 1_700_000_000_000}


def read(text: str, dialect: str = "spark", **members: Any) -> sql.ScriptReading:
    document = {"run": RUN, "sql": text, "dialect": dialect, **members}
    return sql.read_document(document, namespace="ns", columns=lambda _: None)


def state_of(text: str, dialect: str = "spark") -> ScriptState:
    """The state of a script behind its last statement."""
    tables = TableSchemas("ns", {"w": [Field(name) for name in WIDE["w"]]}, lambda _: None)
    state = ScriptState(parse_script(text, dialect), tables)
    with derived_columns.part():
        read_statements(state)
    return state


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
    "temporary tables": listed("CREATE TEMPORARY TABLE t{} AS SELECT * FROM w", 100, ";"),
}


@pytest.mark.parametrize("name", DERIVED)
def test_columns_that_a_script_derives_have_an_end(name: str) -> None:
    with pytest.raises(TooManyColumns, match=r"statement \d+ derives more than [14]00,000 columns"):
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


def test_a_table_that_does_not_fit_leaves_room_for_others() -> None:
    """Columns that the document itself mentions take no room."""
    sizes = {"a": LOOKED_UP_MAX - 10, "b": 11, "c": 10}
    mentioned = {name: [Field(f"{name}{number}") for number in range(20)] for name in sizes}
    tables = TableSchemas("ns", {}, lambda item: ["f"] * sizes[item.name], mentioned=mentioned)
    a, b, c = (Dataset("ns", name) for name in sizes)
    tables.schema(a)
    with pytest.raises(TooManyColumns):
        tables.schema(b)
    for dataset, count in ((b, 20), (c, 21)):
        schema = tables.schema(dataset)
        assert schema is not None
        assert len(schema.fields) == count


def test_a_seed_of_too_many_columns_costs_its_own_columns() -> None:
    seed = dbt_artifacts.node("s", type="seed")
    columns = [f"c{number}" for number in range(LOOKED_UP_MAX + 1)]
    parsed = dbt_artifacts.read(dbt_artifacts.document(seed, dbt_artifacts.B), **{"s.s": columns})
    assert [str(warning) for warning in parsed.warnings if "500,000" in str(warning)]
    assert len(parsed.runs) == 2


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
                inner.keep(1_000)
                inner.keep_view(10)
        derived_columns.derive(DERIVED_MAX - 100)
        with pytest.raises(TooManyColumns):
            derived_columns.derive(1)
    derived_columns.derive(DERIVED_MAX * 2)


def test_writes_and_views_of_a_part_have_bounds_apart() -> None:
    """A part that does not fit leaves room for others that do."""
    with derived_columns.part() as outer:
        for retained, viewed in ((RETAINED_MAX - 10, 0), (0, DERIVED_MAX - 10)):
            with derived_columns.part() as inner:
                inner.keep(retained)
                inner.keep_view(viewed)
        for keep in (derived_columns.Part.keep, derived_columns.Part.keep_view):
            with pytest.raises(TooManyColumns), derived_columns.part() as inner:
                keep(inner, 11)
        with derived_columns.part() as inner:
            inner.keep(10)
            inner.keep_view(10)
    assert (outer.retained, outer.count) == (RETAINED_MAX, DERIVED_MAX)


def test_writes_of_a_script_may_be_more_than_a_statement_derives() -> None:
    text = listed("INSERT INTO o{} SELECT * FROM w", 30, ";")
    assert len(state_of(text).writes) == 30


def test_models_of_a_project_may_be_more_than_one_derives() -> None:
    """Those that it lists count as listed, with blanks behind commas or without."""
    tables = TableSchemas("ns", {"w": [Field(name) for name in WIDE["w"]]}, lambda _: None)
    with derived_columns.part() as project:
        for number in range(25):
            target = Dataset("ns", f"o{number}")
            sql.read_query("SELECT * FROM w", dialect="spark", target=target, verb="v", tables=tables)
        assert (project.retained, project.count) == (25 * 4_996, 0)
        query = f"SELECT {listed('c{}', 500, ',')} FROM w"
        sql.read_query(query, dialect="spark", target=Dataset("ns", "o"), verb="v", tables=tables)
        assert (project.retained, project.count) == (25 * 4_996, 0)


def test_a_view_counts_once() -> None:
    state = state_of("CREATE VIEW v AS SELECT * FROM w; CREATE TEMPORARY VIEW u AS SELECT * FROM w")
    assert (state.retained, state.view_columns) == (5_000, 5_000)


def test_a_statement_that_is_left_out_keeps_nothing() -> None:
    state = state_of(
        "WITH x AS (INSERT INTO o SELECT * FROM w RETURNING c1) INSERT INTO FUNCTION file('f') SELECT 1",
        "clickhouse",
    )
    assert (state.writes, state.retained, len(state.errors)) == ([], 0, 1)


LOOP = "FOR r IN (SELECT C1 FROM ({})) LOOP INSERT INTO o (a) VALUES (r.C1); END LOOP;"


def test_rows_of_loops_keep_their_own_columns_only() -> None:
    upper = {"W": [name.upper() for name in WIDE["w"]]}
    reading = read(f"BEGIN {LOOP.format('SELECT * FROM w') * 60} END;", "oracle", schema=upper)
    assert not [warning for warning in reading.warnings if "rows" in str(warning)]


def test_rows_that_derive_too_many_columns_are_unknown_with_a_warning() -> None:
    query = doubled(40)
    reading = read(f"BEGIN {LOOP.format(query)} INSERT INTO p SELECT x FROM t; END;", "oracle")
    (warning,) = [str(warning) for warning in reading.warnings if "100,000" in str(warning)]
    assert "the rows of 'r' are unknown" in warning
    assert "P" in {dataset.name for dataset in reading.operations.info.destinations}


def test_only_a_refused_document_says_that_nothing_was_stored() -> None:
    tables = TableSchemas("ns", {}, lambda _: None)
    excess = f"SELECT x FROM t{' JOIN t' * 60}"
    for query in (doubled(40), excess):
        with pytest.raises(TooLarge, match=r"nothing was stored$"):
            read(f"INSERT INTO o {query}")
        with pytest.raises(TooLarge, match="more than") as raised:
            sql.read_script(f"INSERT INTO o {query}", dialect="spark", tables=tables)
        assert "stored" not in str(raised.value)


def test_a_client_that_left_does_not_wait_for_its_turn() -> None:
    left = threading.Event()
    leaving = threading.Timer(0.2, left.set)
    text = f"INSERT INTO o SELECT x FROM t -- {'x' * long_scripts.CONCURRENT_CHARACTERS_MAX}"
    with long_scripts.turn(text):
        began = time.monotonic()
        leaving.start()
        with deadline.limited(20, is_cancelled=left.is_set):
            # A script of its own thread, as each request has.
            context = contextvars.copy_context()
            with ThreadPoolExecutor(1) as pool, pytest.raises(RequestCancelled):
                pool.submit(context.run, read, text).result()
        assert time.monotonic() - began < 10


def test_a_model_of_dbt_that_derives_too_many_costs_its_own_columns() -> None:
    wide = dbt_artifacts.node("wide", doubled(40))
    parsed = dbt_artifacts.read(dbt_artifacts.document(wide, dbt_artifacts.A, dbt_artifacts.B))
    (detail,) = [str(warning) for warning in parsed.warnings if "100,000" in str(warning)]
    assert "model.p.wide" in detail
    (run,) = (recorded for recorded in parsed.runs if recorded.run.program == "model.p.b")
    assert dbt_artifacts.edges(run) == {"id": ["s.a.id"], "y": ["s.a.x"]}
