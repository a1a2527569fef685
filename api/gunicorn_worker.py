"""gunicorn's threaded worker, with connections spread evenly over processes, and an end in bounded time."""

from __future__ import annotations

import os
import socket
import time
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

# Once per connection, and clients keep connections. Bounded: the thread that accepts also polls all others.
ACCEPT_DELAY_SECONDS, ACCEPT_DELAY_SECONDS_MAX = 0.0005, 0.002


QUIT_SECONDS = 1
"""How long requests may go on after SIGINT or SIGQUIT; after SIGTERM it is the graceful timeout."""


class LeastLoadedWorker(ThreadWorker):  # type: ignore[misc]
    """A worker that accepts later the more connections it has, so that other processes accept first."""

    # gunicorn's worker accepts every waiting connection: of clients that connect at once, one process may get
    # all. SO_REUSEPORT spreads them too, but then a stalled process keeps those in its own listener's queue.
    # Remove this class when gunicorn balances connections itself.

    _quits = False

    def run(self) -> None:
        """Serve until a signal; after SIGINT or SIGQUIT end without waiting for clients that are slow."""
        super().run()
        if self._quits:
            # Python would wait for the threads of the pool, which wait for their clients.
            os._exit(0)

    def handle_quit(self, sig: int, frame: Any) -> None:
        """Stop after QUIT_SECONDS. Signal handlers may interrupt each other."""
        # Ctrl-C is SIGINT to all processes, after which the master sends SIGQUIT. gunicorn's own handler
        # shuts the thread pool down: interrupted by itself, it waits for its own lock until it is killed.
        self._quits = True
        self.cfg.set("graceful_timeout", QUIT_SECONDS)
        self.handle_exit(sig, frame)

    def accept(self, listener: socket.socket) -> None:
        """Accept a waiting connection, unless another process accepted it during the delay."""
        time.sleep(min(self.nr_conns * ACCEPT_DELAY_SECONDS, ACCEPT_DELAY_SECONDS_MAX))
        # The listener does not block: where nothing waits any more, gunicorn ignores the EAGAIN.
        super().accept(listener)
