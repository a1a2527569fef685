"""Counters of proposals by aspect and outcome."""

from __future__ import annotations

import threading
from collections import Counter
from enum import Enum
from typing import NamedTuple


class AspectOutcome(Enum):
    """Outcome of a proposal: recorded as a run, stored in the catalogue, only counted, or a removal."""

    RECORDED = "recorded"
    DESCRIBED = "described"
    COUNTED = "counted"
    REMOVED = "removed"


class AspectCount(NamedTuple):
    """Key of a counter; the aspect is empty for a deletion of a whole entity."""

    urn: str
    aspect: str
    outcome: AspectOutcome


class AspectCounters:
    """Counts proposals by aspect and outcome since process start. Threads may share it."""

    def __init__(self) -> None:
        self._totals: Counter[tuple[str, AspectOutcome]] = Counter()
        self._lock = threading.Lock()

    def add(self, counted: Counter[AspectCount]) -> None:
        """Add the counts of one message, without separating urns."""
        with self._lock:
            # `+=` reads and then writes, so two threads without the lock could lose a count.
            for key, number in counted.items():
                self._totals[key.aspect, key.outcome] += number

    def totals(self) -> dict[tuple[str, AspectOutcome], int]:
        """Return a copy of the totals, by aspect and outcome."""
        with self._lock:
            return dict(self._totals)
