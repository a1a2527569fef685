"""Documents of all sample runs, oldest first."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from fll_hbase.model.window import DAY_MS, Window
from fll_hbase.runtime.json_types import Json
from fll_hbase.sample import bank, hospital, seed_pipeline
from fll_hbase.sample.schedule import DAYS

PROGRAMS = (*bank.PROGRAMS, *hospital.PROGRAMS, *seed_pipeline.PROGRAMS)

RUNS = sum(DAYS * DAY_MS // program.every_ms for program in PROGRAMS)
"""Number of runs of the sample; the actual number differs by at most one per program."""


def documents(end_ms: int) -> Iterator[Json]:
    """Yield the documents of all runs in the ninety days up to `end_ms`, which is excluded.

    The same end gives the same documents; a later end on the same day (UTC) omits the oldest runs and adds
    newer ones. Every document names its namespace.
    """
    window = Window(max(end_ms - DAYS * DAY_MS, 0), end_ms)
    starts = [program.documents(window) for program in PROGRAMS]
    # Lazily, and by start alone: documents are dicts, which cannot be compared.
    return (document for _, document in heapq.merge(*starts, key=lambda item: item[0]))
