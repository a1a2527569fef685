"""Sizes of pages and seals, small in some schedules: what is read in two parts may change between them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from fll_hbase.store.read import run_times
from fll_hbase.store.rows import calendar_rows
from fll_hbase.store.write import sealing

SIZES = (
    (calendar_rows, "INLINE_RUNS_MAX", (1, 2, 64)),
    (run_times, "PAGE_REFERENCES_MAX", (1, 2, 1_000)),
    (sealing, "PAGE_REFERENCES", (1, 2, 1_000)),
)


@contextmanager
def drawn(random: Random) -> Iterator[None]:
    """Return a context with sizes of its own."""
    usual = [(module, name, getattr(module, name)) for module, name, _ in SIZES]
    for module, name, values in SIZES:
        setattr(module, name, random.choice(values))
    try:
        yield
    finally:
        for module, name, value in usual:
            setattr(module, name, value)
