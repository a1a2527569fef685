"""Backups of a SQLite store beside running writers: one consistent file, or none."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from fll_hbase.runtime.errors import ConfigurationError, StoreUnavailable
from fll_hbase.tables.sqlite_connection import CHECKSUM_BYTES, Connection, connect, damage

APPLICATION_ID = 0x464C4C42
"""`FLLB` in the header of a backup, which no store that is in use has."""

PAGES_PER_STEP = 1_000
"""4 MB of one step, between two reports of the progress."""

_BUSY_SECONDS, _CACHE_KIB = 5.0, 2_000

Report = Callable[[int, int], None]
"""Called with the number of pages that are copied, and of all pages."""


def back_up(source: Path, target: Path, *, overwrite: bool, report: Report, damaged: bool = False) -> int:
    """Copy the store in one file to another, as it is at the beginning; return the size in bytes.

    Readers and writers go on; the log of the store grows until the backup ends. The target appears complete
    and durable, under its name, at the end. With `overwrite` it may be an earlier backup. With `damaged`,
    pages that differ from their checksums are copied as they are, with new ones. Raises ConfigurationError
    for any other file there and without its directory, CorruptRow, and StoreUnavailable.
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
    """Return whether a file is a backup that no process has used as a store since."""
    try:
        with closing(_open(path, "mode=ro&immutable=1")) as opened:
            application = opened.pragma("application_id")
    except apsw.Error:
        return False
    # Whoever writes to a store leaves its lock file beside it.
    return bool(application == APPLICATION_ID) and not Path(f"{path}.lock").exists()


def _check_target(source: Path, target: Path, *, overwrite: bool) -> None:
    """Raise ConfigurationError unless the target is new, or a backup that may be overwritten."""
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
    """Return a context with a new, empty file beside the target, deleted at its end if it is still there."""
    number, name = tempfile.mkstemp(prefix=f"{target.name}.", suffix=".part", dir=target.parent)
    os.close(number)
    partial = Path(name)
    try:
        yield partial
    finally:
        partial.unlink(missing_ok=True)


def _copy(source: Path, partial: Path, report: Report, *, damaged: bool) -> None:
    """Copy one state of a store to the file `partial`, mark it as a backup and flush it to the disk."""
    with (
        closing(_open(source, "mode=rw", compare=not damaged)) as origin,
        closing(_open(partial, "mode=rw")) as copy,
    ):
        # A read transaction: without one, each commit of a writer would restart the backup.
        origin.execute("BEGIN")
        origin.execute("SELECT count(*) FROM sqlite_master").fetchall()
        # Flushed as a whole at the end, and worthless before.
        copy.execute("PRAGMA synchronous = OFF")
        copy.execute("PRAGMA journal_mode = OFF").fetchall()
        if origin.reserve_bytes() == CHECKSUM_BYTES:
            # The first page says whether pages get checksums, so it has to be written before all others: by
            # any change of it that leaves an unfinished copy without the mark of a backup.
            copy.reserve_bytes(reserve=CHECKSUM_BYTES)
            copy.execute("PRAGMA application_id = 1")
        with _system_errors(copy), copy.backup("main", origin, "main") as backup:
            while not backup.done:
                backup.step(PAGES_PER_STEP)
                report(backup.page_count - backup.remaining, backup.page_count)
        copy.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    # Closed, so that the copy, which has the WAL mode of the store, has no log of its own any more.
    _flush(partial)


@contextmanager
def _system_errors(copy: Connection) -> Iterator[None]:
    """Raise the OSError of a copy that cannot be written: the text of SQLite's error is `not an error`."""
    try:
        yield
    except apsw.FullError as error:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
    except apsw.IOError as error:
        # Zero if the store could not be read.
        if copy.system_errno:
            raise OSError(copy.system_errno, os.strerror(copy.system_errno)) from error
        raise


def _open(path: Path, query: str, *, compare: bool = True) -> Connection:
    """Open a file with the query of a URI of SQLite. Raises apsw.Error."""
    uri = f"{path.absolute().as_uri()}?{query}"
    return connect(uri, busy_seconds=_BUSY_SECONDS, cache_kib=_CACHE_KIB, uri=True, compare=compare)


def _flush(path: Path) -> None:
    """Make a file or directory durable with fsync."""
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)
