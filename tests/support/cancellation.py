"""Requests that are cancelled after some checks, or whose time passes with each look at the clock."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from types import SimpleNamespace

import pytest

from fll_hbase.runtime import deadline


def cancelled_after(checks: int) -> Callable[[], bool]:
    """Return a function that is true from then on."""
    numbers = count()
    return lambda: next(numbers) >= checks


def let_each_look_take_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make each look of a deadline at the clock take a second."""
    seconds = count()
    clock = SimpleNamespace(monotonic=lambda: next(seconds), thread_time=lambda: 0.0)
    monkeypatch.setattr(deadline, "time", clock)
