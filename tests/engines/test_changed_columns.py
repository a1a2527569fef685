"""A column of a result that changes when a column of a table does has an edge from it, in each engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from tests.engines import view_judge
from tests.engines.changed_columns import Contents, Database, unrecorded
from tests.engines.databases import REFUSED, TYPES, DuckDB, Postgres, Spark, SQLite
from tests.engines.random_queries import DUCKDB, POSTGRES, SPARK, SPARK_STATEMENTS, SQLITE, Engine, queries
from tests.engines.recorded_query import record
from tests.support import profiles

"""What the other engines do not have."""


def judge(database: Database, engine: Engine, examples: int, *, times: int = 3) -> None:
    """Execute random queries of an engine; the one that fails is as small as can be."""

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(queries(engine), st.integers(0, 999))
    def holds(query: str, seed: int) -> None:
        tables = engine.tables()
        contents = Contents(tables, seed, times=times)
        recorded = record(query, engine.dialect, tables)
        try:
            assert unrecorded(database, query, contents, recorded) == []
        except REFUSED:
            reject()
        assert recorded.warnings == ()

    holds()


@pytest.fixture
def duckdb() -> Iterator[DuckDB]:
    database = DuckDB()
    yield database
    database.close()


@pytest.fixture
def sqlite() -> Iterator[SQLite]:
    database = SQLite()
    yield database
    database.close()


def test_duckdb(duckdb: DuckDB) -> None:
    judge(duckdb, DUCKDB, profiles.QUERIES)


def test_sqlite(sqlite: SQLite) -> None:
    judge(sqlite, SQLITE, profiles.QUERIES)


def test_postgres(postgres: psycopg.Connection) -> None:
    with view_judge.tables(postgres, TYPES):
        judge(Postgres(postgres), POSTGRES, profiles.QUERIES)


def test_spark(spark: SparkSession) -> None:
    judge(Spark(spark), SPARK, profiles.COSTLY, times=1)


@pytest.mark.parametrize("statement", SPARK_STATEMENTS, ids=range(len(SPARK_STATEMENTS)))
def test_statement_of_spark(spark: SparkSession, statement: str) -> None:
    contents = Contents(SPARK.tables(), 1, times=1)
    recorded = record(statement, "spark", SPARK.tables())
    assert unrecorded(Spark(spark), statement, contents, recorded) == []
    assert recorded.warnings == ()


QUERY = "SELECT a.id, sum(b.w) AS total FROM r AS a JOIN s AS b ON a.k = b.k WHERE a.v > 1 GROUP BY a.id"


def test_each_edge_is_needed(sqlite: SQLite) -> None:
    """Without one of its edges, the same query fails."""
    recorded = record(QUERY, "sqlite", SQLITE.tables())
    changes = {}
    for source in recorded.all_inputs:
        fewer = replace(
            recorded,
            rows=recorded.rows - {source},
            inputs=tuple(inputs - {source} for inputs in recorded.inputs),
        )
        seeds = (Contents(SQLITE.tables(), seed) for seed in range(10))
        changes[source] = {
            change for contents in seeds for change in unrecorded(sqlite, QUERY, contents, fewer)
        }
    assert changes == {
        ("r", "id"): {"r.id changes id", "r.id changes total", "r.id changes rows"},
        ("r", "k"): {"r.k changes id", "r.k changes total"},
        ("r", "v"): {"r.v changes id", "r.v changes total"},
        ("s", "k"): {"s.k changes id", "s.k changes total"},
        ("s", "w"): {"s.w changes total"},
    }


def test_rows_that_only_meet_otherwise_are_a_change(sqlite: SQLite) -> None:
    """Each column has the same values as before, in other rows."""
    query = "SELECT r.id AS a, s.id AS b FROM r JOIN s ON r.k = s.k"
    recorded = record(query, "sqlite", SQLITE.tables())
    ignorant = replace(recorded, rows=frozenset(), inputs=(frozenset(), frozenset()))
    sqlite.fill("s", [(5, 1, 0), (6, 2, 0)])

    class Swapped(Contents):
        def fill(self, database: Database) -> None:
            database.fill("r", [(1, 1, 0), (2, 2, 0)])

        def changes(self, database: Database, query: str) -> Iterator[tuple[str, str]]:
            database.fill("r", [(1, 2, 0), (2, 1, 0)])
            yield "r", "k"

    contents = Swapped(SQLITE.tables(), 0)
    assert unrecorded(sqlite, query, contents, ignorant) == ["r.k changes rows"]
    assert unrecorded(sqlite, query, contents, recorded) == []
