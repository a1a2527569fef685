"""Serve the app with gunicorn, which keeps the raw path of requests."""

from __future__ import annotations

from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication

from api.app import create_app
from fll_hbase.config import Settings
from fll_hbase.store.lineage_store import Limits, LineageStore
from fll_hbase.tables import open_table

_IN_MEMORY = "sqlite:///:memory:"


def open_store(settings: Settings) -> LineageStore:
    """The store that the settings name. Raises BadSetting or StoreAway."""
    limits = Limits(
        level_max=settings.level_max,
        pairs_max=settings.pairs_max,
        connections_max=settings.connections_max,
        runs_max=settings.runs_max,
        cache_bytes=settings.cache_bytes,
        grace_ms=settings.grace_ms,
    )
    return LineageStore(open_table(settings.store), limits=limits)


def serve(settings: Settings) -> None:
    """Serve until told to stop. Raises BadSetting or StoreAway before anything listens."""
    open_store(settings).close()
    _Server(settings).run()


class _Server(BaseApplication):  # type: ignore[misc]
    """gunicorn with one kind of worker: threads, each process with a store of its own."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        super().__init__()

    def load_config(self) -> None:
        settings = self._settings
        options: dict[str, Any] = {
            "bind": f"{settings.host}:{settings.port}",
            "workers": 1 if settings.store == _IN_MEMORY else settings.workers,
            "threads": settings.threads,
            "worker_class": "gthread",
            "limit_request_line": 0,
            "keepalive": 75,
            "graceful_timeout": 30,
            "timeout": 60,
            "loglevel": "warning",
            "proc_name": "fll",
        }
        for name, value in options.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        return create_app(open_store(self._settings), self._settings)
