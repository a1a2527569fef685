"""Room for what is large: so much at a time, and those that wait get it in the order in which they came."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from fll_hbase.runtime import deadline

LOOK_SECONDS = 0.5
"""Seconds between two looks at the deadline while something waits."""


class Room:
    """Room of a size; threads may share it."""

    def __init__(self, size: int) -> None:
        self._size = self._left = size
        self._waiting: deque[object] = deque()
        self._changed = threading.Condition()

    @property
    def waiting_count(self) -> int:
        """Return how many wait."""
        return len(self._waiting)

    @contextmanager
    def hold(self, size: int) -> Iterator[None]:
        """Wait until there is room for `size`, all of it for what is larger, and use it inside the block.

        Raises DeadlineExceeded.
        """
        size = min(size, self._size)
        self._wait(size)
        try:
            yield
        finally:
            with self._changed:
                self._left += size
                self._changed.notify_all()

    def _wait(self, size: int) -> None:
        """Take room; a large one would wait for ever if smaller ones went before it."""
        me = object()
        with self._changed:
            self._waiting.append(me)
            try:
                while self._waiting[0] is not me or self._left < size:
                    self._changed.wait(deadline.seconds_left(LOOK_SECONDS))
                self._left -= size
            finally:
                self._waiting.remove(me)
                self._changed.notify_all()
