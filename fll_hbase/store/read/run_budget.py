"""The number of runs that one query may read from references, and where its reading ended."""

from __future__ import annotations

from fll_hbase.keys import layout
from fll_hbase.runtime import deadline
from fll_hbase.store.rows.calendar_rows import SealedRun

LAST_SECONDS = 0.5
"""The time before the deadline in which an answer that may be cut reads no further references."""


class RunBudget:
    """A limit of `runs_max` runs for a query that holds them in memory, and the limits that cut its answer.

    With `until_deadline`, reading ends shortly before the deadline. Otherwise the deadline is an error.
    """

    def __init__(self, runs_max: int, *, until_deadline: bool = False) -> None:
        self.limits: set[str] = set()
        self.until_deadline = until_deadline
        self._cut_tail: bytes | None = None
        self._runs_max = self._left = runs_max

    def page(self, references_max: int) -> int:
        """Return how many references to read next: one more than is left, to see whether there are more."""
        return min(references_max, self._left + 1)

    def take(self, count: int) -> int:
        """Take up to `count` references from the budget; return how many may be used."""
        used = min(count, self._left)
        self._left -= used
        return used

    def is_cut_at(self, run: SealedRun) -> bool:
        """Return whether reading ended at this run or before it."""
        if self._cut_tail is None:
            return False
        return layout.reference_tail(*run) >= self._cut_tail

    def end_at_deadline(self, tail: bytes) -> bool:
        """Return whether the deadline ends reading, and if so, note that runs from `tail` on are unknown."""
        if self.until_deadline and deadline.is_over(in_seconds=LAST_SECONDS):
            self._end(deadline.limit(), tail)
            return True
        return False

    def end_at_limit(self, tail: bytes) -> None:
        """Note that `runs_max` ended reading: runs with reference tails of `tail` or above are unknown."""
        self._end(f"runs_max={self._runs_max}", tail)

    def _end(self, limit: str, tail: bytes) -> None:
        """Note a limit that ended reading, and keep the smallest tail that was not read."""
        self.limits.add(limit)
        self._cut_tail = tail if self._cut_tail is None else min(self._cut_tail, tail)
