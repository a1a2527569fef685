"""Connection pool for HBase's Thrift gateways, with failover and a deadline for every wait.

A connection is dropped after any error: if it were reused after a timeout, the late reply would be taken for
the reply to the next call.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import happybase
from happybase.connection import Hbase, TBinaryProtocol, TBufferedTransport, TClient, TSocket
from thriftpy2.protocol.cybin.cybin import ProtocolError
from thriftpy2.thrift import TException
from thriftpy2.transport import TTransportException

from fll_hbase.runtime import deadline as request_deadline
from fll_hbase.runtime import metrics
from fll_hbase.runtime.errors import ConfigurationError, StoreUnavailable
from fll_hbase.tables.hbase_url import GatewayAddress

T = TypeVar("T")

_log = logging.getLogger(__name__)

CONNECT_SECONDS = 2.0
SLOT_WAIT_SECONDS = 2.0
"""Maximum wait of a call while all connections are in use."""

IDLE_SECONDS = 45.0
"""Less than the 60 s after which a gateway closes idle connections by default."""

AGE_SECONDS = 300.0
"""Maximum age of a connection, so that a restarted gateway receives its share of calls again."""

DOWN_SECONDS = 5.0
"""How long other gateways are preferred after one has failed."""

ROUNDS, PAUSE_SECONDS = 3, 0.1
"""Maximum number of rounds of attempts to connect, and the first pause between them, which doubles."""

STUCK_SECONDS, STUCK_MAX = 2.0, 4
"""Once STUCK_MAX calls have waited this long, new calls wait no longer than this, to keep threads free."""


class HBaseServerError(Exception):
    """An exception that HBase returned through a gateway: its first line, without the stack trace."""

    def __init__(self, error: TException) -> None:
        message = getattr(error, "message", None) or repr(error)
        text = message.decode(errors="replace") if isinstance(message, bytes) else str(message)
        super().__init__(text.partition("\n")[0][:500])


class ThriftPool:
    """Pool of connections to the gateways of one cluster. Threads and forked processes may share it."""

    def __init__(
        self, addresses: Sequence[GatewayAddress], *, timeout_seconds: float, connections_max: int
    ) -> None:
        self._addresses = list(addresses)
        random.shuffle(self._addresses)  # so that not all processes start with the same gateway
        self._timeout_seconds = timeout_seconds
        self._connections_max = connections_max
        self._reset()

    def run(self, operation: Callable[[happybase.Connection], T]) -> T:
        """Call `operation(connection)` and return its result, repeating it elsewhere if a connection breaks.

        Raises HBaseServerError for an exception of HBase, and StoreUnavailable if no gateway answers in time,
        or all connections stay in use. Raises DeadlineExceeded at the deadline of the request, and
        ConfigurationError if an address is not a gateway's.
        """
        # gunicorn and multiprocessing may fork after the pool was created.
        if self._pid != os.getpid():
            self._reset_after_fork()
        failures: list[str] = []
        with self._slot() as deadline:
            while True:
                connection = self._acquire(deadline)
                try:
                    answer = connection.call(operation, deadline)
                except TimeoutError as error:
                    # Do not repeat: the gateway may still be executing the call, and no time is left anyway.
                    self._discard_late(connection)
                    raise request_deadline.unavailable(
                        f"gateway {connection.address} did not answer in time: outcome unknown, try again"
                    ) from error
                except (TTransportException, OSError) as error:
                    self._discard(connection, _reason(error))
                    failures.append(f"{connection.address}: {_reason(error)}")
                    # Allow one attempt per gateway, and one more for a connection that was already stale.
                    if len(failures) > len(self._addresses):
                        raise StoreUnavailable(
                            f"all gateways closed the connection ({'; '.join(failures)}); try again"
                        ) from error
                except TException as error:
                    # This is an answer, but it may consist of several messages, so do not reuse the
                    # connection.
                    connection.drop()
                    raise HBaseServerError(error) from error
                except BaseException:
                    connection.drop()
                    raise
                else:
                    self._release(connection)
                    return answer

    def close(self) -> None:
        """Close all idle connections."""
        for connection in self._pop_idle():
            connection.drop()

    def _reset(self) -> None:
        """Start with an empty pool and no gateway known as failed, without closing anything."""
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(self._connections_max)
        self._idle: list[_PooledConnection] = []
        self._call_starts: dict[int, float] = {}
        self._failed_until: dict[GatewayAddress, float] = {}

    def _reset_after_fork(self) -> None:
        """Start with an empty pool in a forked process: the parent still uses the inherited connections."""
        inherited = self._idle
        self._reset()
        for connection in inherited:
            connection.abandon()

    @contextmanager
    def _slot(self) -> Iterator[float]:
        """Wait up to SLOT_WAIT_SECONDS for a connection slot; yield the deadline of the call (monotonic).

        Raises StoreUnavailable if all connections stay in use.
        """
        patience = request_deadline.seconds_left(min(SLOT_WAIT_SECONDS, self._timeout_seconds))
        if not self._wait_for_slot(patience):
            raise request_deadline.unavailable(
                f"all {self._connections_max} connections to HBase are in use; try again"
            )
        thread, started = threading.get_ident(), time.monotonic()
        self._call_starts[thread] = started
        metrics.CONNECTIONS.add(1)
        try:
            yield request_deadline.wait_end(self._timeout_for_call(started))
        finally:
            metrics.CONNECTIONS.add(-1)
            del self._call_starts[thread]
            self._slots.release()

    def _wait_for_slot(self, seconds: float) -> bool:
        """Take a connection slot; return False if none became free within `seconds`."""
        if self._slots.acquire(blocking=False):
            return True
        metrics.WAITING.add(1)
        try:
            return self._slots.acquire(timeout=seconds)
        finally:
            metrics.WAITING.add(-1)

    def _timeout_for_call(self, now: float) -> float:
        """Return how many seconds a call that begins now may take: fewer while STUCK_MAX others are stuck."""
        # A hung gateway must not tie up all threads of the server for the whole timeout.
        stuck = sum(now - began > STUCK_SECONDS for began in list(self._call_starts.values()))
        return self._timeout_seconds if stuck < STUCK_MAX else min(STUCK_SECONDS, self._timeout_seconds)

    def _acquire(self, deadline: float) -> _PooledConnection:
        """Return the most recently used idle connection that is not too old, or open a new one.

        `deadline` is in monotonic seconds. Raises StoreUnavailable if no gateway can be reached by then.
        """
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._connect(deadline)
            if connection.is_fresh(time.monotonic()):
                return connection
            connection.drop()

    def _connect(self, deadline: float) -> _PooledConnection:
        """Open a connection to the first gateway that answers, in ROUNDS rounds. Raises StoreUnavailable."""
        reasons: dict[GatewayAddress, str] = {}
        for number in range(ROUNDS):
            for address in self._addresses_by_preference():
                seconds_left = deadline - time.monotonic()
                if seconds_left <= 0:
                    break
                try:
                    return _PooledConnection(address, min(seconds_left, CONNECT_SECONDS))
                except (TTransportException, OSError) as error:
                    reasons[address] = _reason(error)
                    self._avoid(address, reasons[address])
            # Do not use the common retry policy: rounds over all gateways are bounded by the deadline of this
            # call.
            pause = PAUSE_SECONDS * 2**number
            if number == ROUNDS - 1 or time.monotonic() + pause > deadline:
                break
            time.sleep(pause)
        summary = "; ".join(f"{address}: {reason}" for address, reason in reasons.items())
        raise request_deadline.unavailable(
            f"no HBase gateway can be reached ({summary}); check that one is running, then try again"
        )

    def _addresses_by_preference(self) -> list[GatewayAddress]:
        """Return all gateways, recently failed ones last, beginning with a different gateway in each call."""
        with self._lock:
            self._addresses.append(self._addresses.pop(0))
            order = list(self._addresses)
        now = time.monotonic()
        return sorted(order, key=lambda address: self._failed_until.get(address, 0.0) > now)

    def _discard_late(self, late: _PooledConnection) -> None:
        """Close a connection without an answer in time; avoid its gateway if the call had a second for it."""
        # If the request had only milliseconds left, the missing answer does not mean that the gateway hangs.
        if time.monotonic() - late.used_at < min(STUCK_SECONDS, self._timeout_seconds) / 2:
            late.drop()
        else:
            self._discard(late, "no answer in time")

    def _avoid(self, address: GatewayAddress, reason: str) -> None:
        """Prefer other gateways for DOWN_SECONDS; count the failure, and log it once per outage."""
        now = time.monotonic()
        is_known = self._failed_until.get(address, 0.0) > now
        self._failed_until[address] = now + DOWN_SECONDS
        metrics.GATEWAY_FAILURES.add()
        # Log once per outage, even if calls continue to fail.
        if not is_known:
            _log.warning("gateway %s failed, others come first for %g s: %s", address, DOWN_SECONDS, reason)

    def _discard(self, failed: _PooledConnection, reason: str) -> None:
        """Close a connection that failed and all idle connections to the same gateway.

        The gateway is tried last for DOWN_SECONDS; connections in use by other threads stay open.
        """
        self._avoid(failed.address, reason)
        failed.drop()
        # Idle connections date from before the failure and would cause each caller a timeout.
        for idle in self._pop_idle():
            if idle.address == failed.address:
                idle.drop()
            else:
                self._release(idle)

    def _release(self, connection: _PooledConnection) -> None:
        """Put a connection back among the idle ones."""
        with self._lock:
            self._idle.append(connection)

    def _pop_idle(self) -> list[_PooledConnection]:
        """Remove all idle connections from the pool and return them, still open."""
        with self._lock:
            connections, self._idle = self._idle, []
        return connections


class _PooledConnection:
    """An open connection to one gateway. Raises TTransportException or OSError if it cannot connect."""

    def __init__(self, address: GatewayAddress, connect_seconds: float) -> None:
        self.address = address
        # Without autoconnect=False, the constructor would connect without this class's error handling.
        self._connection = _Connection(
            address.host, address.port, timeout=1000 * connect_seconds, autoconnect=False
        )
        self._connection.open()
        self._opened_at = self.used_at = time.monotonic()

    def is_fresh(self, now: float) -> bool:
        """Return whether the gateway has probably not closed it by `now`, given its age and last use."""
        return now - self.used_at < IDLE_SECONDS and now - self._opened_at < AGE_SECONDS

    def call(self, operation: Callable[[happybase.Connection], T], deadline: float) -> T:
        """Return `operation(connection)`, all of whose waits end at `deadline` (monotonic seconds).

        Raises TimeoutError at the deadline, and ConfigurationError if the address is not a gateway's.
        """
        self.used_at = time.monotonic()
        self._connection.socket.deadline = deadline
        try:
            return operation(self._connection)
        except ProtocolError as error:
            raise ConfigurationError(
                f"{self.address} is not the port of a Thrift gateway, or one with another protocol than plain"
                f" binary Thrift: {error}"
            ) from error

    def drop(self) -> None:
        """Close the connection for both ends."""
        self._connection.close()

    def abandon(self) -> None:
        """Close only this process's socket; `drop` would end the parent's connection."""
        self._connection.transport.sock.close()


class _Connection(happybase.Connection):  # type: ignore[misc]
    """A connection of happybase over a socket with a deadline."""

    def _refresh_thrift_client(self) -> None:
        """Replace socket, transport and client, with a socket that has a deadline."""
        # Follows happybase 1.3, which has no parameter for the socket.
        self.socket = DeadlineSocket(host=self.host, port=self.port, socket_timeout=self.timeout)
        self.transport = TBufferedTransport(self.socket)
        self.client = TClient(Hbase, TBinaryProtocol(self.transport, decode_response=False))


class DeadlineSocket(TSocket):  # type: ignore[misc]
    """A socket of thriftpy2 whose reads and writes end at `deadline` (monotonic seconds).

    An operation makes several calls, and an answer comes in many pieces, so separate timeouts would add up.
    """

    deadline = 0.0

    def read(self, sz: int) -> bytes:
        """Return at most `sz` bytes. Raises TimeoutError at the deadline."""
        self._limit()
        received: bytes = super().read(sz)
        return received

    def write(self, buf: bytes) -> None:
        """Send the bytes. Raises TimeoutError at the deadline."""
        self._limit()
        super().write(buf)

    def _limit(self) -> None:
        """Set the socket's timeout to the time left. Raises TimeoutError if there is none."""
        seconds = self.deadline - time.monotonic()
        # Without this, each read would get some more time, however fast the rest of an answer arrives.
        if seconds <= 0:
            raise TimeoutError("the deadline of the call has passed")
        self.sock.settimeout(seconds)


def _reason(error: Exception) -> str:
    """Return the first line of an error's operating system message, or of the error itself."""
    cause = error.__context__ if isinstance(error.__context__, OSError) else error
    return str(cause).partition("\n")[0] or type(cause).__name__
