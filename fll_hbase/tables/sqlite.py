"""SQLite engine: cells in key order in one file, shared by several processes.

WAL mode lets readers work concurrently with the single writer. Writers queue at a lock file, because SQLite's
own busy handler is not fair. The log is flushed after the commit, outside the lock: decision 0004.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import apsw

from fll_hbase.runtime import clock, deadline
from fll_hbase.runtime.errors import ConfigurationError, CorruptRow, LineageError, ReadOnlyStore
from fll_hbase.tables.base import Batch, CellKey, Columns, Row, Scan, StampedPut, Sync
from fll_hbase.tables.sqlite_cells import SCHEMA, VERSIONS, CellStatements, find_splits
from fll_hbase.tables.sqlite_connection import CHECKSUM_BYTES, Connection, connect, damage
from fll_hbase.tables.sqlite_read_only import ReadOnlyFile, may_write
from fll_hbase.tables.write_lock import WriteLock, create_private

T = TypeVar("T")

MEMORY = ":memory:"
BUSY_SECONDS = 10.0
"""How long a write waits for other writers before it fails as busy."""

PAGE_ROWS = 1_000
WARM_KEYS_MAX = 8
"""Maximum number of rows in a read that may keep writers waiting."""

WARM_SECONDS = 1.0
"""How long after a write its connection also serves reads, without noticing if the file is removed."""

_STEPS_PER_CHECK = 50_000
"""Instructions of SQLite, taking a millisecond or two, after which a query checks the deadline."""

_WRITER_CACHE_KIB = 65_536
_READER_CACHE_KIB = 8_192

_RIGHT_TO_WRITE = "a user needs the right to write to the file and its directory"

_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"


class SqliteTable:
    """A table in one SQLite file, or in memory for one process.

    Without write access to the file and its directory, the table is read-only.
    """

    # Only one process writes at a time, and reading threads compete for the same core.
    parallel_calls = 1

    def __init__(self, path: str, *, busy_seconds: float = BUSY_SECONDS, create: bool = True) -> None:
        """Open the file. With `create`, create a missing file and directory, and the schema in an empty file.

        Raises ConfigurationError for a directory, and for the database of another application or version. A
        missing file without `create` raises it, too, as does an empty file without `create` or the right to
        write. Raises CorruptRow and StoreUnavailable.
        """
        self._path = path
        self._busy_seconds = busy_seconds
        self._in_memory = path == MEMORY
        self._write_lock = WriteLock(None if self._in_memory else path)
        self._idle: list[Connection] = []
        self._writer: Connection | None = None
        self._written_at = -math.inf
        self._wal_file: tuple[int, int] | None = None
        self._connections: list[Connection] = []
        self._read_only: ReadOnlyFile | None = None
        try:
            self._open(create=create)
        except (apsw.Error, OSError) as error:
            raise self._failed(error) from error

    def get(self, row: bytes, *, columns: Columns = ()) -> Row:
        """Return the cells of one row, as `Table.get`."""
        return self.rows([row], columns=columns).get(row, {})

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        """Return rows by key, as `Table.rows`; soon after a write, few rows come from the writer's cache."""
        # The page cache of the writer may have few rows that were just written.
        is_recent = time.monotonic() - self._written_at < WARM_SECONDS
        warm = is_recent and len(keys) <= WARM_KEYS_MAX and not self._in_memory
        return self._read(lambda connection: self._cells.rows(connection, keys, columns), warm=warm)

    def scan(
        self, start: bytes, stop: bytes, *, columns: Columns = (), limit: int | None = None
    ) -> Iterator[tuple[bytes, Row]]:
        """Scan page by page, so that no read transaction stays open between two rows."""
        remaining = sys.maxsize if limit is None else limit
        while remaining > 0:
            page_rows = min(remaining, PAGE_ROWS)
            page = self._page(start, stop, columns, page_rows)
            yield from page
            if len(page) < page_rows:
                return
            start = page[-1][0] + b"\x00"
            remaining -= page_rows

    def scan_many(self, scans: Sequence[Scan]) -> list[list[tuple[bytes, Row]]]:
        """Return the rows of each scan, each read from one state, one after another on one connection."""
        return self._read(lambda connection: [self._cells.scan(connection, scan) for scan in scans])

    def splits(self, start: bytes, stop: bytes, *, parts: int) -> list[bytes]:
        """Return at most `parts - 1` keys between similar numbers of cells, exact below a million cells."""
        return self._read(lambda connection: find_splits(connection, start, stop, parts=parts))

    def write(self, batches: Iterable[Batch], *, sync: Sync = Sync.NOW) -> None:
        """Write all batches in one transaction, which is stronger than the interface requires."""
        values = {(put.row, put.column): put.value for batch in batches for put in batch}
        # Sorted, so that neighbouring rows of the B-tree are written together.
        cells = [(*key, values[key]) for key in sorted(values)]

        def change(connection: Connection) -> None:
            stamp_ms = clock.now_ms()
            self._cells.put(connection, [(*cell, stamp_ms) for cell in cells])

        self._change(change, sync)

    def put_stamped(self, puts: Sequence[StampedPut]) -> None:
        self._change(lambda connection: self._cells.put(connection, sorted(puts)), Sync.NOW)

    def delete(self, cells: Sequence[CellKey], *, until_ms: int) -> None:
        """Delete the cells that were put at `until_ms` or earlier, in one transaction; durable on return."""
        self._change(lambda connection: self._cells.delete(connection, cells, until_ms), Sync.NOW)

    def close(self) -> None:
        """Close connections and files opened by this process, but not those inherited through a fork."""
        if self._read_only is not None:
            self._read_only.close()
        self._write_lock.close()
        for connection in self._connections:
            if connection.is_own:
                connection.close()
        self._connections.clear()
        if self._wal_file is not None and self._wal_file[0] == os.getpid():
            os.close(self._wal_file[1])
        self._wal_file = None

    def _change(self, change: Callable[[Connection], None], sync: Sync) -> None:
        """Call `change` with the writing connection in one transaction.

        Durable on return with Sync.NOW. Raises ReadOnlyStore if the file is read-only, and CorruptRow for a
        damaged page. Raises StoreUnavailable for any other error of SQLite or the file, and if it is busy.
        """
        if self._read_only is not None:
            raise ReadOnlyStore(f"{self._path} can only be read, so nothing was changed: {_RIGHT_TO_WRITE}")
        try:
            self._write_lock.acquire(self._patience())
            try:
                self._commit(change)
            finally:
                self._write_lock.release()
            if sync is Sync.NOW and not self._in_memory:
                self._flush()
        except (apsw.Error, OSError) as error:
            raise self._failed(error) from error

    def _commit(self, change: Callable[[Connection], None]) -> None:
        """Call `change` in one transaction; roll back on any error."""
        connection = self._writer_connection()
        connection.limit_waits(self._patience())
        # IMMEDIATE takes SQLite's write lock at once; a deferred transaction could fail half-way.
        connection.execute("BEGIN IMMEDIATE")
        try:
            change(connection)
            connection.execute("COMMIT")
            self._written_at = time.monotonic()
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _flush(self) -> None:
        """Make all commits durable, as `synchronous = FULL` would do inside the commit.

        Runs outside the write lock, so that one flush can serve several writers. A checkpoint that moves
        pages out of the log in between flushes them itself.
        """
        if self._wal_file is None or self._wal_file[0] != os.getpid():
            self._wal_file = os.getpid(), os.open(self._path + "-wal", os.O_RDONLY | os.O_CLOEXEC)
        os.fdatasync(self._wal_file[1])

    def _open(self, *, create: bool) -> None:
        """Create a missing file if `create`, check the path and prepare the schema.

        Raises ConfigurationError, CorruptRow, apsw.Error and OSError.
        """
        if create and not self._in_memory:
            Path(self._path).absolute().parent.mkdir(parents=True, exist_ok=True)
            create_private(Path(self._path))
        elif not self._in_memory and not Path(self._path).exists():
            raise ConfigurationError(f"{self._path} does not exist")
        if Path(self._path).is_dir():
            raise ConfigurationError(f"{self._path} is a directory: name a file in it")
        if not self._in_memory and not may_write(self._path):
            self._read_only = ReadOnlyFile(
                self._path, busy_seconds=self._busy_seconds, steps_per_check=_STEPS_PER_CHECK
            )
        self._prepare(create=create or self._in_memory)

    def _prepare(self, *, create: bool) -> None:
        """Create the schema if the file is empty, then set the statements for its version.

        Raises ConfigurationError for an empty file without `create` or without write access, and the errors
        of `_version`.
        """
        if version := self._version():
            self._cells = CellStatements(version)
            return
        if not create or self._read_only is not None:
            raise ConfigurationError(f"{self._path} is empty, not a store: check its name")
        with self._write_lock.acquired(self._patience()):
            # Check again inside the lock, because another process may have created the schema meanwhile.
            if not self._version():
                self._writer_connection().reserve_bytes(reserve=CHECKSUM_BYTES)
                self._writer_connection().execute("PRAGMA journal_mode = WAL").fetchall()
                self._writer_connection().execute(SCHEMA).fetchall()
        self._cells = CellStatements(self._version())

    def _version(self) -> int:
        """Return which of VERSIONS the file of a store has, or 0 if the file is empty.

        Raises ConfigurationError for any other database, and CorruptRow if the header denies page checksums.
        """
        if self._read_only is not None:
            version, tables, reserved = self._read_only.read(_select_schema)
        else:
            version, tables, reserved = _select_schema(self._writer_connection())
        if version not in (0, *VERSIONS):
            raise ConfigurationError(
                f"{self._path} has schema version {version}, but this release reads versions 1 to 3 only"
            )
        if ("cells" in tables) != (version in VERSIONS) or (tables and version == 0):
            raise ConfigurationError(f"{self._path} belongs to another application: name another file")
        # No checksum covers the one header byte that says whether pages have checksums, so check it here.
        if version > VERSIONS[0] and reserved != CHECKSUM_BYTES and not self._in_memory:
            raise CorruptRow(f"{self._path}: the header says that pages have no checksums")
        return version if tables else 0

    def _page(self, start: bytes, stop: bytes, columns: Columns, limit: int) -> list[tuple[bytes, Row]]:
        """Return the first rows of a range, at most `limit`, read from one state of the file."""
        return self._read(lambda connection: self._cells.range(connection, (start, stop), columns, limit))

    def _read(self, query: Callable[[Connection], T], *, warm: bool = False) -> T:
        """Return `query(connection)`, which may run more than once. Raises StoreUnavailable and CorruptRow.

        A `warm` query uses the writing connection if it is free, because its cache has the pages written
        last. The caches of all other connections are invalid after each commit.
        """
        try:
            if self._read_only is not None:
                return self._read_only.read(query)
            if warm and self._write_lock.exclude_threads():
                try:
                    return query(self._writer_connection())
                finally:
                    self._write_lock.admit_threads()
            with self._reader() as connection:
                return query(connection)
        except (apsw.Error, OSError) as error:
            raise self._failed(error) from error

    @contextmanager
    def _reader(self) -> Iterator[Connection]:
        """Yield a connection for reading; an in-memory table has only one, so readers take the write lock."""
        if self._in_memory:
            with self._write_lock.acquired(self._patience()):
                yield self._writer_connection()
            return
        connection = self._idle_reader()
        try:
            connection.limit_waits(self._patience())
            yield connection
        finally:
            self._idle.append(connection)

    def _patience(self) -> float:
        """Return how long a wait may take, in seconds. Raises DeadlineExceeded."""
        return deadline.seconds_left(self._busy_seconds)

    def _idle_reader(self) -> Connection:
        """Return the last used reader of this process, whose pages are cached, or a new one."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_own:
                return connection
        connection = self._connect(_READER_CACHE_KIB)
        # A scan may skip any number of rows that lack the columns before it finds the first row of a page.
        connection.set_progress_handler(deadline.is_over, _STEPS_PER_CHECK)
        return connection

    def _writer_connection(self) -> Connection:
        """Return this process's only writing connection; the caller keeps other threads from using it."""
        if self._writer is None or not self._writer.is_own:
            self._writer = self._connect(_WRITER_CACHE_KIB)
        return self._writer

    def _connect(self, cache_kib: int) -> Connection:
        """Open a connection with this store's pragmas; `close` closes it."""
        connection = connect(self._path, busy_seconds=self._busy_seconds, cache_kib=cache_kib)
        # With NORMAL, `_flush` is responsible for flushing the log.
        connection.execute("PRAGMA synchronous = NORMAL")
        # 20,000 pages (80 MB) instead of 1,000, for fewer and larger checkpoints during ingest.
        connection.execute("PRAGMA wal_autocheckpoint = 20000")
        self._connections.append(connection)
        return connection

    def _failed(self, error: apsw.Error | OSError) -> LineageError:
        """Return CorruptRow for damage, else StoreUnavailable, as DeadlineExceeded after the deadline."""
        if damaged := damage(error, self._path):
            return damaged
        if isinstance(error, TimeoutError):
            return deadline.unavailable(f"{self._path} is busy: {error}; try again")
        return deadline.unavailable(f"{self._path}: {error}; {_advice(error)}")


def _advice(error: apsw.Error | OSError) -> str:
    """Return the end of an error text, with advice on an error of SQLite or of a file."""
    kind = getattr(error, "result", 0)
    if kind in (apsw.SQLITE_READONLY, apsw.SQLITE_CANTOPEN) or isinstance(error, PermissionError):
        return f"{_RIGHT_TO_WRITE}, or, for reading, that to read it and the files -wal and -shm beside it"
    if kind == apsw.SQLITE_NOTADB:
        return "check the file, or name another one"
    return "check the file and its disk, then try again"


def _select_schema(connection: Connection) -> tuple[int, set[str], int]:
    """Return the version of the schema (0: none), the table names, and the reserved bytes of pages."""
    tables = {str(name) for (name,) in connection.execute(_TABLES)}
    return connection.pragma("user_version"), tables, connection.reserve_bytes()
