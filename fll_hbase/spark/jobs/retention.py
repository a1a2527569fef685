"""Distributed retention: delete expired runs, then collect unreferenced cells and rows.

The rules are the same as in fll_hbase/store/maintenance/garbage_collection.py, which runs in one process.
Live cells and old cells are compared as 64-bit hashes. A second scan finds a cell only if its hash is old and
not live. An old cell with the hash of a live cell stays too (decision 0016).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.keys import layout, ranges
from fll_hbase.keys.layout import Range
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.config import Settings
from fll_hbase.spark.exports.table_frames import persist
from fll_hbase.spark.hashes import cell_hashes, range_scan
from fll_hbase.spark.lines.arrow_batches import to_batch, to_batches
from fll_hbase.spark.worker_store import worker_table
from fll_hbase.store.copying.progress import check_not_copying
from fll_hbase.store.factory import open_store_table
from fll_hbase.store.maintenance import garbage_collection, liveness
from fll_hbase.store.maintenance.garbage_collection import HINTS, NONE_REMOVED, Removed
from fll_hbase.store.maintenance.liveness import LivenessScanner
from fll_hbase.store.maintenance.retention import DATASETS, FORMER_INDEXES, KINDS, RUNS, RetentionReport
from fll_hbase.store.read.requested_horizons import read_horizons
from fll_hbase.store.retention_requests import put_purge, remove_superseded
from fll_hbase.store.write.sealing import CALENDAR_ROWS, seal_old_days
from fll_hbase.tables import CellKey, Row, Table

GARBAGE = "hash bigint, row binary, column binary, bytes bigint"
"""Signed hash, row key, column and size of a cell of HINTS. Contents and event bodies are whole rows, with an
empty column."""

_CONTENT_DATASETS = "hash bigint, dataset binary"
"""The hash of a content row, and the catalogue row of a dataset in it."""

_ALIAS_CELLS = "row binary, column binary, dataset binary"
"""Row and column of a cell of an alias row, and the catalogue row of the alias that it names."""

REMOVED = "rows bigint, cells bigint, bytes bigint"

LIVE, CUT, WAITS = 1, 2, 4
"""Flags of a hash: a run row needs the cell (LIVE), or the cell is the catalogue row of a dataset that loses
references (CUT). WAITS, only in a dry run: the cell, or an expired run that needs it, is younger than the
grace period."""

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


_Change: TypeAlias = Callable[[pa.RecordBatch, Table, Collection], Removed]
"""A function that puts or deletes the cells or rows that a batch of keys names."""


def apply_retention(
    spark: SparkSession, settings: Settings, policy: RetentionPolicy, *, dry_run: bool
) -> RetentionReport:
    """Delete runs that started before the cut-offs of all their datasets, then cells that no run references.

    Cut-offs of requests apply, too. The job first stores all cut-offs, so that answers report missing runs.
    Days are sealed last. With `dry_run` nothing is stored or deleted, and the report has the numbers that
    would be deleted. The job is safe while writers run. After an interruption, the next call continues. An
    unreadable run row, which could reference any cell, ends the job before anything but runs is deleted, with
    the PySparkException of a worker. Raises ConfigurationError without a store or for an incomplete copy,
    StoreUnavailable and CorruptRow.
    """
    started = time.monotonic()
    with closing(open_store_table(settings, create=False)) as table:
        check_not_copying(table)
        policy = read_horizons(table).merged_with(policy)
        # Read before the purge, because a table without references counts as marked.
        former_ranges = garbage_collection.former_index_ranges(table)
        if not dry_run and policy != RetentionPolicy():
            put_purge(table, policy)
    runs = _purge_runs(spark, settings, policy, dry_run=dry_run)
    # Computed after the purge, which deletes the rows that this time no longer protects.
    until_ms = garbage_collection.safe_until_ms(now_ms(), settings.grace_ms)
    collection = Collection(settings, until_ms, policy, dry_run)
    with ExitStack() as persisted:
        garbage = persist(_find_garbage(spark, collection), persisted)
        due = garbage.where(f.col("flags").bitwiseAND(WAITS) == 0)
        counts, size_bytes = _collect_garbage(spark, collection, due)
        waiting = _count_waiting(spark, settings, garbage, counts[DATASETS]) if dry_run else {}
    if not dry_run:
        with closing(open_store_table(settings, create=False)) as table:
            remove_superseded(table, until_ms=until_ms)
    former = _remove_former_indexes(spark, collection, former_ranges)
    if not dry_run:
        # Seal days last, for the runs that are left, so that no query has to read the references of an old
        # day.
        read = partial(_seal_range, grace_ms=settings.grace_ms)
        range_scan.scan_ranges(spark, settings, [CALENDAR_ROWS], read=read, schema="days bigint").collect()
    counts = {RUNS: runs.rows, **counts, FORMER_INDEXES: former.rows}
    if dry_run:
        later = _remove_former_indexes(spark, replace(collection, until_ms=ANY_AGE_MS), former_ranges)
        waiting[FORMER_INDEXES] = later.rows - former.rows
    size_bytes += runs.bytes + former.bytes
    return RetentionReport(dry_run, counts, waiting, size_bytes, time.monotonic() - started)


def _purge_runs(
    spark: SparkSession, settings: Settings, policy: RetentionPolicy, *, dry_run: bool
) -> Removed:
    """Delete the expired runs, or in a dry run only count them; return their rows, cells and bytes."""
    # Without a cut-off no run can expire, and the scan of all run rows would be useless.
    if policy == RetentionPolicy():
        return NONE_REMOVED
    until_ms = garbage_collection.safe_until_ms(now_ms(), settings.grace_ms)
    read = partial(
        _purge_range, policy=policy, until_ms=until_ms, grace_ms=settings.grace_ms, dry_run=dry_run
    )
    return _sum(range_scan.scan_ranges(spark, settings, key_ranges([layout.RUNS]), read=read, schema=REMOVED))


def _purge_range(
    table: Table,
    start: bytes,
    stop: bytes,
    *,
    policy: RetentionPolicy,
    until_ms: int,
    grace_ms: int,
    dry_run: bool,
) -> Iterator[Removed]:
    """Yield the counts of expired runs in each page, and delete the runs unless `dry_run`."""
    scanner = LivenessScanner(table, policy)
    for page in garbage_collection.pages(table, start, stop):
        expired = list(scanner.expired_runs(page, until_ms=until_ms))
        if dry_run:
            yield garbage_collection.size_of({key: page[key] for key in expired})
        else:
            yield garbage_collection.remove_runs(table, expired, until_ms=until_ms, grace_ms=grace_ms)


def _remove_former_indexes(
    spark: SparkSession, collection: Collection, key_ranges: Sequence[Range]
) -> Removed:
    """Delete the index rows of earlier releases, or in a dry run count those that would be deleted."""
    if not key_ranges:
        return NONE_REMOVED
    read = partial(
        garbage_collection.remove_former_indexes, until_ms=collection.until_ms, dry_run=collection.dry_run
    )
    return _sum(range_scan.scan_ranges(spark, collection.settings, key_ranges, read=read, schema=REMOVED))


def _seal_range(table: Table, start: bytes, stop: bytes, *, grace_ms: int) -> Iterator[tuple[int]]:
    """Seal the old days in a range of calendars, on a worker; yield their number."""
    yield (seal_old_days(table, (start, stop), clock=now_ms, grace_ms=grace_ms),)


def _collect_garbage(
    spark: SparkSession, collection: Collection, garbage: DataFrame
) -> tuple[dict[str, int], int]:
    """Delete garbage, except in a dry run; return its cells or rows by kind, and its bytes.

    `garbage` is a frame from `_find_garbage`. Every kind has a number, which may be 0.
    """
    prefixes = _garbage_prefixes(garbage)
    if not prefixes:
        return dict.fromkeys((*KINDS.values(), DATASETS), 0), 0
    candidates = _candidates(spark, collection, prefixes)
    with ExitStack() as persisted:
        # Persisted, because cells are counted before they are deleted, and cannot be found again afterwards.
        cells = persist(candidates.join(garbage, "hash"), persisted)
        counts, size_bytes = _count(cells)
        datasets = None
        if layout.CONTENTS in prefixes:
            datasets = _unreferenced_datasets(spark, collection.settings, garbage, persisted)
        # Counting computes and persists the datasets before anything is deleted.
        count = datasets.count() if datasets is not None else 0
        if not collection.dry_run:
            _delete(collection, cells, datasets)
    return {**counts, DATASETS: count}, size_bytes


def _count_waiting(
    spark: SparkSession, settings: Settings, garbage: DataFrame, datasets_due: int
) -> dict[str, int]:
    """Return the numbers, by kind, of cells, rows and datasets that only the grace period keeps."""
    flags = f.col("flags")
    waiting = garbage.where(flags.bitwiseAND(WAITS) != 0)
    rows = waiting.groupBy(flags.bitwiseAND(sum(WAITING))).count().collect()
    counts = dict.fromkeys((RUNS, *KINDS.values(), DATASETS), 0)
    for flag, count in rows:
        # A hash without the flag of its kind is needed, but not stored.
        if flag in WAITING:
            counts[WAITING[flag]] += count
    if counts[KINDS[layout.CONTENTS]]:
        with ExitStack() as persisted:
            datasets = _unreferenced_datasets(spark, settings, garbage, persisted)
            counts[DATASETS] = datasets.count() - datasets_due
    return counts


def _garbage_prefixes(garbage: DataFrame) -> list[bytes]:
    """Return the key prefixes that have garbage, and the catalogue's if a dataset loses references."""
    # A nightly job often finds no garbage of a kind, whose range is then not scanned again.
    row = garbage.agg(f.bit_or("flags")).first()
    flags = (row and row[0]) or 0
    prefixes = [prefix for prefix, flag in OLD.items() if flags & flag]
    return prefixes + [layout.DATASETS] * bool(flags & CUT)


