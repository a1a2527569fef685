"""Settings of jobs, and the table and store that each worker process opens once for all of its tasks."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, lru_cache

from fll_hbase.runtime import config
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.store.components import StoreComponents, build_components
from fll_hbase.store.factory import open_store_table
from fll_hbase.store.rows import calendar_mark
from fll_hbase.tables import Table

STORE_TIMEOUT_MS = 60_000
"""Minimum timeout of jobs, which may wait longer than queries because no user waits for a single call."""


def job_settings(store: str | None, others: Mapping[str, str | int] | None = None) -> Settings:
    """Read the settings for a job on `store`; `others` and `store`, unless None, override the environment.

    The store's timeout is at least STORE_TIMEOUT_MS. Raises ConfigurationError for an invalid value, and for
    a store in memory.
    """
    settings = config.from_environment(os.environ, **{**(others or {}), "store": store})
    # Each worker process would open its own store in memory.
    if settings.store.endswith(":memory:"):
        raise ConfigurationError(
            "a store in memory belongs to one process; jobs on Spark need sqlite:///FILE or hbase://…"
        )
    return replace(settings, store_timeout_ms=max(settings.store_timeout_ms, STORE_TIMEOUT_MS))


@lru_cache(maxsize=2)
def worker_store(settings: Settings) -> StoreComponents:
    """Return the store of the settings, opened once per process for the two settings used last.

    Raises ConfigurationError if there is no store, or a store of an earlier release, and StoreUnavailable.
    """
    table = worker_table(settings)
    calendar_mark.require(table)
    return build_components(table, settings)


@lru_cache(maxsize=2)
def worker_table(settings: Settings) -> Table:
    """Return the table of the settings, opened once per process for the two settings used last.

    Raises ConfigurationError if absent, and StoreUnavailable.
    """
    # Never closed, because Spark reuses worker processes for later tasks and ends them without notice.
    table = open_store_table(settings, create=False)
    freeze_imports()
    return table


@cache
def freeze_imports() -> None:
    """Exempt what a worker process has loaded from garbage collection, once, after it opened the store.

    Spark collects garbage after each task of a process, which takes 0.1 s for all modules.
    """
    # Imported here, because commands that import this module do not need it.
    import pyarrow as pa

    # The first array imports pandas if it is there, and its modules are a third of all objects.
    pa.array([])
    gc.collect()
    gc.freeze()
