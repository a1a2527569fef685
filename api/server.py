"""The server: the app in worker processes, which gunicorn starts and restarts."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from contextlib import closing
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication

from api.app import create_app
from api.authentication import require_authentication
from api.cross_origin import allowed_origins
from api.http.tls import tls_context
from api.http.worker import HttpWorker
from fll_hbase.config import Settings
from fll_hbase.errors import LineageError
from fll_hbase.store.factory import open_store

_IN_MEMORY = "sqlite:///:memory:"


def serve(settings: Settings, *, on_ready: Callable[[], None]) -> None:
    """Serve until interrupted; call `on_ready` when the store has answered and the address is free.

    Raises ConfigurationError, StoreUnavailable, or LineageError for an address in use, before it listens.
    """
    require_authentication(settings)
    # Before any process is started: each would end with the same error.
    allowed_origins(settings)
    tls_context(settings)
    # Closed again before gunicorn forks: connections and SQLite handles must not be shared by processes.
    with closing(open_store(settings)) as store:
        store.ready()
    _check_address(settings)
    on_ready()
    _Server(settings).run()


def _check_address(settings: Settings) -> None:
    """Raise LineageError unless a server can listen on the address."""
    # gunicorn would log the error and retry for five seconds before it gives up. The family is not that of
    # the first address of a name: for localhost gunicorn listens on 127.0.0.1 in any case.
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        socket.create_server((settings.host, settings.port), family=family).close()
    except OSError as error:
        # create_server appends the address in parentheses to the text of the system.
        reason = str(error.strerror).partition(" (")[0]
        is_port = error.errno in (errno.EADDRINUSE, errno.EACCES)
        name = "port" if is_port else "host"
        advice = f"choose another {name} with --{name} or FLL_{name.upper()}, with make: {name.upper()}="
        raise LineageError(f"cannot listen on {settings.address}: {reason}; {advice}") from error


class _Server(BaseApplication):  # type: ignore[misc]
    """gunicorn, which supervises the processes; each opens a store and creates an app."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        super().__init__()

    def load_config(self) -> None:
        """Set the options of gunicorn."""
        settings = self.settings
        options: dict[str, Any] = {
            "bind": settings.address,
            # Each process would have an in-memory store of its own.
            "workers": 1 if settings.store == _IN_MEMORY else settings.workers,
            "worker_class": HttpWorker,
            "graceful_timeout": 30,
            # It bounds the silence of an event loop, not the time of a request.
            "timeout": 60,
            "loglevel": "warning",
            "proc_name": "fll",
        }
        for name, value in options.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        """Open the store and create the app; called once in each worker process."""
        return create_app(open_store(self.settings), self.settings)
