"""Table and store components opened once per worker process and reused across tasks."""

from __future__ import annotations

from functools import lru_cache

from fll_hbase.runtime.config import Settings
from fll_hbase.store.components import StoreComponents, build_components
from fll_hbase.store.factory import open_store_table
from fll_hbase.store.rows import calendar_mark
from fll_hbase.tables import Table


@lru_cache(maxsize=2)
def worker_store(settings: Settings) -> StoreComponents:
    """Return the store of the settings, opened once per process.

    Raises ConfigurationError without one, and for a store of an earlier release.
    """
    table = worker_table(settings)
    calendar_mark.require(table)
    return build_components(table, settings)


@lru_cache(maxsize=2)
def worker_table(settings: Settings) -> Table:
    """Return the table of the settings, opened once per process. Raises ConfigurationError if absent."""
    # Never closed: Spark reuses worker processes for later tasks, and ends them without a notice.
    return open_store_table(settings, create=False)
