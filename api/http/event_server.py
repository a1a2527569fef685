"""The server of one process: accepts connections, hands complete requests to threads, stops gracefully."""

from __future__ import annotations

import resource
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from waitress.adjustments import Adjustments
from waitress.server import TcpWSGIServer

from fll_hbase.runtime.config import Settings

from ..observability.observer import RequestObserver
from ..wire.budget import request_seconds
from ..wire.environ import METRICS_PATH
from .connection import Connection
from .dispatcher import Dispatcher
from .event_loop import EventLoop
from .tls import TlsSocket, tls_context

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

IMMEDIATE_PATHS = ("/healthz", "/readyz")
"""Answered by a thread of their own; they never wait for the store."""

CONNECTIONS_MAX = 10_000
RESERVED_FILES = 200
"""Descriptors for what is not a connection of a client: the store, temporary files, logs."""

CHECK_SECONDS = 0.2
"""How often deadlines of waiting requests and silent connections are looked for."""

BATCHES_MAX = 4
"""Bodies of the largest size for which there is room, in temporary files, at a time."""

ACCEPT_DELAY_SECONDS, ACCEPT_DELAY_SECONDS_MAX = 0.0005, 0.002
"""How much later a process accepts for each connection that it has."""

GRACEFUL_SECONDS, IDLE_GRACE_SECONDS = 25.0, 1.0
"""How long a stopping process finishes requests, and waits for new ones on connections that are open."""


@dataclass(frozen=True, slots=True)
class _BodyLimits:
    """waitress's options with the largest body of a document and of a batch."""

    document: Adjustments
    batch: Adjustments


class HttpServer(TcpWSGIServer):  # type: ignore[misc]
    """Serves an app on a listening socket, in the thread that calls `serve`."""

    channel_class = Connection
    next_channel_cleanup: float

    def __init__(
        self, app: WSGIApplication, listener: socket.socket, settings: Settings, observer: RequestObserver
    ) -> None:
        self._loop = EventLoop()
        self._settings = settings
        self.observer = observer
        self.retry_after_seconds = settings.retry_after_seconds
        self.is_stopping = False
        self._dispatcher = Dispatcher(threads=settings.threads, request_seconds=settings.request_seconds)
        self._connections_max = _raise_connections_max()
        self._accept_at = 0.0
        self._tls = tls_context(settings)
        sockinfo = (listener.family, listener.type, listener.proto, listener.getsockname())
        super().__init__(
            app,
            map=self._loop,
            _sock=listener,
            dispatcher=self._dispatcher,
            adj=_adjustments(settings),
            sockinfo=sockinfo,
            bind_socket=False,
        )

    def serve(self, is_alive: Callable[[], bool]) -> None:
        """Serve until `is_alive` returns false, which is called at least once a second; then stop."""
        self._dispatcher.start()
        while is_alive():
            self._poll()
        self._stop()

    def add_task(self, connection: Connection) -> None:
        """Queue the first request of a connection by its kind: immediate, metrics, read or write."""
        request = connection.requests[0]
        request.received_at = time.monotonic()
        if request.error or request.path in IMMEDIATE_PATHS:
            self._dispatcher.add_immediate(connection)
            return
        if request.path == METRICS_PATH:
            self._dispatcher.add_metrics(connection)
            return
        seconds = request_seconds(request.headers.get("PREFER", ""), longest=self._settings.request_seconds)
        lane = self._dispatcher.reads if request.is_read else self._dispatcher.writes
        self._dispatcher.add(connection, lane, deadline=request.received_at + seconds)

    def readable(self) -> bool:
        """Return whether connections are accepted now."""
        return bool(self.accepting) and not self._accept_at

    def handle_accept(self) -> None:
        """Schedule the acceptance of a waiting connection: a little later the more connections there are."""
        # So other processes, which have fewer, accept it first: of clients that connect at once, one process
        # could get all. SO_REUSEPORT spreads them too, but keeps those of a process that is stopped waiting.
        delay = min(len(self.active_channels) * ACCEPT_DELAY_SECONDS, ACCEPT_DELAY_SECONDS_MAX)
        self._accept_at = time.monotonic() + delay

    def accept(self) -> tuple[socket.socket | TlsSocket, Any] | None:
        """Accept a connection, with TLS if it is configured; the handshake comes with its first reads."""
        accepted: tuple[socket.socket, Any] | None = super().accept()
        if accepted is None or self._tls is None:
            return accepted
        return TlsSocket(self._tls, accepted[0]), accepted[1]

    def refresh(self, connection: Connection) -> None:
        """Note, in the event loop, that a connection changed."""
        self._loop.refresh(connection)

    def wake(self, connection: Connection) -> None:
        """Note, in any thread, that a connection has something to send or is to be closed."""
        self._loop.refresh(connection)
        self.pull_trigger()

    def _poll(self) -> None:
        """Handle events until the next check is due; when it is due, check the times of connections."""
        now = time.monotonic()
        if self._accept_at and now >= self._accept_at:
            self._accept_at = 0.0
            self._accept()
            self._loop.refresh(self)
        if now >= self.next_channel_cleanup:
            self.next_channel_cleanup = now + CHECK_SECONDS
            self._check_times(now)
        until = min(self.next_channel_cleanup, self._accept_at or self.next_channel_cleanup)
        self._loop.poll(max(until - now, 0.0))

    def _accept(self) -> None:
        """Accept a connection; close another one first if there are already as many as allowed."""
        if len(self.active_channels) >= self._connections_max:
            self._close_one()
        super().handle_accept()

    def _close_one(self) -> None:
        """Close the connection without a complete request that was silent for longest."""
        candidates = [connection for connection in self.active_channels.values() if not connection.requests]
        if candidates:
            min(candidates, key=lambda connection: float(connection.last_activity)).handle_close()

    def _check_times(self, now: float) -> None:
        """Refuse late requests, check the timeouts of all connections and bound the memory of bodies."""
        self._dispatcher.refuse_late()
        connections = list(self.active_channels.values())
        for connection in connections:
            connection.check_time(now)
        self._limit_bodies(connections)

    def _limit_bodies(self, connections: Iterable[Connection]) -> None:
        """Refuse the largest requests that are arriving, until the bodies of all have room."""
        sizes = {connection: size for connection in connections if (size := connection.body_bytes)}
        excess = sum(sizes.values()) - BATCHES_MAX * self._settings.batch_bytes_max
        for connection in sorted(sizes, key=sizes.__getitem__, reverse=True):
            if excess > 0 and not connection.requests:
                connection.refuse_body()
                excess -= sizes[connection]

    def _stop(self) -> None:
        """Finish the requests that have begun, also those that arrive just now on open connections.

        Idle connections are closed after IDLE_GRACE_SECONDS, all others after GRACEFUL_SECONDS.
        """
        self.is_stopping = True
        self.accepting = False
        self._loop.refresh(self)
        began = time.monotonic()
        while time.monotonic() - began < GRACEFUL_SECONDS and self.active_channels:
            if time.monotonic() - began > IDLE_GRACE_SECONDS:
                _close_all(open_one for open_one in list(self.active_channels.values()) if open_one.is_idle)
            self._poll()
        _close_all(list(self.active_channels.values()))
        self._loop.close()


