"""Worker process: gunicorn starts, restarts and stops it, our server serves in it."""

from __future__ import annotations

import gc
import os
import sys
import time
from types import FrameType
from typing import Any

from gunicorn.workers.base import Worker

from ..observability.exporter import WORKERS
from .event_server import HttpServer

NOTIFY_SECONDS = 1.0
SWITCH_SECONDS = 0.001
"""How long a thread may compute before another one gets its turn: a fifth of Python's default."""


class HttpWorker(Worker):  # type: ignore[misc]
    """A process that serves the app of gunicorn's configuration on its first listening socket."""

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
        WORKERS.add(1)
        # What exists now exists as long as the process: no collection needs to visit it.
        gc.collect()
        gc.freeze()
        self._server.serve(self._is_alive)

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
