"""SQLite files that this user may only read.

A reader of a file in WAL mode usually creates the log and its index, and writes to the index.
A user without write access reads these as they are. Without a log, because no process has the file open,
SQLite reads the file as immutable. A result then counts only if the file has not changed meanwhile: decision
85.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

import apsw

from fll_hbase.runtime import deadline
from fll_hbase.tables.sqlite_connection import Connection, connect

T = TypeVar("T")

ATTEMPTS_MAX = 20
"""Maximum number of attempts of a read while others open, close and change the file."""

_CACHE_KIB = 8_192
_LOG, _LOG_INDEX = "-wal", "-shm"


def may_write(path: str) -> bool:
    """Return whether this user may write to a file in WAL mode and its log; True if the file is missing."""
    directory = Path(path).absolute().parent
    if not Path(path).exists():
        return True
    if not _has_right(path, os.W_OK):
        return False
    # Without the right to create the log, the log must already exist next to the file.
    return _has_right(str(directory), os.W_OK | os.X_OK) or all(
        _has_right(path + suffix, os.W_OK) for suffix in (_LOG, _LOG_INDEX)
    )


class _State(NamedTuple):
    """The identity and last change of a file, and whether it has a log with any bytes."""

    inode: int
    size_bytes: int
    changed_ns: int
    has_log: bool


class ReadOnlyFile:
    """Reads a file that only others may change. Threads may share it."""

    def __init__(self, path: str, *, busy_seconds: float, steps_per_check: int) -> None:
        """Prepare to read; a query checks the deadline every `steps_per_check` instructions of SQLite."""
        self._path = path
        self._busy_seconds = busy_seconds
        self._steps_per_check = steps_per_check
        self._idle: list[tuple[_State, Connection]] = []

    def read(self, query: Callable[[Connection], T]) -> T:
        """Return the result of a query, which may be called again if the file changes meanwhile.

        Without a log, the whole query reads one state of the file. With a log, each statement does. Raises
        apsw.Error, OSError, DeadlineExceeded, and TimeoutError if the file changed during every attempt.
        """
        for _ in range(ATTEMPTS_MAX):
            deadline.check()
            state = self._state()
            connection = self._connection(state)
            try:
                result = query(connection)
            except apsw.Error:
                connection.close()
                # Pages of two states do not fit together, and a log may appear or disappear while it is
                # opened.
                if self._state() == state:
                    raise
                continue
            self._idle.append((state, connection))
            if state.has_log or self._state() == state:
                return result
        raise TimeoutError(f"the file changed while it was read, {ATTEMPTS_MAX} times")

    def close(self) -> None:
        """Close all connections that are not in use."""
        while self._idle:
            with suppress(IndexError):
                self._idle.pop()[1].close()

    def _state(self) -> _State:
        """Return the current state of the file, and whether it has a nonempty log. Raises OSError."""
        status = os.stat(self._path)
        has_log = os.path.exists(self._path + _LOG) and os.path.getsize(self._path + _LOG) > 0
        return _State(status.st_ino, status.st_size, status.st_mtime_ns, has_log)

    def _connection(self, state: _State) -> Connection:
        """Return a connection for a state, which sees changes only with a log; close unfit idle ones."""
        while self._idle:
            with suppress(IndexError):
                opened_in, connection = self._idle.pop()
                fits = opened_in.has_log if state.has_log else opened_in == state
                if fits and opened_in.inode == state.inode and connection.is_own:
                    return connection
                if connection.is_own:
                    connection.close()
        uri = f"{Path(self._path).absolute().as_uri()}?mode=ro{'' if state.has_log else '&immutable=1'}"
        connection = connect(uri, busy_seconds=self._busy_seconds, cache_kib=_CACHE_KIB, uri=True)
        connection.set_progress_handler(deadline.is_over, self._steps_per_check)
        return connection


def _has_right(path: str, right: int) -> bool:
    """Return whether the effective user has a right, such as os.W_OK, on a path."""
    return os.access(path, right, effective_ids=True)
