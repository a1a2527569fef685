"""A history in which an upstream run starts after the downstream one that read its output."""

from __future__ import annotations

from typing import Any

from tests.support.lineage_documents import RUN, START_MS, Json, copying

HOUR_MS = 3_600_000

LATE_BACKWARD = {("raw", "orders"), ("landing", "raw")}
"""What `bills` cannot have a value from: its run started before these."""

LATE_FORWARD = {("orders", "bills")}
"""What `raw` cannot have a value in: it was written to `orders` only later."""


def late(start_ms: int = START_MS) -> list[Json]:
    """`bills` is made of `orders` after `names`, but before `raw` and `landing` get there."""

    def copy(number: int, source: str, destination: str, hour: int, **run: Any) -> Json:
        facts = {**RUN, "run": f"r{number}", "startTime": start_ms + hour * HOUR_MS, **run}
        return copying(source, destination, "UID", run=facts)

    return [
        copy(0, "names", "orders", 0),
        copy(1, "orders", "bills", 1),
        copy(2, "raw", "orders", 5),
        copy(3, "orders", "reports", 6),
        copy(4, "landing", "raw", 7),
        copy(5, "lost", "names", 0, state="FAIL"),
        copy(6, "found", "names", 8, state="FAIL"),
    ]
