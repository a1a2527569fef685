"""Which gateway is asked, and for how long: connections to HBase's Thrift gateways, each lent to one call.

A connection is dropped after any error: on one that is used again after a timeout, the reply that comes late
is taken for that of the next call.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import happybase
from thriftpy2.thrift import TException
from thriftpy2.transport import TTransportException

from fll_hbase.errors import StoreUnavailable
from fll_hbase.tables.hbase_url import Address

T = TypeVar("T")

CONNECT_SECONDS = 2.0
PLACE_SECONDS = 2.0
"""How long a call waits for a connection that others use."""

IDLE_SECONDS = 45.0
"""A gateway closes connections that were idle for 60 s, unless told otherwise."""

AGE_SECONDS = 300.0
"""No connection grows older, so that a gateway that came back gets its share again."""

DOWN_SECONDS = 5.0
"""How long the other gateways are preferred to one that failed."""

ROUNDS, PAUSE_SECONDS = 3, 0.1
"""How often all gateways are tried for a connection, and the first pause between; it doubles."""

STUCK_SECONDS, STUCK_MAX = 2.0, 4
"""Where so many calls wait for so long already, new ones wait no longer than that: threads are for others."""


class JavaError(Exception):
    """A gateway answered with an exception of HBase's: its first line, without the stack."""

    def __init__(self, error: TException) -> None:
        message = getattr(error, "message", None) or repr(error)
        text = message.decode(errors="replace") if isinstance(message, bytes) else str(message)
        super().__init__(text.partition("\n")[0][:500])


class Gateways:
    """Connections to one or more gateways of the same cluster. Threads and forked processes may share it."""

    def __init__(self, addresses: Sequence[Address], *, timeout_seconds: float, connections_max: int) -> None:
        self._addresses = list(addresses)
        random.shuffle(self._addresses)  # many processes shall not all begin with the same one
        self._timeout_seconds = timeout_seconds
        self._connections_max = connections_max
        self._begin()

    def call(self, act: Callable[[happybase.Connection], T]) -> T:
        """What `act` makes of a connection; it may be run again after a connection broke.

        Raises JavaError for what HBase answers, StoreUnavailable where no gateway answers in time.
        """
        if self._pid != os.getpid():
            self._leave_to_parent()
        broken: list[str] = []
        with self._place() as deadline:
            while True:
                lent = self._lend(deadline)
                try:
                    answer = act(lent.until(deadline))
                except TimeoutError as error:
                    self._lose(lent)
                    raise StoreUnavailable(
                        f"gateway {lent.address} did not answer in time: the outcome is unknown, try again"
                    ) from error
                except (TTransportException, OSError) as error:
                    self._lose(lent)
                    broken.append(f"{lent.address}: {_reason(error)}")
                    if len(broken) > len(self._addresses):
                        raise StoreUnavailable(
                            f"connections to gateways broke ({'; '.join(broken)}); try again"
                        ) from error
                except TException as error:
                    lent.drop()
                    raise JavaError(error) from error
                except BaseException:
                    lent.drop()
                    raise
                else:
                    self._give_back(lent)
                    return answer

    def close(self) -> None:
        """Close the connections that are not lent."""
        for lent in self._taken_idle():
            lent.drop()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(self._connections_max)
        self._idle: list[_Lent] = []
        self._began: dict[int, float] = {}
        self._down: dict[Address, float] = {}

    def _leave_to_parent(self) -> None:
        """After a fork: the parent goes on using its connections, so nothing may be said on them."""
        inherited = self._idle
        self._begin()
        for lent in inherited:
            lent.forget()

    @contextmanager
    def _place(self) -> Iterator[float]:
        """Until when the call may take, once fewer than the most connections are in use."""
        if not self._places.acquire(timeout=min(PLACE_SECONDS, self._timeout_seconds)):
            raise StoreUnavailable(f"all {self._connections_max} connections to HBase are in use; try again")
        thread, began = threading.get_ident(), time.monotonic()
        self._began[thread] = began
        try:
            yield began + self._patience_seconds(began)
        finally:
            del self._began[thread]
            self._places.release()

    def _patience_seconds(self, now: float) -> float:
        stuck = sum(now - began > STUCK_SECONDS for began in list(self._began.values()))
        return self._timeout_seconds if stuck < STUCK_MAX else min(STUCK_SECONDS, self._timeout_seconds)

    def _lend(self, deadline: float) -> _Lent:
        """The connection used last, or a new one."""
        while True:
            with self._lock:
                lent = self._idle.pop() if self._idle else None
            if lent is None:
                return self._connect(deadline)
            if lent.fresh(time.monotonic()):
                return lent
            lent.drop()

    def _connect(self, deadline: float) -> _Lent:
        reasons: dict[Address, str] = {}
        for number in range(ROUNDS):
            for address in self._preferred():
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                try:
                    return _Lent(address, min(left, CONNECT_SECONDS))
                except (TTransportException, OSError) as error:
                    self._down[address] = time.monotonic() + DOWN_SECONDS
                    reasons[address] = _reason(error)
            pause = PAUSE_SECONDS * 2**number
            if number == ROUNDS - 1 or time.monotonic() + pause > deadline:
                break
            time.sleep(pause)
        told = "; ".join(f"{address}: {reason}" for address, reason in reasons.items())
        raise StoreUnavailable(f"no gateway of HBase can be reached ({told}); check that one runs, try again")

    def _preferred(self) -> list[Address]:
        """Gateways in turn; those that failed of late come last."""
        with self._lock:
            self._addresses.append(self._addresses.pop(0))
            order = list(self._addresses)
        now = time.monotonic()
        return sorted(order, key=lambda address: self._down.get(address, 0.0) > now)

    def _lose(self, lent: _Lent) -> None:
        """Give up a connection that failed, and the idle ones to the same gateway: they are no better."""
        self._down[lent.address] = time.monotonic() + DOWN_SECONDS
        lent.drop()
        for idle in self._taken_idle():
            if idle.address == lent.address:
                idle.drop()
            else:
                self._give_back(idle)

    def _give_back(self, lent: _Lent) -> None:
        with self._lock:
            self._idle.append(lent)

    def _taken_idle(self) -> list[_Lent]:
        with self._lock:
            taken, self._idle = self._idle, []
        return taken


class _Lent:
    """An open connection. Raises TTransportException where it cannot be had."""

    def __init__(self, address: Address, connect_seconds: float) -> None:
        self.address = address
        self._connection = happybase.Connection(
            address.host, address.port, timeout=1000 * connect_seconds, autoconnect=False
        )
        self._connection.open()
        self._opened = self._used = time.monotonic()

    def fresh(self, now: float) -> bool:
        """Whether the gateway is likely to hold it open still."""
        return now - self._used < IDLE_SECONDS and now - self._opened < AGE_SECONDS

    def until(self, deadline: float) -> happybase.Connection:
        """The connection, every wait on which ends by the deadline."""
        self._used = time.monotonic()
        self._connection.transport.sock.settimeout(max(deadline - self._used, 0.001))
        return self._connection

    def drop(self) -> None:
        self._connection.close()

    def forget(self) -> None:
        """Close this process's end of it alone: `drop` would end it for the process that opened it."""
        self._connection.transport.sock.close()


def _reason(error: Exception) -> str:
    """What went wrong, from the operating system where it said so: thriftpy2 hides it."""
    cause = error.__context__ if isinstance(error.__context__, OSError) else error
    return str(cause).partition("\n")[0] or type(cause).__name__
