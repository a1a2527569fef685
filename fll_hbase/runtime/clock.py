"""The system clock in milliseconds, the unit of all stored times."""

from __future__ import annotations

import time


def now_ms() -> int:
    """Return the current time in milliseconds since 1970, UTC."""
    # From integer nanoseconds, because float seconds would have to be rounded.
    return time.time_ns() // 1_000_000
