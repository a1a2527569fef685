"""The server: the app in worker processes, which gunicorn starts and restarts."""

from __future__ import annotations

import errno
import gc
import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from flask import Flask
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.config import Config
from gunicorn.glogging import Logger
from gunicorn.workers.base import Worker

from fll_hbase.runtime.config import Settings, authority
from fll_hbase.runtime.errors import LineageError
from fll_hbase.sources import name_rules
from fll_hbase.store.factory import open_store, open_store_table
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import is_readable_by_others
from fll_hbase.tables.factory import is_in_memory
from fll_hbase.tables.observed import ObservedTable

from .app import create_app, create_metrics_app
from .http.event_server import HttpServer, WorkerLoads
from .http.tls import tls_context
from .observability import exporter, logs, otel
from .observability.observer import RequestObserver
from .security.authentication import require_authentication
from .security.hosts import allowed_origins

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

_log = logging.getLogger(__name__)

METRICS_CONNECTIONS_MAX = 50
"""Maximum number of metrics connections. The next one closes the one that has been silent longest."""

NOTIFY_SECONDS = 1.0
SWITCH_SECONDS = 0.0002
"""How long a thread may compute before another one gets its turn: 1/25 of Python's default."""

COLLECT_EVERY = 300
"""Collections of the middle generation before a full collection: thirty times Python's default.

A full collection stops all threads for half a second when it visits the million objects of a large
document. The cyclic garbage that it finds, from parsed SQL and errors, stays below 200 MB until then.
"""


def serve(settings: Settings, *, on_ready: Callable[[], None]) -> None:
    """Serve until interrupted, then raise SystemExit; call `on_ready` if store and addresses are usable.

    Before that, it raises ConfigurationError, StoreUnavailable, CorruptRow, or LineageError for an address
    that cannot be used. After `on_ready`, it raises OSError without a temporary directory for metrics.
    """
    require_authentication(settings)
    # Before any process starts, because each would end with the same error.
    name_rules.parse_rules(settings.name_rules, settings.namespace_rules)
    allowed_origins(settings)
    tls_context(settings)
    otel.span_exporter(os.environ)
    for name in ("access_log", "audit_log"):
        # Each process opens its own. Opening it here reports a file that cannot be opened at once.
        opened = logs.open_log(getattr(settings, name), setting=f"FLL_{name.upper()}")
        if opened is not None:
            opened.close()
    # Closed before gunicorn forks, because processes must not share connections and SQLite handles.
    with closing(open_store(settings)) as store:
        store.ready()
    _check_addresses(settings)
    # Only now, so that a server that fails to start reports one error and no warnings before it.
    logs.configure(settings.log_level)
    on_ready()
    if is_readable_by_others(settings.store):
        _log.warning(
            "others may read the file of %s: `chmod go=` it, unless this is intended", settings.store
        )
    with exporter.shared_directory() as directory:
        _Server(settings, directory).run()


def _check_addresses(settings: Settings) -> None:
    """Raise LineageError unless the server can listen on its address and the metrics address at once.

    Both ports are free afterwards.
    """
    with _listening(settings.host, settings.port):
        if settings.metrics_host:
            _listening(settings.metrics_host, settings.metrics_port, name="metrics_").close()


def _listening(host: str, port: int, *, name: str = "") -> socket.socket:
    """Return a socket that listens on an address, or raise LineageError if none can.

    `name` is the prefix of the names of its settings.
    """
    # gunicorn would log the error and retry for five seconds before it gives up. The family does not depend
    # on how a name resolves: for localhost, gunicorn always listens on 127.0.0.1.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        # create_server appends the address in parentheses to the text of the system.
        reason = str(error.strerror).partition(" (")[0]
        is_port = error.errno in (errno.EADDRINUSE, errno.EACCES)
        kind = "port" if is_port else "host"
        variable = f"{name}{kind}".upper()
        choices = f"FLL_{variable}" if name else f"--{kind} or FLL_{variable}, with make: {variable}="
        where = authority(host, port)
        raise LineageError(
            f"cannot listen on {where}: {reason}; choose another {kind} with {choices}"
        ) from error


