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
from fll_hbase.spark.datasource.options import Bounds
from fll_hbase.spark.datasource.partitions import Keys, Named, Part, References
from fll_hbase.spark.datasource.worker_store import Held
from fll_hbase.store import run_rows
from fll_hbase.store.read.content_cache import Gone
from fll_hbase.store.read.window_query import Asked, place_of
from fll_hbase.store.run_rows import Truth
from fll_hbase.tables import Row

BATCH_RUNS = 500
TRIES_MAX = 3


class Found(NamedTuple):
    """A run; by a reference at one of its end points, or by its own row."""

    truth: Truth
    direction: Direction | None = None
    end_point: Dataset | None = None


def found(held: Held, part: Part, bounds: Bounds) -> Iterator[Found]:
    """The runs of a part that start in the window; in a part of references once for each of theirs.

    Raises CorruptRow.
    """
    match part:
        case References():
            yield from _referenced(held, part, bounds)
        case Named(names):
            keys = {layout.run_row(run): run for run in names}
            read = held.table.rows(list(keys), columns=(layout.LIGHT,))
            yield from _true(held, {keys[key]: row for key, row in read.items()}, bounds)
        case Keys(keys_):
            scanned = held.table.scan(*keys_, columns=(layout.LIGHT,))
            while page := dict(islice(scanned, BATCH_RUNS)):
                yield from _true(held, {ranges.run_in(key): row for key, row in page.items()}, bounds)


def _true(held: Held, read: Mapping[str, Row], bounds: Bounds) -> Iterator[Found]:
    """Starts are looked at before anything that an event names is read."""
    inside = {run: row for run, row in read.items() if _starts_inside(run, row, bounds)}
    yield from map(Found, held.folds.truths(inside).values())


def _starts_inside(run: str, row: Row, bounds: Bounds) -> bool:
    value = run_rows.truth_value(row)
    if value is None:
        return False
    with in_row(layout.run_row(run)):
        return run_rows.claimed(value).start_ms in bounds.window


def _referenced(held: Held, part: References, bounds: Bounds) -> Iterator[Found]:
    for end_point in _end_points(held, part):
        window = ranges.window_within(part.direction, end_point, bounds.window, part.keys)
        asked = Asked(part.direction, end_point, window, failed=True)
        if not window.empty:
            for truth in _live_runs(held, asked):
                yield Found(truth, part.direction, end_point)


def _live_runs(held: Held, asked: Asked) -> Iterator[Truth]:
    """The runs of a window; where a sweep took what one of them names, on from the one before."""
    after = b""
    for tries_left in reversed(range(TRIES_MAX)):
        try:
            for truth in held.windows.live_runs(asked, after=after, batch=BATCH_RUNS):
                yield truth
                after = place_of(truth)
        except Gone:
            if not tries_left:
                raise
        else:
            return


def field_map(held: Held, run: str, checksum: str) -> FieldMap | None:
    """What a run's content made of fields; None where both were purged since the run was read."""
    try:
        return held.contents.field_map(checksum)
    except Gone:
        if still_true(held, run, checksum):
            raise
        return None


def still_true(held: Held, run: str, checksum: str) -> bool:
    """Whether the run has that content now."""
    value = run_rows.truth_value(held.table.get(layout.run_row(run), columns=(layout.LIGHT,)))
    return value is not None and run_rows.claimed(value).checksum == checksum


def _end_points(held: Held, part: References) -> Iterator[Dataset]:
    """Those that have references in the part: one call each."""
    start, stop = part.keys
    while start < stop and (first := next(held.table.scan(start, stop, limit=1), None)):
        end_point = ranges.end_point_in(first[0])
        yield end_point
        start = ranges.beyond(layout.references(part.direction, end_point))
