"""Time windows of run starts, the direction of a lineage query, and the length of a day."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

START_LIMIT_MS = 2**63 - 1
"""Exclusive upper bound of run starts, milliseconds since 1970."""

DAY_MS = 86_400_000


class Direction(Enum):
    """Backward: where fields come from (upstream). Forward: what they lead to (downstream)."""

    BACKWARD = "backward"
    FORWARD = "forward"


BOTH = (Direction.BACKWARD, Direction.FORWARD)
"""Both directions, in the order of answers."""


@dataclass(frozen=True, slots=True)
class Window:
    """The runs that a query counts, from a start of `start_ms` (included) to one of `stop_ms` (excluded).

    Both are milliseconds since 1970; `start_ms` is at most `stop_ms`. Failed and aborted runs count only with
    `failed`, except in lists and counts of runs, which have runs in any state.
    """

    start_ms: int
    stop_ms: int
    failed: bool = False

    def __contains__(self, start_ms: int) -> bool:
        return self.start_ms <= start_ms < self.stop_ms

    @property
    def empty(self) -> bool:
        """True if the window contains no start."""
        return self.start_ms >= self.stop_ms

    def within(self, start_ms: int, stop_ms: int) -> Window:
        """Return the part of the window from `start_ms` to `stop_ms`, an empty window if there is none."""
        stop_ms = min(self.stop_ms, stop_ms)
        return Window(min(max(self.start_ms, start_ms), stop_ms), stop_ms, self.failed)

    def overlap(self, other: Window) -> Window:
        """Return the part of the window that lies in another."""
        return self.within(other.start_ms, other.stop_ms)
