"""Distributed retention: delete expired runs, then collect unreferenced cells and rows.

The rules are those of fll_hbase/store/maintenance/garbage_collection.py, which does the same in one process.
Live cells and old cells are compared as 64-bit hashes; only if an old hash is not live, a second scan finds
the cell. Two cells with the same hash keep each other (docs/decisions/0016-marks-not-keys.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from typing import Any

import pyarrow as pa
import xxhash
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.clock import now_ms
from fll_hbase.config import Settings
from fll_hbase.keys import layout, ranges
from fll_hbase.keys.layout import Range
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.spark import cell_hashes, range_scan
from fll_hbase.spark.arrow_batches import to_batch
from fll_hbase.spark.worker_store import worker_table
from fll_hbase.store.maintenance import garbage_collection, liveness
from fll_hbase.store.maintenance.garbage_collection import HINTS, NONE_REMOVED, Removed
from fll_hbase.store.maintenance.liveness import LivenessScanner
from fll_hbase.tables import CellKey, Row, Table

GARBAGE = "hash bigint, row binary, column binary, bytes bigint"
"""Signed hash, row key and column of a cell of references or index rows, and its size; contents and event
bodies are whole rows, with an empty column."""

CONTENT_DATASETS = "hash bigint, dataset binary"
"""The hash of a content row, and the catalogue row of a dataset in it."""

REMOVED = "rows bigint, cells bigint, bytes bigint"

LIVE, CUT = 1, 2
"""Flags of a hash: a run row needs the cell; it is the catalogue row of a dataset that loses references."""

_KINDS = {
    **dict.fromkeys(layout.REFERENCES, "references"),
    layout.INDEX: "index rows",
    layout.CONTENTS: "contents",
    layout.EVENT_BODIES: "parts",
}
_DATASETS = "end points"
"""Members of the report's `counts`, by key prefix; the names are those of the first release."""

_LABELS = {"parts": "event bodies", _DATASETS: "datasets"}

# From bit 2: bits 0 and 1 are LIVE and CUT.
OLD = {prefix: 4 << number for number, prefix in enumerate(_KINDS)}
"""Flags of a hash that is old enough to be deleted, by key prefix."""

_ROW_KINDS = (layout.CONTENTS, layout.EVENT_BODIES)
"""Prefixes of rows that are deleted as a whole, not cell by cell."""


@dataclass(frozen=True, slots=True)
class RetentionReport:
    """Deleted rows or cells by kind, and their bytes before compression; with `dry_run`, what would be."""

    dry_run: bool
    counts: dict[str, int] = field(default_factory=dict)
    bytes: int = 0
    seconds: float = 0.0

    def summary(self) -> dict[str, Any]:
        """Return the report as JSON members."""
        return {"job": "retention", **asdict(self), "seconds": round(self.seconds, 1)}

    def __str__(self) -> str:
        counts = [f"{count:,} {_LABELS.get(kind, kind)}" for kind, count in self.counts.items() if count]
        verb = "would delete" if self.dry_run else "deleted"
        size = f"about {self.bytes / 2**20:,.1f} MiB, in {self.seconds:.0f} s"
        return f"{verb} {', '.join(counts) or 'nothing'}; {size}"


@dataclass(frozen=True, slots=True)
class _Collection:
    """Parameters of a collection: cells put after `until_ms` are spared."""

    settings: Settings
    until_ms: int
    policy: RetentionPolicy


def apply_retention(
    spark: SparkSession, settings: Settings, policy: RetentionPolicy, *, dry_run: bool
) -> RetentionReport:
    """Delete runs that started before the cut-offs of all their datasets, then what no run references.

    With `dry_run` nothing is deleted, and the report has what would be.

    Safe beside running writers; after an interruption, the next call continues. Raises CorruptRow, before
    anything is collected: an unreadable run row could reference any cell.
    """
    started = time.monotonic()
    runs = _purge_runs(spark, settings, policy, dry_run=dry_run)
    # The horizon of the collection is computed after the purge, which deletes what it no longer protects.
    collection = _Collection(settings, garbage_collection.safe_until_ms(now_ms(), settings.grace_ms), policy)
    garbage = _find_garbage(spark, collection, expired_too=dry_run).persist(StorageLevel.DISK_ONLY)
    try:
        counts, size_bytes = _collect_garbage(spark, collection, garbage, dry_run=dry_run)
    finally:
        garbage.unpersist()
    return RetentionReport(
        dry_run, {"runs": runs.rows, **counts}, runs.bytes + size_bytes, time.monotonic() - started
    )