def _candidates(spark: SparkSession, collection: Collection, prefixes: Sequence[bytes]) -> DataFrame:
    """Return cells and rows with key prefixes that may be garbage, as GARBAGE, before the join with hashes.

    In the catalogue, candidates are the rows of all datasets in contents, with size 0, even if a row does not
    exist. A dataset that loses references gets a horizon, whatever its age.
    """
    scan = partial(range_scan.scan_ranges, spark, collection.settings, schema=GARBAGE)
    read = partial(_read_old_cells, until_ms=collection.until_ms)
    old = scan(key_ranges([prefix for prefix in prefixes if prefix != layout.DATASETS]), read=read)
    if layout.DATASETS not in prefixes:
        return old
    return old.union(scan(key_ranges([layout.CONTENTS]), read=_read_dataset_rows).distinct())


def _read_old_cells(
    table: Table, start: bytes, stop: bytes, *, until_ms: int
) -> Iterator[tuple[int, bytes, bytes, int]]:
    """Yield cells and rows put at `until_ms` or before, including live ones, as GARBAGE."""
    # Contents and event bodies are deleted as whole rows.
    if start.startswith(ROW_KINDS):
        rows = liveness.rows_older_than(table.scan(start, stop, columns=AGE_COLUMNS), until_ms)
        old = ((row, b"", cells) for row, cells in rows)
    else:
        single = liveness.cells_older_than(table.scan(start, stop), until_ms)
        old = ((row, column, {column: cell}) for row, column, cell in single)
    for row, column, cells in old:
        size_bytes = garbage_collection.size_of({row: cells}).bytes
        yield cell_hashes.to_signed(_cell_hash(row, column)), row, column, size_bytes


