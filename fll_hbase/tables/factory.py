"""Tables by store URL: the only module that distinguishes engines."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from fll_hbase.runtime.config import DEFAULTS
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.tables import hbase_url, sqlite_backup
from fll_hbase.tables.base import Table
from fll_hbase.tables.sqlite import SqliteTable
from fll_hbase.tables.sqlite_connection import naming_damaged_pages
from fll_hbase.tables.sqlite_read_only import may_write

SQLITE, MEMORY = "sqlite:///", ":memory:"
MEMORY_URL = SQLITE + MEMORY
FORMS = "sqlite:///path/to/file.db, sqlite:///:memory: or hbase://host:9090/table"


def open_table(
    url: str,
    *,
    timeout_ms: int = DEFAULTS.store_timeout_ms,
    connections_max: int = DEFAULTS.store_connections_max,
    create: bool = True,
) -> Table:
    """Open the table of a store URL. Raises ConfigurationError, CorruptRow or StoreUnavailable.

    `timeout_ms` limits each call to an HBase gateway, and each wait for a lock of a SQLite file. In each
    process, the table opens at most `connections_max` connections to HBase. A missing SQLite file is created
    with its directories. With `create=False` the file must already be a store. An HBase table must always
    exist, which its first call checks.
    """
    if url.startswith(SQLITE) and url != SQLITE:
        return SqliteTable(url.removeprefix(SQLITE), busy_seconds=timeout_ms / 1000, create=create)
    if url.startswith(hbase_url.SCHEME):
        target = hbase_url.parse_url(url)
        table: Table = import_hbase().HbaseTable(
            target, timeout_seconds=timeout_ms / 1000, connections_max=connections_max
        )
        return table
    raise _no_engine(url)


def is_store_url(url: str) -> bool:
    """Return whether a string begins like a store URL, without checking the rest."""
    return url.startswith((SQLITE, hbase_url.SCHEME))


def store_exists(url: str) -> bool:
    """Return whether the file of a SQLite URL exists, opening nothing; True in memory and for other URLs."""
    path = url.removeprefix(SQLITE)
    return not url.startswith(SQLITE) or path == MEMORY or Path(path).exists()


def is_in_memory(url: str) -> bool:
    """Return whether a URL names a SQLite store in memory, which belongs to one process."""
    return url == MEMORY_URL


def is_read_only(url: str) -> bool:
    """Return whether a URL names an existing SQLite file that this user may not write to; False for HBase."""
    return url.startswith(SQLITE) and not is_in_memory(url) and not may_write(url.removeprefix(SQLITE))


def is_readable_by_others(url: str) -> bool:
    """Return whether others than its owner may read the file of a SQLite URL; False in memory and for HBase.

    Raises OSError for a missing file.
    """
    if not url.startswith(SQLITE) or is_in_memory(url):
        return False
    return bool(os.stat(url.removeprefix(SQLITE)).st_mode & (stat.S_IRGRP | stat.S_IROTH))


def check_creatable(url: str) -> None:
    """Raise ConfigurationError if the file of a SQLite URL could not be created; create nothing.

    The file can be created if the nearest existing folder above it is writable.
    """
    path = Path(url.removeprefix(SQLITE)).absolute()
    folder = next(parent for parent in path.parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigurationError(f"{path} cannot be created: {folder} is not a directory that can be written")


def is_shared(url: str) -> bool:
    """Return whether other processes may use the store now: HBase, or a SQLite file open in another process.

    This process must not have the store open. A SQLite file is opened and closed here, which deletes a log
    that a killed process left. Raises ConfigurationError, CorruptRow or StoreUnavailable.
    """
    if not url.startswith(SQLITE):
        return True
    # The last process to close a file in WAL mode deletes its log, so a remaining log means that another
    # process has the file open. A killed process has nothing open, so a log that it left is deleted here.
    open_table(url, create=False).close()
    return Path(url.removeprefix(SQLITE) + "-wal").exists()


def back_up(
    url: str, path: str, *, overwrite: bool, report: Callable[[int, int], None], damaged: bool = False
) -> int:
    """Copy the file of a SQLite store to `path`, even while others write; return the size in bytes.

    `report` is called with the number of copied pages and of all pages. With `damaged`, damaged pages are
    copied unchanged, with new checksums, and cells whose long value is lost are deleted from the copy. Raises
    StoreUnavailable and CorruptRow. Raises ConfigurationError for other engines, for a missing or foreign
    file, and for a store that this user may only read. Raises it also for a `path` that cannot be created, is
    not a backup or must not be replaced.
    """
    source = Path(url.removeprefix(SQLITE))
    if not url.startswith(SQLITE) or is_in_memory(url):
        raise ConfigurationError(
            f"{url} has no file to back up; an HBase table has snapshots, see docs/operate/backup.md,"
            " Backup and restore"
        )
    if not damaged:
        with naming_damage(url):
            open_table(url, create=False).close()
    if is_read_only(url):
        raise ConfigurationError(
            f"{source} can only be read by this user: a backup beside writers needs the right to write to the"
            " file and its directory"
        )
    with naming_damage(url):
        return sqlite_backup.back_up(source, Path(path), overwrite=overwrite, report=report, damaged=damaged)


def naming_damage(url: str) -> AbstractContextManager[None]:
    """Return a context in which a CorruptRow names the damaged pages, if the URL names a SQLite file."""
    if not url.startswith(SQLITE) or is_in_memory(url):
        return nullcontext()
    return naming_damaged_pages(Path(url.removeprefix(SQLITE)))


def canonical_url(url: str) -> str:
    """Return the URL with an absolute path without links, or with sorted gateways and their ports.

    Two URLs of the same path, or of the same gateways and table, become equal. No URL contains credentials.
    A store in memory must not be passed, because its URL becomes the URL of a file. Raises
    ConfigurationError.
    """
    if url.startswith(hbase_url.SCHEME):
        target = hbase_url.parse_url(url)
        return f"{hbase_url.SCHEME}{','.join(sorted(map(str, target.gateways)))}/{target.table}"
    if url.startswith(SQLITE):
        return f"{SQLITE}{Path(url.removeprefix(SQLITE)).resolve()}"
    raise _no_engine(url)


def _no_engine(url: str) -> ConfigurationError:
    """Return the error for a URL of an unknown engine."""
    return ConfigurationError(f"store URL {url!r} names no engine: expected {FORMS}")


def import_hbase() -> Any:
    """Import the HBase engine, whose library is an optional extra. Raises ConfigurationError without it."""
    # Import on demand, because happybase is an extra that SQLite users need not install.
    try:
        from fll_hbase.tables import hbase
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"HBase needs {error.name}, which is not installed: pip install '.[hbase]' in the source tree,"
            " or append [hbase] to the wheel's name"
        ) from error
    return hbase
