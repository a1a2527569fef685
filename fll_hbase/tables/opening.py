"""Which engine is it: a store URL to an open table."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fll_hbase.errors import BadSetting
from fll_hbase.tables import addresses
from fll_hbase.tables.base import Table
from fll_hbase.tables.sqlite import SqliteTable

SQLITE = "sqlite:///"
FORMS = "sqlite:///path/to/file.db, sqlite:///:memory: or hbase://host:9090/table"
TIMEOUT_MS, CONNECTIONS_MAX = 10_000, 16


def open_table(url: str, *, timeout_ms: int = TIMEOUT_MS, connections_max: int = CONNECTIONS_MAX) -> Table:
    """The table behind a store URL. Raises BadSetting for any other URL, StoreAway if it will not open.

    No call waits longer than `timeout_ms`; `connections_max` bounds connections to a server, of each process.
    """
    if url.startswith(SQLITE) and url != SQLITE:
        return SqliteTable(url.removeprefix(SQLITE), busy_seconds=timeout_ms / 1000)
    if url.startswith(addresses.SCHEME):
        place = addresses.parsed(url)
        table: Table = hbase_engine().HbaseTable(
            place, timeout_seconds=timeout_ms / 1000, connections_max=connections_max
        )
        return table
    raise BadSetting(f"store URL {url!r} names no engine; it looks like {FORMS}")


def hbase_engine() -> Any:
    """The module of the HBase engine, whose library is an extra. Raises BadSetting without it."""
    try:
        return import_module("fll_hbase.tables.hbase")
    except ModuleNotFoundError as error:
        raise BadSetting(
            f"HBase needs {error.name}, which is not there: pip install 'fll-hbase[hbase]'"
        ) from error
