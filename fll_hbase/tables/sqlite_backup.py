"""Backups of a SQLite store in use: one consistent file, or none."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw

from fll_hbase.runtime.errors import ConfigurationError, StoreUnavailable
from fll_hbase.tables.sqlite_cells import DELETE_LOST, LONG_VALUES_VERSION
from fll_hbase.tables.sqlite_connection import CHECKSUM_BYTES, Connection, connect, damage

APPLICATION_ID = 0x464C4C42
"""`FLLB`, which only backups have in their header, never a store in use."""

PAGES_PER_STEP = 1_000
"""Pages copied per step (4 MB), between two progress reports."""

_BUSY_SECONDS, _CACHE_KIB = 5.0, 2_000
_WRITE_ERRORS = frozenset({apsw.SQLITE_IOERR_WRITE, apsw.SQLITE_IOERR_TRUNCATE, apsw.SQLITE_IOERR_FSYNC})

Report = Callable[[int, int], None]
"""Called with the number of copied pages, and of all pages."""


def back_up(source: Path, target: Path, *, overwrite: bool, report: Report, damaged: bool = False) -> int:
    """Copy the store in one file, in its state at the beginning, to another; return the size in bytes.

    Readers and writers continue; the log of the store grows until the backup ends. The target appears under
    its name, complete and durable, only at the end. With `overwrite` it may be an earlier backup. With
    `damaged`, pages that differ from their checksums are copied unchanged, with new checksums, and cells
    whose long value is lost are deleted from the copy. Raises CorruptRow, StoreUnavailable, and
    ConfigurationError for any other existing file or a missing directory.
    """
    _check_target(source, target, overwrite=overwrite)
    try:
        with _partial_file(target) as partial:
            _copy(source, partial, report, damaged=damaged)
            size_bytes = partial.stat().st_size
            if overwrite:
                _check_target(source, target, overwrite=True)
                partial.replace(target)
            else:
                # Unlike a rename, a link never replaces a file that appeared meanwhile.
                os.link(partial, target)
            _flush(target.parent)
    except FileExistsError as error:
        raise ConfigurationError(f"{target} exists: name another file") from error
    except (apsw.Error, OSError) as error:
        failed = StoreUnavailable(f"the backup of {source} failed: {error}; check both disks")
        raise damage(error, source) or failed from error
    return size_bytes


def is_backup(path: Path) -> bool:
    """Return whether a file is a backup that no process has written as a store; False if it is missing."""
    try:
        with closing(_open(path, "mode=ro&immutable=1")) as opened:
            application = opened.pragma("application_id")
    except apsw.Error:
        return False
    # A writer of a store leaves its lock file next to it.
    return bool(application == APPLICATION_ID) and not Path(f"{path}.lock").exists()


def _check_target(source: Path, target: Path, *, overwrite: bool) -> None:
    """Raise ConfigurationError unless the target is new in an existing directory, or may be overwritten."""
    if not target.parent.exists():
        raise ConfigurationError(f"{target} cannot be created: make the directory {target.parent} first")
    if not target.parent.is_dir():
        raise ConfigurationError(f"{target} cannot be created: {target.parent} is not a directory")
    if not os.path.lexists(target):
        return
    if target.exists() and target.samefile(source):
        raise ConfigurationError(f"{target} is the store itself: name another file")
    if not overwrite:
        raise ConfigurationError(
            f"{target} exists: name another file, or add --overwrite to replace a backup"
        )
    if not is_backup(target):
        raise ConfigurationError(f"{target} is not a backup, so it is not replaced: name another file")


@contextmanager
def _partial_file(target: Path) -> Iterator[Path]:
    """Return a context with a new, empty file next to the target, deleted at the end if it still exists."""
    number, name = tempfile.mkstemp(prefix=f"{target.name}.", suffix=".part", dir=target.parent)
    os.close(number)
    partial = Path(name)
    try:
        yield partial
    finally:
        partial.unlink(missing_ok=True)


def _copy(source: Path, partial: Path, report: Report, *, damaged: bool) -> None:
    """Copy one state of a store to the file `partial`, mark it as a backup and flush it to disk.

    With `damaged`, page checksums are not compared, and cells whose long value is lost are deleted from the
    copy. Raises apsw.Error and OSError.
    """
    with (
        closing(_open(source, "mode=rw", compare=not damaged)) as origin,
        closing(_open(partial, "mode=rw")) as copy,
    ):
        # Without a read transaction, each commit of a writer would restart the backup.
        origin.execute("BEGIN")
        origin.execute("SELECT count(*) FROM sqlite_master").fetchall()
        # The copy is flushed as a whole at the end, and is worthless before.
        copy.execute("PRAGMA synchronous = OFF")
        copy.execute("PRAGMA journal_mode = OFF").fetchall()
        if origin.reserve_bytes() == CHECKSUM_BYTES:
            # The first page determines whether pages get checksums, so write it before all others. Any change
            # that leaves an unfinished copy without the mark of a backup will do.
            copy.reserve_bytes(reserve=CHECKSUM_BYTES)
            copy.execute("PRAGMA application_id = 1")
        with _system_errors(copy), copy.backup("main", origin, "main") as backup:
            while not backup.done:
                backup.step(PAGES_PER_STEP)
                report(backup.page_count - backup.remaining, backup.page_count)
        if damaged:
            _drop_lost(copy)
        copy.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    # The copy has the store's WAL mode; now that it is closed, it no longer has its own log.
    _flush(partial)


def _drop_lost(copy: Connection) -> None:
    """Delete the cells whose long values are lost, as far as SQLite can read the pages of the copy.

    Reads fail at such cells, while a check repairs missing ones. Earlier schemas have no long values.
    """
    if copy.pragma("user_version") < LONG_VALUES_VERSION:
        return
    # The check of the copy reports what SQLite cannot read.
    with suppress(apsw.CorruptError):
        copy.execute(DELETE_LOST).fetchall()


@contextmanager
def _system_errors(copy: Connection) -> Iterator[None]:
    """Return a context that raises OSError, with the system's error number, if the copy cannot be written.

    The text of SQLite's own error is only `not an error`. Errors of reading the store pass unchanged.
    """
    try:
        yield
    except apsw.FullError as error:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
    except apsw.IOError as error:
        # Otherwise the store could not be read, and the number is left from an earlier call.
        if getattr(error, "extendedresult", 0) in _WRITE_ERRORS:
            raise OSError(copy.system_errno, os.strerror(copy.system_errno)) from error
        raise


def _open(path: Path, query: str, *, compare: bool = True) -> Connection:
    """Open a file with the query part of an SQLite URI. Raises apsw.Error."""
    uri = f"{path.absolute().as_uri()}?{query}"
    return connect(uri, busy_seconds=_BUSY_SECONDS, cache_kib=_CACHE_KIB, uri=True, compare=compare)


def _flush(path: Path) -> None:
    """Make a file or directory durable with fsync."""
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)
