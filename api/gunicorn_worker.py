"""gunicorn's threaded worker, with connections spread evenly over processes."""

from __future__ import annotations

import socket
import time

from gunicorn.workers.gthread import ThreadWorker

# Once per connection, and clients keep connections. Bounded: the thread that accepts also polls all others.
ACCEPT_DELAY_SECONDS, ACCEPT_DELAY_SECONDS_MAX = 0.0005, 0.002


class LeastLoadedWorker(ThreadWorker):  # type: ignore[misc]
    """A worker that accepts later the more connections it has, so that other processes accept first."""

    # gunicorn's worker accepts every waiting connection: of clients that connect at once, one process may get
    # all. SO_REUSEPORT spreads them too, but then a stalled process keeps those in its own listener's queue.
    # Remove this class when gunicorn balances connections itself.

    def accept(self, listener: socket.socket) -> None:
        """Accept a waiting connection, unless another process accepted it during the delay."""
        time.sleep(min(self.nr_conns * ACCEPT_DELAY_SECONDS, ACCEPT_DELAY_SECONDS_MAX))
        # The listener does not block: where nothing waits any more, gunicorn ignores the EAGAIN.
        super().accept(listener)
