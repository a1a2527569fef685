"""Tables by store URL: the only place that tells engines apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fll_hbase.config import DEFAULTS
from fll_hbase.errors import ConfigurationError
from fll_hbase.tables import hbase_url
from fll_hbase.tables.base import Table
from fll_hbase.tables.sqlite import SqliteTable

SQLITE, MEMORY = "sqlite:///", ":memory:"
FORMS = "sqlite:///path/to/file.db, sqlite:///:memory: or hbase://host:9090/table"


def open_table(
    url: str,
    *,
    timeout_ms: int = DEFAULTS.store_timeout_ms,
    connections_max: int = DEFAULTS.store_connections_max,
) -> Table:
    """Open the table of a store URL. Raises ConfigurationError for other URLs, or StoreUnavailable.

    No call takes longer than `timeout_ms`; a process opens at most `connections_max` connections to HBase.
    """
    if url.startswith(SQLITE) and url != SQLITE:
        return SqliteTable(url.removeprefix(SQLITE), busy_seconds=timeout_ms / 1000)
    if url.startswith(hbase_url.SCHEME):
        target = hbase_url.parse_url(url)
        table: Table = import_hbase().HbaseTable(
            target, timeout_seconds=timeout_ms / 1000, connections_max=connections_max
        )
        return table
    raise ConfigurationError(f"store URL {url!r} names no engine; it looks like {FORMS}")


def store_exists(url: str) -> bool:
    """Return False for a SQLite file that does not exist yet; True for any other URL, without opening it."""
    path = url.removeprefix(SQLITE)
    return not url.startswith(SQLITE) or path == MEMORY or Path(path).exists()


def import_hbase() -> Any:
    """Import the HBase engine, whose library is an optional extra. Raises ConfigurationError without it."""
    # Imported on demand: happybase is an extra, and SQLite users need not install it.
    try:
        from fll_hbase.tables import hbase
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"HBase needs {error.name}, which is not installed: pip install '.[hbase]' in the source tree,"
            " or the wheel with [hbase] behind its name"
        ) from error
    return hbase
