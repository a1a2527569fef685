"""A backup of a SQLite store is the store at one moment, or no file at all."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from fll_hbase.runtime.errors import ConfigurationError, StoreUnavailable
from fll_hbase.tables import Put, Table, back_up, open_table
from fll_hbase.tables.sqlite_backup import is_backup

ROWS = 20_000
"""Two steps of a backup, and a part of a third one."""

_SLOW = """
import sys, time
from fll_hbase.tables import back_up
def report(done, pages):
    print(done, pages, flush=True)
    time.sleep(60)
back_up(sys.argv[1], sys.argv[2], overwrite=False, report=report)
"""


def url_of(path: Path) -> str:
    return f"sqlite:///{path}"


def no_report(done: int, pages: int) -> None:
    assert 0 < done <= pages


def numbers(table: Table) -> list[int]:
    return [int(row[b"d:n"].value) for _, row in table.scan(b"", b"\xff")]


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    with closing(open_table(url_of(path))) as table:
        table.write([[Put(b"%06d" % n, b"d:n", b"%0500d" % 0) for n in range(ROWS)]])
    return path


def test_a_backup_beside_a_writer_is_one_moment(filled: Path, tmp_path: Path) -> None:
    """All rows have the number of one write, whichever; the writer is never refused."""
    target, stop = tmp_path / "backup.db", threading.Event()
    writes: list[int] = []

    def write() -> None:
        with closing(open_table(url_of(filled))) as table:
            while not stop.is_set():
                number = len(writes) + 1
                table.write([[Put(b"%06d" % n, b"d:n", b"%0500d" % number) for n in range(0, ROWS, 100)]])
                writes.append(number)

    def report(done: int, pages: int) -> None:
        count = len(writes)
        while len(writes) < count + 2:
            stop.wait(0.001)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        size = back_up(url_of(filled), str(target), overwrite=False, report=report)
    finally:
        stop.set()
        writer.join()
    assert size == target.stat().st_size
    assert len(writes) >= 6
    with closing(open_table(url_of(target), create=False)) as table:
        values = numbers(table)
    assert len(values) == ROWS
    assert len(set(values[::100])) == 1
    assert not any(values[n] for n in range(ROWS) if n % 100)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".db", ".db", ".lock"]


@pytest.mark.slow
def test_a_restored_backup_is_a_store(filled: Path, tmp_path: Path) -> None:
    target, restored = tmp_path / "backup.db", tmp_path / "restored" / "store.db"
    back_up(url_of(filled), str(target), overwrite=False, report=no_report)
    restored.parent.mkdir()
    shutil.copy(target, restored)
    with closing(open_table(url_of(restored))) as table:
        assert len(numbers(table)) == ROWS
        table.write([[Put(b"new", b"d:n", b"1")]])
        assert len(numbers(table)) == ROWS + 1
    # It is in use from now on: no backup may replace it.
    assert is_backup(target)
    assert not is_backup(restored)


def test_a_killed_backup_leaves_nothing_under_its_name(filled: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    process = subprocess.Popen(
        [sys.executable, "-c", _SLOW, url_of(filled), str(target)], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        process.wait(120)
    assert not target.exists()
    (partial,) = tmp_path.glob("backup.db.*")
    assert partial.suffix == ".part"
    assert not is_backup(partial)
    back_up(url_of(filled), str(target), overwrite=False, report=no_report)
    assert is_backup(target)


def test_only_a_backup_is_replaced(filled: Path, tmp_path: Path) -> None:
    target, other, text = tmp_path / "backup.db", tmp_path / "other.db", tmp_path / "text.db"
    back_up(url_of(filled), str(target), overwrite=True, report=no_report)
    with closing(open_table(url_of(other))) as table:
        table.write([[Put(b"a", b"d:n", b"1")]])
    text.write_text("notes")
    with pytest.raises(ConfigurationError, match="--overwrite"):
        back_up(url_of(filled), str(target), overwrite=False, report=no_report)
    for path in (other, text):
        with pytest.raises(ConfigurationError, match="not a backup"):
            back_up(url_of(filled), str(path), overwrite=True, report=no_report)
    with pytest.raises(ConfigurationError, match="the store itself"):
        back_up(url_of(filled), str(filled), overwrite=True, report=no_report)
    with pytest.raises(ConfigurationError, match="make the directory"):
        back_up(url_of(filled), str(tmp_path / "none" / "b.db"), overwrite=False, report=no_report)
    assert text.read_text() == "notes"
    with closing(open_table(url_of(filled))) as table:
        table.write([[Put(b"new", b"d:n", b"1")]])
    back_up(url_of(filled), str(target), overwrite=True, report=no_report)
    with closing(open_table(url_of(target))) as table:
        assert table.get(b"new")


def test_a_disk_that_takes_no_more_is_named(filled: Path, tmp_path: Path) -> None:
    """A limit on the size of files stands in for a full disk, as the error of both is one of the system."""
    target = tmp_path / "backup.db"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, limits[1]))
    try:
        with pytest.raises(StoreUnavailable, match=os.strerror(errno.EFBIG)):
            back_up(url_of(filled), str(target), overwrite=False, report=no_report)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(tmp_path.glob("backup*"))


def test_a_full_disk_is_named(filled: Path, tmp_path: Path) -> None:
    def report(done: int, pages: int) -> None:
        raise apsw.FullError("not an error")

    with pytest.raises(StoreUnavailable, match=os.strerror(errno.ENOSPC)):
        back_up(url_of(filled), str(tmp_path / "backup.db"), overwrite=False, report=report)


@pytest.mark.parametrize("url", ["hbase://localhost/table", "sqlite:///:memory:"])
def test_a_store_without_a_file_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"docs/operate/backup\.md"):
        back_up(url, str(tmp_path / "b.db"), overwrite=False, report=no_report)
    assert not list(tmp_path.iterdir())
