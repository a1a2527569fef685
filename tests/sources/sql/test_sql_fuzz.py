"""SQL source on arbitrary input: every text gives a run or an input error, in time linear in its length."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model import lineage
from fll_hbase.runtime.errors import InputError, TooLarge
from fll_hbase.sources import sql
from fll_hbase.sources.native.document import Reading
from tests.support import golden_sql
from tests.support.profiles import PROFILE
from tests.support.work import count_calls

ROOT = Path(__file__).parents[2]
DIALECTS_STEP = 1 if PROFILE == "long" else 6
_WORD = re.compile(r"\w+|'[^']*'|\S")


def statements() -> list[str]:
    """Every statement of the golden cases and of the Spark cases."""
    cases = json.loads((ROOT / "cases" / "spark_sql.json").read_text())
    texts = [document["sql"] for document in golden_sql.documents() if isinstance(document["sql"], str)]
    return texts + [f"CREATE TABLE o AS {case['query_sql']}" for case in cases if "query_sql" in case]


TEXTS = [_WORD.findall(text) for text in statements()]
WORDS = sorted({word for text in TEXTS for word in text})
SCHEMA = {"s": ["id", "a"], "orders": ["id", "customer", "amount", "day", "note"]}


@st.composite
def mangled(draw: st.DrawFn) -> str:
    """A statement with words removed and inserted, and with parts of another statement."""
    words = list(draw(st.sampled_from(TEXTS)))
    for _ in range(draw(st.integers(0, 5))):
        position = draw(st.integers(0, len(words)))
        other = draw(st.sampled_from(TEXTS))
        start = draw(st.integers(0, len(other) - 1))
        inserted = draw(st.sampled_from([[], [draw(st.sampled_from(WORDS))], other[start : start + 10]]))
        words[position : position + draw(st.integers(0, 2))] = inserted
    return " ".join(words)


def read_or_error(document: Any) -> Reading | InputError | TooLarge:
    """Read a document; return the error if it is refused."""
    try:
        return sql.read_document(document, namespace="ns", columns=lambda _: None)
    except (InputError, TooLarge) as error:
        return error


def check(text: Any, dialect: Any = "spark", schema: Any = None) -> None:
    """Check that a text gives a valid run or an error with paths."""
    run = {"application": "a", "type": "t", "program": "p", "run": "r", "startTime": 1}
    reading = read_or_error({"run": run, "sql": text, "dialect": dialect, "schema": schema or {}})
    if isinstance(reading, InputError):
        assert reading.errors
        return
    if isinstance(reading, TooLarge):
        assert "statement 1, " in str(reading)
        return
    assert lineage.build_lineage_lenient(reading.operations.info.operations) == reading.operations.info


@given(mangled(), st.sampled_from(sql.DIALECTS), st.sampled_from([{}, SCHEMA]))
def test_nearly_valid_statements(text: str, dialect: str, schema: Any) -> None:
    check(text, dialect, schema)


@given(
    st.text() | st.text("()'\"`;,.*-/\\[]{}<>=+ aSELECTFROM\n", max_size=200), st.sampled_from(sql.DIALECTS)
)
def test_any_text(text: str, dialect: str) -> None:
    check(text, dialect)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, JSON, JSON)
def test_any_document(text: Any, dialect: Any, schema: Any) -> None:
    check(text, dialect, schema)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "text"), [*enumerate(statements())])
def test_every_statement_of_the_cases_is_understood(number: int, text: str) -> None:
    """Trees that lack a required part are refused; statements of the cases never are.

    Long runs read every statement in every dialect, others the n-th one in each DIALECTS_STEP-th from n on.
    """
    run = {"application": "a", "type": "t", "program": "p", "run": "r", "startTime": 1}
    for dialect in sql.DIALECTS[number % DIALECTS_STEP :: DIALECTS_STEP]:
        assert "has a form" not in str(read_or_error({"run": run, "sql": text, "dialect": dialect}))


REGRESSIONS = [
    "DELETE totals WHERE customer IN (SELECT id FROM customers)",
    "FROM orders INSERT TABLE totals SELECT customer INSERT INTO TABLE SELECT note",
    "LOAD DATA INPATH INTO TABLE t",
    "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE * WHEN NOT MATCHED THEN INSERT *",
    "UPDATE t SET x = s.a, () = ROW(s.b) FROM s",
    "DECLARE d DATE DEFAULT '2026-01-01'; CREATE TABLE o AS SELECT a FROM s",
    f"CREATE TABLE o AS SELECT '{'x; ' * 1_000}' || a FROM s",
    "CREATE PROCEDURE; CREATE TABLE o AS SELECT a FROM s",
]
"""Texts that failed in an earlier version."""


@pytest.mark.parametrize("text", REGRESSIONS)
def test_regressions(text: str) -> None:
    for dialect in sql.DIALECTS:
        check(text, dialect, SCHEMA)


LONG = {
    "columns": "CREATE TABLE t AS SELECT {} FROM s".format(
        ", ".join(f"UPPER(a{n}) AS b{n}" for n in range(900))
    ),
    "one name": "CREATE TABLE t AS SELECT {} FROM s".format(", ".join(["x"] * 10_000)),
    "operators": f"CREATE TABLE t AS SELECT {' + '.join(['a'] * 8_000)} AS k FROM s",
    "conditions": f"CREATE TABLE t AS SELECT a FROM s WHERE {' OR '.join(f'i = {n}' for n in range(2_000))}",
    "unions": f"CREATE TABLE t AS {' UNION ALL '.join(f'SELECT a FROM s{n}' for n in range(1_000))}",
    "queries": "CREATE TABLE t AS WITH c0 AS (SELECT a FROM s), {} SELECT * FROM c400".format(
        ", ".join(
            f"c{n} AS (SELECT x.a + 1 AS a FROM c{n - 1} x JOIN c{n - 1} y ON x.a = y.a)"
            for n in range(1, 401)
        )
    ),
    "rows": f"INSERT INTO orders VALUES {', '.join(f'({n}, 2, 3, 4, 5)' for n in range(1_500))}",
    "statements": ";".join(f"CREATE TABLE t{n} AS SELECT a FROM s{n}" for n in range(500)),
    "tables": f"CREATE TABLE t AS SELECT a FROM {', '.join(f's{n}' for n in range(2_000))}",
    "joins": "CREATE TABLE t AS SELECT s0.a FROM s0 {}".format(
        " ".join(f"JOIN s{n} USING (k)" for n in range(1, 1_000))
    ),
    "broken": "INSERT INTO ((;" * 1_500 + "CREATE TABLE t AS SELECT a FROM s",
    "blocks": "BEGIN " * 3_000 + "CREATE TABLE t AS SELECT a FROM s;" + "END; " * 3_000,
    "procedures": "CREATE PROCEDURE p() BEGIN INSERT INTO t (a) SELECT a FROM s; CALL p(); END; CALL p(); "
    * 200,
    "nested procedures": "CREATE PROCEDURE p() BEGIN " * 1_000,
    "brackets": "(" * 30_000,
    "quotes": "'" * 29_999,
    "comments": "/*" * 15_000,
}


LONG_TSQL = {
    "conditions": "IF 1 = 1 " * 2_000 + "SELECT a INTO t FROM s",
    "batches": "SELECT a INTO t FROM s\nGO\n" * 500,
    "statements": "INSERT INTO t (a) SELECT a FROM s " * 500,
    "procedures": "CREATE PROC p AS " * 1_500,
    "procedures in batches": "CREATE PROC p AS SELECT a INTO t FROM s\nGO\n" * 500,
}


@pytest.mark.parametrize("name", LONG_TSQL)
def test_work_without_separators_is_linear_in_the_length(name: str) -> None:
    calls = count_calls(lambda: check(LONG_TSQL[name], "tsql", SCHEMA))
    assert calls < 1_000_000 * max(len(LONG_TSQL[name]) / 20_000, 1)


WIDE = {
    "columns": "CREATE TABLE t AS SELECT {} FROM s",
    "fields of a struct": "CREATE TABLE t AS SELECT {} FROM s LATERAL VIEW explode(xs) x AS p",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WIDE)
def test_the_time_is_linear_in_the_columns(name: str) -> None:
    """Measured, since a table that is copied for each of its columns is one call each."""

    def measure_s(number: int) -> float:
        prefix = "p." if "struct" in name else ""
        text = WIDE[name].format(", ".join(f"{prefix}a{n} AS b{n}" for n in range(number)))
        start_s = time.process_time()
        check(text, "spark", {"s": [f"{prefix.replace('.', '/')}a{n}" for n in range(number)]})
        return time.process_time() - start_s

    measure_s(10)
    # Eight times the columns; a square would be 64, each time. What else the machine does may disturb some.
    assert any(measure_s(8_000) < 24 * max(measure_s(1_000), 0.05) for _ in range(5))


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_work_is_linear_in_the_length(name: str) -> None:
    """A million calls per 20 kB are above the usual number and far below a quadratic one."""
    calls = count_calls(lambda: check(LONG[name], "spark", SCHEMA))
    assert calls < 1_000_000 * max(len(LONG[name]) / 20_000, 1)


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("duckdb", "CREATE TABLE t AS PIVOT orders ON day USING sum(amount)"),
        ("oracle", "DECLARE CURSOR c IS SELECT id FROM s; v INT := 1; BEGIN FETCH c INTO v; END;"),
        ("redshift", "MERGE INTO t USING s ON t.id = s.id REMOVE DUPLICATES"),
        ("snowflake", "CREATE STREAM IF NOT EXISTS t ON EXTERNAL TABLE a.b.s APPEND_ONLY = TRUE"),
        ("snowflake", "ALTER VIEW v AS SELECT id FROM s"),
        ("tsql", "INSERT INTO t (a) OUTPUT inserted.a INTO @x (a) SELECT a FROM s"),
        ("tsql", "DELETE FROM t OUTPUT deleted.a INTO a.b.x WHERE id IN (SELECT id FROM s)"),
    ],
)
def test_rewritten_statements_may_end_anywhere(dialect: str, text: str) -> None:
    words = _WORD.findall(text)
    for count in range(1, len(words) + 1):
        check(" ".join(words[:count]), dialect, SCHEMA)
        check(" ".join([*words[: count - 1], *words[count:]]), dialect, SCHEMA)
