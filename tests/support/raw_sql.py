"""Changes of a SQLite store beside the product, as valid pages."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from fll_hbase.tables.sqlite_connection import connect
from tests.support.waiting import PATIENCE_SECONDS


def run_sql(store: str | Path, statement: str, *parameters: object) -> int:
    """Execute a statement in the file of a path or store URL; return the number of changed rows.

    The library of Python would leave the checksums of the pages as they are.
    """
    path = str(store).removeprefix("sqlite:///")
    with closing(connect(path, busy_seconds=PATIENCE_SECONDS, cache_kib=2_000)) as connection:
        connection.execute(statement, parameters).fetchall()  # type: ignore[arg-type]
        return connection.changes()
