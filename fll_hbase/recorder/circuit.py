"""Circuit breaker of one job: bounds the total time that the job waits for a store or server that fails."""

from __future__ import annotations

import time
from collections.abc import Callable

PROBE_SECONDS = 5.0
"""Timeout of one attempt while the circuit is open."""

LIMIT_SECONDS_MIN = 0.1
"""Timeout of an attempt after the budget is spent; a working server answers within it."""

PAUSE_SECONDS_FIRST, PAUSE_SECONDS_MAX = 1.0, 600.0
"""Time between attempts while the circuit is open. It doubles with each failure."""

REFILL_SECONDS = 3600.0
"""Time that refills an empty budget, so that jobs that run for months survive restarts of the server."""


class Circuit:
    """Decides whether a call may be made, and how long it may wait. Not safe for threads.

    Half of the budget is for calls while the circuit is closed, the rest for single attempts while it is
    open. A call that fails opens it; one that succeeds closes it. A budget of more than a day is a day, and
    an empty one is full again after REFILL_SECONDS. `clock` returns seconds.
    """

    def __init__(self, budget_seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        # Limited to a day, since an infinite budget cannot be counted.
        self._budget_seconds = min(max(budget_seconds, 0.0), 86_400.0)
        self._clock = clock
        self._left_seconds = self._budget_seconds
        self._updated = clock()
        self.is_open = False
        """True after a failed call, until one succeeds."""
        self._pause_seconds = PAUSE_SECONDS_FIRST
        self._next_attempt = 0.0

    def blocked_seconds(self) -> float:
        """Return the seconds until a call may be made, or 0 if one may be made now."""
        return max(self._next_attempt - self._clock(), 0.0) if self.is_open else 0.0

    def limit_seconds(self) -> float:
        """Return how many seconds the next call may wait.

        Open: half of the time left, from 0.1 to 5 s. Closed: the time left beyond half of the budget, but at
        least as much as an open circuit allows.
        """
        left = self._refill()
        probe = max(min(PROBE_SECONDS, left / 2), LIMIT_SECONDS_MIN)
        return probe if self.is_open else max(left - self._budget_seconds / 2, probe)

    def add_failure(self, waited_seconds: float) -> None:
        """Count a call that failed after `waited_seconds`; open the circuit, or double the pause if it is."""
        self._spend(waited_seconds)
        self._pause_seconds = (
            min(2 * self._pause_seconds, PAUSE_SECONDS_MAX) if self.is_open else PAUSE_SECONDS_FIRST
        )
        self.is_open = True
        self._next_attempt = self._clock() + self._pause_seconds

    def add_success(self, waited_seconds: float) -> None:
        """Count a call that succeeded after failed attempts of `waited_seconds`; close the circuit."""
        self._spend(waited_seconds)
        self.is_open = False

    def _spend(self, seconds: float) -> None:
        """Subtract seconds from the waiting time that is left, at most down to 0."""
        self._left_seconds = max(self._refill() - seconds, 0.0)

    def _refill(self) -> float:
        """Add what the time since the last update restored; return the seconds that are left."""
        now = self._clock()
        restored = (now - self._updated) * self._budget_seconds / REFILL_SECONDS
        self._left_seconds = min(self._left_seconds + restored, self._budget_seconds)
        self._updated = now
        return self._left_seconds