def _purge_runs(
    spark: SparkSession, settings: Settings, policy: RetentionPolicy, *, dry_run: bool
) -> Removed:
    # Without a cut-off no run can expire: the scan of all run rows would be for nothing.
    if policy == RetentionPolicy():
        return NONE_REMOVED
    until_ms = garbage_collection.safe_until_ms(now_ms(), settings.grace_ms)
    read = partial(_purge_range, policy=policy, until_ms=until_ms, dry_run=dry_run)
    return _sum(
        range_scan.scan_ranges(spark, settings, _key_ranges([layout.RUNS]), read=read, schema=REMOVED)
    )


def _purge_range(
    table: Table, start: bytes, stop: bytes, *, policy: RetentionPolicy, until_ms: int, dry_run: bool
) -> Iterator[Removed]:
    scanner = LivenessScanner(table, policy)
    for page in garbage_collection.pages(table, start, stop):
        expired = list(scanner.expired_runs(page, until_ms=until_ms))
        if dry_run:
            yield garbage_collection.size_of({key: page[key] for key in expired})
        else:
            yield garbage_collection.remove_runs(table, expired, until_ms=until_ms)


def _find_garbage(spark: SparkSession, collection: _Collection, *, expired_too: bool) -> DataFrame:
    """Return the hashes of old cells that are not live, and of datasets that lose references.

    With `expired_too`, cells of expired runs are garbage, too: a dry run has not deleted them.
    """
    hash_range = partial(_hash_range, collection=collection, expired_too=expired_too)
    key_ranges = _key_ranges([layout.RUNS, *OLD])
    hashes = cell_hashes.merge_flags(spark, collection.settings, key_ranges, hash_range=hash_range)
    return hashes.where(f.col("flags").bitwiseAND(LIVE) == 0)


def _hash_range(
    table: Table, start: bytes, stop: bytes, *, collection: _Collection, expired_too: bool
) -> Iterator[pa.RecordBatch]:
    """Yield as CELL_HASHES what the run rows of a range need, or the old cells of a range of other rows."""
    if start.startswith(layout.RUNS):
        return _hash_live_cells(table, start, stop, collection=collection, expired_too=expired_too)
    flag = OLD[start[: len(layout.RUNS)]]
    old = _old_cells(table, start, stop, until_ms=collection.until_ms)
    hashes = (cell_hash(row, column) for row, column, _ in old)
    return (cell_hashes.flagged_batch([(flag, chunk)]) for chunk in _chunks(hashes))


def _hash_live_cells(
    table: Table, start: bytes, stop: bytes, *, collection: _Collection, expired_too: bool
) -> Iterator[pa.RecordBatch]:
    scanner = LivenessScanner(table, collection.policy)
    live: list[int] = []
    cut: set[int] = set()
    # Hashes of one range are sent in batches; datasets are few, and are sent once at the end.
    for page in garbage_collection.pages(table, start, stop):
        if expired_too:
            for key in list(scanner.expired_runs(page, until_ms=collection.until_ms)):
                del page[key]
        for cells in scanner.live_cells(page):
            live += [cell_hash(*cell) for cell in cells.cells]
            cut.update(cell_hash(layout.dataset_row(dataset)) for dataset in cells.truncated_datasets)
        if len(live) > cell_hashes.BATCH_HASHES:
            yield cell_hashes.flagged_batch([(LIVE, live)])
            live = []
    yield cell_hashes.flagged_batch([(LIVE, live), (CUT, list(cut))])


def cell_hash(row: bytes, column: bytes = b"") -> int:
    """Return the unsigned 64-bit hash of a cell, or without a column of a row."""
    return xxhash.xxh3_64_intdigest(row + b"\0" + column)


