"""The server of one process: accepts connections, hands complete requests to threads, stops gracefully.

It counts open connections by address and by process, and closes the one that has been silent longest.
"""

from __future__ import annotations

import errno
import logging
import mmap
import resource
import socket
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from operator import itemgetter
from threading import Lock
from typing import TYPE_CHECKING, Any

from waitress.adjustments import Adjustments
from waitress.server import TcpWSGIServer

from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import Overloaded, TooManyRequests

from ..observability.observer import RequestObserver
from ..wire.budget import request_seconds
from ..wire.environ import METRICS_PATH, network
from .clients import Clients
from .connection import Connection
from .dispatcher import Dispatcher
from .event_loop import EventLoop
from .tasks import Refusal, raw_answer, refusal_of
from .tls import TlsSocket, tls_context

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

BUSY_SHARE = 8
"""One in this many connections may be closed while busy before the connections are sorted again."""

SLOTS = 128
"""Worker processes whose connections are counted separately."""

IMMEDIATE_PATHS = ("/healthz", "/readyz")
"""Paths that a thread of their own answers, which never waits for the store."""

CONNECTIONS_MAX = 10_000
RESERVED_FILES = 200
"""File descriptors reserved for the store, temporary files and logs rather than connections of clients."""

CHECK_SECONDS = 0.2
"""How often the deadlines of waiting requests and the times of connections are checked."""

BATCHES_MAX = 4
"""How many bodies of the largest size fit, in temporary files, at a time."""

MEMORY_BYTES_MAX, MEMORY_BYTES_LEFT = 128 * 2**20, 112 * 2**20
"""Maximum memory for arriving requests and for waiting ones, and the target for refusals of arriving ones."""

SMALL_BYTES = 2**14
"""Complete requests up to this size are never refused for lack of memory."""

CHECKED_MAX = 2_500
"""Connections whose times are checked in one turn, so that the others wait only a few milliseconds."""

ACCEPTED_MAX = 32
"""Connections that are accepted in one turn of the event loop."""

ACCEPT_DELAY_SECONDS = 0.002
"""How long the processes with fewer connections may take to accept before this one does."""

EXHAUSTED_SECONDS = 0.1
"""How long a process without a free descriptor waits before it accepts again."""

GRACEFUL_SECONDS, IDLE_GRACE_SECONDS = 25.0, 1.0
"""How long a stopping process finishes requests, and waits for new ones on connections that are open."""

_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_log = logging.getLogger(__name__)


