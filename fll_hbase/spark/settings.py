"""Settings of jobs: those of the environment, with a longer store timeout."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from fll_hbase.runtime import config
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ConfigurationError

STORE_TIMEOUT_MS = 60_000
"""Minimum for jobs, which may wait longer for the store than queries: no user waits for one call."""


def job_settings(store: str | None, others: Mapping[str, str | int] | None = None) -> Settings:
    """Read the settings for a job on `store`; `others` have priority over the environment.

    Raises ConfigurationError for a value that is not possible, and for a store in memory.
    """
    settings = config.from_environment(os.environ, **{**(others or {}), "store": store})
    # Each worker process would open a store of its own.
    if settings.store.endswith(":memory:"):
        raise ConfigurationError(
            "a store in memory belongs to one process; jobs on Spark need sqlite:///FILE or hbase://…"
        )
    return replace(settings, store_timeout_ms=max(settings.store_timeout_ms, STORE_TIMEOUT_MS))
