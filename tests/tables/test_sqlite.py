"""Further promises of the SQLite engine: bounded waits, whole transactions, foreign files left alone."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from fll_hbase.runtime.errors import ConfigurationError, StoreUnavailable
from fll_hbase.tables import Put, StampedPut, Table, sqlite_cells
from fll_hbase.tables.sqlite import SqliteTable
from fll_hbase.tables.sqlite_cells import LONG_BYTES
from fll_hbase.tables.sqlite_connection import connect
from tests.support.table_workers import (
    CELLS_A_BATCH,
    batch,
    go_on,
    holds_the_lock,
    process,
    received,
    stopped,
    writes_until_killed,
)
from tests.support.waiting import PATIENCE_SECONDS, eventually, patience

BUSY_SECONDS = 0.3


@pytest.fixture
def impatient(path: Path) -> Iterator[Table]:
    table = SqliteTable(str(path), busy_seconds=BUSY_SECONDS)
    table.write([[Put(b"before", b"d:x", b"1")]])
    yield table
    table.close()


@contextmanager
def gives_up() -> Iterator[None]:
    """Whatever is tried raises StoreUnavailable, after the bounded wait and not before."""
    began = time.monotonic()
    with patience(), pytest.raises(StoreUnavailable, match="try again"):
        yield
    assert time.monotonic() - began >= BUSY_SECONDS * 0.9


def goes_on(table: Table) -> None:
    """Write; a thread that waited for the lock in vain may have to get it and give it back before."""

    def is_written() -> bool:
        try:
            table.write([[Put(b"after", b"d:x", b"1")]])
        except StoreUnavailable:
            return False
        return True

    eventually(is_written, "it can be written")
    assert table.get(b"after")


def test_writers_give_up_on_a_stopped_process_and_go_on_once_it_does(impatient: Table, path: Path) -> None:
    with process(holds_the_lock, str(path)) as (child, reports):
        stopped(child)
        for _ in range(2):
            with gives_up():
                impatient.write([[Put(b"meanwhile", b"d:x", b"1")]])
        assert impatient.get(b"before")
        assert not impatient.get(b"meanwhile")
        go_on(child)
        assert received(reports) == "given back"
        goes_on(impatient)
        assert [key for key, _ in impatient.scan(b"a", b"z")] == [b"after", b"before"]


def test_writers_go_on_once_a_stopped_process_is_killed(impatient: Table, path: Path) -> None:
    with process(holds_the_lock, str(path)) as (child, _):
        stopped(child)
        with gives_up():
            impatient.write([[Put(b"meanwhile", b"d:x", b"1")]])
        child.kill()
        child.join()
        goes_on(impatient)


def test_a_file_is_opened_beside_a_stopped_process(impatient: Table, path: Path) -> None:
    with process(holds_the_lock, str(path)) as (child, _):
        stopped(child)
        with closing(SqliteTable(str(path), busy_seconds=BUSY_SECONDS)) as opened:
            assert opened.get(b"before")


def test_making_a_file_gives_up_on_a_stopped_process(path: Path) -> None:
    path.touch()
    with process(holds_the_lock, str(path)) as (child, _):
        stopped(child)
        with gives_up():
            SqliteTable(str(path), busy_seconds=BUSY_SECONDS)


@pytest.mark.slow
def test_writers_give_up_on_a_stranger_that_locks_the_database(impatient: Table, path: Path) -> None:
    # Of the same library: another one in this process would take no notice of its locks.
    with closing(connect(str(path), busy_seconds=0, cache_kib=100)) as stranger:
        stranger.execute("BEGIN IMMEDIATE")
        with gives_up():
            impatient.write([[Put(b"meanwhile", b"d:x", b"1")]])
        assert impatient.get(b"before")
        stranger.execute("ROLLBACK")
    goes_on(impatient)


@pytest.fixture
def busy_in_memory() -> Iterator[Table]:
    """A table in memory whose one connection another thread holds."""
    table = SqliteTable(":memory:", busy_seconds=BUSY_SECONDS)
    with table._write_lock.acquired(PATIENCE_SECONDS):
        yield table
    table.close()


def test_in_memory_reads_and_writes_give_up_too(busy_in_memory: Table) -> None:
    for call in (lambda: busy_in_memory.get(b"a"), lambda: busy_in_memory.write([])):
        with gives_up():
            call()


def test_in_memory_scans_give_up_too(busy_in_memory: Table) -> None:
    with gives_up():
        list(busy_in_memory.scan(b"a", b"z"))


def test_a_killed_writer_leaves_no_part_of_a_batch(path: Path) -> None:
    table = SqliteTable(str(path))
    for round_number in range(4):
        with process(writes_until_killed, f"sqlite:///{path}", round_number * 1_000) as (child, reports):
            received(reports)
            time.sleep(0.007 * round_number)
            child.kill()
            child.join()
    cells: dict[bytes, int] = {}
    for key, _ in table.scan(b"batch", b"batci"):
        cells[key[:10]] = cells.get(key[:10], 0) + 1
    assert len(cells) >= 4
    assert set(cells.values()) == {CELLS_A_BATCH}
    table.close()


def test_a_write_that_fails_in_the_middle_leaves_nothing(impatient: Table) -> None:
    long = bytes(LONG_BYTES)
    broken = [StampedPut(b"x", b"d:x", b"1", 1), StampedPut(b"y", b"d:x", long, 1)]
    without_time = StampedPut(b"z", b"d:x", long, None)  # type: ignore[arg-type]
    with pytest.raises(StoreUnavailable):
        impatient.put_stamped([*broken, without_time])
    assert [key for key, _ in impatient.scan(b"", b"\xff")] == [b"before"]
    impatient.write([batch(1)])
    assert len(list(impatient.scan(b"batch", b"batci"))) == CELLS_A_BATCH


def test_cells_are_there_when_the_file_is_opened_again(path: Path) -> None:
    with closing(SqliteTable(str(path))) as table:
        table.write([batch(1)])
        written = dict(table.scan(b"batch", b"batci"))
    with closing(SqliteTable(str(path))) as table:
        assert dict(table.scan(b"batch", b"batci")) == written


def test_a_table_in_memory_is_its_own(path: Path) -> None:
    with closing(SqliteTable(":memory:")) as first, closing(SqliteTable(":memory:")) as second:
        first.write([[Put(b"a", b"d:x", b"1")]])
        assert not second.get(b"a")


def foreign(path: Path, version: int) -> bytes:
    """A database of somebody else, and its bytes."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (a)")
        connection.execute(f"PRAGMA user_version = {version}")
        connection.commit()
    return path.read_bytes()