def _read_dataset_rows(table: Table, start: bytes, stop: bytes) -> Iterator[tuple[int, bytes, bytes, int]]:
    """Yield the catalogue row of each dataset of contents as GARBAGE, once for each content."""
    for _, row in _read_datasets(table, start, stop):
        yield cell_hashes.to_signed(_cell_hash(row)), row, b"", 0


def _count(cells: DataFrame) -> tuple[dict[str, int], int]:
    """Return the number of cells or rows of each kind, which may be 0, and the bytes of all. Runs a job."""
    prefix = f.substring("row", 1, 2).alias("prefix")
    rows = cells.groupBy(prefix).agg(f.count("*"), f.sum("bytes")).collect()
    counts = dict.fromkeys(KINDS.values(), 0)
    for key_prefix, count, _ in rows:
        if bytes(key_prefix) in KINDS:
            counts[KINDS[bytes(key_prefix)]] += count
    return counts, sum(size_bytes for _, _, size_bytes in rows)


def _delete(collection: Collection, cells: DataFrame, datasets: DataFrame | None) -> None:
    """Write the horizons, then delete garbage in an order that leaves no dangling reference."""
    # The order is the same as in garbage_collection.remove, each step complete before the next: horizon
    # markers, hints, catalogue rows, contents. An interruption leaves only garbage for the next collection.
    prefix = f.substring("row", 1, 2)
    _run(cells.where(prefix == f.lit(layout.DATASETS)), _write_horizons, collection)
    # Sorted, so that a batch of deletes touches few regions.
    keys = cells.select("row", "column").sort("row", "column")
    _run(keys.where(prefix.isin(*HINTS)), _delete_cells, collection)
    if datasets is not None:
        # An alias is in the rows of both names. If one of the two datasets stays, both cells stay.
        aliases = _read_aliases(datasets, collection.settings).join(datasets, "dataset", "left_semi")
        _run(aliases, _delete_cells, collection)
        _run(datasets, _delete_datasets, collection)
    _run(keys.where(prefix.isin(*ROW_KINDS)), _delete_rows, collection)


