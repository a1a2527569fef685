"""What time is it: the clock that came in by the door, else the machine's."""

from __future__ import annotations

import time
from collections.abc import Callable

import click


def now_ms() -> int:
    """Milliseconds since 1970, by the context's clock where it has one (`main(obj=clock)`)."""
    clock: Callable[[], int] | None = click.get_current_context().find_root().obj
    return clock() if clock else time.time_ns() // 1_000_000
