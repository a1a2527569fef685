"""Requests that are cancelled after some checks."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count


def cancelled_after(checks: int) -> Callable[[], bool]:
    """Return a function that is true from then on."""
    numbers = count()
    return lambda: next(numbers) >= checks