class SilentFirst:
    """Connections; `take` returns the one that has been silent longest, idle ones first.

    `take` sorts them again once all sorted ones have been taken or have changed. On average its time does not
    depend on their number, unless every connection sends something between two calls.
    """

    def __init__(self, connections: Collection[Connection]) -> None:
        """Take a view of the connections that are open, which the caller changes."""
        self._connections = connections
        self._sorted: list[tuple[tuple[bool, float], Connection]] = []

    def take(self) -> Connection | None:
        """Return the open connection without a complete request that has been silent longest, if any.

        Connections that receive an answer or send a request come after those that were idle when last sorted.
        """
        first = self._take_sorted()
        if first is None:
            candidates = [
                (_order(connection), connection)
                for connection in self._connections
                if not connection.requests
            ]
            ordered = sorted(candidates, key=itemgetter(0))
            idle_count = sum(not is_busy for (is_busy, _), _ in ordered)
            # Only a share of the busy ones is kept: connections opened later are preferred, after the next
            # sort.
            self._sorted = ordered[: max(idle_count, len(ordered) // BUSY_SHARE + 1)][::-1]
            first = self._take_sorted()
        return first

    def _take_sorted(self) -> Connection | None:
        """Return the first connection of the last sort that has not changed since, or None."""
        while self._sorted:
            order, connection = self._sorted.pop()
            if connection.connected and not connection.requests and _order(connection) == order:
                return connection
        return None


def _order(connection: Connection) -> tuple[bool, float]:
    """Return whether an answer or a request is on its way, and when bytes last came or went (monotonic)."""
    return connection.total_outbufs_len > 0 or connection.request is not None, connection.active_at


class Addresses:
    """The open connections of each client address."""

    def __init__(self) -> None:
        self._connections: dict[str, set[Connection]] = {}
        self._silent: dict[str, SilentFirst] = {}

    def add(self, address: str, connection: Connection) -> None:
        """Note an open connection of an address."""
        self._connections.setdefault(address, set()).add(connection)

    def remove(self, address: str, connection: Connection) -> None:
        """Note that a connection of an address is closed. A second call has no effect."""
        connections = self._connections.get(address, set())
        connections.discard(connection)
        if not connections:
            self._connections.pop(address, None)
            self._silent.pop(address, None)

    def count(self, address: str) -> int:
        """Return how many open connections an address has."""
        return len(self._connections.get(address, ()))

    def silent(self, address: str) -> SilentFirst:
        """Return the connections of an address by their silence. Raises KeyError if it has none."""
        return self._silent.setdefault(address, SilentFirst(self._connections[address]))


class WorkerLoads:
    """How many connections each worker process has, in memory that those forked later share."""

    def __init__(self) -> None:
        self._loads = memoryview(mmap.mmap(-1, 8 * SLOTS)).cast("q")

    def note(self, slot: int, connections: int) -> None:
        """Note the connections of the worker in a slot."""
        # 0 marks a slot without a worker.
        self._loads[slot % SLOTS] = connections + 1

    def remove(self, slot: int) -> None:
        """Note that the worker in a slot has ended or has stopped accepting."""
        self._loads[slot % SLOTS] = 0

    def share(self, slot: int, connections: int) -> int | None:
        """Return how many a worker may accept until another one has fewer, or None if it is the only one."""
        others = [load - 1 for other, load in enumerate(self._loads) if load and other != slot % SLOTS]
        return max(min(others) + 1 - connections, 0) if others else None


class HttpServer(TcpWSGIServer):  # type: ignore[misc]
    """Serves an app on a listening socket, in the thread that calls `serve`."""

    channel_class = Connection
    next_channel_cleanup: float

    def __init__(
        self,
        app: WSGIApplication,
        listener: socket.socket,
        settings: Settings,
        observer: RequestObserver,
        *,
        loads: WorkerLoads | None = None,
        slot: int = 0,
        connections_max: int | None = None,
    ) -> None:
        """Take a listening socket, the loads of the workers that share it, and the slot of this worker.

        By default, `connections_max` follows the limit of open files. Raises ConfigurationError (TLS).
        """
        self._loop = EventLoop()
        self._loads = loads or WorkerLoads()
        self._slot = slot
        self._settings = settings
        self.observer = observer
        self.retry_after_seconds = settings.retry_after_seconds
        self.is_stopping = False
        self.clients = Clients(proxies=settings.proxies)
        self._dispatcher = Dispatcher(threads=settings.threads, request_seconds=settings.request_seconds)
        self._connections_max = connections_max or _raise_connections_max()
        self._addresses = Addresses()
        # Behind proxies the address of a connection is a proxy's, not a client's.
        self._address_max = 0 if settings.proxies else settings.address_connections_max
        self._sizes_lock = Lock()
        # Sums of the first three of `Connection.sizes`.
        self._arriving_bytes = self._waiting_bytes = self._body_bytes = 0
        self._unchecked: list[Connection] = []
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
        self._silent = SilentFirst(self.active_channels.values())

    def serve(self, is_alive: Callable[[], bool]) -> None:
        """Serve until `is_alive`, called at least once a second, returns false, and then stop gracefully."""
        self._dispatcher.start()
        # Before the first connection: until then the other workers ignore this one when they compute shares.
        self._note_load()
        while is_alive():
            self._poll()
        self._stop()

    def add_task(self, connection: Connection) -> None:
        """Queue the first request of a connection: for the immediate or metrics thread, or in a lane.

        A request above SMALL_BYTES is refused while the waiting ones take more than MEMORY_BYTES_MAX.
        """
        request = connection.requests[0]
        request.received_at = time.monotonic()
        if request.error or request.path in IMMEDIATE_PATHS:
            self._dispatcher.add_immediate(connection)
            return
        if request.path == METRICS_PATH:
            self._dispatcher.add_metrics(connection)
            return
        if self._waiting_bytes > MEMORY_BYTES_MAX and request.memory_bytes > SMALL_BYTES:
            connection.refuse("too many large requests wait; try again later")
            self._dispatcher.add_immediate(connection)
            return
        seconds = request_seconds(request.headers.get("PREFER", ""), longest=self._settings.request_seconds)
        lane = self._dispatcher.lane(is_read=request.is_read, is_batch=request.is_batch)
        client = self.clients.client_of(request, str(connection.addr[0]))
        self._dispatcher.add(connection, lane, client, deadline=request.received_at + seconds)

    def is_alone(self, connection: Connection) -> bool:
        """Return whether the client of a connection's first request is the only active one."""
        return self._dispatcher.is_alone(
            self.clients.client_of(connection.requests[0], str(connection.addr[0]))
        )

    def readable(self) -> bool:
        """Return whether this process accepts connections now."""
        return bool(self.accepting) and not self._accept_at

    def handle_accept(self) -> None:
        """Accept waiting connections up to a share; processes with fewer have a moment to take the rest."""
        # Without shares, one process could get all clients that connect at once. SO_REUSEPORT would spread
        # them too, but leaves the clients of a stopped process waiting.
        share = self._loads.share(self._slot, len(self.active_channels))
        most = ACCEPTED_MAX if share is None else min(share, ACCEPTED_MAX)
        if self._accept(most) == share and not self._accept_at:
            self._accept_at = time.monotonic() + ACCEPT_DELAY_SECONDS

    def accept(self) -> tuple[socket.socket | TlsSocket, Any] | None:
        """Accept a connection, with TLS if configured, or return None if none waits. Raises OSError."""
        accepted: tuple[socket.socket, Any] | None = super().accept()
        if accepted is None or self._tls is None:
            return accepted
        return TlsSocket(self._tls, accepted[0]), accepted[1]

    def wake(self, connection: Connection) -> None:
        """Note, in any thread, that a connection has something to send or is to be closed."""
        self._loop.refresh(connection)
        self.pull_trigger()

    def _poll(self) -> None:
        """Handle events until the next check is due. When it is due, check the times of connections."""
        now = time.monotonic()
        if self._accept_at and now >= self._accept_at:
            self._accept_at = 0.0
            # The other processes had time to accept; processes that did not may be stopped or busy.
            self._accept(ACCEPTED_MAX)
            self._loop.refresh(self)
        if self._arriving_bytes > MEMORY_BYTES_MAX:
            self._refuse_unfinished(self._arriving_bytes - MEMORY_BYTES_LEFT, kind=0)
        if now >= self.next_channel_cleanup:
            self.next_channel_cleanup = now + CHECK_SECONDS
            self._check_times(now)
        until = min(self.next_channel_cleanup, self._accept_at or self.next_channel_cleanup)
        # After a full turn more events wait, and the listening socket may not have been among them.
        if self._loop.poll(max(until - now, 0.0)) and self.readable():
            self.handle_accept()

    def _accept(self, most: int) -> int:
        """Accept up to `most` waiting connections; return how many came, even if their clients have left.

        Without a free descriptor, warn and accept nothing for EXHAUSTED_SECONDS.
        """
        for number in range(most):
            try:
                accepted = self.accept()
                if accepted is None:
                    return number
                self.set_socket_options(accepted[0])
            except OSError as error:
                # Other errors come from a client that has left already.
                if error.errno in _EXHAUSTED:
                    _log.warning("no connection can be accepted: %s", error)
                    self._accept_at = time.monotonic() + EXHAUSTED_SECONDS
                    return number
            else:
                self._admit(*accepted)
        return most

    def _admit(self, sock: socket.socket | TlsSocket, addr: tuple[Any, ...]) -> None:
        """Serve an accepted connection if there is room for it or room can be made, else refuse it."""
        address = network(str(addr[0]))
        refusal = self._make_room(address)
        if refusal is not None:
            # With TLS no answer can be sent before the handshake.
            with suppress(OSError):
                sock.send(raw_answer(refusal))
            sock.close()
            return
        connection = self.channel_class(self, sock, addr, self.adj, map=self._loop)
        self._addresses.add(address, connection)
        self._note_load()

    def _make_room(self, address: str) -> Refusal | None:
        """Close the longest silent connection of a full address or process; return a refusal without one."""
        seconds = self.retry_after_seconds
        most = self._address_max
        if most and self._addresses.count(address) >= most:
            detail = f"{most} connections of this address wait for answers"
            crowded = TooManyRequests(f"{detail} (FLL_ADDRESS_CONNECTIONS_MAX); use fewer")
            refusal = refusal_of(crowded, retry_after_seconds=seconds)
            return self._close_first(self._addresses.silent(address), refusal)
        if len(self.active_channels) >= self._connections_max:
            error = Overloaded("all connections of this server are in use")
            refusal = refusal_of(error, closes=False, retry_after_seconds=seconds)
            return self._close_first(self._silent, refusal)
        return None

    def _close_first(self, silent: SilentFirst, refusal: Refusal) -> Refusal | None:
        """Close the first of the connections and return None, or return the refusal if none may be closed."""
        connection = silent.take()
        if connection is None:
            return refusal
        connection.handle_close()
        return None

    def forget(self, connection: Connection) -> None:
        """Note that a connection is closed."""
        self._addresses.remove(network(str(connection.addr[0])), connection)
        self._note_load()

    def _note_load(self) -> None:
        """Show the other workers how many connections this one has, as long as it accepts any."""
        if self.accepting:
            self._loads.note(self._slot, len(self.active_channels))

    def _check_times(self, now: float) -> None:
        """Refuse late requests, check the timeouts of some connections and bound the memory of bodies."""
        self._dispatcher.refuse_late()
        self._unchecked = self._unchecked or list(self.active_channels.values())
        for connection in self._unchecked[-CHECKED_MAX:]:
            connection.check_time(now)
        del self._unchecked[-CHECKED_MAX:]
        # Only arriving bodies are refused: a refusal would not free complete ones.
        self._refuse_unfinished(self._body_bytes - BATCHES_MAX * self._settings.batch_bytes_max, kind=3)

    def hold(self, connection: Connection, sizes: tuple[int, int, int, int]) -> None:
        """Note, in any thread, the bytes that the requests of a connection hold (see `Connection.sizes`)."""
        with self._sizes_lock:
            self._arriving_bytes += sizes[0] - connection.sizes[0]
            self._waiting_bytes += sizes[1] - connection.sizes[1]
            self._body_bytes += sizes[2] - connection.sizes[2]
            connection.sizes = sizes

    def _refuse_unfinished(self, excess: int, *, kind: int) -> None:
        """Refuse arriving requests until `excess` bytes are free. `kind` is an index of `Connection.sizes`.

        Requests with the largest product of bytes and time since their start are refused first.
        """
        if excess <= 0:
            return
        now = time.monotonic()
        costs = {
            connection: connection.sizes[kind] * seconds
            for connection in self.active_channels.values()
            if connection.sizes[kind] and (seconds := connection.unfinished_seconds(now))
        }
        for connection in sorted(costs, key=costs.__getitem__, reverse=True):
            if excess <= 0:
                return
            excess -= connection.sizes[kind]
            connection.refuse_unfinished()

    def _stop(self) -> None:
        """Finish the requests that have begun, and those that still arrive on open connections.

        Idle connections are closed after IDLE_GRACE_SECONDS, all others after GRACEFUL_SECONDS.
        """
        self.is_stopping = True
        self.accepting = False
        self._accept_at = 0.0
        self._loads.remove(self._slot)
        self._loop.refresh(self)
        began = time.monotonic()
        while time.monotonic() - began < GRACEFUL_SECONDS and self.active_channels:
            if time.monotonic() - began > IDLE_GRACE_SECONDS:
                for connection in [item for item in self.active_channels.values() if item.is_idle]:
                    connection.handle_close()
            self._poll()
        for connection in list(self.active_channels.values()):
            connection.handle_close()
        self._loop.close()


def _adjustments(settings: Settings) -> Adjustments:
    """Return waitress's options for the body of a document; `body_limits` has these and those of a batch."""
    document, batch = (
        Adjustments(
            **_OPTIONS,
            max_request_body_size=bytes_max + _EXCESS,
            # Without trusted proxies, proxy headers that clients send are removed.
            clear_untrusted_proxy_headers=not settings.proxies,
            url_scheme="https" if settings.tls_cert else "http",
        )
        for bytes_max in (settings.document_bytes_max, settings.batch_bytes_max)
    )
    document.body_limits = batch.body_limits = document, batch
    return document


_EXCESS = 2**16
"""Bytes received beyond the limit of a body, so that the app can refuse it with the reason."""

_OPTIONS = {
    "ident": "fll",
    "backlog": 2_048,
    # A name of 4,096 bytes may take 12,288 when escaped, and a path has several names.
    "max_request_header_size": 2**17,
    # Larger bodies and answers go to temporary files, so that slow clients take little memory.
    "inbuf_overflow": 2**17,
    "outbuf_overflow": 2**20,
}


def _raise_connections_max() -> int:
    """Raise the limit of open files as far as useful; return for how many connections (at least 1) it is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Two descriptors for each connection, which may have a body or an answer in a temporary file.
    wanted = 2 * CONNECTIONS_MAX + RESERVED_FILES
    limit = max(soft, wanted if hard == resource.RLIM_INFINITY else min(hard, wanted))
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return max(min(CONNECTIONS_MAX, (limit - RESERVED_FILES) // 2), 1)
