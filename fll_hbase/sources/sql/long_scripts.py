"""Long scripts take turns: one is parsed at a time, and together they stay within a memory bound."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from fll_hbase.runtime import deadline
from fll_hbase.runtime.threads import LOOK_SECONDS, Room

CONCURRENT_CHARACTERS_MAX = 20_000
"""Length of the longest script that may be parsed at the same time as others in a process."""

CHARACTERS_MAX = 1_000_000
"""Total length of the longer scripts that may be read at a time; no script counts as more than this."""

ROOM = Room(CHARACTERS_MAX)


class _Turn:
    """The turn of one script to be parsed, which only one script has at a time."""

    _lock = threading.Lock()
    is_mine = False

    def take(self) -> None:
        """Wait for this script's turn. Raises the errors of `deadline.check`."""
        # Wait in slices, to notice when the client has left.
        while not self._lock.acquire(timeout=deadline.seconds_left(LOOK_SECONDS)):
            deadline.check()
        self.is_mine = True

    def give(self) -> None:
        """Give the turn to another script. The turn may already be given up."""
        if self.is_mine:
            self.is_mine = False
            self._lock.release()


_current: ContextVar[_Turn | None] = ContextVar("turn", default=None)


@contextmanager
def turn(sql: object) -> Iterator[None]:
    """Return a context for reading a script, which waits for its turn and for room if it is long.

    Only one long script is parsed at a time, and those being read have CHARACTERS_MAX characters at most,
    since trees need a kilobyte per character. A text of at most CONCURRENT_CHARACTERS_MAX enters at once, as
    does a value of another type. Raises the errors of `deadline.check` while it waits.
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
    """Return a context in which another long script may be parsed while this one waits for the store.

    At its end, it waits for the turn again, and raises the errors of `deadline.check`. After an error inside,
    the turn stays given up. It does nothing for a short script, which has no turn.
    """
    mine = _current.get()
    if mine is None:
        yield
        return
    mine.give()
    yield
    mine.take()
