"""Worker process: gunicorn starts, restarts and stops it, and our server runs in it."""

from __future__ import annotations

import gc
import os
import socket
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from types import FrameType
from typing import Any

from gunicorn.workers.base import Worker

from ..observability.exporter import WORKERS
from ..observability.observer import RequestObserver
from .event_server import HttpServer

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
            self.wsgi,
            self.sockets[0].sock,
            self.app.settings,
            observer,
            loads=self.app.loads,
            slot=self.slot,
        )
        # Not decided by the number of sockets: a host may have several, or gunicorn may have inherited them.
        if self.app.settings.metrics_host:
            self._serve_metrics(self.sockets[1].sock, observer)
        WORKERS.add(1)
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
