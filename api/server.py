"""Serve the app with gunicorn, which keeps the raw path of requests."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication

from api.app import create_app
from api.gunicorn_worker import EvenWorker
from fll_hbase.config import Settings
from fll_hbase.store.factory import open_store

_IN_MEMORY = "sqlite:///:memory:"


def serve(settings: Settings, *, begin: Callable[[], None]) -> None:
    """Serve until told to stop; `begin` is called once the store has answered.

    Raises ConfigurationError or StoreUnavailable before anything listens.
    """
    with closing(open_store(settings)) as store:
        store.ready()
    begin()
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
            "worker_class": EvenWorker,
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
