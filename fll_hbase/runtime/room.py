"""Limited room for large things, which waiting callers get in the order in which they came."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from fll_hbase.runtime import deadline

LOOK_SECONDS = 0.5
"""Seconds between two checks of the deadline while a caller waits."""


class Room:
    """Room of a fixed size. Threads may share it."""

    def __init__(self, size: int) -> None:
        self._size = self._left = size
        self._waiting: deque[object] = deque()
        self._changed = threading.Condition()

    @property
    def waiting_count(self) -> int:
        """Return how many callers wait."""
        return len(self._waiting)

    @contextmanager
    def hold(self, size: int) -> Iterator[None]:
        """Wait until there is room for `size`, and occupy it inside the block.

        A larger size occupies all of the room. Raises DeadlineExceeded.
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
        """Take room in order of arrival, so that smaller sizes cannot delay a larger size forever."""
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
