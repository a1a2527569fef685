"""Which process takes a connection: gunicorn's threaded worker, evenly."""

from __future__ import annotations

import socket
import time

from gunicorn.workers.gthread import ThreadWorker

HESITATION_SECONDS, HESITATION_SECONDS_MAX = 0.0005, 0.002


class EvenWorker(ThreadWorker):  # type: ignore[misc]
    """Hesitates the longer the more connections it holds, so that another process takes the next one.

    gunicorn's own worker takes every connection that waits: of clients that connect at once and stay, one
    process may get all, and with it one interpreter all the work. A listener for each process would part them
    too, but then connections of a process that stands still would wait for it. It may go when gunicorn has a
    way of its own.
    """

    def accept(self, listener: socket.socket) -> None:
        """Take a connection that waits, unless another process was faster."""
        time.sleep(min(self.nr_conns * HESITATION_SECONDS, HESITATION_SECONDS_MAX))
        super().accept(listener)
