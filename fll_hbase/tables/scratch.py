"""A temporary database on disk for one command, to sort and join more than fits in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from fll_hbase.runtime.errors import ConfigurationError

_CACHE_KIB = 16_384


@contextmanager
def scratch_database() -> Iterator[sqlite3.Connection]:
    """Yield an empty database that is deleted at the end; once large, it uses files in the temporary folder.

    Raises ConfigurationError in place of any sqlite3.Error inside the context.
    """
    try:
        # Without a name, SQLite creates a private file, which is deleted when the connection closes.
        with closing(sqlite3.connect("", isolation_level=None)) as database:
            database.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            database.execute("PRAGMA temp_store = FILE")
            database.execute("PRAGMA journal_mode = OFF")
            yield database
    except sqlite3.Error as error:
        raise ConfigurationError(
            f"the temporary file cannot be written: {error}; name a folder with more room in TMPDIR"
        ) from error
