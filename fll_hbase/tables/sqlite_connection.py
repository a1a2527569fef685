"""Connections to a SQLite file, with the settings that all of them have."""

from __future__ import annotations

import math
import os
import sqlite3
from typing import Any


class Connection(sqlite3.Connection):
    """A connection that remembers the process that opened it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._pid = os.getpid()
        self._busy_seconds = 0

    @property
    def is_own(self) -> bool:
        """Return whether this process opened it: one inherited through a fork must not be used."""
        return self._pid == os.getpid()

    def set_busy_timeout(self, seconds: float) -> None:
        """Set how long a statement waits for locks of SQLite itself, in whole seconds, rounded up."""
        # Nearly always as before: a statement for each change would cost more than most reads.
        whole_seconds = math.ceil(seconds)
        if whole_seconds != self._busy_seconds:
            self.execute(f"PRAGMA busy_timeout = {1000 * whole_seconds}")
            self._busy_seconds = whole_seconds


def connect(path: str, *, busy_seconds: float, cache_kib: int, uri: bool = False) -> Connection:
    """Open a file, or with `uri` the file that a URI of SQLite names. Raises sqlite3.Error."""
    connection = sqlite3.connect(
        path,
        timeout=busy_seconds,
        isolation_level=None,
        # Connections move between threads, one thread at a time.
        check_same_thread=False,
        factory=Connection,
        uri=uri,
    )
    connection.execute(f"PRAGMA cache_size = -{cache_kib}")
    return connection
