"""gunicorn's threaded worker, with connections spread evenly over processes."""

from __future__ import annotations

import socket
import time

from gunicorn.workers.gthread import ThreadWorker

ACCEPT_DELAY_SECONDS, ACCEPT_DELAY_SECONDS_MAX = 0.0005, 0.002


class LeastLoadedWorker(ThreadWorker):  # type: ignore[misc]
    """A worker that delays accepting the longer the more connections it has, so that another accepts first.

    gunicorn's own worker accepts every waiting connection: of clients that connect at once and stay, one
    process may get all, and one interpreter does all the work. SO_REUSEPORT with a listener for each process
    would spread them too, but connections of a stalled process would then wait for it. This class can be
    removed when gunicorn balances connections itself.
    """

    def accept(self, listener: socket.socket) -> None:
        """Accept a waiting connection, unless another process was faster."""
        time.sleep(min(self.nr_conns * ACCEPT_DELAY_SECONDS, ACCEPT_DELAY_SECONDS_MAX))
        super().accept(listener)
