"""Cache of rows put so recently that garbage collection spares them for as long as a pass takes."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Generic, TypeVar

from cachetools import LRUCache

K = TypeVar("K", bound=Hashable)

CACHED_NAMES_MAX = 100_000


class FreshnessCache(Generic[K]):
    """Names of what is stored, and until when it can be relied on, in milliseconds. Threads may share it."""

    def __init__(self) -> None:
        self._until_ms: LRUCache[K, int] = LRUCache(CACHED_NAMES_MAX)
        self._lock = threading.Lock()

    def is_fresh(self, name: K, now_ms: int) -> bool:
        """Return whether a name was added with a time after `now_ms`."""
        with self._lock:
            return now_ms < self._until_ms.get(name, now_ms)

    def add(self, name: K, until_ms: int) -> None:
        """Add a name that can be relied on before `until_ms`."""
        with self._lock:
            self._until_ms[name] = until_ms

    def remove(self, name: K) -> None:
        """Remove a name, if it is there."""
        with self._lock:
            self._until_ms.pop(name, None)

    def clear(self) -> None:
        """Remove all names."""
        with self._lock:
            self._until_ms.clear()
