"""Broken statements of a script: they are left out and reported, and change nothing of the others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.operations import Operation
from fll_hbase.runtime.errors import TooLarge, UnreadableDocument
from fll_hbase.sources import sql
from fll_hbase.sources.sql.names.table_schemas import TableSchemas
from fll_hbase.sources.sql.parser import BrokenStatement, parse_script
from fll_hbase.sources.sql.queries.column_provenance import ColumnSet, QueryResult
from fll_hbase.sources.sql.script.script_state import ScriptState
from fll_hbase.sources.sql.statements.variables import forget_tables
from tests.support import sql_readings
from tests.support.work import count_calls

SCHEMA = {"s": ["id", "a", "b"], "t": ["id", "x"], "u": ["id", "y"]}

STATEMENTS = (
    "CREATE TABLE o1 AS SELECT id, a + b AS c FROM s WHERE a > 1",
    "INSERT INTO t SELECT id, max(a) FROM s GROUP BY id",
    "CREATE TEMP VIEW v AS SELECT id, b FROM s",
    "INSERT INTO u SELECT id, b FROM v",
    "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET x = s.b",
    "UPDATE u SET y = 1 WHERE id IN (SELECT id FROM t)",
    "DELETE FROM t WHERE x = 0",
    "ALTER TABLE t RENAME TO t2",
)

BROKEN = (
    "SELECT FROM WHERE",
    "INSERT INTO t SELECT ((id FROM s",
    "CREATE TABLE o2 AS SELECT id FROM s JOIN",
    "INSERT INTO o3 VALUES (1, ",
    "CREATE TABLE `` AS SELECT id FROM s",
    f"CREATE TABLE {'x' * 5_000} AS SELECT id FROM s",
    f"CREATE TABLE o4 AS SELECT {'UPPER(' * 1_100}a{')' * 1_100} AS k FROM s",
    "BLAH BLAH",
    "LOAD DATA INPATH INTO TABLE t",
    "CREATE PROCEDURE",
    ") ) )",
)


def read(statements: list[str]) -> sql.ScriptReading:
    run = {"application": "a", "type": "sql", "program": "p", "run": "r", "startTime": 10**12}
    document: dict[str, Any] = {"run": run, "sql": ";\n".join(statements), "schema": SCHEMA}
    return sql.read_document(document, namespace="ns", columns=lambda _: None)


def operations(statements: list[str]) -> tuple[Operation, ...]:
    return tuple(read(statements).operations.info.operations)


@given(
    st.lists(st.sampled_from(STATEMENTS[:4]), min_size=1, max_size=3),
    st.lists(st.sampled_from(STATEMENTS), max_size=4),
    st.sampled_from(BROKEN),
)
def test_the_others_are_as_without_it(first: list[str], following: list[str], broken: str) -> None:
    # A temporary view alone writes nothing.
    valid = ["CREATE TABLE o AS SELECT id FROM s", *first]
    reading = read([*valid, broken, *following])
    assert tuple(reading.operations.info.operations) == operations([*valid, *following])
    assert any("is left out" in warning.detail for warning in reading.warnings)


@pytest.mark.parametrize("broken", BROKEN)
def test_a_script_of_broken_statements_is_refused_with_each(broken: str) -> None:
    with pytest.raises(UnreadableDocument) as caught:
        read([broken, "SELECT 1", broken])
    errors = [error.detail for error in caught.value.errors]
    assert all("left out" not in error for error in errors)
    assert len(errors) >= 1


def test_a_warning_has_the_position() -> None:
    (warning,) = read(["CREATE TABLE o AS SELECT id FROM s", "CREATE TABLE q AS\nSELECT (a FROM s"]).warnings
    assert str(warning) == "sql: statement 2 is left out: line 3 column 11, near 'FROM': Expecting )"


LEFT_OUT = {
    "bigquery": (
        "CREATE TABLE o AS FROM s |> SET a = b",
        "LOAD DATA INTO o FROM FILES (format = 'CSV', uris = ['gs://b/p.csv'])",
        "EXECUTE IMMEDIATE 'INSERT INTO o (k) SELECT @x' USING (SELECT max(a) FROM s) AS x",
    ),
    "clickhouse": ("INSERT INTO FUNCTION s3('https://h/o.csv', 'CSV') SELECT a FROM s",),
    "databricks": (
        "CREATE TABLE o (k INT, CONSTRAINT c EXPECT (k > 1) ON VIOLATION DROP ROW) AS SELECT k FROM s",
    ),
    "mysql": ("LOAD DATA INFILE '/in/s.csv' INTO TABLE o",),
    "oracle": (
        "CREATE SYNONYM o FOR s",
        "EXECUTE IMMEDIATE 'INSERT INTO o (k) SELECT :1 FROM s' USING x",
        "INSERT INTO o (k) SELECT a FROM &own..s",
        "INSERT INTO o (k) SELECT a FROM s LOG ERRORS INTO e REJECT LIMIT 1",
    ),
    "redshift": ("MERGE INTO o USING s ON o.id = s.id REMOVE DUPLICATES",),
    "snowflake": ("CREATE STREAM o ON TABLE s",),
    "trino": ("CREATE MATERIALIZED VIEW o GRACE PERIOD INTERVAL '1' HOUR AS SELECT a FROM s",),
    "tsql": (
        "INSERT INTO o (k) SELECT r.a FROM OPENROWSET(BULK 'in/x.csv', FORMAT = 'CSV') AS r",
        "CREATE SYNONYM o FOR s",
        "INSERT INTO $(db).dbo.o (k) SELECT a FROM s",
    ),
}
"""Statements that are not read; no user has reported one."""

HIDDEN = [
    ("clickhouse", "CREATE TABLE o AS SELECT a FROM url('https://h/y.csv', 'CSV', 'a Int32')"),
    ("clickhouse", "CREATE TABLE o AS SELECT COLUMNS('a.*') APPLY(sum) FROM s"),
    ("duckdb", "CREATE TABLE o AS SELECT COLUMNS('a.*') FROM s"),
    ("duckdb", "CREATE TABLE o AS SELECT max(COLUMNS(*)) FROM s"),
    ("duckdb", "CREATE TABLE o AS SELECT * LIKE 'a%' FROM s"),
    ("duckdb", "CREATE TABLE o AS SELECT coalesce(*COLUMNS('a.*')) AS k FROM s"),
    ("oracle", "BEGIN SELECT * BULK COLLECT INTO l FROM s; INSERT INTO o (k) SELECT b FROM TABLE(l); END;"),
    ("oracle", "DECLARE r s%ROWTYPE; BEGIN SELECT a, b INTO r FROM s; INSERT INTO o VALUES r; END;"),
    ("oracle", "DECLARE r s%ROWTYPE; BEGIN SELECT a, b INTO r FROM s; UPDATE o SET ROW = r; END;"),
    ("hive", "SET hivevar:x = a; INSERT INTO o (k) SELECT ${x} FROM s"),
    ("snowflake", "CREATE TABLE o AS SELECT * ILIKE 'a%' FROM s"),
    (
        "snowflake",
        "CREATE TABLE o AS SELECT a FROM s MATCH_RECOGNIZE (MEASURES b AS a PATTERN (x) DEFINE x AS b > 1)",
    ),
]
"""Statements with columns whose inputs are not known."""


@pytest.mark.parametrize(("dialect", "text"), [(name, text) for name in LEFT_OUT for text in LEFT_OUT[name]])
def test_what_is_not_read_is_reported(dialect: str, text: str) -> None:
    with pytest.raises(
        UnreadableDocument,
        match=r"SQL|line 1|it writes|must not be empty|s3\(\) writes|has a variable",
    ):
        sql_readings.read(text, dialect=dialect, schema=SCHEMA)


@pytest.mark.parametrize(("dialect", "text"), HIDDEN)
def test_a_column_with_unknown_inputs_is_neither_generated_nor_guessed(dialect: str, text: str) -> None:
    reading = sql_readings.read(text, dialect=dialect, schema=SCHEMA)
    assert sql_readings.direct(reading) == {}


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("tsql", "CREATE VIEW v WITH SCHEMABINDING"),
        ("tsql", "EXEC sp_rename '', ''"),
        ("spark", "CREATE FUNCTION f() FROM AS"),
        ("hive", "ALTER TABLE x. SWITCH TO y"),
        ("clickhouse", "CREATE TABLE p AS SELECT dictGet('d..', 'b', c) AS k FROM s"),
    ],
)
def test_a_statement_that_lacks_its_end_costs_no_other(dialect: str, text: str) -> None:
    reading = sql_readings.read(f"INSERT INTO o (k) SELECT a FROM s; {text}", dialect=dialect)
    assert sql_readings.direct(reading) == {"o.k": {"s.a"}}


class TestTablesOfTheScript:
    """Views and temporary tables that a left-out statement may change."""

    VIEW = "CREATE TEMP VIEW v AS SELECT a AS k, 1 AS l FROM s WHERE b > 0"
    READ = "INSERT INTO o (k, l) SELECT k, l FROM v"

    @pytest.mark.parametrize(
        "text",
        [
            "CREATE OR REPLACE TEMP VIEW v AS SELECT (x AS k FROM t",
            "CREATE OR REPLACE TEMP VIEW IF NOT EXISTS v BLAH BLAH",
            "CREATE OR REPLACE TEMP VIEW v AS SELECT dictGet('d..', 'b', x) AS k FROM t",
            "DROP VIEW v ((",
            "ALTER VIEW v RENAME TO ((",
        ],
    )
    def test_a_view_that_is_replaced_is_unknown(self, text: str) -> None:
        reading = sql_readings.read(f"{self.VIEW}; {text}; INSERT INTO p (k) SELECT c FROM u; {self.READ}")
        assert sql_readings.direct(reading) == {"p.k": {"u.c"}}
        assert {source.name for source in reading.operations.info.sources} == {"u"}
        assert "statement 2" in sql_readings.warnings(reading)

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("INSERT INTO v SELECT (x FROM t", {"o.k": {"s.a"}}),
            ("MERGE INTO db.v USING t ON (", {"o.k": {"s.a"}}),
            ("INSERT INTO w SELECT (x FROM v", {"o.k": {"s.a"}, "o.l": set()}),
            ("ALTER TABLE v ADD CONSTRAINT ((", {"o.k": {"s.a"}, "o.l": set()}),
        ],
    )
    def test_a_changed_view_keeps_its_inputs(self, text: str, expected: sql_readings.Edges) -> None:
        reading = sql_readings.read(f"{self.VIEW}; {text}; {self.READ}")
        assert sql_readings.direct(reading) == expected

    @pytest.mark.parametrize(
        ("dialect", "table", "text"),
        [
            ("tsql", "#v", "INSERT #v SELECT r.a FROM OPENROWSET(BULK 'in/x.csv', FORMAT = 'CSV') AS r"),
            ("tsql", "@v", "INSERT INTO @v EXEC dbo.p"),
            ("tsql", "#v", "INSERT INTO #v SELECT * FROM far"),
            ("postgres", "v", "COPY v FROM '/in/x.csv'"),
            ("hive", "v", "LOAD DATA INPATH '/in/x' INTO TABLE v"),
            ("clickhouse", "v", "INSERT INTO v FORMAT CSV"),
        ],
    )
    def test_rows_of_an_unknown_source_are_not_generated(self, dialect: str, table: str, text: str) -> None:
        create = f"DECLARE {table} TABLE" if table == "@v" else f"CREATE TEMPORARY TABLE {table}"
        script = f"{create} (k INT); {text}; INSERT INTO o (k) SELECT k FROM {table}"
        assert sql_readings.direct(sql_readings.read(script, dialect=dialect)) == {}

    def test_an_insert_keeps_the_unlisted_columns(self) -> None:
        text = "SELECT * INTO #v FROM far; INSERT INTO #v (k) SELECT a FROM s"
        reading = sql_readings.read(f"{text}; INSERT INTO o SELECT k, l FROM #v", dialect="tsql")
        assert sql_readings.direct(reading) == {"o.k": {"far.k", "s.a"}, "o.l": {"far.l"}}


def test_variables_of_a_client_are_not_replaced() -> None:
    for dialect, name in {"spark": "${db}", "postgres": ":db"}.items():
        reading = sql_readings.read(f"INSERT INTO {name}.o (k) SELECT a FROM s", dialect=dialect)
        assert "contains an unset variable" in sql_readings.warnings(reading)


class TestProcedures:
    """Statements of a procedure are read where it is called, with the state of the script there."""

    def test_calls_see_what_is_in_front_of_them(self) -> None:
        procedure = "CREATE PROCEDURE p() BEGIN INSERT INTO o (k) SELECT k FROM v; END"
        text = [procedure, "CREATE TEMP VIEW v AS SELECT a AS k FROM s", "CALL p()"]
        sources = read(text).operations.info.sources
        assert [dataset.name for dataset in sources] == ["s"]

    def test_a_procedure_that_calls_itself_or_others(self) -> None:
        text = [
            "CREATE PROCEDURE p() BEGIN INSERT INTO o (k) SELECT id FROM s; CALL q(); CALL p(); END",
            "CREATE PROCEDURE q() BEGIN INSERT INTO o2 (k) SELECT id FROM t; CALL p(); END",
            "CALL p()",
            "CALL other()",
        ]
        reading = read(text)
        assert [dataset.name for dataset in reading.operations.info.destinations] == ["o", "o2"]
        assert [warning.detail for warning in reading.warnings] == [
            "statement 4 (CALL) is left out: the tables and columns that it writes are unknown"
        ]

    def test_parameters_and_variables_are_not_columns(self) -> None:
        text = [
            "CREATE PROCEDURE p(IN low INT) BEGIN DECLARE high INT; "
            "INSERT INTO o (k) SELECT k + high FROM far WHERE k > low; END",
            "CALL p(1)",
        ]
        (source,) = (item for item in operations(text) if item.name == "read far")
        assert [field.name for field in source.outputs] == ["k"]  # type: ignore[union-attr]

    def test_the_number_of_a_loop_is_no_column(self) -> None:
        reading = sql_readings.read(
            "BEGIN FOR i IN 1 .. 9 LOOP UPDATE o SET k = i; END LOOP; END;", dialect="oracle"
        )
        assert sql_readings.direct(reading) == {"O.K": set()}

    def test_blocks_and_conditions(self) -> None:
        text = """BEGIN
            IF 1 > 0 THEN INSERT INTO o (k) SELECT id FROM s; ELSE INSERT INTO o (k) SELECT id FROM t; END IF;
            WHILE x < 3 DO INSERT INTO o (k) SELECT id FROM u; END WHILE;
        END"""
        sources = read([text]).operations.info.sources
        assert [dataset.name for dataset in sources] == ["s", "t", "u"]

    def test_deeply_nested_procedures_are_refused(self) -> None:
        with pytest.raises(TooLarge):
            read(["CREATE PROCEDURE p() BEGIN " * 5_000])


class TestUnclosed:
    """A quote, bracket or comment that is never closed costs its own statement."""

    FIRST, LAST = "INSERT INTO o (k) SELECT id FROM s", "INSERT INTO o2 (k) SELECT id FROM t"

    @pytest.mark.parametrize(
        "broken",
        [
            "INSERT INTO u SELECT 'x, id FROM s",
            'INSERT INTO u SELECT "x, id FROM s',
            "INSERT INTO u SELECT `x, id FROM s",
            "INSERT INTO u SELECT id /* all of them FROM s",
            "/* nightly\nINSERT INTO u SELECT id, a FROM s",
            "INSERT INTO u SELECT (id FROM s",
            "INSERT INTO u SELECT a[1 FROM s",
        ],
    )
    @pytest.mark.parametrize("line_end", ["\n", "\r\n", " -- see below\n"])
    def test_the_others_are_as_without_it(self, broken: str, line_end: str) -> None:
        expected = operations([self.FIRST, self.LAST])
        script = f";{line_end}".join((self.FIRST, broken, self.LAST, ""))
        reading = read([script])
        assert tuple(reading.operations.info.operations) == expected
        (warning,) = reading.warnings
        assert "statement 2 is left out: line 2" in warning.detail
        # At the end of a script nothing shows where it ends.
        assert tuple(read([self.FIRST, self.LAST, broken]).operations.info.operations) == expected

    def test_a_statement_on_the_same_line_is_read(self) -> None:
        script = f"{self.FIRST}; INSERT INTO u SELECT 'x;\n{self.LAST}"
        assert tuple(read([script]).operations.info.operations) == operations([self.FIRST, self.LAST])

    def test_the_body_of_a_procedure_is_a_string(self) -> None:
        body = "CREATE PROCEDURE p() AS '\nINSERT INTO o2 (k) SELECT id FROM t;\nDELETE FROM u;\n'"
        reading = read([self.FIRST, "INSERT INTO u SELECT 'x", body, "CALL p()"])
        assert tuple(reading.operations.info.operations) == operations([self.FIRST, self.LAST])
        assert len(reading.warnings) == 1

    def test_two_open_quotes_are_reported(self) -> None:
        reading = read([self.FIRST, "INSERT INTO u SELECT 'x", "INSERT INTO u SELECT 'y FROM s"])
        assert "a quoted text has a statement in it" in str(reading.warnings[0])

    def test_lines_of_the_text_are_reported(self) -> None:
        script = f"-- head\n\n{self.FIRST};\n\nINSERT INTO u\nSELECT 'x\nFROM s;\n{self.LAST}"
        (warning,) = read([script]).warnings
        detail = "statement 2 is left out: line 5: a quote or comment is not closed; left out up to line 7"
        assert warning.detail == detail

    def test_the_time_is_linear(self) -> None:
        calls = [
            count_calls(lambda number=number: read(["INSERT INTO u SELECT 'x", self.LAST] * number))
            for number in (20, 200)
        ]
        assert calls[1] < 13 * calls[0]


def test_forgetting_a_wide_table_is_linear() -> None:
    def wide_and_broken(count: int) -> list[str]:
        names = ", ".join(f"a AS c{number}" for number in range(count))
        wide = f"CREATE TEMP TABLE v AS SELECT {names} FROM s"
        return [wide, *["INSERT INTO v (("] * count, "INSERT INTO u (y) SELECT c1 FROM v"]

    calls = [count_calls(lambda number=number: read(wide_and_broken(number))) for number in (40, 160)]
    assert calls[1] < 5 * calls[0]


def test_forgetting_looks_at_the_named_tables_alone() -> None:
    script = parse_script("SELECT 1; INSERT INTO v1 ((", "spark")
    _, item = script.statements
    assert isinstance(item, BrokenStatement)
    calls = []
    for count in (10, 1_000):
        state = ScriptState(script, TableSchemas("n", {}, lambda _: None))
        for number in range(count):
            state.views[Dataset("n", f"v{number}")] = QueryResult(ColumnSet(()))
        calls.append(count_calls(lambda state=state: forget_tables(state, item.tokens)))
        assert not state.views[Dataset("n", "v1")].columns.is_complete
        assert state.views[Dataset("n", "v2")].columns.is_complete
    assert calls[0] == calls[1]


@pytest.mark.parametrize(
    "nested",
    [
        "a AS (INSERT INTO t1 (id) SELECT s.id FROM s RETURNING id),"
        " b AS (INSERT INTO t2 DEFAULT VALUES RETURNING id)",
        "b AS (WITH a AS (INSERT INTO t1 (id) SELECT s.id FROM s RETURNING id)"
        " INSERT INTO t2 DEFAULT VALUES RETURNING id)",
    ],
)
def test_a_nested_statement_without_rows_returns_nothing_of_the_one_before(nested: str) -> None:
    text = f"WITH {nested} INSERT INTO t3 (id) SELECT id FROM b"
    reading = sql_readings.read(text, dialect="postgres", schema=SCHEMA)
    assert sql_readings.direct(reading) == {"t1.id": {"s.id"}}
    assert "column 'id': unknown in 'b'" in sql_readings.warnings(reading)