def _close_all(connections: Iterable[Connection]) -> None:
    """Close connections at once, whether they are idle or not."""
    for connection in connections:
        connection.handle_close()


def _adjustments(settings: Settings) -> Adjustments:
    """Return waitress's options."""
    document, batch = (
        Adjustments(
            **_OPTIONS,
            max_request_body_size=bytes_max + _EXCESS,
            # Without proxies whose word counts, what clients write into their headers is removed.
            clear_untrusted_proxy_headers=not settings.proxies,
            url_scheme="https" if settings.tls_cert else "http",
        )
        for bytes_max in (settings.document_bytes_max, settings.batch_bytes_max)
    )
    document.body_limits = batch.body_limits = _BodyLimits(document, batch)
    return document


_EXCESS = 2**16
"""So much more is received than a body may have: the app refuses it, with the reason."""

_OPTIONS = {
    "ident": "fll",
    "backlog": 2_048,
    # A name of 4,096 bytes can have 12,288 when escaped, and a path has several.
    "max_request_header_size": 2**17,
    # Beyond these a body and an answer are in temporary files: a slow client costs no memory.
    "inbuf_overflow": 2**17,
    "outbuf_overflow": 2**20,
}


def _raise_connections_max() -> int:
    """Raise the limit of open files as far as is useful; return how many connections it allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Two for each connection, which may have a body or an answer in a temporary file.
    wanted = 2 * CONNECTIONS_MAX + RESERVED_FILES
    limit = max(soft, wanted if hard == resource.RLIM_INFINITY else min(hard, wanted))
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return max(min(CONNECTIONS_MAX, (limit - RESERVED_FILES) // 2), 1)
