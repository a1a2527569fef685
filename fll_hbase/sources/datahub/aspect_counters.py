"""How many proposals of which aspect were there, and what became of them."""

from __future__ import annotations

import threading
from collections import Counter
from enum import Enum
from typing import NamedTuple


class AspectOutcome(Enum):
    """Recorded as a run, put into the catalogue, counted and no more, or a removal, which undoes nothing."""

    RECORDED = "recorded"
    DESCRIBED = "described"
    COUNTED = "counted"
    REMOVED = "removed"


class AspectCount(NamedTuple):
    """What is counted; the aspect is empty where all of an entity is to go."""

    urn: str
    aspect: str
    outcome: AspectOutcome


class AspectCounters:
    """Proposals by aspect and outcome since the process began; threads may share it."""

    def __init__(self) -> None:
        self._totals: Counter[tuple[str, AspectOutcome]] = Counter()
        self._lock = threading.Lock()

    def add(self, counted: Counter[AspectCount]) -> None:
        """Count the proposals of one message."""
        with self._lock:
            for key, number in counted.items():
                self._totals[key.aspect, key.outcome] += number

    def totals(self) -> dict[tuple[str, AspectOutcome], int]:
        """What was counted so far."""
        with self._lock:
            return dict(self._totals)