def _old_cells(
    table: Table, start: bytes, stop: bytes, *, until_ms: int
) -> Iterator[tuple[bytes, bytes, Row]]:
    """Yield row, column and cells by column of what was put at `until_ms` or before.

    Contents and event bodies are deleted as whole rows: one item each, with an empty column.
    """
    if start.startswith(_ROW_KINDS):
        # The small columns decide the age of a row: operations are not read.
        columns = (layout.SOURCES, layout.DESTINATIONS, layout.EVENT_BODY)
        for row, cells in liveness.rows_older_than(table.scan(start, stop, columns=columns), until_ms):
            yield row, b"", cells
    else:
        for row, column, cell in liveness.cells_older_than(table.scan(start, stop), until_ms):
            yield row, column, {column: cell}


def _chunks(hashes: Iterator[int]) -> Iterator[list[int]]:
    while chunk := list(islice(hashes, cell_hashes.BATCH_HASHES)):
        yield chunk


def _key_ranges(prefixes: Iterable[bytes]) -> list[Range]:
    return [ranges.prefix_range(prefix) for prefix in prefixes]


def _collect_garbage(
    spark: SparkSession, collection: _Collection, garbage: DataFrame, *, dry_run: bool
) -> tuple[dict[str, int], int]:
    """Return the numbers of cells or rows of garbage by kind, and their bytes; delete it if not `dry_run`.

    `garbage` is what `_find_garbage` returns. Every kind has a number, 0 if there is none.
    """
    prefixes = _garbage_prefixes(garbage)
    if not prefixes:
        return dict.fromkeys((*_KINDS.values(), _DATASETS), 0), 0
    read = partial(_read_garbage, until_ms=collection.until_ms)
    candidates = range_scan.scan_ranges(
        spark, collection.settings, _key_ranges(prefixes), read=read, schema=GARBAGE
    )
    # Persisted: cells are counted before they are deleted, and could not be found again afterwards.
    cells = candidates.join(garbage, "hash").persist(StorageLevel.DISK_ONLY)
    try:
        counts, size_bytes = _count(cells)
        has_contents = layout.CONTENTS in prefixes
        datasets = _unreferenced_datasets(spark, collection.settings, garbage) if has_contents else []
        if not dry_run:
            _delete(collection, cells, datasets)
    finally:
        cells.unpersist()
    return {**counts, _DATASETS: len(datasets)}, size_bytes


def _garbage_prefixes(garbage: DataFrame) -> list[bytes]:
    """Return the key prefixes that have garbage, none if there is no garbage.

    That of the catalogue is one of them if a dataset loses references.
    """
    # Nightly there is often no garbage of a kind: its range is then not scanned again.
    row = garbage.agg(f.bit_or("flags")).first()
    flags = (row and row[0]) or 0
    prefixes = [prefix for prefix, flag in OLD.items() if flags & flag]
    return prefixes + [layout.DATASETS] * bool(flags & CUT)


def _read_garbage(
    table: Table, start: bytes, stop: bytes, *, until_ms: int
) -> Iterator[tuple[int, bytes, bytes, int]]:
    """Yield candidates as GARBAGE: hash, row, column and size, before the join with the hashes of garbage.

    They are the cells and rows put at `until_ms` or before, also live ones. Of the catalogue they are all
    rows, of size 0: a row whose dataset loses references gets a horizon, whatever its age.
    """
    if start.startswith(layout.DATASETS):
        for row, _ in table.scan(start, stop, columns=(layout.EXISTS,)):
            yield cell_hashes.to_signed(cell_hash(row)), row, b"", 0
        return
    for row, column, cells in _old_cells(table, start, stop, until_ms=until_ms):
        size_bytes = garbage_collection.size_of({row: cells}).bytes
        yield cell_hashes.to_signed(cell_hash(row, column)), row, column, size_bytes


