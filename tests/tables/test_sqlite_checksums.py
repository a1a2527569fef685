"""Pages of a SQLite file have checksums, however it came to be; files of earlier releases have none."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.tables import Cell, CellKey, Put, back_up, open_table
from fll_hbase.tables.sqlite import SqliteTable
from fll_hbase.tables.sqlite_connection import connect

PAGE_BYTES, RESERVED_AT = 4_096, 20
"""Of the file; where its header says how many bytes of each page are reserved."""

EARLIER = """
CREATE TABLE cells (
    row BLOB NOT NULL, column BLOB NOT NULL, value BLOB NOT NULL, stamp INTEGER NOT NULL,
    PRIMARY KEY (row, column)
) WITHOUT ROWID;
INSERT INTO cells VALUES (CAST('row' AS BLOB), CAST('d:x' AS BLOB), CAST('1' AS BLOB), 7);
PRAGMA user_version = 1;
PRAGMA journal_mode = WAL;
"""


def fill(table: SqliteTable, batches: int) -> None:
    for batch in range(batches):
        table.write([[Put(b"r|%04d" % (batch + 30 * row), b"d:x", os.urandom(500)) for row in range(400)]])


def wrong_pages(path: Path) -> list[int]:
    """Return the numbers of the pages, from 1, that differ from their checksums, without SQLite's reading."""
    content = path.read_bytes()
    with closing(connect(":memory:", busy_seconds=0, cache_kib=100)) as connection:
        pages = (content[begin : begin + PAGE_BYTES] for begin in range(0, len(content), PAGE_BYTES))
        results = [connection.execute("SELECT verify_checksum(?)", (page,)).get for page in pages]
    return [number for number, is_right in enumerate(results, start=1) if not is_right]


def test_every_page_has_one(path: Path) -> None:
    with closing(SqliteTable(str(path))) as table:
        fill(table, 5)
    assert wrong_pages(path) == []
    content = bytearray(path.read_bytes())
    content[5 * PAGE_BYTES - 100] ^= 1
    path.write_bytes(content)
    assert wrong_pages(path) == [5]


def test_every_page_of_a_backup_has_one_while_pages_of_the_store_are_in_its_log(path: Path) -> None:
    backup = path.with_name("backup.db")
    with closing(SqliteTable(str(path))) as table:
        # More than the cache of a backup, which then writes pages before it ends.
        fill(table, 20)
        assert Path(f"{path}-wal").stat().st_size > path.stat().st_size
        back_up(f"sqlite:///{path}", str(backup), overwrite=False, report=lambda *_: None)
    assert wrong_pages(backup) == []


def test_a_copy_by_another_backup_is_rescued(path: Path) -> None:
    """The copy's first page has the checksum that it had before its header was changed."""
    copy, rescued = path.with_name("copy.db"), path.with_name("rescued.db")
    with closing(SqliteTable(str(path))) as table:
        fill(table, 1)
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    assert wrong_pages(copy) == [1]
    with pytest.raises(CorruptRow, match="a page is damaged"):
        SqliteTable(str(copy), create=False)
    back_up(f"sqlite:///{copy}", str(rescued), overwrite=False, report=lambda *_: None, damaged=True)
    assert wrong_pages(rescued) == []
    with closing(SqliteTable(str(rescued), create=False)) as table:
        assert len(list(table.scan(b"r|", b"r}"))) == 400


def test_one_bit_anywhere_in_a_page_is_noticed_by_reading_and_by_writing(path: Path) -> None:
    with closing(SqliteTable(str(path))) as table:
        fill(table, 5)
    content = bytearray(path.read_bytes())
    for begin in range(PAGE_BYTES, len(content), PAGE_BYTES):
        content[begin + PAGE_BYTES // 2] ^= 8
    path.write_bytes(content)
    with closing(SqliteTable(str(path))) as table:
        with pytest.raises(CorruptRow, match="a page is damaged"):
            table.get(b"r|0000")
        with pytest.raises(CorruptRow, match="a page is damaged"):
            table.write([[Put(b"r|0000", b"d:x", b"1")]])
        with pytest.raises(CorruptRow, match="a page is damaged"):
            table.delete([CellKey(b"r|0000", b"d:x")], until_ms=2**60)


@pytest.mark.parametrize("bit", range(8))
def test_a_header_that_switches_checksums_off_is_noticed(path: Path, bit: int) -> None:
    with closing(SqliteTable(str(path))) as table:
        fill(table, 1)
    content = bytearray(path.read_bytes())
    content[RESERVED_AT] ^= 1 << bit
    path.write_bytes(content)
    with pytest.raises(CorruptRow):
        SqliteTable(str(path), create=False)


def test_a_file_of_an_earlier_release_stays_as_it_is_and_so_does_its_backup(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(EARLIER)
    with closing(SqliteTable(str(path))) as table:
        assert table.get(b"row") == {b"d:x": Cell(b"1", 7)}
        table.write([[Put(b"row", b"d:y", b"2")]])
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM cells").fetchone() == (2,)
    backup = path.with_name("backup.db")
    back_up(f"sqlite:///{path}", str(backup), overwrite=False, report=lambda *_: None)
    with closing(open_table(f"sqlite:///{backup}", create=False)) as table:
        assert table.get(b"row").keys() == {b"d:x", b"d:y"}