def _write_horizons(batch: pa.RecordBatch, table: Table, collection: Collection) -> Removed:
    """Write horizon markers to the catalogue rows in the column `row`; return that nothing was removed."""
    keys = batch.column("row").to_pylist()
    garbage_collection.write_horizon_markers(table, keys, collection.policy)
    return NONE_REMOVED


def _delete_cells(batch: pa.RecordBatch, table: Table, collection: Collection) -> Removed:
    """Delete the cells of the columns `row` and `column` that are old enough; return NONE_REMOVED."""
    keys = zip(batch.column("row").to_pylist(), batch.column("column").to_pylist(), strict=True)
    cells = [CellKey(row, column) for row, column in keys]
    garbage_collection.remove_cells(table, cells, until_ms=collection.until_ms)
    return NONE_REMOVED


def _delete_datasets(batch: pa.RecordBatch, table: Table, collection: Collection) -> Removed:
    """Delete the catalogue rows in the column `dataset` that are old enough; return what was removed."""
    keys = batch.column("dataset").to_pylist()
    return garbage_collection.remove_datasets(table, keys, until_ms=collection.until_ms)


def _delete_rows(batch: pa.RecordBatch, table: Table, collection: Collection) -> Removed:
    """Delete the rows in the column `row` that are old enough; return what was removed."""
    keys = batch.column("row").to_pylist()
    return garbage_collection.remove_rows(table, keys, until_ms=collection.until_ms)


def _run(frame: DataFrame, change: _Change, collection: Collection) -> None:
    """Apply a change to all batches of a frame on the workers, and wait for the end."""
    _sum(frame.mapInArrow(partial(_change_batches, change=change, collection=collection), REMOVED))


def _change_batches(
    batches: Iterable[pa.RecordBatch], *, change: _Change, collection: Collection
) -> Iterator[pa.RecordBatch]:
    """Apply a change to batches, on a worker; yield what each removed, as REMOVED."""
    table = worker_table(collection.settings)
    for batch in batches:
        yield to_batch([change(batch, table, collection)], REMOVED)


def _sum(removed: DataFrame) -> Removed:
    """Return the sums of a frame of REMOVED, or 0 without rows. Computes the frame, which may delete."""
    row = removed.agg(f.sum("rows"), f.sum("cells"), f.sum("bytes")).collect()[0]
    return Removed(*(int(number or 0) for number in row))


def _unreferenced_datasets(
    spark: SparkSession, settings: Settings, garbage: DataFrame, persisted: ExitStack
) -> DataFrame:
    """Return, in the column `dataset`, the catalogue rows of datasets and aliases that only garbage names.

    The frame is persisted until `persisted` closes, and is computed by its first action.
    """
    # Any content may reference a dataset, so live contents are read too.
    contents = persist(
        range_scan.scan_ranges(
            spark, settings, key_ranges([layout.CONTENTS]), read=_read_datasets, schema=_CONTENT_DATASETS
        ),
        persisted,
    )
    live = contents.join(garbage, "hash", "left_anti").select("dataset").distinct()
    in_garbage = contents.join(garbage, "hash", "left_semi").select("dataset").distinct()
    datasets = in_garbage.join(live, "dataset", "left_anti")
    aliases = _read_aliases(datasets, settings).select("dataset").join(live, "dataset", "left_anti")
    return persist(datasets.union(aliases).distinct(), persisted)


