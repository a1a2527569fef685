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
    """Run starts from `start_ms` (included) to `stop_ms` (excluded), milliseconds since 1970.

    `start_ms` is at most `stop_ms`.
    """

    start_ms: int
    stop_ms: int

    def __contains__(self, start_ms: int) -> bool:
        return self.start_ms <= start_ms < self.stop_ms

    @property
    def empty(self) -> bool:
        """True if the window contains no start."""
        return self.start_ms >= self.stop_ms
