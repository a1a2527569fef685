"""The files of a store are for its owner alone, and for whom the owner lets in; root takes nothing away."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest

from fll_hbase.runtime.errors import StoreUnavailable
from fll_hbase.tables import Put
from fll_hbase.tables.sqlite import SqliteTable
from fll_hbase.tables.write_lock import create_private

SUFFIXES = ("", "-wal", "-shm", ".lock")
SERVICE_USER = 65534


def modes(path: Path) -> set[int]:
    return {stat.S_IMODE(Path(f"{path}{suffix}").stat().st_mode) for suffix in SUFFIXES}


def owners(path: Path) -> set[tuple[int, int]]:
    statuses = [Path(f"{path}{suffix}").stat() for suffix in SUFFIXES]
    return {(status.st_uid, status.st_gid) for status in statuses}


def give_to_service(path: Path) -> tuple[int, int]:
    """Give a folder to another user, which only root can do; return its owner and group."""
    if os.geteuid() == 0:
        os.chown(path, SERVICE_USER, SERVICE_USER)
    status = path.stat()
    return status.st_uid, status.st_gid


def write(table: SqliteTable) -> None:
    table.write([[Put(b"row", b"d:x", b"value")]])


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_only_the_owner_opens_them(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "new" / "cells.db"
    former = os.umask(umask)
    try:
        with closing(SqliteTable(str(path))) as table:
            write(table)
            assert modes(path) == {0o600}
    finally:
        os.umask(former)


def test_a_link_to_a_file_that_does_not_exist_yet(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "cells.db")
    with closing(SqliteTable(str(tmp_path / "link.db"))):
        assert stat.S_IMODE((tmp_path / "cells.db").stat().st_mode) == 0o600


def test_a_file_that_exists_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "cells.db"
    path.touch(0o640)
    create_private(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_whom_the_owner_lets_write_may_lock(tmp_path: Path) -> None:
    path = tmp_path / "cells.db"
    with closing(SqliteTable(str(path))) as table:
        write(table)
    path.chmod(0o660)
    with closing(SqliteTable(str(path))) as table:
        write(table)
        assert modes(path) == {0o660}


WRITE_AS_SERVICE = f"""
import os, sys
from fll_hbase.tables import Put, open_table
# What this user may not import where Python is in the home of root.
open_table("sqlite:///:memory:").close()
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid({SERVICE_USER})
    os.setuid({SERVICE_USER})
table = open_table("sqlite:///" + sys.argv[1], create=False)
table.write([[Put(b"row", b"d:x", b"by the service")]])
"""


def test_a_store_that_root_makes_is_of_the_owner_of_its_folder(public_path: Path) -> None:
    folder = public_path / "service"
    folder.mkdir(0o700)
    service = give_to_service(folder)
    path = folder / "cells.db"
    with closing(SqliteTable(str(path))) as table:
        write(table)
        assert owners(path) == {service}
        subprocess.run([sys.executable, "-c", WRITE_AS_SERVICE, str(path)], check=True, timeout=120)
        assert table.get(b"row")[b"d:x"].value == b"by the service"


@pytest.mark.parametrize("is_hard", [False, True])
def test_a_lock_that_is_a_link_changes_no_other_file(tmp_path: Path, is_hard: bool) -> None:
    """As the owner of a folder could plant it, so that root gives away a file of its own."""
    folder = tmp_path / "service"
    folder.mkdir()
    service = give_to_service(folder)
    path, secret = folder / "cells.db", tmp_path / "secret"
    with closing(SqliteTable(str(path))):
        pass
    assert {(path.stat().st_uid, path.stat().st_gid)} == {service}
    path.chmod(0o666)
    secret.touch(0o600)
    lock = Path(f"{path}.lock")
    lock.unlink()
    if is_hard:
        lock.hardlink_to(secret)
    else:
        lock.symlink_to(secret)
    with closing(SqliteTable(str(path))) as table, suppress(StoreUnavailable):
        write(table)
    assert secret.stat().st_uid == os.geteuid()
    if os.geteuid() == 0 or not is_hard:
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600
