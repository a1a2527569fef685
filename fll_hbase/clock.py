"""The system clock in the unit of all stored times: the only place that reads it."""

from __future__ import annotations

import time


def now_ms() -> int:
    """Return the current time in milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000
