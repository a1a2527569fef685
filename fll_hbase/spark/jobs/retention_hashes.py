"""Hashes of the cells that run rows need and of those that may be deleted, with flags, by range of keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TypeVar

import pyarrow as pa
import xxhash
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
"""Flags of a hash: a run row needs the cell, it is the catalogue row of a dataset that loses references, in a
dry run, the cell is younger than the grace period, or an expired run that is younger needs it."""

# From bit 3: the bits below are LIVE, CUT and WAITS.
OLD = {prefix: 8 << number for number, prefix in enumerate(KINDS)}
"""Flags of a hash that is old enough to be deleted, by key prefix; of a younger one together with WAITS."""

WAITING = {flag: KINDS[prefix] for prefix, flag in OLD.items()} | {8 << len(OLD): RUNS}
"""Kinds of what waits for the grace period, by the flag beside WAITS."""

ROW_KINDS = (layout.CONTENTS, layout.EVENT_BODIES)
"""Prefixes of rows that are deleted as a whole, not cell by cell."""

_RUN_WAITS = WAITS | 8 << len(OLD)
ANY_AGE_MS = 2**63 - 1
"""Later than any cell was put."""


@dataclass(frozen=True, slots=True)
class Collection:
    """Parameters of a collection: cells put after `until_ms` are spared, all of them by a `dry_run`."""

    settings: Settings
    until_ms: int
    policy: RetentionPolicy
    dry_run: bool


def find_garbage(spark: SparkSession, collection: Collection) -> DataFrame:
    """Return a lazy frame of CELL_HASHES: old cells that are not live, and datasets that lose references.

    A dry run deletes no expired runs, so it counts their cells as garbage; younger cells have WAITS.
    """
    hash_range = partial(_hash_range, collection=collection)
    hashes = cell_hashes.merge_flags(
        spark, collection.settings, key_ranges([layout.RUNS, *OLD]), hash_range=hash_range
    )
    return hashes.where(f.col("flags").bitwiseAND(LIVE) == 0)


def key_ranges(prefixes: Iterable[bytes]) -> list[Range]:
    """Return the range of all keys with a prefix, for each of the prefixes."""
    return [ranges.prefix_range(prefix) for prefix in prefixes]


def cell_hash(row: bytes, column: bytes = b"") -> int:
    """Return the unsigned 64-bit hash of a cell, or without a column of a row.

    A cell of the run index has the hash of the cell by which a run names it.
    """
    row, column = liveness.needed_cell(row, column)
    return xxhash.xxh3_64_intdigest(row + b"\0" + column)


def old_cells(
    table: Table, start: bytes, stop: bytes, *, until_ms: int
) -> Iterator[tuple[bytes, bytes, Row]]:
    """Yield row, column and cells by column of what was put at `until_ms` or before.

    Contents and event bodies are deleted as whole rows: one item each, with an empty column.
    """
    if start.startswith(ROW_KINDS):
        # The small columns decide the age of a row: operations are not read.
        columns = (layout.SOURCES, layout.DESTINATIONS, layout.EVENT_BODY)
        for row, cells in liveness.rows_older_than(table.scan(start, stop, columns=columns), until_ms):
            yield row, b"", cells
    else:
        for row, column, cell in liveness.cells_older_than(table.scan(start, stop), until_ms):
            yield row, column, {column: cell}


def _hash_range(
    table: Table, start: bytes, stop: bytes, *, collection: Collection
) -> Iterator[pa.RecordBatch]:
    """Yield as CELL_HASHES what the run rows of a range need, or the old cells of a range of other rows."""
    if start.startswith(layout.RUNS):
        return _hash_live_cells(table, start, stop, collection=collection)
    flag = OLD[start[: len(layout.RUNS)]]
    if collection.dry_run:
        return _hash_cells_of_any_age(table, start, stop, flag=flag, until_ms=collection.until_ms)
    old = old_cells(table, start, stop, until_ms=collection.until_ms)
    hashes = (cell_hash(row, column) for row, column, _ in old)
    return (cell_hashes.flagged_batch([(flag, chunk)]) for chunk in _chunks(hashes))


def _hash_cells_of_any_age(
    table: Table, start: bytes, stop: bytes, *, flag: int, until_ms: int
) -> Iterator[pa.RecordBatch]:
    """Yield all cells of a range as CELL_HASHES, with `flag`. Those put after `until_ms` also have WAITS."""
    for chunk in _chunks(old_cells(table, start, stop, until_ms=ANY_AGE_MS)):
        old: list[int] = []
        young: list[int] = []
        for row, column, cells in chunk:
            is_old = liveness.is_older_than(cells, until_ms)
            (old if is_old else young).append(cell_hash(row, column))
        yield cell_hashes.flagged_batch([(flag, old), (flag | WAITS, young)])


def _hash_live_cells(
    table: Table, start: bytes, stop: bytes, *, collection: Collection
) -> Iterator[pa.RecordBatch]:
    """Yield hashes of the cells that runs need, by flag; a dry run also those of expired runs."""
    scanner = LivenessScanner(table, collection.policy)
    # Its own: a scanner reports a cell that several runs need for one of them only.
    waiting_scanner = LivenessScanner(table, collection.policy)
    hashes: dict[int, list[int]] = {LIVE: [], WAITS: [], _RUN_WAITS: []}
    cut: set[int] = set()
    # Hashes of one range are sent in batches; datasets are fewer, and are sent once at the end.
    for page in garbage_collection.pages(table, start, stop):
        waiting = _take_expired(page, scanner, collection.until_ms) if collection.dry_run else {}
        hashes[_RUN_WAITS] += map(cell_hash, waiting)
        for flag, needing, rows in ((LIVE, scanner, page), (WAITS, waiting_scanner, waiting)):
            for cells in needing.live_cells(rows, until_ms=collection.until_ms):
                hashes[flag] += [cell_hash(*cell) for cell in cells.cells]
                # A dry run counts what is needed only because its run changed lately.
                hashes[WAITS if collection.dry_run else flag] += [cell_hash(*cell) for cell in cells.former]
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
