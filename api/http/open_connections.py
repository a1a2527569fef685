"""Open connections: how many an address has, which of them is silent longest, how many each process has."""

from __future__ import annotations

import mmap
from collections.abc import Collection
from operator import itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .connection import Connection

BUSY_SHARE = 8
"""One of so many may be closed while it is busy before it is looked for new ones that are idle."""

SLOTS = 128
"""Worker processes whose connections are counted apart."""


class SilentFirst:
    """Connections; `take` returns the one that is silent longest, idle ones first.

    They are sorted again when all that were sorted have been taken or have changed since. So one `take` costs
    the same whatever their number, on average, unless each of them sends something between two of them.
    """

    def __init__(self, connections: Collection[Connection]) -> None:
        """Take a view of the connections that are open, which the caller changes."""
        self._connections = connections
        self._sorted: list[tuple[tuple[bool, float], Connection]] = []

    def take(self) -> Connection | None:
        """Return the open connection without a complete request that is silent longest, or None without any.

        Those that receive an answer or send a request come after those that were idle at the latest sorting.
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
            # Those that open meanwhile go before busy ones, but not all are sorted again for each of them.
            self._sorted = ordered[: max(idle_count, len(ordered) // BUSY_SHARE + 1)][::-1]
            first = self._take_sorted()
        return first

    def _take_sorted(self) -> Connection | None:
        """Return the first of those sorted earlier that is still as it was, or None without any."""
        while self._sorted:
            order, connection = self._sorted.pop()
            if connection.connected and not connection.requests and _order(connection) == order:
                return connection
        return None


def _order(connection: Connection) -> tuple[bool, float]:
    """Return whether an answer or a request is on its way, and when (monotonic seconds) bytes went last."""
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
        """Note that a connection of an address is closed. It may have been noted before."""
        connections = self._connections.get(address, set())
        connections.discard(connection)
        if not connections:
            self._connections.pop(address, None)
            self._silent.pop(address, None)

    def count(self, address: str) -> int:
        """Return how many open connections an address has."""
        return len(self._connections.get(address, ()))

    def silent(self, address: str) -> SilentFirst:
        """Return the connections of an address that has some, by their silence."""
        return self._silent.setdefault(address, SilentFirst(self._connections[address]))


class WorkerLoads:
    """How many connections each worker process has, in memory that those forked later share."""

    def __init__(self) -> None:
        self._loads = memoryview(mmap.mmap(-1, 8 * SLOTS)).cast("q")

    def note(self, slot: int, connections: int) -> None:
        """Note the connections of the worker in a slot."""
        # 0 is a slot without a worker.
        self._loads[slot % SLOTS] = connections + 1

    def remove(self, slot: int) -> None:
        """Note that the worker in a slot has ended, or accepts no more."""
        self._loads[slot % SLOTS] = 0

    def share(self, slot: int, connections: int) -> int | None:
        """Return how many a worker with `connections` may accept until another one has fewer; None alone."""
        others = [load - 1 for other, load in enumerate(self._loads) if load and other != slot % SLOTS]
        return max(min(others) + 1 - connections, 0) if others else None
