"""Scans of the runs of a partition: by key range, by id, or by the references of datasets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from fll_hbase.keys import layout, ranges
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.field_map import FieldMap
from fll_hbase.model.runs import RunKey
from fll_hbase.model.window import Direction
from fll_hbase.runtime.errors import in_row
from fll_hbase.spark.datasource.partitions import (
    IdPartition,
    KeyRangePartition,
    Partition,
    ReferencePartition,
)
from fll_hbase.spark.datasource.reader_options import ScanBounds
from fll_hbase.store.components import StoreComponents
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.read.content_cache import ContentMissing
from fll_hbase.store.read.window_query import reference_tail_of
from fll_hbase.store.rows import run_rows
from fll_hbase.store.rows.run_rows import CommittedRun
from fll_hbase.tables import Row

BATCH_RUNS = 500
ATTEMPTS_MAX = 3


class RunHit(NamedTuple):
    """A committed run, with the dataset and direction of the reference that led to it, if any."""

    run: CommittedRun
    direction: Direction | None = None
    dataset: Dataset | None = None


def scan_runs(store: StoreComponents, partition: Partition, bounds: ScanBounds) -> Iterator[RunHit]:
    """Yield the committed runs of a partition that start in the window.

    In a ReferencePartition a run is returned once for each of its references in the range. Raises CorruptRow.
    """
    match partition:
        case ReferencePartition():
            yield from _referenced_runs(store, partition, bounds)
        case IdPartition(run_ids):
            # Run rows are authoritative, and references are only hints (docs/reference/row-keys.md).
            rows = run_rows.read_run_rows(store.table, map(RunKey, run_ids))
            yield from _committed_runs(store, rows, bounds)
            for run in run_ids:
                scan = store.table.scan(*layout.run_rows_of_id(run), columns=(layout.LIGHT,))
                rows = {ranges.run_of(key): row for key, row in scan}
                yield from _committed_runs(store, rows, bounds)
        case KeyRangePartition((start, stop)):
            scan = store.table.scan(start, stop, columns=(layout.LIGHT,))
            while page := dict(islice(scan, BATCH_RUNS)):
                rows = {ranges.run_of(key): row for key, row in page.items()}
                yield from _committed_runs(store, rows, bounds)


def _committed_runs(
    store: StoreComponents, rows: Mapping[RunKey, Row], bounds: ScanBounds
) -> Iterator[RunHit]:
    """Yield a hit for each run of the rows that is committed and starts in the window."""
    # The start is in the head of the commit record, so event bodies are read only for runs in the window.
    in_window = {run: row for run, row in rows.items() if _starts_in_window(run, row, bounds)}
    yield from map(RunHit, store.events.committed_runs(in_window).values())


def _starts_in_window(run: RunKey, row: Row, bounds: ScanBounds) -> bool:
    """Return whether a run is committed and starts in the window. Raises CorruptRow."""
    value = run_rows.commit_value(row)
    if value is None:
        return False
    with in_row(layout.run_row(*run)):
        return run_rows.decode_head(value).start_ms in bounds.window


def _referenced_runs(
    store: StoreComponents, partition: ReferencePartition, bounds: ScanBounds
) -> Iterator[RunHit]:
    """Yield a hit for each reference in a partition to a run that starts in the window, by dataset."""
    direction = partition.direction
    for dataset in _referenced_datasets(store, partition):
        window = ranges.restrict_window(direction, dataset, bounds.window, partition.key_range)
        if not window.empty:
            for run in _live_runs(store, WindowQuery(direction, dataset, replace(window, failed=True))):
                yield RunHit(run, direction, dataset)


def _live_runs(store: StoreComponents, query: WindowQuery) -> Iterator[CommittedRun]:
    """Yield the runs of a window, and resume after the last one if garbage collection deletes a content.

    Raises ContentMissing if that happens ATTEMPTS_MAX times.
    """
    last_tail = b""
    for attempts_left in reversed(range(ATTEMPTS_MAX)):
        try:
            for run in store.windows.runs(query, start_after=last_tail, batch_size=BATCH_RUNS):
                yield run
                last_tail = reference_tail_of(run)
        except ContentMissing:
            if not attempts_left:
                raise
        else:
            return


def field_map(store: StoreComponents, run: RunKey, checksum: str) -> FieldMap | None:
    """Return the field map of a run's content, or None if both were purged since the run was read.

    Raises ContentMissing if the run still refers to the missing content.
    """
    try:
        return store.contents.field_map(checksum)
    except ContentMissing:
        if still_has_content(store, run, checksum):
            raise
        return None


def still_has_content(store: StoreComponents, run: RunKey, checksum: str) -> bool:
    """Return whether a run's valid commit record, or its former row's, has the content. Raises CorruptRow."""
    rows = run_rows.read_run_rows(store.table, {run, RunKey(run.run)})
    values = filter(None, map(run_rows.commit_value, rows.values()))
    return any(run_rows.decode_head(value).checksum == checksum for value in values)


def _referenced_datasets(store: StoreComponents, partition: ReferencePartition) -> Iterator[Dataset]:
    """Yield the datasets with references in the key range of a partition, in order, each once."""
    # One call for each dataset reads only its first reference, then skips to the end of the dataset.
    start, stop = partition.key_range
    while start < stop and (first := next(store.table.scan(start, stop, limit=1), None)):
        dataset = ranges.dataset_of(first[0])
        yield dataset
        start = ranges.prefix_end(layout.reference_prefix(partition.direction, dataset))
