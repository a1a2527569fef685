"""A statement of other tables does not change what is read of the statements of a script."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fll_hbase.model.operations import Operation, Read, Write, inputs_of
from fll_hbase.runtime.errors import InputError
from tests.engines.random_queries import DUCKDB, POSTGRES, SPARK, SQLITE, Engine, queries
from tests.support import golden_cases, golden_sql, profiles, sql_readings

OTHERS = (
    "INSERT INTO other_a SELECT x, y FROM other_b",
    "INSERT INTO other_a (x, y) SELECT r.id, s.amount FROM other_b AS r JOIN other_c AS s ON r.id = s.id",
    "CREATE TABLE other_a AS SELECT other_r.*, amount AS id FROM other_b AS other_r WHERE day > 1",
    "CREATE VIEW other_a AS WITH s AS (SELECT id, k FROM other_b) SELECT * FROM s",
    "CREATE TEMPORARY TABLE other_a AS SELECT id FROM other_b",
    "MERGE INTO other_a AS t USING other_b AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET k = s.k"
    " WHEN NOT MATCHED THEN INSERT (id, k) VALUES (s.id, s.k)",
    "UPDATE other_a SET amount = id + 1 WHERE id IN (SELECT id FROM other_b)",
    "DELETE FROM other_a WHERE id IN (SELECT id FROM other_b)",
    "INSERT INTO other_a SELECT other_f.x FROM other_function(1) AS other_f",
    "INSERT INTO other_a SELECT nothing.x FROM other_b",
    "INSERT INTO other_a SELECT 'it''s; INSERT INTO t SELECT 1' FROM other_b",
    "COPY INTO other_a FROM '/other/files'",
    "LOAD DATA INPATH '/other/files' INTO TABLE other_a",
    "CREATE TABLE other_a (id INT, k INT GENERATED ALWAYS AS (id + 1))",
    "DROP TABLE other_a",
    "ALTER TABLE other_a RENAME TO other_b",
    "GRANT SELECT ON other_a TO other_user",
    "INSERT INTO other_a SELEC id FROM other_b",
    "CREATE TABLE other_a AS SELECT id FROM (SELECT id FROM other_b",
    "INSERT INTO other_a SELECT '{{ other }}' FROM {{ other_b }}",
    "CALL other_procedure(1)",
    "EXECUTE IMMEDIATE 'INSERT INTO other_a SELECT id FROM other_b'",
)
"""Statements of any dialect; one that has no such statement leaves it out."""

ROUTINES = (
    "CREATE FUNCTION other_f(x INT) RETURN INT AS LANGUAGE JAVA NAME 'other.F'",
    "CREATE PROCEDURE other_p() BEGIN INSERT INTO other_a SELECT id FROM other_b; END",
)
"""Not in T-SQL, where they end with their batch."""

CURSOR = "DECLARE other_c CURSOR FOR SELECT id FROM other_b"
"""Not in Oracle, where DECLARE begins a block."""

GOLDEN_EXCEPTIONS = {"snowflake_functions_of_tables": "RESULT_SCAN is the statement in front of its own"}

_STATEMENT = re.compile(r";[ \t]*\n")
_DECLARATIONS = re.compile(r"\b(DECLARE|[AI]S\s*\n)(?!.*\bBEGIN\b)", re.DOTALL | re.IGNORECASE)
_POSITION = re.compile(r"\b(statement|line|column) \d+")
_DIALECTS = re.compile(r" \(read as .*\)")


@dataclass(frozen=True)
class Lineage:
    """Readings of a script without its other tables: operations, unknown origins of WRITEs, warnings."""

    operations: tuple[Operation, ...] = ()
    unknown: tuple[tuple[str, frozenset[str]], ...] = ()
    warnings: Counter[str] | None = None


def read(document: dict[str, Any]) -> Lineage:
    """Read a script; one without a write has no operations."""
    try:
        reading = golden_sql.read(document)
    except InputError:
        return Lineage()
    operations = reading.operations.info.operations
    writes = [operation for operation in operations if isinstance(operation, Write)]
    listed = [operation for operation in operations if "other" not in operation.name.lower()]
    unknown = tuple((write.name, _unknown(write, operations)) for write in writes if write in listed)
    listed = [replace(item, unknown_origins=None) if isinstance(item, Write) else item for item in listed]
    # Numbers of statements and lines change; the first statement alone names other dialects.
    warnings = (_DIALECTS.sub("", _POSITION.sub(r"\1", str(warning))) for warning in reading.warnings)
    return Lineage(tuple(listed), unknown, Counter(warnings))


def _unknown(write: Write, operations: tuple[Operation, ...]) -> frozenset[str]:
    """Return the unknown origins of a WRITE, also if no WRITE states them."""
    if any(isinstance(item, Write) and item.unknown_origins is not None for item in operations):
        return frozenset(write.unknown_origins or ())
    reads = [operation for operation in operations if isinstance(operation, Read)]
    used = {item.origin for operation in operations for item in inputs_of(operation)}
    return frozenset(
        item.name for item in reads if not write.inputs or not (item.outputs or item.name in used)
    )


def differences(given: dict[str, Any], position: int, other: str) -> list[object]:
    """Return what another statement at a position of the script changes."""
    text = given["sql"]
    earlier = read(given)
    later = read({**given, "sql": f"{text[:position]}{other};\n{text[position:]}"})
    faults: list[object] = []
    if later.operations != earlier.operations:
        faults.append((later.operations, earlier.operations))
    if later.unknown != earlier.unknown:
        faults.append((later.unknown, earlier.unknown))
    if earlier.warnings is not None and later.warnings is not None:
        faults += (earlier.warnings - later.warnings).elements()
        added = (later.warnings - earlier.warnings).elements()
        faults += [
            text for text in added if "other" not in text.lower() and not text.startswith("sql: statement")
        ]
    return faults


def others(dialect: str) -> st.SearchStrategy[str]:
    """Return a strategy of statements of other tables."""
    routines = () if dialect in ("tsql", "mssql") else ROUTINES
    cursor = () if dialect == "oracle" else (CURSOR,)
    return st.sampled_from(OTHERS + routines + cursor)


def positions(text: str) -> list[int]:
    """Return the offsets of statements that are not among the declarations of a block."""
    offsets = [0, *(match.end() for match in _STATEMENT.finditer(text))]
    return [offset for offset in offsets if not _DECLARATIONS.search(text[:offset])]


@st.composite
def scripts(draw: st.DrawFn, engine: Engine) -> str:
    """Return a script of some statements of an engine's SELECTs, with tables that several have."""
    forms: list[Callable[[str, str, str], str]] = [
        lambda first, _, query: f"CREATE TABLE {first} AS {query}",
        lambda first, _, query: f"CREATE VIEW {first} AS {query}",
        lambda first, _, query: f"CREATE TEMPORARY TABLE {first} AS {query}",
        lambda first, _, query: f"INSERT INTO {first} {query}",
        lambda first, second, _: f"INSERT INTO {first} SELECT * FROM {second}",
        lambda first, second, _: f"INSERT INTO {first} (v) SELECT {second}.v FROM {second} JOIN u USING (id)",
        lambda first, second, _: f"UPDATE {first} SET v = 1 WHERE v IN (SELECT id FROM {second})",
        lambda first, second, _: f"DELETE FROM {first} WHERE v IN (SELECT id FROM {second})",
        lambda first, second, _: (
            f"MERGE INTO {first} USING {second} AS m ON {first}.id = m.id"
            " WHEN MATCHED THEN UPDATE SET v = m.v"
        ),
        lambda first, second, _: f"ALTER TABLE {first} RENAME TO {second}",
        lambda first, _, __: f"INSERT INTO {first} SELECT * FROM made(1)",
        lambda first, _, __: f"COPY INTO {first} FROM '/in'",
        lambda first, _, query: f"INSERT INTO {first} {query} FROM",
        lambda first, _, __: f"DROP TABLE {first}",
    ]
    tables = st.sampled_from(["o", "p", "r", "s"])
    statements = [
        draw(st.sampled_from(forms))(draw(tables), draw(tables), draw(queries(engine)))
        for _ in range(draw(st.integers(1, 4)))
    ]
    return "".join(f"{statement};\n" for statement in statements)


