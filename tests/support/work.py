"""Count work in function calls, which no other process and no slower machine changes."""

from __future__ import annotations

import cProfile
from collections.abc import Callable

BYTES = 100_000
"""Input of this size may cause as many calls as a test allows; smaller input may cause as many, too."""


def count_calls(action: Callable[[], object]) -> int:
    """Run `action` and count the calls it makes, of Python functions and of functions in C alike.

    Loops without a call count nothing, so a limit on calls finds a quadratic cost only where each step
    calls something; nearly every step does.
    """
    profile = cProfile.Profile()
    profile.runcall(action)
    return sum(entry.callcount for entry in profile.getstats())  # type: ignore[attr-defined]


def calls_allowed(size: int, calls_per_100_kb: int) -> int:
    """The calls that `size` bytes of input may cause."""
    return int(calls_per_100_kb * max(1.0, size / BYTES))
