"""Serve the app with gunicorn, which keeps the raw path of requests."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import closing
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication

from api.app import create_app
from api.gunicorn_worker import LeastLoadedWorker
from fll_hbase.config import Settings
from fll_hbase.errors import LineageError
from fll_hbase.store.factory import open_store

_IN_MEMORY = "sqlite:///:memory:"


def serve(settings: Settings, *, on_ready: Callable[[], None]) -> None:
    """Serve until interrupted; `on_ready` is called once the store has answered and the address is free.

    Raises ConfigurationError, StoreUnavailable, or LineageError for an address in use, before it listens.
    """
    with closing(open_store(settings)) as store:
        store.ready()
    _check_address(settings.host, settings.port)
    on_ready()
    _Server(settings).run()


def _check_address(host: str, port: int) -> None:
    """Raise LineageError unless a server can listen there; gunicorn would log and retry for five seconds."""
    try:
        family, *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        reason = str(error.strerror).partition(" (")[0]
        advice = "choose another port with --port or FLL_PORT, with make: PORT="
        raise LineageError(f"cannot listen on {host}:{port}: {reason}; {advice}") from error


class _Server(BaseApplication):  # type: ignore[misc]
    """gunicorn with threaded workers; every process opens its own store."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        super().__init__()

    def load_config(self) -> None:
        """Set gunicorn's options."""
        settings = self._settings
        options: dict[str, Any] = {
            "bind": f"{settings.host}:{settings.port}",
            "workers": 1 if settings.store == _IN_MEMORY else settings.workers,
            "threads": settings.threads,
            "worker_class": LeastLoadedWorker,
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
        """Create the app of a worker process."""
        return create_app(open_store(self._settings), self._settings)
