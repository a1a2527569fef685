"""Connections to a SQLite file, with common settings, and its damaged pages.

SQLite does not verify what it reads. Its extension cksumvfs puts a checksum at the end of each page, if the
file reserves room for it, and verifies each page that is read from disk: decision 0106.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from itertools import islice
from pathlib import Path

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
    """Load the extension, once per process, for all connections. Raises ConfigurationError without it."""
    try:
        with closing(apsw.Connection(":memory:")) as connection:
            sqlite_extra.load(connection, "cksumvfs")
    except (LookupError, sqlite_extra.NotAvailable, apsw.ExtensionLoadingError) as error:
        raise ConfigurationError(f"apsw comes without cksumvfs here ({error}): install its wheel") from error


PAGES_NAMED_MAX = 100

_HEADER_BYTES, _RESERVED_AT = 100, 20
_PAGE_BYTES_MIN, _PAGE_BYTES_DEFAULT = 512, 4_096
_READS = 3
"""Number of reads of a page that looks damaged, because a checkpoint may have been writing it."""


@contextmanager
def naming_damaged_pages(path: Path) -> Iterator[None]:
    """Return a context that raises a CorruptRow from inside again, with the numbers of all damaged pages.

    It names the first 100, and counts the others. An error that no page of the file explains stays as it is.
    """
    try:
        yield
    except CorruptRow as error:
        pages = damaged_pages(path)
        first = list(islice(pages, PAGES_NAMED_MAX))
        if not first:
            raise
        others = sum(1 for _ in pages)
        numbers = ", ".join(map(str, first)) + (f" and {others:,} more" if others else "")
        raise CorruptRow(
            f"{path}: damaged pages, counted from 1: {numbers}; see docs/operate/backup.md, Damaged files"
        ) from error


def damaged_pages(path: Path) -> Iterator[int]:
    """Yield the numbers of the damaged pages, from 1. Nothing for a file without checksums.

    Reads the file page by page beside writers, without its log. Raises apsw.Error if it cannot be opened.
    """
    # Closing a descriptor of Python's would drop the locks that this process holds on the file.
    flags = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0]
    with closing(connect(":memory:", busy_seconds=0, cache_kib=100)) as connection:
        file = apsw.VFSFile("unix", str(path.resolve()), flags)
        try:
            header = file.xRead(_HEADER_BYTES, 0)
            if header[_RESERVED_AT] != CHECKSUM_BYTES:
                return
            page_bytes = _page_bytes(header)
            for number in range(file.xFileSize() // page_bytes):
                begin = number * page_bytes
                if not any(_is_right(connection, file, begin, page_bytes) for _ in range(_READS)):
                    yield number + 1
        finally:
            file.xClose()


def _is_right(connection: Connection, file: apsw.VFSFile, begin: int, page_bytes: int) -> bool:
    """Return whether the page at an offset can be read and has its checksum."""
    with suppress(apsw.Error):
        page = file.xRead(page_bytes, begin)
        return bool(connection.execute("SELECT verify_checksum(?)", (page,)).get)
    return False


def _page_bytes(header: bytes) -> int:
    """Return the size of pages in the header of a file, the default of SQLite if that is damaged."""
    size = int.from_bytes(header[16:18], "big") & ~1 or 65_536
    is_possible = size >= _PAGE_BYTES_MIN and not size & (size - 1)
    return size if is_possible else _PAGE_BYTES_DEFAULT
