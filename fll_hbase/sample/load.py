"""Documents of the sample runs, their loader, and the age of the sample that a store has."""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from fll_hbase.ingest.ingest import ingest
from fll_hbase.ingest.outcomes import RecordOutcome
from fll_hbase.ingest.registry import DocumentReader, format_named
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.runs import ProgramRun
from fll_hbase.model.window import DAY_MS, START_LIMIT_MS, Window
from fll_hbase.runtime.errors import LineageError, NotFound
from fll_hbase.runtime.json_types import Json
from fll_hbase.sample import bank, hospital, seed_pipeline
from fll_hbase.sample.program import DAYS
from fll_hbase.store.lineage_store import LineageStore

PROGRAMS = (*bank.PROGRAMS, *hospital.PROGRAMS, *seed_pipeline.PROGRAMS)

RUNS = sum(DAYS * DAY_MS // program.every_ms for program in PROGRAMS)
"""Number of runs of the sample; the actual number differs by at most one per program."""

BATCH_RUNS = 500

RUNS_READ_MAX = 1_000
"""Newest runs of a dataset of the sample among which its own are searched; others may record there, too."""

_DATASET = Dataset(bank.TRANSACTIONS["namespace"], bank.TRANSACTIONS["name"])


@dataclass(frozen=True, slots=True)
class SampleReport:
    """Counts of one load: `runs` of the sample, `repeated` runs that the store contained already."""

    runs: int
    repeated: int


def documents(end_ms: int) -> Iterator[Json]:
    """Yield the documents of all runs in the ninety days up to `end_ms` (excluded), in order of start.

    The same end gives the same documents; a later end on the same day (UTC) omits the oldest runs and adds
    newer ones. Every document names its namespace.
    """
    window = Window(max(end_ms - DAYS * DAY_MS, 0), end_ms)
    starts = [program.documents(window) for program in PROGRAMS]
    # Lazily, and by start alone: documents are dicts, which cannot be compared.
    return (document for _, document in heapq.merge(*starts, key=lambda item: item[0]))


def load(
    store: LineageStore, end_ms: int, progress: Callable[[int], None] = lambda runs: None
) -> SampleReport:
    """Record the sample that ends at `end_ms`; `progress` receives the runs so far after each batch.

    Loading it again is safe. Raises StoreUnavailable, ConfigurationError, or the error of a run that the
    store refuses; earlier batches then stay recorded.
    """
    reader = DocumentReader(columns=store.catalogue.field_names)
    native = format_named("lineage")
    remaining = documents(end_ms)
    runs = repeated = 0
    while batch := list(islice(remaining, BATCH_RUNS)):
        parsed = [
            # `end_ms`, not the clock: nothing may depend on when the sample is loaded.
            # The cache of the reader is keyed by namespace: without one each document is parsed again.
            reader.read(json.dumps(document).encode(), native, namespace=document["namespace"], now_ms=end_ms)
            for document in batch
        ]
        for result in ingest(store, parsed):
            # The sample is part of this package: a refused document is a bug, not an input to report.
            if isinstance(result, LineageError):
                raise result
            repeated += result.outcome is RecordOutcome.REPEATED
        runs += len(batch)
        progress(runs)
    return SampleReport(runs, repeated)


def is_aged(store: LineageStore, end_ms: int) -> bool:
    """Return whether a store has the sample, but no run of it in the day before `end_ms`, by one read.

    Looks at the newest RUNS_READ_MAX runs of one dataset: False if none is of the sample or it is not
    recorded. Raises CorruptRow, StoreUnavailable and ConfigurationError.
    """
    try:
        page = store.runs(_DATASET, Window(0, START_LIMIT_MS), limit=RUNS_READ_MAX)
    except NotFound:
        return False
    starts = (listed.run.start_ms for listed in page.runs if _is_of_sample(listed.run))
    newest_ms = next(starts, None)
    return newest_ms is not None and newest_ms < end_ms - DAY_MS


def _is_of_sample(run: ProgramRun) -> bool:
    """Return whether a run has the id of a run of the sample's bank with the same start."""
    # Ids of the sample follow from program and start: an equal name alone does not make a run one of it.
    window = Window(run.start_ms, run.start_ms + 1)
    candidates = (document for program in bank.PROGRAMS for _, document in program.documents(window))
    return any(document["run"]["run"] == run.run for document in candidates)
