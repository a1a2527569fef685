"""Engines with the tables of the random queries."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import duckdb
import psycopg
from pyspark.sql import SparkSession

from tests.engines import random_queries
from tests.engines.changed_columns import Row, literal
from tests.engines.random_queries import LIST, SPARK

REFUSED = (duckdb.Error, psycopg.Error, sqlite3.Error)
"""Errors of a query that an engine does not take."""

TYPES = {
    table: {name: "int[]" if kind == LIST else "int" for name, kind in columns.items()}
    for table, columns in random_queries.TABLES.items()
}
"""The types of the columns of each table, in the SQL of PostgreSQL and DuckDB."""


def values(rows: Sequence[Row], head: str, tail: str) -> str:
    """Return `(…), (…)` of rows; a list is between `head` and `tail`."""
    listed = (", ".join(literal(value, lambda text: f"{head}{text}{tail}") for value in row) for row in rows)
    return ", ".join(f"({row})" for row in listed)


class Postgres:
    """PostgreSQL, where the tables exist."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def fill(self, table: str, rows: Sequence[Row]) -> None:
        self._connection.execute(f"DELETE FROM {table}".encode())
        text = values(rows, "ARRAY[", "]::int[]")
        self._connection.execute(f"INSERT INTO {table} VALUES {text}".encode())

    def query(self, text: str) -> list[Row]:
        """Return the rows; a query that is refused leaves the transaction as it was."""
        with self._connection.transaction():
            return list(self._connection.execute(text.encode()).fetchall())


class DuckDB:
    """DuckDB in memory."""

    def __init__(self) -> None:
        self._connection = duckdb.connect(config={"threads": 1})
        for table, columns in TYPES.items():
            listed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
            self._connection.execute(f"CREATE TABLE {table} ({listed})")

    def fill(self, table: str, rows: Sequence[Row]) -> None:
        self._connection.execute(f"DELETE FROM {table}")
        self._connection.execute(f"INSERT INTO {table} VALUES {values(rows, '[', ']::int[]')}")

    def query(self, text: str) -> list[Row]:
        return list(self._connection.execute(text).fetchall())

    def close(self) -> None:
        self._connection.close()


class SQLite:
    """SQLite in memory, with the columns of numbers."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:")
        for table, columns in random_queries.SQLITE.tables().items():
            self._connection.execute(f"CREATE TABLE {table} ({', '.join(columns)})")

    def fill(self, table: str, rows: Sequence[Row]) -> None:
        self._connection.execute(f"DELETE FROM {table}")
        self._connection.execute(f"INSERT INTO {table} VALUES {values(rows, '', '')}")

    def query(self, text: str) -> list[Row]:
        return list(self._connection.execute(text).fetchall())

    def close(self) -> None:
        self._connection.close()


class Spark:
    """A session of Spark; the tables are temporary views."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def fill(self, table: str, rows: Sequence[Row]) -> None:
        columns = SPARK.tables()[table]
        typed = ", ".join(
            f"CAST({name} AS {'array<int>' if kind == LIST else 'int'}) AS {name}"
            for name, kind in columns.items()
        )
        self._spark.sql(
            f"CREATE OR REPLACE TEMPORARY VIEW {table} AS SELECT {typed} "
            f"FROM VALUES {values(rows, 'array(', ')')} AS given({', '.join(columns)})"
        )

    def query(self, text: str) -> list[Row]:
        return list(self._spark.sql(text).collect())
