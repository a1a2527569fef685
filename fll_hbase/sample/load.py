"""The sample into a store."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from fll_hbase.errors import LineageError
from fll_hbase.sample.documents import documents
from fll_hbase.sources.native.cached_reader import DocumentReader
from fll_hbase.store.lineage_store import LineageStore

BATCH_RUNS = 500


@dataclass(frozen=True, slots=True)
class Loaded:
    """How many runs there were, and how many of them the store had already."""

    runs: int
    repeated: int


def load(store: LineageStore, end_ms: int, progress: Callable[[int], None] = lambda runs: None) -> Loaded:
    """Record the sample that ends at `end_ms`; `progress` is told the number of runs so far.

    Loading it again is safe. Raises StoreUnavailable.
    """
    reader = DocumentReader()
    said_of_all = documents(end_ms)
    runs = repeated = 0
    while batch := list(islice(said_of_all, BATCH_RUNS)):
        readings = [reader.read(json.dumps(said).encode(), namespace=said["namespace"]) for said in batch]
        for answer in store.record([reading.recorded for reading in readings]):
            if isinstance(answer, LineageError):
                raise answer
            repeated += not answer.recorded
        runs += len(batch)
        progress(runs)
    return Loaded(runs, repeated)
