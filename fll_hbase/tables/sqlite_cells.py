"""Statements on the cells of a SQLite file, in which long values have a table of their own.

A search compares keys. If a value beside a key is so long that it continues on further pages, SQLite reads
all of it only to compare its key: decision 0120.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, TypeAlias

from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.tables.base import Cell, CellKey, Columns, Row, Scan
from fll_hbase.tables.sqlite_connection import Connection

VERSIONS = 1, 2, 3
"""Versions of the schema. From version 2 on pages have checksums, from version 3 on long values a table."""

LONG_VALUES_VERSION = VERSIONS[2]
LONG_BYTES = 800
"""Length from which a value is long. A quarter of a page has room for a shorter one with its key."""

# Below SQLite's limit of 999 parameters, leaving room for columns.
KEYS_PER_QUERY = 250

SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS cells (
    row BLOB NOT NULL, column BLOB NOT NULL, value BLOB NOT NULL, stamp INTEGER NOT NULL,
    PRIMARY KEY (row, column)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS long_values (id INTEGER PRIMARY KEY, value BLOB NOT NULL);
CREATE TRIGGER IF NOT EXISTS deleted AFTER DELETE ON cells WHEN typeof(old.value) = 'integer'
BEGIN DELETE FROM long_values WHERE id = old.value; END;
CREATE TRIGGER IF NOT EXISTS replaced AFTER UPDATE OF value ON cells
WHEN typeof(old.value) = 'integer' AND new.value IS NOT old.value
BEGIN DELETE FROM long_values WHERE id = old.value; END;
PRAGMA user_version = {VERSIONS[-1]};
COMMIT;
"""
_VALUE = """
CASE typeof(value) WHEN 'integer'
THEN (SELECT long.value FROM long_values AS long WHERE long.id = cells.value) ELSE value END
"""
_SELECT = "SELECT row, column, {value}, stamp FROM cells"
_PUT = """
INSERT INTO cells (row, column, value, stamp) VALUES (?, ?, {value}, ?)
ON CONFLICT (row, column) DO UPDATE SET value = excluded.value, stamp = excluded.stamp
"""
_PUT_SHORT = _PUT.format(value="?")
_PUT_LONG = f"INSERT INTO long_values (value) VALUES (?); {_PUT.format(value='last_insert_rowid()')}"
_DELETE = "DELETE FROM cells WHERE row = ? AND column = ? AND stamp <= ?"

DELETE_LOST = """
DELETE FROM cells WHERE typeof(value) = 'integer' AND value NOT IN (SELECT id FROM long_values)
"""
"""The statement that deletes cells without their long value, which only damage leaves."""

StampedCell: TypeAlias = tuple[bytes, bytes, bytes, int]
"""Row, column, value, and time in milliseconds since 1970."""

# Bypass the Python-level constructor of a named tuple, which takes a tenth of the time of a read.
_cell: Callable[[tuple[bytes, int]], Cell] = partial(tuple.__new__, Cell)


class CellStatements:
    """Reads and changes the cells of a file of one version of the schema. Threads may share it."""

    def __init__(self, version: int) -> None:
        self._has_long_values = version >= LONG_VALUES_VERSION
        self._select = _SELECT.format(value=_VALUE if self._has_long_values else "value")

    def rows(self, connection: Connection, keys: Sequence[bytes], columns: Columns) -> dict[bytes, Row]:
        """Return the existing rows among the keys, each with the selected columns. Raises CorruptRow."""
        where, parameters = _column_condition(tuple(columns))
        rows: dict[bytes, Row] = {}
        for begin in range(0, len(keys), KEYS_PER_QUERY):
            deadline.check()
            chunk = keys[begin : begin + KEYS_PER_QUERY]
            query = f"{self._select} WHERE row IN ({_placeholders(chunk)}){where}"
            cells: Any = connection.execute(query, (*chunk, *parameters)).fetchall()
            for row, column, value, stamp in cells:
                if value is None:
                    raise _missing(row, column)
                rows.setdefault(row, {})[column] = _cell((value, stamp))
        return rows

    def range(
        self, connection: Connection, bounds: tuple[bytes, bytes], columns: Columns, limit: int
    ) -> list[tuple[bytes, Row]]:
        """Return at most `limit` rows from start (included) to stop (excluded), in key order.

        Raises CorruptRow.
        """
        where, parameters = _column_condition(tuple(columns))
        query = f"{self._select} WHERE row >= ? AND row < ?{where} ORDER BY row, column"
        # A row has only one cell of one column, so skip grouping, which takes a fifth of a window query.
        if len(columns) == 1 and not _families(columns):
            single: Any = connection.execute(f"{query} LIMIT ?", (*bounds, *parameters, limit)).fetchall()
            for row, column, value, _ in single:
                if value is None:
                    raise _missing(row, column)
            return [(row, {column: _cell((value, stamp))}) for row, column, value, stamp in single]
        cursor: Any = connection.execute(query, (*bounds, *parameters))
        rows: list[tuple[bytes, Row]] = []
        last: bytes | None = None
        cells: Row = {}
        try:
            for row, column, value, stamp in cursor:
                if value is None:
                    raise _missing(row, column)
                if row != last:
                    if len(rows) == limit:
                        break
                    last, cells = row, {}
                    rows.append((row, cells))
                cells[column] = _cell((value, stamp))
            return rows
        finally:
            cursor.close()

    def scan(self, connection: Connection, scan: Scan) -> list[tuple[bytes, Row]]:
        """Return all rows of a scan. Raises DeadlineExceeded and CorruptRow."""
        deadline.check()
        limit = sys.maxsize if scan.limit is None else scan.limit
        return self.range(connection, (scan.start, scan.stop), scan.columns, limit)

    def put(self, connection: Connection, puts: Sequence[StampedCell]) -> None:
        """Put cells with their timestamps, each cell once."""
        if not self._has_long_values:
            connection.executemany(_PUT_SHORT, puts)
            return
        connection.executemany(_PUT_SHORT, [put for put in puts if len(put[2]) < LONG_BYTES])
        long = [put for put in puts if len(put[2]) >= LONG_BYTES]
        connection.executemany(_PUT_LONG, [(value, row, column, stamp) for row, column, value, stamp in long])

    @staticmethod
    def delete(connection: Connection, cells: Sequence[CellKey], until_ms: int) -> None:
        """Delete the cells that were put at `until_ms` or earlier."""
        connection.executemany(_DELETE, [(*cell, until_ms) for cell in cells])


def _missing(row: bytes, column: bytes) -> CorruptRow:
    """Return the error for a cell without its long value."""
    return CorruptRow(f"the value of column {column!r} in row {row!r} is missing")


@lru_cache(maxsize=256)
def _column_condition(columns: tuple[bytes, ...]) -> tuple[str, tuple[bytes, ...]]:
    """Return the SQL condition on columns, and its parameters; `;` is the byte after a family's `:`."""
    if not columns:
        return "", ()
    families = _families(columns)
    names = [column for column in columns if column not in families]
    conditions = [f"column IN ({_placeholders(names)})"] if names else []
    conditions += ["column >= ? AND column < ?"] * len(families)
    parameters = (*names, *(bound for family in families for bound in (family, family[:-1] + b";")))
    return f" AND ({' OR '.join(conditions)})", parameters


def _families(columns: Columns) -> list[bytes]:
    """Return the columns that select a whole family: their first `:` is at the end."""
    return [column for column in columns if column.find(b":") == len(column) - 1]


def _placeholders(values: Sequence[bytes]) -> str:
    """Return a `?` for each value, separated by commas."""
    return ",".join("?" * len(values))