@pytest.mark.parametrize("version", [4, 99])
def test_a_file_of_another_version_is_refused(path: Path, version: int) -> None:
    foreign(path, version)
    with pytest.raises(
        ConfigurationError,
        match=rf"has schema version {version}, but this release reads versions 1 to 3 only",
    ):
        SqliteTable(str(path))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]
        assert connection.execute("PRAGMA user_version").fetchone() == (version,)


def test_a_file_of_another_version_is_left_alone(path: Path) -> None:
    content = foreign(path, 99)
    with pytest.raises(ConfigurationError):
        SqliteTable(str(path))
    assert path.read_bytes() == content


def test_what_is_no_database_is_away_and_says_which_file(path: Path) -> None:
    path.write_bytes(b"name,age\n" * 1_000)
    with pytest.raises(StoreUnavailable, match=r"cells\.db: file is not a database; check the file"):
        SqliteTable(str(path))
    assert path.read_bytes() == b"name,age\n" * 1_000


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is a directory: name a file in it"):
        SqliteTable(str(tmp_path))


def test_a_folder_is_created_and_a_file_in_its_place_is_reported(tmp_path: Path) -> None:
    deep = tmp_path / "not" / "there" / "cells.db"
    with closing(SqliteTable(str(deep))) as table:
        table.write([batch(1)])
    with pytest.raises(StoreUnavailable, match="check the file and its disk"):
        SqliteTable(str(deep / "cells.db"))


