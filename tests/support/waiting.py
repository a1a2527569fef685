"""Waits: each has a condition, and a bound that only a fault reaches, however busy the machine is."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

PATIENCE_SECONDS = 120.0
"""Every condition of the tests holds after a small part of this on an idle machine."""

PAUSE_SECONDS = 0.005


def eventually(holds: Callable[[], bool], description: str, *, seconds: float = PATIENCE_SECONDS) -> float:
    """Wait until `holds()`; return the seconds that it took. Raises AssertionError after `seconds`."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < seconds, f"not within {seconds:g} s: {description}"
        time.sleep(PAUSE_SECONDS)
    return time.monotonic() - began


@contextmanager
def patience(seconds: float = PATIENCE_SECONDS) -> Iterator[None]:
    """Return a context for what must end: after `seconds` it is interrupted with an AssertionError.

    For the main thread, where pytest runs tests. What a fault makes wait must wait for longer than `seconds`.
    One context may be inside another.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"not ended within {seconds:g} s")

    previous = signal.signal(signal.SIGALRM, interrupt)
    began = time.monotonic()
    outer_seconds, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        if outer_seconds:
            left_seconds = outer_seconds - (time.monotonic() - began)
            signal.setitimer(signal.ITIMER_REAL, max(left_seconds, PAUSE_SECONDS))
