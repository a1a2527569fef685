"""Connections to a SQLite file, with common settings.

SQLite does not verify what it reads. Its extension cksumvfs puts a checksum at the end of each page, if the
file reserves room for it, and verifies each page that is read from disk: decision 0106.
"""

from __future__ import annotations

import math
import os
from contextlib import closing
from functools import cache

import apsw
from apsw import sqlite_extra

from fll_hbase.runtime.errors import ConfigurationError, CorruptRow

CHECKSUM_BYTES = 8
"""Bytes reserved at the end of each page of a file with checksums; any other number disables checksums."""


class Connection(apsw.Connection):
    """A connection that remembers the process that opened it."""

    def __init__(self, path: str, flags: int, busy_seconds: float) -> None:
        super().__init__(path, flags=flags)
        self._pid = os.getpid()
        self._busy_seconds = 0
        self.limit_waits(busy_seconds)

    @property
    def is_own(self) -> bool:
        """Return whether this process opened it; a connection inherited through a fork must not be used."""
        return self._pid == os.getpid()

    def limit_waits(self, seconds: float) -> None:
        """Set how long a statement waits for SQLite's own locks, in whole seconds, rounded up."""
        # The value rarely changes.
        whole_seconds = math.ceil(seconds)
        if whole_seconds != self._busy_seconds:
            self.set_busy_timeout(1000 * whole_seconds)
            self._busy_seconds = whole_seconds


def connect(
    path: str, *, busy_seconds: float, cache_kib: int, uri: bool = False, compare: bool = True
) -> Connection:
    """Open a file, or with `uri` the file that an SQLite URI names. Without `compare`, read damaged pages.

    Creates a missing file, unless the mode in the URI forbids it. Raises apsw.Error, and ConfigurationError
    without the extension.
    """
    _load_checksums()
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | (apsw.SQLITE_OPEN_URI if uri else 0)
    connection = Connection(path, flags, busy_seconds)
    # Done first, because setting the cache reads the first page.
    if not compare:
        connection.execute("PRAGMA checksum_verification = OFF").fetchall()
    connection.execute(f"PRAGMA cache_size = -{cache_kib}")
    return connection


def damage(error: Exception, path: object) -> CorruptRow | None:
    """Return the error for a page that is invalid or fails its checksum, or None for other errors."""
    code = getattr(error, "extendedresult", 0)
    if code != apsw.SQLITE_IOERR_DATA and code & 0xFF != apsw.SQLITE_CORRUPT:
        return None
    return CorruptRow(f"{path}: a page is damaged ({error}); see docs/operate/backup.md, Damaged files")


@cache
def _load_checksums() -> None:
    """Load the extension once per process; all files are then opened through it."""
    try:
        with closing(apsw.Connection(":memory:")) as connection:
            sqlite_extra.load(connection, "cksumvfs")
    except (LookupError, sqlite_extra.NotAvailable, apsw.ExtensionLoadingError) as error:
        raise ConfigurationError(f"apsw comes without cksumvfs here ({error}): install its wheel") from error
