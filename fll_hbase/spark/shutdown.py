"""When does a stream end: asked at any time, it ends between two batches."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopFlag:
    """Whether to end. Threads and signal handlers may share it."""

    def __init__(self) -> None:
        self._asked = Event()

    @property
    def is_set(self) -> bool:
        return self._asked.is_set()

    def set(self) -> None:
        """End after the batch that is under way."""
        self._asked.set()


@contextmanager
def stop_on_signals(stop: StopFlag) -> Iterator[None]:
    """The first SIGTERM or SIGINT asks to stop; a second of its kind does what it did before."""

    def ask(number: int, frame: FrameType | None) -> None:
        signal.signal(number, before[signal.Signals(number)])
        stop.set()

    before = {number: signal.signal(number, ask) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
