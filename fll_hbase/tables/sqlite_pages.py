"""Damaged pages of a SQLite file: those that differ from their checksums."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path

import apsw

from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.tables.sqlite_connection import CHECKSUM_BYTES, Connection, connect

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
