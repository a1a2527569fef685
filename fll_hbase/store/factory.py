"""Which store do the settings name."""

from __future__ import annotations

from fll_hbase.config import Settings
from fll_hbase.store.lineage_store import Limits, LineageStore
from fll_hbase.tables import Table, open_table


def open_store(settings: Settings) -> LineageStore:
    """The store, bounded as the settings say. Raises ConfigurationError or StoreUnavailable."""
    limits = Limits(
        level_max=settings.level_max,
        pairs_max=settings.pairs_max,
        connections_max=settings.connections_max,
        runs_max=settings.runs_max,
        cache_bytes=settings.cache_bytes,
        grace_ms=settings.grace_ms,
    )
    return LineageStore(table_of(settings), limits=limits)


def table_of(settings: Settings) -> Table:
    """The table alone. Raises ConfigurationError or StoreUnavailable."""
    return open_table(
        settings.store,
        timeout_ms=settings.store_timeout_ms,
        connections_max=settings.store_connections_max,
    )
