"""Opening of the configured lineage store: the table by URL, the limits from `Settings`."""

from __future__ import annotations

from fll_hbase.runtime.config import DEFAULTS, Settings
from fll_hbase.runtime.errors import ConfigurationError, LineageError
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.rows import calendar_mark
from fll_hbase.tables import Table, is_shared, open_table, store_exists


def open_store(settings: Settings, *, create: bool = True) -> LineageStore:
    """Open the store of the settings; the caller closes it.

    With `create=False`, a SQLite file must already exist. Raises StoreUnavailable, CorruptRow, and
    ConfigurationError, also for a store of an earlier release.
    """
    table = open_store_table(settings, create=create)
    try:
        calendar_mark.require(table)
    except LineageError:
        table.close()
        raise
    return LineageStore(table, settings)


def check_grace(settings: Settings) -> None:
    """Raise ConfigurationError for a grace period below the default if other processes may use the store.

    Other processes rely on cells for their own grace period, and their clocks differ.
    """
    if settings.grace_ms < DEFAULTS.grace_ms and is_shared(settings.store):
        raise ConfigurationError(
            f"FLL_GRACE_MS={settings.grace_ms} is below an hour, and others may use {settings.store}: what"
            " they record could be lost; unset it, or end those that have the SQLite file open"
        )


def open_store_table(settings: Settings, *, create: bool = True) -> Table:
    """Open the configured table, even one of an earlier release. With `create=False` it must exist.

    Raises ConfigurationError, CorruptRow or StoreUnavailable.
    """
    # Opening a SQLite store creates its file, but a query with a mistyped path must fail, not return nothing.
    if not create and not store_exists(settings.store):
        raise ConfigurationError(
            f"there is no store at {settings.store}: `fll sample`, `fll record` or `fll spark load` makes"
            " one, --store names another"
        )
    return open_table(
        settings.store,
        timeout_ms=settings.store_timeout_ms,
        connections_max=settings.store_connections_max,
        create=create,
    )
