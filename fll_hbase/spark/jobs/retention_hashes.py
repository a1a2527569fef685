"""Flagged hashes, by range of keys: of cells that run rows need, and of cells that may be deleted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.keys import layout, ranges
from fll_hbase.keys.layout import Range
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.runtime.config import Settings
from fll_hbase.spark.hashes import cell_hashes
from fll_hbase.store.maintenance import garbage_collection, liveness
from fll_hbase.store.maintenance.liveness import LivenessScanner
from fll_hbase.store.maintenance.retention import KINDS, RUNS
from fll_hbase.tables import Row, Table

T = TypeVar("T")

LIVE, CUT, WAITS = 1, 2, 4
"""Flags of a hash: a run row needs the cell (LIVE), or the cell is the catalogue row of a dataset that loses
references (CUT). WAITS, only in a dry run: the cell, or an expired run that needs it, is younger than the
grace
period."""

# From bit 3 on, because the lower bits are LIVE, CUT and WAITS.
OLD = {prefix: 8 << number for number, prefix in enumerate(KINDS)}
"""Flags of a cell that is old enough to be deleted, by key prefix. A younger cell also has WAITS."""

WAITING = {flag: KINDS[prefix] for prefix, flag in OLD.items()} | {8 << len(OLD): RUNS}
"""Kinds of cells and rows that wait for the grace period, by the flag that they have in addition to WAITS."""

ROW_KINDS = (layout.CONTENTS, layout.EVENT_BODIES)
"""Prefixes of rows that are deleted as a whole, not cell by cell."""

AGE_COLUMNS = (layout.SOURCES, layout.DESTINATIONS, layout.EVENT_BODY)
"""The small columns of ROW_KINDS. They decide the age of a row, so operations need not be read."""

_RUN_WAITS = WAITS | 8 << len(OLD)
ANY_AGE_MS = 2**63 - 1
"""A time later than the put of any cell."""


@dataclass(frozen=True, slots=True)
class Collection:
    """Parameters of a collection, which spares cells put after `until_ms`, and with `dry_run` all cells."""

    settings: Settings
    until_ms: int
    policy: RetentionPolicy
    dry_run: bool


def find_garbage(spark: SparkSession, collection: Collection) -> DataFrame:
    """Return a lazy frame of CELL_HASHES: old cells that are not live, and datasets that lose references.

    A dry run does not delete expired runs, so it counts their cells as garbage. Younger cells have WAITS.
    """
    hash_cells = partial(hash_range, collection=collection)
    hashes = cell_hashes.merge_flags(
        spark, collection.settings, key_ranges([layout.RUNS, *OLD]), hash_range=hash_cells
    )
    return hashes.where(f.col("flags").bitwiseAND(LIVE) == 0)


def key_ranges(prefixes: Iterable[bytes]) -> list[Range]:
    """Return the range of all keys with a prefix, for each of the prefixes."""
    return [ranges.prefix_range(prefix) for prefix in prefixes]


def cell_hash(row: bytes, column: bytes = b"") -> int:
    """Return the unsigned 64-bit hash of a cell, or of a row without a column.

    A cell of the run index has the hash of the cell by which a run names it.
    """
    return garbage_collection.hash_cell(liveness.needed_cell(row, column))


def old_cells(
    table: Table, start: bytes, stop: bytes, *, until_ms: int
) -> Iterator[tuple[bytes, bytes, Row]]:
    """Yield the row, the column and the cells by column of cells and rows put at `until_ms` or before.

    Contents and event bodies are deleted as whole rows: one item each, with an empty column.
    """
    if start.startswith(ROW_KINDS):
        for row, cells in liveness.rows_older_than(table.scan(start, stop, columns=AGE_COLUMNS), until_ms):
            yield row, b"", cells
    else:
        for row, column, cell in liveness.cells_older_than(table.scan(start, stop), until_ms):
            yield row, column, {column: cell}


def hash_range(
    table: Table, start: bytes, stop: bytes, *, collection: Collection
) -> Iterator[pa.RecordBatch]:
    """Yield, as CELL_HASHES, cells that run rows of a range need, or old cells of a range of other rows."""
    if start.startswith(layout.RUNS):
        return _hash_live_cells(table, start, stop, collection=collection)
    return _hash_stored_cells(table, start, stop, collection=collection)


def _hash_stored_cells(
    table: Table, start: bytes, stop: bytes, *, collection: Collection
) -> Iterator[pa.RecordBatch]:
    """Yield old cells of a range of one kind as CELL_HASHES, and in a dry run younger ones with WAITS."""
    flag = OLD[start[: len(layout.RUNS)]]
    columns = AGE_COLUMNS if start.startswith(ROW_KINDS) else ()
    for page in _chunks(table.scan(start, stop, columns=columns)):
        old: list[int] = []
        young: list[int] = []
        for number, stamp_ms in _stamped_hashes(start, page):
            (old if stamp_ms <= collection.until_ms else young).append(number)
        groups = [(flag, old)]
        yield cell_hashes.flagged_batch([*groups, (flag | WAITS, young)] if collection.dry_run else groups)


def _stamped_hashes(prefix: bytes, page: Sequence[tuple[bytes, Row]]) -> list[tuple[int, int]]:
    """Return the hash of each known cell of rows of one kind, or of each whole row, and when it was put."""
    hash_of = garbage_collection.hash_cell
    if prefix.startswith(ROW_KINDS):
        return [(hash_of((row, b"")), max(cell[1] for cell in cells.values())) for row, cells in page]
    spared = liveness.spared_columns(prefix, {column for _, cells in page for column in cells})
    if prefix.startswith(layout.RUN_INDEX):
        return [
            (hash_of(liveness.needed_cell(row, column)), cell[1])
            for row, cells in page
            for column, cell in cells.items()
            if column not in spared
        ]
    return [
        (hash_of((row, column)), cell[1])
        for row, cells in page
        for column, cell in cells.items()
        if column not in spared
    ]


def _hash_live_cells(
    table: Table, start: bytes, stop: bytes, *, collection: Collection
) -> Iterator[pa.RecordBatch]:
    """Yield hashes of the cells that runs need, by flag, in a dry run including expired runs."""
    scanner = LivenessScanner(table, collection.policy)
    # A separate scanner, because a scanner reports a cell that several runs need only for one of them.
    waiting_scanner = LivenessScanner(table, collection.policy)
    hashes: dict[int, list[int]] = {LIVE: [], WAITS: [], _RUN_WAITS: []}
    cut: set[int] = set()
    # Without a cut-off no run can expire.
    can_expire = collection.dry_run and collection.policy != RetentionPolicy()
    # Hashes of one range are sent in batches; datasets are fewer, and are sent once at the end.
    for page in garbage_collection.pages(table, start, stop):
        waiting = _take_expired(page, scanner, collection.until_ms) if can_expire else {}
        hashes[_RUN_WAITS] += map(cell_hash, waiting)
        for flag, needing, rows in ((LIVE, scanner, page), (WAITS, waiting_scanner, waiting)):
            for cells in needing.live_cells(rows, until_ms=collection.until_ms):
                hashes[flag] += map(garbage_collection.hash_cell, cells.cells)
                # A dry run counts cells that are needed only because their run changed recently.
                waits = WAITS if collection.dry_run else flag
                hashes[waits] += map(garbage_collection.hash_cell, cells.former)
                cut.update(cell_hash(layout.dataset_row(dataset)) for dataset in cells.truncated_datasets)
        if sum(map(len, hashes.values())) > cell_hashes.BATCH_HASHES:
            yield cell_hashes.flagged_batch(hashes.items())
            hashes = {flag: [] for flag in hashes}
    yield cell_hashes.flagged_batch([*hashes.items(), (CUT, list(cut))])


def _take_expired(page: dict[bytes, Row], scanner: LivenessScanner, until_ms: int) -> dict[bytes, Row]:
    """Remove the expired runs from a page; return those that are too young to be deleted."""
    expired = {key: page.pop(key) for key in list(scanner.expired_runs(page, until_ms=ANY_AGE_MS))}
    return {key: row for key, row in expired.items() if not liveness.is_older_than(row, until_ms)}


def _chunks(items: Iterator[T]) -> Iterator[list[T]]:
    """Yield the items in lists of at most BATCH_HASHES, or none for no items."""
    while chunk := list(islice(items, cell_hashes.BATCH_HASHES)):
        yield chunk
