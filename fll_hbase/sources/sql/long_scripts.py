"""Long scripts take turns: one is parsed at a time, and all that are read at once have room in memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from fll_hbase.runtime import deadline
from fll_hbase.runtime.room import LOOK_SECONDS, Room

CONCURRENT_CHARACTERS_MAX = 20_000
"""Characters of the longest script that is read beside others in a process."""

CHARACTERS_MAX = 1_000_000
"""Characters of all longer ones that are read at a time; of one that has more, so many count."""

ROOM = Room(CHARACTERS_MAX)


class _Turn:
    """The turn of one script to be parsed; of all scripts, one has it."""

    _lock = threading.Lock()
    is_mine = False

    def take(self) -> None:
        """Wait for the turn. Raises DeadlineExceeded."""
        # In slices, to see that the client has left.
        while not self._lock.acquire(timeout=deadline.seconds_left(LOOK_SECONDS)):
            deadline.check()
        self.is_mine = True

    def give(self) -> None:
        """Let another script have it. It may be given already."""
        if self.is_mine:
            self.is_mine = False
            self._lock.release()


_current: ContextVar[_Turn | None] = ContextVar("turn", default=None)


@contextmanager
def turn(sql: object) -> Iterator[None]:
    """Return a context in which a script is read, a long one when it is its turn.

    The trees of a script need a kilobyte for each of its characters, and the parser lets no two run at once.
    Raises DeadlineExceeded.
    """
    if not isinstance(sql, str) or len(sql) <= CONCURRENT_CHARACTERS_MAX:
        yield
        return
    with ROOM.hold(len(sql)):
        mine = _Turn()
        token = _current.set(mine)
        try:
            mine.take()
            yield
        finally:
            mine.give()
            _current.reset(token)


@contextmanager
def let_go() -> Iterator[None]:
    """Return a context in which another long script may be parsed: this one waits for the store.

    Raises DeadlineExceeded at its end.
    """
    mine = _current.get()
    if mine is None:
        yield
        return
    mine.give()
    yield
    mine.take()
