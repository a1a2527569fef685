"""The embedded engine: rows as blobs in key order in one SQLite file, for several processes at once.

WAL lets readers and the one writer work at the same time. Writers queue at a lock file, because SQLite's own
busy handler is not fair. The log is flushed after the commit, outside the queue: docs/decisions/0004.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from fll_hbase import clock
from fll_hbase.errors import ConfigurationError, StoreUnavailable
from fll_hbase.tables.base import Batch, Cell, CellKey, Columns, Row, Sync
from fll_hbase.tables.write_lock import Turn

MEMORY = ":memory:"
BUSY_SECONDS = 10.0
"""How long a write waits for others before it says that the database is busy."""

KEYS_A_QUERY, PAGE_ROWS = 250, 1_000
VERSION = 1
_WRITER_CACHE_KIB = 65_536
_READER_CACHE_KIB = 8_192
_MAPPED_BYTES = 2**34

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS cells (
    row BLOB NOT NULL, column BLOB NOT NULL, value BLOB NOT NULL, stamp INTEGER NOT NULL,
    PRIMARY KEY (row, column)
) WITHOUT ROWID;
PRAGMA user_version = {VERSION};
"""
_SELECT = "SELECT row, column, value, stamp FROM cells"
_PUT = """
INSERT INTO cells (row, column, value, stamp) VALUES (?, ?, ?, ?)
ON CONFLICT (row, column) DO UPDATE SET value = excluded.value, stamp = excluded.stamp
"""
_DELETE = "DELETE FROM cells WHERE row = ? AND column = ? AND stamp <= ?"
_COUNT = "SELECT count(*) FROM cells WHERE row > ? AND row < ?"
_HOP = "SELECT row FROM cells WHERE row > ? AND row < ? ORDER BY row LIMIT 1 OFFSET ?"


