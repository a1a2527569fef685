"""How many proposals of which aspect were there, and what became of them."""

from __future__ import annotations

import threading
from collections import Counter
from enum import Enum
from typing import NamedTuple


class Outcome(Enum):
    """Recorded as a run, put into the catalogue, counted and no more, or a removal, which undoes nothing."""

    RECORDED = "recorded"
    DESCRIBED = "described"
    COUNTED = "counted"
    REMOVED = "removed"


class Counted(NamedTuple):
    """What is counted; the aspect is empty where all of an entity is to go."""

    urn: str
    aspect: str
    outcome: Outcome


class Counts:
    """Proposals by aspect and outcome since the process began; threads may share it."""

    def __init__(self) -> None:
        self._totals: Counter[tuple[str, Outcome]] = Counter()
        self._lock = threading.Lock()

    def add(self, counted: Counter[Counted]) -> None:
        """Count the proposals of one message."""
        with self._lock:
            for key, number in counted.items():
                self._totals[key.aspect, key.outcome] += number

    def totals(self) -> dict[tuple[str, Outcome], int]:
        """What was counted so far."""
        with self._lock:
            return dict(self._totals)