def test_a_file_that_may_only_be_read_says_what_is_needed(path: Path) -> None:
    with closing(SqliteTable(str(path))) as table:
        # The error of a file without the right to write to it, which tests that run as root cannot lack.
        table._writer_connection().execute("PRAGMA query_only = ON")
        with pytest.raises(StoreUnavailable, match=r"readonly database; a user needs the right to write"):
            table.write([batch(1)])


def write_in_child(table: Table) -> None:
    table.write([[Put(b"child", b"d:x", b"%d" % os.getpid())]])
    assert table.get(b"parent")


def test_a_table_opened_before_a_fork_serves_both_sides(impatient: Table) -> None:
    impatient.write([[Put(b"parent", b"d:x", b"1")]])
    assert impatient.get(b"parent")
    child = multiprocessing.get_context("fork").Process(target=write_in_child, args=(impatient,))
    child.start()
    child.join(PATIENCE_SECONDS)
    child.kill()
    assert child.exitcode == 0
    assert impatient.get(b"child")[b"d:x"].value == b"%d" % child.pid
    impatient.write([[Put(b"parent", b"d:x", b"2")]])
    assert impatient.get(b"parent")[b"d:x"].value == b"2"


def test_threads_that_ended_leave_nothing_open(impatient: Table) -> None:
    def open_files() -> int:
        return len(os.listdir("/dev/fd"))

    def read_in_a_thread() -> None:
        thread = threading.Thread(target=lambda: impatient.get(b"before"))
        thread.start()
        thread.join()

    read_in_a_thread()
    open_at_start = open_files()
    for _ in range(20):
        read_in_a_thread()
    assert open_files() <= open_at_start + 4


@pytest.mark.slow
def test_closing_gives_back_all_files(path: Path) -> None:
    gc.collect()
    open_at_start = len(os.listdir("/dev/fd"))
    table = SqliteTable(str(path))
    table.write([batch(1)])
    threads = [threading.Thread(target=lambda: table.get(b"before")) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    table.close()
    table.close()
    assert len(os.listdir("/dev/fd")) <= open_at_start


def skewed_keys() -> list[bytes]:
    """Nine of ten rows are of one dataset, the others of 200; few keys end where others go on."""
    many = [b"b|bank|daily|7ffff%011x|run %d" % (1000 * number, number) for number in range(9_000)]
    others = [b"b|bank|%03d|7ffff%011x|run" % (number % 200, number) for number in range(1_000)]
    return sorted({*many, *others, b"b|bank", b"b|bank|daily", b"b|bank|daily|7ffff"})


def test_a_table_with_more_cells_than_are_counted_is_split_into_similar_parts(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_cells, "COUNTED_MAX", 500)
    monkeypatch.setattr(sqlite_cells, "SECTION_CELLS", 100)
    keys = skewed_keys()
    with closing(SqliteTable(str(path))) as table:
        table.write([[Put(key, b"d:x", b"") for key in keys]])
        splits = table.splits(b"b|", b"b}", parts=8)
        bounds = [b"b|", *splits, b"b}"]
        sizes = [len(list(table.scan(*part))) for part in pairwise(bounds)]
    assert splits == sorted(set(splits))
    assert all(b"b|" < key < b"b}" for key in splits)
    assert len(sizes) <= 8
    assert sum(sizes) == len(keys)
    assert max(sizes) <= 3 * len(keys) / 8


def split_steps(path: Path) -> int:
    """Hundreds of instructions that SQLite executes to split a table."""
    with closing(SqliteTable(str(path))) as table:
        connection = table._idle_reader()
        calls: list[None] = []
        connection.set_progress_handler(lambda: bool(calls.append(None)), 100)
        table._idle.append(connection)
        assert table.splits(b"", b"z", parts=4)
    return len(calls)


def test_the_cost_of_splits_does_not_follow_the_size(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_cells, "COUNTED_MAX", 100)
    monkeypatch.setattr(sqlite_cells, "SECTION_CELLS", 20)
    steps = []
    for rows in (2_000, 20_000):
        larger = path.with_name(f"{rows}.db")
        with closing(SqliteTable(str(larger))) as table:
            table.write([[Put(b"%06d" % number, b"d:x", b"") for number in range(rows)]])
        steps.append(split_steps(larger))
    assert steps[1] < 2 * steps[0]
