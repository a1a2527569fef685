"""Worker process: gunicorn starts, restarts and stops it, our server serves in it."""

from __future__ import annotations

import gc
import os
import socket
import sys
import threading
import time
from dataclasses import replace
from types import FrameType
from typing import Any

from gunicorn.workers.base import Worker

from ..observability.exporter import WORKERS
from ..observability.observer import RequestObserver
from .event_server import HttpServer

METRICS_CONNECTIONS_MAX = 50
"""Connections to the listener of metrics; of more the one that is silent longest is closed."""

NOTIFY_SECONDS = 1.0
SWITCH_SECONDS = 0.0002
"""How long a thread may compute before another one gets its turn: a 25th of Python's default."""

COLLECT_EVERY = 300
"""Collections of middle-aged garbage until all of it is looked for, thirty times Python's default.

A look at the million objects of a large document takes half a second, in which no other thread runs. So few
objects that it has to find, those of parsed SQL and of errors, have less than 200 MB until then.
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
        # Not by the number of sockets: a host may have several, or gunicorn has inherited them.
        if self.app.settings.metrics_host:
            self._serve_metrics(self.sockets[1].sock, observer)
        WORKERS.add(1)
        # What exists now exists as long as the process: no collection needs to visit it.
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
            self._server.pull_trigger()

    def _is_alive(self) -> bool:
        """Show gunicorn that the event loop runs; return whether to go on."""
        now = time.monotonic()
        if now - self._notified >= NOTIFY_SECONDS:
            self._notified = now
            self.notify()
        # Without its parent nothing would stop it.
        return bool(self.alive) and self.ppid == os.getppid()
