"""Which settings do jobs have: those of the environment, with more patience."""

from __future__ import annotations

from dataclasses import replace

from fll_hbase import config
from fll_hbase.config import Settings
from fll_hbase.errors import ConfigurationError

STORE_TIMEOUT_MS = 60_000
"""Jobs may wait longer for the store than questions do."""


def job_settings(store: str | None) -> Settings:
    """The settings, with that store. Raises ConfigurationError for one that other processes cannot share."""
    settings = config.from_environment(store=store)
    if settings.store.endswith(":memory:"):
        raise ConfigurationError(
            "a store in memory is of one process; jobs on Spark need sqlite:///FILE or hbase://…"
        )
    return replace(settings, store_timeout_ms=max(settings.store_timeout_ms, STORE_TIMEOUT_MS))