class _Server(BaseApplication):  # type: ignore[misc]
    """gunicorn, which supervises the processes. Each opens a store and creates an app."""

    def __init__(self, settings: Settings, metrics: Path) -> None:
        self.settings = settings
        self._metrics = metrics
        # Created before the workers are forked, because they share it.
        self.loads = WorkerLoads()
        super().__init__()

    def load_config(self) -> None:
        """Set the options of gunicorn; gunicorn calls this when it is created."""
        settings = self.settings
        options: dict[str, Any] = {
            "bind": [settings.address, *([settings.metrics_address] if settings.metrics_host else [])],
            # Each process would have an in-memory store of its own.
            "workers": 1 if is_in_memory(settings.store) else settings.workers,
            "worker_class": HttpWorker,
            "graceful_timeout": 30,
            # Limits how long an event loop may be silent, not the time of a request.
            "timeout": 60,
            "loglevel": settings.log_level,
            "logger_class": _GunicornLogger,
            "proc_name": "fll",
            "pre_fork": _assign_slot,
            "post_fork": lambda _, worker: exporter.use_slot(worker.slot),
            "child_exit": self._note_exit,
            # All servers of a user would share one socket, and its thread would have to stop for every fork.
            "control_socket_disable": True,
        }
        for name, value in options.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        """Open the store and create the app; called once in each worker process."""
        otel.configure(os.environ)
        table = ObservedTable(open_store_table(self.settings))
        return create_app(LineageStore(table, self.settings), self.settings)

    def metrics_app(self) -> WSGIApplication:
        """Create the app of the metrics listener; called once in each worker process."""
        return create_metrics_app(self.settings)

    def _note_exit(self, arbiter: Arbiter, worker: Worker) -> None:
        """Count and log the end of a worker; gunicorn calls this. An OSError is only logged."""
        self.loads.remove(worker.slot)
        try:
            # A server without listeners is stopping.
            if arbiter.LISTENERS:
                _log.warning("worker process %s ended, another one starts", worker.pid)
                exporter.connect()
                exporter.WORKER_EXITS.add()
            exporter.free_slot(self._metrics, worker.slot)
        # gunicorn would stop if the disk is full.
        except OSError as error:
            _log.error("the end of a worker process cannot be counted: %s", error)


def _assign_slot(arbiter: Arbiter, worker: Worker) -> None:
    """Set `worker.slot` to the lowest number from 1 on that no running worker has; called before a fork."""
    used = {other.slot for other in arbiter.WORKERS.values()}
    worker.slot = next(number for number in count(1) if number not in used)


class _GunicornLogger(Logger):  # type: ignore[misc]
    """The logger of gunicorn, whose messages are logged like all others."""

    def setup(self, cfg: Config) -> None:
        """Leave gunicorn's messages to the handlers of the root logger; called by gunicorn when it starts."""
        super().setup(cfg)
        self.error_log.handlers[:] = []
        self.error_log.propagate = True


class HttpWorker(Worker):  # type: ignore[misc]
    """A process that serves gunicorn's app on its first listening socket, metrics on its second."""

    slot = 0
    _server: HttpServer | None = None
    _notified = 0.0

    def run(self) -> None:
        """Serve until a signal stops the process or its parent is gone."""
        sys.setswitchinterval(SWITCH_SECONDS)
        observer = self.wsgi.extensions["fll-observer"]
        self._server = HttpServer(
            self.wsgi, self.sockets[0].sock, self.app.settings, observer, loads=self.app.loads, slot=self.slot
        )
        # Not decided by the number of sockets: a host may have several, or gunicorn may have inherited them.
        if self.app.settings.metrics_host:
            self._serve_metrics(self.sockets[1].sock, observer)
        exporter.WORKERS.add(1)
        # Objects that exist now live as long as the process, so collections need not visit them.
        gc.collect()
        gc.freeze()
        gc.set_threshold(*gc.get_threshold()[:2], COLLECT_EVERY)
        self._server.serve(self._is_alive)

    def _serve_metrics(self, listener: socket.socket, observer: RequestObserver) -> None:
        """Serve metrics on a listening socket in a thread, which ends with the process."""
        settings = replace(self.app.settings, threads=1)
        server = HttpServer(
            self.app.metrics_app(), listener, settings, observer, connections_max=METRICS_CONNECTIONS_MAX
        )
        serving = threading.Thread(
            target=server.serve, args=[lambda: self.alive], name="scrapes", daemon=True
        )
        serving.start()

    def handle_exit(self, sig: int, frame: FrameType | None) -> Any:
        """Begin to stop, at SIGTERM, and wake the event loop."""
        super().handle_exit(sig, frame)
        if self._server is not None:
            # A second signal may come after the loop has closed its trigger.
            with suppress(OSError):
                self._server.pull_trigger()

    def _is_alive(self) -> bool:
        """Show gunicorn that the event loop runs; return whether to go on."""
        now = time.monotonic()
        if now - self._notified >= NOTIFY_SECONDS:
            self._notified = now
            self.notify()
        # Without its parent nothing would stop this process.
        return bool(self.alive) and self.ppid == os.getppid()
