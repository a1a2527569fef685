"""Open connections: how many an address has, which one is silent longest, how many each process has."""

from __future__ import annotations

import mmap
from collections.abc import Collection
from operator import itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .connection import Connection

BUSY_SHARE = 8
"""One in this many connections may be closed while busy before the connections are sorted again."""

SLOTS = 128
"""Worker processes whose connections are counted separately."""


class SilentFirst:
    """Connections; `take` returns the one that is silent longest, idle ones first.

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
