"""Which runs are in a part of the table: what their run rows say, and where they were found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from fll_hbase.errors import in_row
from fll_hbase.keys import layout, ranges
from fll_hbase.model.field_map import FieldMap
from fll_hbase.model.operations import Dataset
from fll_hbase.model.runs import Direction
from fll_hbase.spark.datasource.options import ScanBounds
from fll_hbase.spark.datasource.partitions import (
    IdPartition,
    KeyRangePartition,
    Partition,
    ReferencePartition,
)
from fll_hbase.spark.datasource.worker_store import WorkerStore
from fll_hbase.store import run_rows
from fll_hbase.store.read.content_cache import ContentMissing
from fll_hbase.store.read.window_query import WindowQuery, reference_tail_of
from fll_hbase.store.run_rows import CommittedRun
from fll_hbase.tables import Row

BATCH_RUNS = 500
TRIES_MAX = 3


class RunHit(NamedTuple):
    """A run; by a reference at one of its end points, or by its own row."""

    run: CommittedRun
    direction: Direction | None = None
    dataset: Dataset | None = None


def scan_runs(held: WorkerStore, part: Partition, bounds: ScanBounds) -> Iterator[RunHit]:
    """The runs of a part that start in the window; in a part of references once for each of theirs.

    Raises CorruptRow.
    """
    match part:
        case ReferencePartition():
            yield from _referenced(held, part, bounds)
        case IdPartition(names):
            keys = {layout.run_row(run): run for run in names}
            read = held.table.rows(list(keys), columns=(layout.LIGHT,))
            yield from _true(held, {keys[key]: row for key, row in read.items()}, bounds)
        case KeyRangePartition(keys_):
            scanned = held.table.scan(*keys_, columns=(layout.LIGHT,))
            while page := dict(islice(scanned, BATCH_RUNS)):
                yield from _true(held, {ranges.run_in(key): row for key, row in page.items()}, bounds)


def _true(held: WorkerStore, read: Mapping[str, Row], bounds: ScanBounds) -> Iterator[RunHit]:
    """Starts are looked at before anything that an event names is read."""
    inside = {run: row for run, row in read.items() if _starts_inside(run, row, bounds)}
    yield from map(RunHit, held.folds.committed_runs(inside).values())


def _starts_inside(run: str, row: Row, bounds: ScanBounds) -> bool:
    value = run_rows.commit_value(row)
    if value is None:
        return False
    with in_row(layout.run_row(run)):
        return run_rows.decode_head(value).start_ms in bounds.window


def _referenced(held: WorkerStore, part: ReferencePartition, bounds: ScanBounds) -> Iterator[RunHit]:
    for end_point in _end_points(held, part):
        window = ranges.window_within(part.direction, end_point, bounds.window, part.key_range)
        asked = WindowQuery(part.direction, end_point, window, failed=True)
        if not window.empty:
            for truth in _live_runs(held, asked):
                yield RunHit(truth, part.direction, end_point)


def _live_runs(held: WorkerStore, asked: WindowQuery) -> Iterator[CommittedRun]:
    """The runs of a window; where a sweep took what one of them names, on from the one before."""
    after = b""
    for tries_left in reversed(range(TRIES_MAX)):
        try:
            for truth in held.windows.runs(asked, start_after=after, batch_size=BATCH_RUNS):
                yield truth
                after = reference_tail_of(truth)
        except ContentMissing:
            if not tries_left:
                raise
        else:
            return


def field_map(held: WorkerStore, run: str, checksum: str) -> FieldMap | None:
    """What a run's content made of fields; None where both were purged since the run was read."""
    try:
        return held.contents.field_map(checksum)
    except ContentMissing:
        if still_has_content(held, run, checksum):
            raise
        return None


def still_has_content(held: WorkerStore, run: str, checksum: str) -> bool:
    """Whether the run has that content now."""
    value = run_rows.commit_value(held.table.get(layout.run_row(run), columns=(layout.LIGHT,)))
    return value is not None and run_rows.decode_head(value).checksum == checksum


def _end_points(held: WorkerStore, part: ReferencePartition) -> Iterator[Dataset]:
    """Those that have references in the part: one call each."""
    start, stop = part.key_range
    while start < stop and (first := next(held.table.scan(start, stop, limit=1), None)):
        end_point = ranges.end_point_in(first[0])
        yield end_point
        start = ranges.beyond(layout.references(part.direction, end_point))
