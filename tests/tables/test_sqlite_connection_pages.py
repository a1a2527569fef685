"""All damaged pages of a SQLite file are named, beside its readers and writers."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.tables import Put, back_up
from fll_hbase.tables.factory import naming_damage
from fll_hbase.tables.sqlite import SqliteTable
from fll_hbase.tables.sqlite_connection import PAGES_NAMED_MAX, damaged_pages

PAGE_BYTES, RESERVED_AT = 4_096, 20
WRITE = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('PRAGMA journal_mode = DELETE')"


def damage(path: Path, numbers: list[int]) -> None:
    """Fill a new store at the path, and change a byte of each of these pages."""
    with closing(SqliteTable(str(path))) as table:
        table.write([[Put(b"r|%04d" % row, b"d:x", os.urandom(2_000)) for row in range(400)]])
    content = bytearray(path.read_bytes())
    for number in numbers:
        content[number * PAGE_BYTES - 100] ^= 1
    path.write_bytes(content)


def read_all(path: Path) -> None:
    with naming_damage(f"sqlite:///{path}"), closing(SqliteTable(str(path))) as table:
        list(table.scan(b"r|", b"r}"))


def test_each_damaged_page_is_named_by_a_check_and_by_a_backup(path: Path) -> None:
    damage(path, [1, 3, 7, 100])
    assert list(damaged_pages(path)) == [1, 3, 7, 100]
    with pytest.raises(CorruptRow, match="counted from 1: 1, 3, 7, 100; see"):
        read_all(path)
    with pytest.raises(CorruptRow, match="counted from 1: 1, 3, 7, 100; see"):
        back_up(f"sqlite:///{path}", f"{path}.copy", overwrite=False, report=lambda *_: None)


def test_beyond_a_hundred_they_are_counted(path: Path) -> None:
    damage(path, list(range(2, PAGES_NAMED_MAX + 22)))
    with pytest.raises(CorruptRow, match=f", {PAGES_NAMED_MAX + 1} and 20 more; see"):
        read_all(path)


def test_a_size_of_pages_that_makes_no_sense_hides_none(path: Path) -> None:
    damage(path, [5])
    content = bytearray(path.read_bytes())
    content[16] ^= 1
    path.write_bytes(content)
    assert list(damaged_pages(path)) == [1, 5]


def test_an_error_that_no_page_explains_stays(path: Path) -> None:
    damage(path, [])
    content = bytearray(path.read_bytes())
    content[RESERVED_AT] = 0
    path.write_bytes(content)
    with pytest.raises(CorruptRow, match="no checksums"):
        read_all(path)


def test_locks_of_this_process_stay(path: Path) -> None:
    """To close a file gives up what a process has locked of it, unless SQLite knows of it."""
    damage(path, [])
    with closing(SqliteTable(str(path))) as table:
        table.get(b"r|0001")
        assert list(damaged_pages(path)) == []
        other = subprocess.run([sys.executable, "-c", WRITE, path], capture_output=True, text=True)
        assert "locked" in other.stderr
