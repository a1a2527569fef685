"""Graceful stop of a stream on SIGTERM or SIGINT, between two batches."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopFlag:
    """A flag to stop after the current batch. Threads and signal handlers may share it."""

    def __init__(self) -> None:
        self._event = Event()

    @property
    def is_set(self) -> bool:
        """Return whether `set` was called."""
        return self._event.is_set()

    def set(self) -> None:
        """Request the end after the current batch, irrevocably."""
        self._event.set()


@contextmanager
def stop_on_signals(stop: StopFlag) -> Iterator[None]:
    """Return a context in which the first SIGTERM or SIGINT sets the flag.

    A second signal of the same kind goes to the previous handler. The previous handlers are restored at the
    end. Raises ValueError outside the main thread, because only the main thread may set handlers.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        """Set the flag and restore the previous handler of the signal."""
        # A second Ctrl-C then interrupts at once.
        signal.signal(number, previous[signal.Signals(number)])
        stop.set()

    previous = {number: signal.signal(number, handle) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
