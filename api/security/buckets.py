"""Token buckets: how much each client may use, on average and at once, in this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable

from cachetools import LRUCache

KEYS_MAX = 10_000
"""Maximum number of clients that are remembered at a time. A forgotten client begins with a full bucket."""


class TokenBuckets:
    """A bucket for each key, refilled by `per_second` up to `burst`. Threads may share them.

    An amount larger than a bucket, which would otherwise never be allowed, is allowed when the bucket is
    full. It leaves a debt, which keeps the average.
    """

    def __init__(
        self, *, per_second: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._lock = threading.Lock()
        self._levels: LRUCache[Hashable, tuple[float, float]] = LRUCache(KEYS_MAX)

    def take(self, key: Hashable, amount: float = 1.0) -> float:
        """Take an amount and return 0, or take nothing and return how many seconds to wait."""
        with self._lock:
            level, now = self._level(key)
            missing = min(amount, self._burst) - level
            if missing > 0:
                return missing / self._per_second
            self._levels[key] = (level - amount, now)
            return 0.0

    def charge(self, key: Hashable, amount: float) -> None:
        """Take an amount regardless of the level; an excess becomes a debt."""
        with self._lock:
            level, now = self._level(key)
            self._levels[key] = (level - amount, now)

    def seconds_until(self, key: Hashable, amount: float = 1.0) -> float:
        """Return in how many seconds `take` would succeed, or 0 for now, without taking anything."""
        with self._lock:
            level, _ = self._level(key)
            return max(min(amount, self._burst) - level, 0.0) / self._per_second

    def _level(self, key: Hashable) -> tuple[float, float]:
        """Return the current level of a bucket and the current time. The caller holds the lock."""
        now = self._clock()
        level, updated_at = self._levels.get(key, (self._burst, now))
        return min(level + (now - updated_at) * self._per_second, self._burst), now