class _Connection(sqlite3.Connection):
    """Knows its process."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._pid = os.getpid()

    @property
    def own(self) -> bool:
        """Whether this process opened it: one inherited by a fork must be left alone."""
        return self._pid == os.getpid()


class SqliteTable:
    """A table in one SQLite file, or in memory for one process."""

    def __init__(self, path: str, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self._path = path
        self._busy_seconds = busy_seconds
        self._in_memory = path == MEMORY
        self._turn = Turn(None if self._in_memory else path + ".lock")
        self._idle: list[_Connection] = []
        self._writer: _Connection | None = None
        self._log: tuple[int, int] | None = None
        self._opened: list[_Connection] = []
        with self._errors():
            if not self._in_memory:
                Path(path).absolute().parent.mkdir(parents=True, exist_ok=True)
            self._prepare()

    def get(self, row: bytes, *, columns: Columns = ()) -> Row:
        return self.rows([row], columns=columns).get(row, {})

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        where, parameters = _where(columns)
        found: dict[bytes, Row] = {}
        with self._errors(), self._reading() as connection:
            for begin in range(0, len(keys), KEYS_A_QUERY):
                some = keys[begin : begin + KEYS_A_QUERY]
                query = f"{_SELECT} WHERE row IN ({_marks(some)}){where}"
                for row, column, value, stamp in connection.execute(query, [*some, *parameters]).fetchall():
                    found.setdefault(row, {})[column] = Cell(value, stamp)
        return found

    def scan(
        self, start: bytes, stop: bytes, *, columns: Columns = (), limit: int | None = None
    ) -> Iterator[tuple[bytes, Row]]:
        """Page by page, so that no read of this thread is held at an old snapshot between two rows."""
        left = sys.maxsize if limit is None else limit
        while left > 0:
            rows_asked = min(left, PAGE_ROWS)
            page = self._page(start, stop, columns, rows_asked)
            yield from page
            if len(page) < rows_asked:
                return
            start = page[-1][0] + b"\x00"
            left -= rows_asked

    def splits(self, start: bytes, stop: bytes, *, parts: int) -> list[bytes]:
        """Every so many cells a key: the engine counts them, which is quick beside reading them."""
        found: list[bytes] = []
        with self._errors(), self._reading() as connection:
            (cells,) = connection.execute(_COUNT, (start, stop)).fetchone()
            hop = (start, stop, cells // parts)
            while len(found) < parts - 1 and (key := connection.execute(_HOP, hop).fetchone()):
                found += key
                hop = (*key, stop, cells // parts)
        return found

    def write(self, batches: Iterable[Batch], *, sync: Sync = Sync.NOW) -> None:
        """One transaction for all batches, which is more than the protocol asks for."""
        puts = sorted((put for batch in batches for put in batch), key=itemgetter(0, 1))
        self._change(lambda stamp_ms: (_PUT, ((*put, stamp_ms) for put in puts)), sync)

    def delete(self, cells: Sequence[CellKey], *, until_ms: int) -> None:
        self._change(lambda _: (_DELETE, ((*cell, until_ms) for cell in cells)), Sync.NOW)

    def close(self) -> None:
        self._turn.close()
        for connection in self._opened:
            if connection.own:
                connection.close()
        self._opened.clear()
        if self._log is not None and self._log[0] == os.getpid():
            os.close(self._log[1])
        self._log = None

    def _change(self, change: Callable[[int], tuple[str, Iterable[Any]]], sync: Sync) -> None:
        """What the change says, with the time it happens as its stamp: one transaction."""
        with self._errors():
            with self._turn.held(self._busy_seconds):
                self._commit(*change(clock.now_ms()))
            if sync is Sync.NOW and not self._in_memory:
                self._flush()

    def _commit(self, statement: str, parameters: Iterable[Any]) -> None:
        connection = self._writing()
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.executemany(statement, parameters)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _flush(self) -> None:
        """Make all that was committed durable, as `synchronous = FULL` would within the commit.

        Outside the turn, so that the disk serves several writers with one flush. What a checkpoint took out
        of the log meanwhile, it has flushed itself.
        """
        if self._log is None or self._log[0] != os.getpid():
            self._log = os.getpid(), os.open(self._path + "-wal", os.O_RDONLY | os.O_CLOEXEC)
        os.fdatasync(self._log[1])

    def _prepare(self) -> None:
        """Make the schema where there is none yet; a file of another version is left alone."""
        if self._version() != VERSION:
            with self._turn.held(self._busy_seconds):
                if self._version() == 0:
                    self._writing().execute("PRAGMA journal_mode = WAL")
                    self._writing().executescript(_SCHEMA)

    def _version(self) -> int:
        version: int = self._writing().execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, VERSION):
            raise ConfigurationError(f"{self._path} is of version {version}, this program reads {VERSION}")
        return version

    def _page(self, start: bytes, stop: bytes, columns: Columns, limit: int) -> list[tuple[bytes, Row]]:
        where, parameters = _where(columns)
        query = f"{_SELECT} WHERE row >= ? AND row < ?{where} ORDER BY row, column"
        with self._errors(), self._reading() as connection:
            cursor = connection.execute(query, [start, stop, *parameters])
            try:
                return [
                    (row, {column: Cell(value, stamp) for _, column, value, stamp in cells})
                    for row, cells in islice(groupby(cursor, key=itemgetter(0)), limit)
                ]
            finally:
                cursor.close()

    @contextmanager
    def _reading(self) -> Iterator[_Connection]:
        """A connection to read with; in memory there is but one, so readers take turns with writers."""
        if self._in_memory:
            with self._turn.held(self._busy_seconds):
                yield self._writing()
            return
        connection = self._idle_reader()
        try:
            yield connection
        finally:
            self._idle.append(connection)

    def _idle_reader(self) -> _Connection:
        """The reader used last, whose pages are still at hand; never one that was opened before a fork."""
        while self._idle:
            connection = self._idle.pop()
            if connection.own:
                return connection
        return self._connect(_READER_CACHE_KIB)

    def _writing(self) -> _Connection:
        """The one connection of this process that writes, for whoever has the turn."""
        if self._writer is None or not self._writer.own:
            self._writer = self._connect(_WRITER_CACHE_KIB)
        return self._writer

    def _connect(self, cache_kib: int) -> _Connection:
        connection = sqlite3.connect(
            self._path,
            timeout=self._busy_seconds,
            isolation_level=None,
            check_same_thread=False,
            factory=_Connection,
        )
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA wal_autocheckpoint = 20000")
        connection.execute(f"PRAGMA cache_size = -{cache_kib}")
        connection.execute(f"PRAGMA mmap_size = {_MAPPED_BYTES}")
        self._opened.append(connection)
        return connection

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except TimeoutError as error:
            raise StoreUnavailable(f"{self._path} is busy: {error}; try again") from error
        except (sqlite3.Error, OSError) as error:
            raise StoreUnavailable(
                f"{self._path}: {error}; check the file and its disk, try again"
            ) from error


def _where(columns: Columns) -> tuple[str, list[bytes]]:
    """The condition on columns, with its parameters; `;` comes right after the `:` of a family."""
    if not columns:
        return "", []
    families = [column for column in columns if column.find(b":") == len(column) - 1]
    names = [column for column in columns if column not in families]
    conditions = [f"column IN ({_marks(names)})"] if names else []
    conditions += ["column >= ? AND column < ?"] * len(families)
    parameters = names + [bound for family in families for bound in (family, family[:-1] + b";")]
    return f" AND ({' OR '.join(conditions)})", parameters


def _marks(values: Sequence[bytes]) -> str:
    return ",".join("?" * len(values))
