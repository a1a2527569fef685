"""Statements on the cells of a SQLite file: reads, changes, and keys that split a range.

Long values have a table of their own.

A search compares keys. If a value beside a key is so long that it continues on further pages, SQLite reads
all of it only to compare its key: decision 0120.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import accumulate, pairwise, takewhile
from typing import Any, NamedTuple, TypeAlias

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
    """Reads and changes the cells of a file of one version of the schema. Threads may share it.

    All methods also raise apsw.Error. Reads raise CorruptRow for a cell without its long value.
    """

    def __init__(self, version: int) -> None:
        self._has_long_values = version >= LONG_VALUES_VERSION
        self._select = _SELECT.format(value=_VALUE if self._has_long_values else "value")

    def rows(self, connection: Connection, keys: Sequence[bytes], columns: Columns) -> dict[bytes, Row]:
        """Return existing rows by key, with the selected columns. Raises CorruptRow, DeadlineExceeded."""
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
        """Return at most `limit` rows with any of the columns from start to stop (excluded), in key order."""
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
        """Return the rows of a scan, up to its limit if any. Raises CorruptRow and DeadlineExceeded."""
        deadline.check()
        limit = sys.maxsize if scan.limit is None else scan.limit
        return self.range(connection, (scan.start, scan.stop), scan.columns, limit)

    def put(self, connection: Connection, puts: Sequence[StampedCell]) -> None:
        """Put cells with their timestamps. No cell may occur twice: long values are put last."""
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
    """Return the SQL condition on columns, beginning with AND, and its parameters; "" and () for all."""
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


COUNTED_MAX = 1_000_000
"""Maximum number of cells counted for exact parts, in a fraction of a second; a larger range is estimated."""

SECTION_CELLS = 50_000
"""Cells of a section that is not divided further; the sizes of larger sections are unknown."""

SECTIONS_PER_PART = 16

_COUNT = "SELECT count(*) FROM (SELECT 1 FROM cells WHERE row > ? AND row < ? LIMIT ?)"
_HOP = "SELECT row FROM cells WHERE row > ? AND row < ? ORDER BY row LIMIT 1 OFFSET ?"
_FIRST = "SELECT row FROM cells WHERE row >= ? AND row < ? ORDER BY row LIMIT 1"
_LAST = "SELECT row FROM cells WHERE row >= ? AND row < ? ORDER BY row DESC LIMIT 1"


class _Section(NamedTuple):
    """The start of a part of the range, and its number of cells, SECTION_CELLS if there are more."""

    start: bytes
    cells: int


def find_splits(connection: Connection, start: bytes, stop: bytes, *, parts: int) -> list[bytes]:
    """Return sorted keys between `start` and `stop` (both excluded), at most one less than `parts`.

    The keys split the cells into parts of similar size. In a large range, some keys may have no row.
    """
    cells = _count(connection, start, stop, cells_max=COUNTED_MAX)
    if cells < COUNTED_MAX:
        return _every_nth(connection, start, stop, parts=parts, cells=cells)
    return _spread(_sections(connection, start, stop, sections_max=SECTIONS_PER_PART * parts), parts=parts)


def _every_nth(connection: Connection, start: bytes, stop: bytes, *, parts: int, cells: int) -> list[bytes]:
    """Return at most `parts - 1` keys that split a range of `cells` cells into parts of similar size."""
    keys: list[bytes] = []
    hop = (start, stop, cells // parts)
    while len(keys) < parts - 1 and (key := connection.execute(_HOP, hop).fetchone()):
        keys += key
        hop = (*key, stop, cells // parts)
    return keys


def _sections(connection: Connection, start: bytes, stop: bytes, *, sections_max: int) -> list[_Section]:
    """Divide the range by the next bytes of its keys; return the sections, sorted, with their sizes.

    Only sections of SECTION_CELLS or more are divided, until there are `sections_max` or a few more.
    """
    # Start with the widest: a dataset with most of the rows is divided by time, while small ones stay whole.
    waiting = deque([(start, stop)])
    sections: list[_Section] = []
    while waiting:
        section = waiting.popleft()
        cells = _count(connection, *section, cells_max=SECTION_CELLS)
        divisible = cells == SECTION_CELLS and len(sections) + len(waiting) < sections_max
        bounds = [section[0], *_next_bytes(connection, *section), section[1]] if divisible else []
        if len(bounds) > 2:
            waiting.extend(pairwise(bounds))
        else:
            sections.append(_Section(section[0], cells))
    return sorted(sections)


def _next_bytes(connection: Connection, start: bytes, stop: bytes) -> Iterator[bytes]:
    """Yield the beginnings of keys up to the first byte in which they differ, except the first beginning."""
    first, last = _key(connection, _FIRST, start, stop), _key(connection, _LAST, start, stop)
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    size = sum(1 for _ in same)
    head = first[: size + 1]
    while head < last[: size + 1]:
        # All keys that begin with `head` are below `successor`; the prefix itself has no further byte.
        successor = head + b"\0" if len(head) == size else head[:size] + bytes([head[size] + 1])
        head = _key(connection, _FIRST, successor, stop)[: size + 1]
        if head:
            yield head


def _key(connection: Connection, query: str, start: bytes, stop: bytes) -> bytes:
    """Return the row key that `query`, _FIRST or _LAST, finds in the range, b"" if the range has no rows."""
    key: Any = connection.execute(query, (start, stop)).fetchone()
    return key[0] if key else b""


def _spread(sections: list[_Section], *, parts: int) -> list[bytes]:
    """Return the starts of the sections that begin new parts of similar size."""
    total = sum(section.cells for section in sections) + 1
    begins = accumulate((section.cells for section in sections), initial=0)
    part_numbers = [cells * parts // total for cells in begins]
    return [
        section.start
        for section, (previous, number) in zip(sections[1:], pairwise(part_numbers), strict=False)
        if number > previous
    ]


def _count(connection: Connection, start: bytes, stop: bytes, *, cells_max: int) -> int:
    """Return the number of cells between `start` and `stop` (both excluded), at most `cells_max`."""
    cells: Any = connection.execute(_COUNT, (start, stop, cells_max)).get
    return int(cells)
