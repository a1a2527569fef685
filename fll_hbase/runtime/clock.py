"""The system clock in milliseconds, the unit of all stored times."""

from __future__ import annotations

import time


def now_ms() -> int:
    """Return the current time in milliseconds since 1970, UTC."""
    # Integers: seconds as a float would have to be rounded.
    return time.time_ns() // 1_000_000


def pass_millisecond() -> None:
    """Wait until the current millisecond is over: what is stored then is later than what is stored now."""
    # Not until the clock shows another one, which may never be if it is set back.
    time.sleep(0.001)
