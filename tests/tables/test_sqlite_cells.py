"""Long values of a SQLite file: each is there once, as long as its cell, and searches do not read it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.tables.base import CellKey, Put, StampedPut
from fll_hbase.tables.sqlite import SqliteTable
from fll_hbase.tables.sqlite_backup import back_up
from fll_hbase.tables.sqlite_cells import LONG_BYTES, SCHEMA, VERSIONS
from fll_hbase.tables.sqlite_connection import CHECKSUM_BYTES, connect
from tests.support.raw_sql import run_sql

SHORT, LONG = b"x" * (LONG_BYTES - 1), b"y" * LONG_BYTES
KEYS = [CellKey(row, column) for row in (b"a", b"b") for column in (b"d:x", b"o:x")]

VALUES = st.sampled_from([b"", SHORT, LONG, b"z" * 10_000])
CHANGES = st.one_of(
    st.tuples(st.just("write"), st.lists(st.tuples(st.sampled_from(KEYS), VALUES), min_size=1)),
    st.tuples(st.just("delete"), st.lists(st.sampled_from(KEYS), unique=True)),
)


@pytest.fixture
def table(tmp_path: Path) -> Iterator[SqliteTable]:
    with closing(SqliteTable(str(tmp_path / "cells.db"))) as opened:
        yield opened


def long_values(path: Path) -> list[bytes]:
    with closing(connect(str(path), busy_seconds=1, cache_kib=100)) as connection:
        return sorted(bytes(value) for (value,) in connection.execute("SELECT value FROM long_values"))


@given(st.lists(CHANGES, max_size=12))
def test_cells_are_as_in_a_dictionary_and_no_value_is_left(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[str, Any]]
) -> None:
    path = tmp_path_factory.mktemp("cells") / "cells.db"
    due: dict[CellKey, bytes] = {}
    with closing(SqliteTable(str(path))) as table:
        for method, items in changes:
            if method == "write":
                table.write([[Put(*key, value) for key, value in items]])
                due |= dict(items)
            else:
                table.delete(items, until_ms=2**62)
                due = {key: value for key, value in due.items() if key not in items}
        scanned = {
            CellKey(row, column): cell.value
            for row, cells in table.scan(b"", b"\xff")
            for column, cell in cells.items()
        }
        single = {
            key: cell.value for key in KEYS for cell in table.get(key.row, columns=[key.column]).values()
        }
        column_by_column = {
            CellKey(row, column): cell.value
            for wanted in (b"d:x", b"o:x")
            for row, cells in table.scan(b"", b"\xff", columns=[wanted])
            for column, cell in cells.items()
        }
    assert scanned == single == column_by_column == due
    assert long_values(path) == sorted(value for value in due.values() if len(value) >= LONG_BYTES)


def test_a_short_cell_is_read_without_the_long_values_beside_it(table: SqliteTable, tmp_path: Path) -> None:
    rows = [b"%04d" % number for number in range(200)]
    table.write([[Put(row, b"d:x", b"1"), Put(row, b"o:x", os.urandom(100_000))] for row in rows])
    table.close()
    with closing(connect(str(tmp_path / "cells.db"), busy_seconds=1, cache_kib=8_000)) as connection:
        count = "SELECT count(*) FROM cells WHERE row = ? AND column = ?"
        assert connection.execute(count, (rows[117], b"d:x")).get == 1
        pages, _ = connection.status(apsw.SQLITE_DBSTATUS_CACHE_MISS)
    # A long value has 25 pages.
    assert pages < 10


def test_a_cell_without_its_long_value_is_damaged(table: SqliteTable, tmp_path: Path) -> None:
    table.write([[Put(b"a", b"d:x", b"1"), Put(b"b", b"d:x", LONG)]])
    run_sql(tmp_path / "cells.db", "DELETE FROM long_values")
    assert table.get(b"a")[b"d:x"].value == b"1"
    for read in (
        lambda: table.get(b"b"),
        lambda: list(table.scan(b"", b"\xff")),
        lambda: list(table.scan(b"", b"\xff", columns=[b"d:x"])),
    ):
        with pytest.raises(CorruptRow, match="column b'd:x' in row b'b' is missing"):
            read()


def test_a_value_stays_if_only_the_time_of_its_cell_changes(table: SqliteTable, tmp_path: Path) -> None:
    table.write([[Put(b"a", b"d:x", LONG)]])
    assert run_sql(tmp_path / "cells.db", "UPDATE cells SET value = value, stamp = 7") == 1
    assert table.get(b"a")[b"d:x"] == (LONG, 7)


def test_a_rescued_file_has_the_cells_whose_values_are_left(table: SqliteTable, tmp_path: Path) -> None:
    table.write([[Put(row, b"d:x", LONG) for row in (b"a", b"b", b"c")] + [Put(b"b", b"d:y", b"1")]])
    run_sql(tmp_path / "cells.db", "DELETE FROM long_values WHERE id = 2")
    rescued = tmp_path / "rescued.db"
    back_up(tmp_path / "cells.db", rescued, overwrite=False, report=lambda *_: None, damaged=True)
    with closing(SqliteTable(str(rescued))) as opened:
        scanned = {
            row: {column: cell.value for column, cell in cells.items()}
            for row, cells in opened.scan(b"", b"z")
        }
    assert scanned == {b"a": {b"d:x": LONG}, b"b": {b"d:y": b"1"}, b"c": {b"d:x": LONG}}
    assert len(long_values(rescued)) == 2


@pytest.mark.parametrize("version", VERSIONS[:2])
def test_files_of_earlier_versions_stay_as_they_are(tmp_path: Path, version: int) -> None:
    path = tmp_path / "earlier.db"
    with closing(connect(str(path), busy_seconds=1, cache_kib=100)) as connection:
        if version > VERSIONS[0]:
            connection.reserve_bytes(reserve=CHECKSUM_BYTES)
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute(SCHEMA).fetchall()
        connection.execute("DROP TRIGGER deleted; DROP TRIGGER replaced; DROP TABLE long_values").fetchall()
        connection.execute(f"PRAGMA user_version = {version}")
    with closing(SqliteTable(str(path))) as table:
        table.write([[Put(b"a", b"d:x", LONG)]])
        table.put_stamped([StampedPut(b"b", b"d:x", LONG, 7)])
        assert [cells[b"d:x"].value for _, cells in table.scan(b"", b"\xff")] == [LONG, LONG]
        table.delete([CellKey(b"a", b"d:x")], until_ms=2**62)
        assert not table.get(b"a")
    with closing(connect(str(path), busy_seconds=1, cache_kib=100)) as connection:
        assert connection.pragma("user_version") == version
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("cells",)]