def _count(cells: DataFrame) -> tuple[dict[str, int], int]:
    prefix = f.substring("row", 1, 2).alias("prefix")
    rows = cells.groupBy(prefix).agg(f.count("*"), f.sum("bytes")).collect()
    counts = dict.fromkeys(_KINDS.values(), 0)
    for key_prefix, count, _ in rows:
        if bytes(key_prefix) in _KINDS:
            counts[_KINDS[bytes(key_prefix)]] += count
    return counts, sum(size_bytes for _, _, size_bytes in rows)


def _unreferenced_datasets(spark: SparkSession, settings: Settings, garbage: DataFrame) -> list[bytes]:
    """Return the sorted keys of the catalogue rows that only contents in the garbage need.

    They are rows of datasets that no other content names, and of their aliases.
    """
    # Whether a dataset is unreferenced depends on all contents, so live ones are read, too.
    contents = range_scan.scan_ranges(
        spark, settings, _key_ranges([layout.CONTENTS]), read=_read_datasets, schema=CONTENT_DATASETS
    ).persist(StorageLevel.DISK_ONLY)
    try:
        live = contents.join(garbage, "hash", "left_anti").select("dataset").distinct()
        in_garbage = contents.join(garbage, "hash", "left_semi").select("dataset").distinct()
        datasets = _subtract(in_garbage, live)
        alias_keys = garbage_collection.alias_catalogue_rows(worker_table(settings), sorted(datasets))
        keys = [(bytearray(key),) for key in sorted(alias_keys - datasets)]
        aliases = spark.createDataFrame(keys, "dataset binary")
        return sorted(datasets | _subtract(aliases, live))
    finally:
        contents.unpersist()


def _read_datasets(table: Table, start: bytes, stop: bytes) -> Iterator[tuple[int, bytes]]:
    for row, cells in table.scan(start, stop, columns=(layout.SOURCES, layout.DESTINATIONS)):
        for dataset in liveness.catalogue_keys(row, cells):
            yield cell_hashes.to_signed(cell_hash(row)), dataset


def _subtract(datasets: DataFrame, others: DataFrame) -> set[bytes]:
    return {bytes(row["dataset"]) for row in datasets.join(others, "dataset", "left_anti").collect()}


def _delete(collection: _Collection, cells: DataFrame, datasets: Sequence[bytes]) -> None:
    # The order of garbage_collection.remove, each step complete before the next: horizon markers, hints,
    # catalogue rows, contents. An interruption then leaves only garbage that the next collection finds.
    table = worker_table(collection.settings)
    prefix = f.substring("row", 1, 2)
    cut_rows = cells.where(prefix == f.lit(layout.DATASETS)).select("row").collect()
    garbage_collection.write_horizon_markers(
        table, [bytes(row["row"]) for row in cut_rows], collection.policy
    )
    # Sorted, so that a batch of deletes touches few regions.
    keys = cells.select("row", "column").sort("row", "column")
    _run(keys.where(prefix.isin(*HINTS)), partial(_delete_cells, collection=collection))
    garbage_collection.remove_catalogue_rows(table, datasets, until_ms=collection.until_ms)
    _run(keys.where(prefix.isin(*_ROW_KINDS)), partial(_delete_rows, collection=collection))


def _delete_cells(batches: Iterable[pa.RecordBatch], *, collection: _Collection) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        keys = zip(batch.column("row").to_pylist(), batch.column("column").to_pylist(), strict=True)
        cells = [CellKey(row, column) for row, column in keys]
        table = worker_table(collection.settings)
        garbage_collection.remove_cells(table, cells, until_ms=collection.until_ms)
        yield to_batch([NONE_REMOVED], REMOVED)


def _delete_rows(batches: Iterable[pa.RecordBatch], *, collection: _Collection) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        keys = batch.column("row").to_pylist()
        table = worker_table(collection.settings)
        yield to_batch([garbage_collection.remove_rows(table, keys, until_ms=collection.until_ms)], REMOVED)


def _run(frame: DataFrame, delete: Callable[..., Iterator[pa.RecordBatch]]) -> None:
    _sum(frame.mapInArrow(delete, REMOVED))


def _sum(removed: DataFrame) -> Removed:
    row = removed.agg(f.sum("rows"), f.sum("cells"), f.sum("bytes")).collect()[0]
    return Removed(*(int(number or 0) for number in row))