@pytest.mark.parametrize("engine", [POSTGRES, DUCKDB, SQLITE, SPARK], ids=lambda engine: engine.dialect)
def test_random_scripts(engine: Engine) -> None:
    schema = {name: list(columns) for name, columns in engine.tables().items()}

    @settings(suppress_health_check=list(HealthCheck))
    @given(scripts(engine), others(engine.dialect), st.data())
    def holds(text: str, other: str, data: st.DataObject) -> None:
        document = sql_readings.document(text, dialect=engine.dialect, schema=schema)
        assert differences(document, data.draw(st.sampled_from(positions(text))), other) == []

    holds()


def test_golden_scripts() -> None:
    cases = [case for case in golden_cases.read_cases("sql") if case.name not in GOLDEN_EXCEPTIONS]
    documents = [golden_sql.document(case) for case in cases]

    @settings(max_examples=profiles.QUERIES * 4, suppress_health_check=list(HealthCheck))
    @given(
        st.sampled_from([document for document in documents if isinstance(document["sql"], str)]), st.data()
    )
    def holds(document: dict[str, Any], data: st.DataObject) -> None:
        position = data.draw(st.sampled_from(positions(document["sql"])))
        other = data.draw(others(str(document.get("dialect", ""))))
        assert differences(document, position, other) == []

    holds()
