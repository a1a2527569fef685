"""SQLite files that a user may only read: every state of the file and its log, also beside a writer."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fll_hbase.tables import Put
from fll_hbase.tables.sqlite import SqliteTable

UNPRIVILEGED_USER = 65534
ROWS = 3_000

# Reads the whole table for each line of its input, and writes once at the end.
READER = f"""
import os, sys
from fll_hbase.runtime.errors import LineageError
from fll_hbase.tables import Put, open_table

# What this user may not import where Python is in the home of root.
open_table("sqlite:///:memory:").close()
# Root may write everywhere.
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid({UNPRIVILEGED_USER})
    os.setuid({UNPRIVILEGED_USER})
try:
    table = open_table("sqlite:///" + sys.argv[1], create=False)
    for _ in sys.stdin:
        rows = list(table.scan(b"", b"\\x7f"))
        values = {{cell.value for _, row in rows for cell in row.values()}}
        single = table.get(b"0")[b"d:x"].value
        print(len(rows), sorted(values), single, len(table.splits(b"", b"\\x7f", parts=4)), flush=True)
    table.write([[Put(b"x", b"d:x", b"x")]])
except LineageError as error:
    print(type(error).__name__, error, flush=True)
"""


def write(table: SqliteTable, value: bytes) -> None:
    table.write([[Put(b"%d" % number, b"d:x", value) for number in range(ROWS)]])


@pytest.fixture
def folder(public_path: Path) -> Iterator[Path]:
    directory = public_path / "shared"
    directory.mkdir()
    yield directory
    directory.chmod(0o755)


class Reader:
    """A process of a user who may only read the file."""

    def __init__(self, path: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", READER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def read(self) -> str:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write("read\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def end(self) -> str:
        return self._process.communicate(timeout=120)[0]


def all_rows(value: bytes) -> str:
    return f"{ROWS} [{value!r}] {value!r} 3"


def test_a_file_that_no_process_has_open(folder: Path) -> None:
    path = folder / "cells.db"
    with closing(SqliteTable(str(path))) as table:
        write(table, b"a")
    path.chmod(0o444)
    folder.chmod(0o555)
    reader = Reader(path)
    assert reader.read() == all_rows(b"a")
    assert sorted(os.listdir(folder)) == ["cells.db", "cells.db.lock"]
    # A writer comes and goes, and stays.
    with closing(SqliteTable(str(path))) as table:
        assert reader.read() == all_rows(b"a")
        write(table, b"b")
        assert reader.read() == all_rows(b"b")
    assert reader.read() == all_rows(b"b")
    for value in (b"c", b"d", b"e"):
        with closing(SqliteTable(str(path))) as table:
            write(table, value)
    assert reader.read() == all_rows(b"e")
    assert reader.end().startswith("ReadOnlyStore")


def test_a_file_that_a_process_left_with_a_log(folder: Path) -> None:
    path = folder / "cells.db"
    with closing(SqliteTable(str(path))) as table:
        write(table, b"a")
        # As kill -9 leaves it: a copy of the three files while they are in use.
        write(table, b"b")
        copy = folder / "copy"
        copy.mkdir()
        for suffix in ("", "-wal", "-shm"):
            (copy / f"cells.db{suffix}").write_bytes((folder / f"cells.db{suffix}").read_bytes())
    copy.chmod(0o555)
    reader = Reader(copy / "cells.db")
    assert reader.read() == all_rows(b"b")
    ended = reader.end()
    copy.chmod(0o755)
    assert "can only be read, so nothing was changed: a user needs the right to write to the file" in ended


@pytest.mark.slow
def test_it_is_read_whole_beside_a_writer(folder: Path) -> None:
    path = folder / "cells.db"
    with closing(SqliteTable(str(path))) as table:
        write(table, b"0")
    path.chmod(0o644)
    folder.chmod(0o555)
    reader = Reader(path)
    for number in range(30):
        # Each commit comes with a checkpoint when the table is closed.
        with closing(SqliteTable(str(path))) as table:
            write(table, b"%d" % number)
        assert reader.read() == all_rows(b"%d" % number)
    reader.end()


@pytest.mark.parametrize("mode", [0o000, 0o444])
def test_what_cannot_be_read_says_what_is_needed(folder: Path, mode: int) -> None:
    path = folder / "cells.db"
    with closing(SqliteTable(str(path))) as table:
        write(table, b"a")
    path.chmod(mode)
    # Of the directory, or of the file.
    folder.chmod(0o555 if mode == 0 else 0o700)
    ended = Reader(path).end()
    assert ended.startswith(("StoreUnavailable", "ConfigurationError"))
    assert "for reading, that to read it and the files -wal and -shm" in ended


def test_another_file_is_refused(folder: Path) -> None:
    path = folder / "cells.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    empty = folder / "empty.db"
    empty.touch()
    folder.chmod(0o555)
    assert "belongs to another application" in Reader(path).end()
    assert "is empty, not a store" in Reader(empty).end()