def _read_aliases(datasets: DataFrame, settings: Settings) -> DataFrame:
    """Return a lazy frame of the cells of alias rows of the datasets in the column `dataset`."""
    return datasets.mapInArrow(partial(_alias_batches, settings=settings), _ALIAS_CELLS)


def _read_datasets(table: Table, start: bytes, stop: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the signed hash of each content row with the catalogue key of each dataset it names."""
    for row, cells in table.scan(start, stop, columns=(layout.SOURCES, layout.DESTINATIONS)):
        for dataset in liveness.catalogue_keys(row, cells):
            yield cell_hashes.to_signed(_cell_hash(row)), dataset


def _alias_batches(batches: Iterator[pa.RecordBatch], *, settings: Settings) -> Iterator[pa.RecordBatch]:
    """Yield, on a worker, the alias cells of the datasets in the column `dataset` as _ALIAS_CELLS."""
    table = worker_table(settings)
    for batch in batches:
        cells = garbage_collection.alias_cells(table, batch.column("dataset").to_pylist())
        yield from to_batches(((*cell, alias) for cell, alias in cells), _ALIAS_CELLS)


def _find_garbage(spark: SparkSession, collection: Collection) -> DataFrame:
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


def _cell_hash(row: bytes, column: bytes = b"") -> int:
    """Return the unsigned 64-bit hash of a cell, or of a row without a column.

    A cell of the run index has the hash of the cell by which a run names it.
    """
    return garbage_collection.hash_cell(liveness.needed_cell(row, column))


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
    scan = table.scan(start, stop, columns=columns)
    while page := list(islice(scan, cell_hashes.BATCH_HASHES)):
        old: list[int] = []
        young: list[int] = []
        for number, stamp_ms in _stamped_hashes(start, page):
            (old if stamp_ms <= collection.until_ms else young).append(number)
        groups = [(flag, old)]
        yield cell_hashes.flagged_batch([*groups, (flag | WAITS, young)] if collection.dry_run else groups)


def _stamped_hashes(prefix: bytes, page: Sequence[tuple[bytes, Row]]) -> list[tuple[int, int]]:
    """Return the hash of each known cell of rows of one kind, or of each whole row, and its latest put."""
    hash_of = garbage_collection.hash_cell
    if prefix.startswith(ROW_KINDS):
        return [(hash_of((row, b"")), max(cell[1] for cell in cells.values())) for row, cells in page]
    spared = liveness.spared_columns(prefix, {column for _, cells in page for column in cells})
    is_index = prefix.startswith(layout.RUN_INDEX)
    return [
        (hash_of(liveness.needed_cell(row, column) if is_index else (row, column)), cell[1])
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
        hashes[_RUN_WAITS] += map(_cell_hash, waiting)
        for flag, needing, rows in ((LIVE, scanner, page), (WAITS, waiting_scanner, waiting)):
            for cells in needing.live_cells(rows, until_ms=collection.until_ms):
                hashes[flag] += map(garbage_collection.hash_cell, cells.cells)
                # A dry run counts cells that are needed only because their run changed recently.
                waits = WAITS if collection.dry_run else flag
                hashes[waits] += map(garbage_collection.hash_cell, cells.former)
                cut.update(_cell_hash(layout.dataset_row(dataset)) for dataset in cells.truncated_datasets)
        if sum(map(len, hashes.values())) > cell_hashes.BATCH_HASHES:
            yield cell_hashes.flagged_batch(hashes.items())
            hashes = {flag: [] for flag in hashes}
    yield cell_hashes.flagged_batch([*hashes.items(), (CUT, list(cut))])


def _take_expired(page: dict[bytes, Row], scanner: LivenessScanner, until_ms: int) -> dict[bytes, Row]:
    """Remove the expired runs from a page; return those that are too young to be deleted."""
    expired = {key: page.pop(key) for key in list(scanner.expired_runs(page, until_ms=ANY_AGE_MS))}
    return {key: row for key, row in expired.items() if not liveness.is_older_than(row, until_ms)}
