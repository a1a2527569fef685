"""Loader of the sample into a store, in batches of documents."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from fll_hbase.errors import LineageError
from fll_hbase.ingest import DocumentReader, RecordOutcome, format_named, ingest
from fll_hbase.sample.documents import documents
from fll_hbase.store.lineage_store import LineageStore

BATCH_RUNS = 500


@dataclass(frozen=True, slots=True)
class SampleReport:
    """Counts of one load: `runs` of the sample, `repeated` runs that the store contained already."""

    runs: int
    repeated: int


def load(
    store: LineageStore, end_ms: int, progress: Callable[[int], None] = lambda runs: None
) -> SampleReport:
    """Record the sample that ends at `end_ms`; `progress` receives the number of runs so far.

    Loading it again is safe. Raises StoreUnavailable.
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
