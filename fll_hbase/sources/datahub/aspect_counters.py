"""Counters of proposals by aspect and outcome."""

from __future__ import annotations

import threading
from collections import Counter
from enum import Enum
from typing import NamedTuple


class AspectOutcome(Enum):
    """Outcome of a proposal: a run, catalogue data, only counted, or a removal (which deletes nothing)."""

    RECORDED = "recorded"
    DESCRIBED = "described"
    COUNTED = "counted"
    REMOVED = "removed"


class AspectCount(NamedTuple):
    """Key of a counter; the aspect is empty for the deletion of a whole entity."""

    urn: str
    aspect: str
    outcome: AspectOutcome


class AspectCounters:
    """Counts proposals by aspect and outcome since process start. Threads may share it."""

    def __init__(self) -> None:
        self._totals: Counter[tuple[str, AspectOutcome]] = Counter()
        self._lock = threading.Lock()

    def add(self, counted: Counter[AspectCount]) -> None:
        """Count the proposals of one message."""
        with self._lock:
            for key, number in counted.items():
                self._totals[key.aspect, key.outcome] += number

    def totals(self) -> dict[tuple[str, AspectOutcome], int]:
        """Return the current totals."""
        with self._lock:
            return dict(self._totals)
