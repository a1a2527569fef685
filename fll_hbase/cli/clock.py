"""What time is it: the clock that came in by the door, else the machine's."""

from __future__ import annotations

from collections.abc import Callable

import click

from fll_hbase.clock import now_ms as system_now_ms


def now_ms() -> int:
    """Milliseconds since 1970, by the context's clock where it has one (`main(obj=clock)`)."""
    clock: Callable[[], int] | None = click.get_current_context().find_root().obj
    return clock() if clock else system_now_ms()
