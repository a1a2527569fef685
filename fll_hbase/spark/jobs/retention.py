"""What is too old goes, and what nothing needs: purge and sweep of a table by all workers.

The rules are those of fll_hbase/store/maintenance/garbage_collection.py, which does the same in one process. Here what run rows keep
and what is old meet as marks; only where an old mark is kept by none a second scan tells which cell it is.
Two cells of one mark keep each other.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
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
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.spark import cell_hashes, range_scan
from fll_hbase.store.maintenance import garbage_collection
from fll_hbase.store.maintenance import liveness as store_marks
from fll_hbase.store.maintenance.garbage_collection import HINTS, NONE_REMOVED, Removed
from fll_hbase.store.maintenance.liveness import LivenessScanner
from fll_hbase.tables import CellKey, Row, Table

NAMED = "mark bigint, row binary, column binary, bytes bigint"
"""A cell of references or index rows, or a row of contents or parts, by its mark."""

END = "mark bigint, end_point binary"
"""A data row by its mark, and the catalogue row of an end point that it names."""

REMOVED = "rows bigint, cells bigint, bytes bigint"

LIVE, CUT = 1, 2
"""What is said of a mark: a run row needs it; or it is the row of an end point whose past is cut."""

_KINDS = {
    **dict.fromkeys(layout.REFERENCES, "references"),
    layout.INDEX: "index rows",
    layout.CONTENTS: "contents",
    layout.EVENT_BODIES: "parts",
}
OLD = {kind: 4 << number for number, kind in enumerate(_KINDS)}
"""What is said of a mark that is old enough to go, by what its row begins with."""

_ROWS = (layout.CONTENTS, layout.EVENT_BODIES)
"""Kinds that go by rows, not by cells."""

_END_POINTS = "end points"


@dataclass(frozen=True, slots=True)
class RetentionReport:
    """What went, or with a dry run would go, in rows or cells by kind; bytes before any compression."""

    dry_run: bool
    counts: dict[str, int] = field(default_factory=dict)
    bytes: int = 0
    seconds: float = 0.0

    def summary(self) -> dict[str, Any]:
        """For a program."""
        return {"job": "retention", **asdict(self), "seconds": round(self.seconds, 1)}

    def __str__(self) -> str:
        told = ", ".join(f"{count:,} {kind}" for kind, count in self.counts.items() if count) or "nothing"
        verb = "would go" if self.dry_run else "gone"
        return f"{verb}: {told}; about {self.bytes / 2**20:,.1f} MiB, in {self.seconds:.0f} s"


def apply_retention(
    spark: SparkSession, settings: Settings, horizons: RetentionPolicy, *, dry_run: bool
) -> RetentionReport:
    """Purge what started before its horizon, then sweep what nothing needs. Raises CorruptRow.

    Safe beside running writers. Whatever ends it, the next one goes on.
    """
    began = time.monotonic()
    runs = _purge(spark, settings, horizons, dry_run=dry_run)
    until_ms = garbage_collection.safe_until_ms(now_ms(), settings.grace_ms)
    due = _due(spark, settings, horizons, until_ms=until_ms, due_until_ms=until_ms if dry_run else 0)
    due = due.persist(StorageLevel.DISK_ONLY)
    try:
        counts, size = _swept(spark, _Sweep(settings, until_ms, horizons), due, dry_run=dry_run)
    finally:
        due.unpersist()
    return RetentionReport(
        dry_run, {"runs": runs.rows, **counts}, runs.bytes + size, time.monotonic() - began
    )


@dataclass(frozen=True, slots=True)
class _Sweep:
    """What removing takes."""

    settings: Settings
    until_ms: int
    horizons: RetentionPolicy


def _swept(spark: SparkSession, act: _Sweep, due: DataFrame, *, dry_run: bool) -> tuple[dict[str, int], int]:
    """What is due, by kind, and its bytes; it is gone unless that is a dry run."""
    kinds = _kinds(due)
    if not kinds:
        return dict.fromkeys((*_KINDS.values(), _END_POINTS), 0), 0
    named = _named(spark, act.settings, kinds, act.until_ms).join(due, "mark").persist(StorageLevel.DISK_ONLY)
    try:
        counts, size = _counted(named)
        dead = _dead(spark, act.settings, due) if layout.CONTENTS in kinds else []
        if not dry_run:
            _remove(act, named, dead)
    finally:
        named.unpersist()
    return {**counts, _END_POINTS: len(dead)}, size


def _purge(spark: SparkSession, settings: Settings, horizons: RetentionPolicy, *, dry_run: bool) -> Removed:
    if horizons == RetentionPolicy():
        return NONE_REMOVED
    until_ms = garbage_collection.safe_until_ms(now_ms(), settings.grace_ms)
    read = partial(_purged, horizons=horizons, until_ms=until_ms, dry_run=dry_run)
    return _total(
        range_scan.scan_ranges(spark, settings, [ranges.under(layout.RUNS)], read=read, schema=REMOVED)
    )


def _purged(
    table: Table, start: bytes, stop: bytes, *, horizons: RetentionPolicy, until_ms: int, dry_run: bool
) -> Iterator[Removed]:
    marking = LivenessScanner(table, horizons)
    for page in garbage_collection.pages(table, start, stop):
        due = list(marking.expired_runs(page, until_ms=until_ms))
        if dry_run:
            yield garbage_collection.size_of({key: page[key] for key in due})
        else:
            yield garbage_collection.remove_runs(table, due, until_ms=until_ms)


def _due(
    spark: SparkSession, settings: Settings, horizons: RetentionPolicy, *, until_ms: int, due_until_ms: int
) -> DataFrame:
    """The marks of what is old and kept by none, and of end points whose past is cut."""
    wholes = [ranges.under(kind) for kind in (layout.RUNS, *OLD)]
    tell = partial(_told, horizons=horizons, until_ms=until_ms, due_until_ms=due_until_ms)
    met = cell_hashes.merge_flags(spark, settings, wholes, tell=tell)
    return met.where(f.col("said").bitwiseAND(LIVE) == 0)


def _told(
    table: Table, start: bytes, stop: bytes, *, horizons: RetentionPolicy, until_ms: int, due_until_ms: int
) -> Iterator[pa.RecordBatch]:
    """What rows of runs keep, or which others are old, as marks."""
    if start.startswith(layout.RUNS):
        return _keeping(table, start, stop, horizons, due_until_ms)
    kind = start[: len(layout.RUNS)]
    numbers = (cell_hash(row, column) for row, column, _ in _old(table, start, stop, until_ms=until_ms))
    return (cell_hashes.flagged_batch([(OLD[kind], some)]) for some in _some(numbers))


def _keeping(
    table: Table, start: bytes, stop: bytes, horizons: RetentionPolicy, due_until_ms: int
) -> Iterator[pa.RecordBatch]:
    """What run rows keep that are not due: in a dry run those are there yet."""
    marking = LivenessScanner(table, horizons)
    kept: list[int] = []
    shortened: set[int] = set()
    for page in garbage_collection.pages(table, start, stop):
        for key in list(marking.expired_runs(page, until_ms=due_until_ms)) if due_until_ms else ():
            del page[key]
        for one in marking.live_cells(page):
            kept += [cell_hash(*cell) for cell in one.cells]
            shortened.update(cell_hash(layout.end_point_row(end_point)) for end_point in one.truncated_datasets)
        if len(kept) > cell_hashes.BATCH_HASHES:
            yield cell_hashes.flagged_batch([(LIVE, kept)])
            kept = []
    yield cell_hashes.flagged_batch([(LIVE, kept), (CUT, list(shortened))])


def cell_hash(row: bytes, column: bytes = b"") -> int:
    """A row, or one cell of a row, as a number."""
    return xxhash.xxh3_64_intdigest(row + b"\0" + column)


def _old(table: Table, start: bytes, stop: bytes, *, until_ms: int) -> Iterator[tuple[bytes, bytes, Row]]:
    """What is old: a row and a column, or none where it is the whole row; and the cells that would go."""
    if start.startswith(_ROWS):
        columns = (layout.SOURCES, layout.DESTINATIONS, layout.EVENT_BODY)
        for row, cells in store_marks.rows_older_than(table.scan(start, stop, columns=columns), until_ms):
            yield row, b"", cells
    else:
        for row, column, cell in store_marks.cells_older_than(table.scan(start, stop), until_ms):
            yield row, column, {column: cell}


def _some(numbers: Iterator[int]) -> Iterator[list[int]]:
    while some := list(islice(numbers, cell_hashes.BATCH_HASHES)):
        yield some


def _kinds(due: DataFrame) -> list[bytes]:
    """What is to be looked for: what rows begin with of which marks are due."""
    said = due.agg(f.bit_or("said")).first()
    bits = (said and said[0]) or 0
    kinds = [kind for kind, bit in OLD.items() if bits & bit]
    return kinds + [layout.END_POINTS] * bool(bits & CUT)


def _named(spark: SparkSession, settings: Settings, kinds: Sequence[bytes], until_ms: int) -> DataFrame:
    """The cells and rows of these kinds, as they are now; of end points all rows."""
    wholes = [ranges.under(kind) for kind in kinds]
    return range_scan.scan_ranges(
        spark, settings, wholes, read=partial(_names, until_ms=until_ms), schema=NAMED
    )


def _names(
    table: Table, start: bytes, stop: bytes, *, until_ms: int
) -> Iterator[tuple[int, bytes, bytes, int]]:
    if start.startswith(layout.END_POINTS):
        for row, _ in table.scan(start, stop, columns=(layout.EXISTS,)):
            yield cell_hashes.to_signed(cell_hash(row)), row, b"", 0
        return
    for row, column, cells in _old(table, start, stop, until_ms=until_ms):
        yield (
            cell_hashes.to_signed(cell_hash(row, column)),
            row,
            column,
            garbage_collection.size_of({row: cells}).bytes,
        )


def _counted(named: DataFrame) -> tuple[dict[str, int], int]:
    kind = f.substring("row", 1, 2)
    rows = named.groupBy(kind.alias("kind")).agg(f.count("*"), f.sum("bytes")).collect()
    counts = dict.fromkeys(_KINDS.values(), 0)
    for letter, count, _ in rows:
        if bytes(letter) in _KINDS:
            counts[_KINDS[bytes(letter)]] += count
    return counts, sum(size for _, _, size in rows)


def _dead(spark: SparkSession, settings: Settings, due: DataFrame) -> list[bytes]:
    """The catalogue rows of end points that only garbage names, with those of their further names."""
    ends = range_scan.scan_ranges(spark, settings, [ranges.under(layout.CONTENTS)], read=_ends, schema=END)
    ends = ends.persist(StorageLevel.DISK_ONLY)
    try:
        alive = ends.join(due, "mark", "left_anti").select("end_point").distinct()
        gone = ends.join(due, "mark", "left_semi").select("end_point").distinct()
        found = _without(gone, alive)
        further = sorted(garbage_collection.alias_catalogue_rows(range_scan.worker_table(settings), sorted(found)) - found)
        names = spark.createDataFrame([(bytearray(key),) for key in further], "end_point binary")
        return sorted(found | _without(names, alive))
    finally:
        ends.unpersist()


def _ends(table: Table, start: bytes, stop: bytes) -> Iterator[tuple[int, bytes]]:
    for row, cells in table.scan(start, stop, columns=(layout.SOURCES, layout.DESTINATIONS)):
        for end_point in store_marks.catalogue_keys(row, cells):
            yield cell_hashes.to_signed(cell_hash(row)), end_point


def _without(end_points: DataFrame, others: DataFrame) -> set[bytes]:
    return {bytes(row["end_point"]) for row in end_points.join(others, "end_point", "left_anti").collect()}


def _remove(act: _Sweep, named: DataFrame, dead: list[bytes]) -> None:
    """In the order of fll_hbase/store/maintenance/garbage_collection.py, each step whole before the next."""
    table = range_scan.worker_table(act.settings)
    kind = f.substring("row", 1, 2)
    shortened = named.where(kind == f.lit(layout.END_POINTS)).select("row").collect()
    garbage_collection.write_horizon_markers(table, [bytes(row["row"]) for row in shortened], act.horizons)
    cells = named.select("row", "column").sort("row", "column")
    _done(cells.where(kind.isin(*HINTS)), partial(_without_cells, act=act))
    garbage_collection.remove_catalogue_rows(table, dead, until_ms=act.until_ms)
    _done(cells.where(kind.isin(*_ROWS)), partial(_without_rows, act=act))


def _done(frame: DataFrame, act: Any) -> None:
    _total(frame.mapInArrow(act, REMOVED))


def _without_cells(batches: Iterable[pa.RecordBatch], *, act: _Sweep) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        pairs = zip(batch.column("row").to_pylist(), batch.column("column").to_pylist(), strict=True)
        cells = [CellKey(row, column) for row, column in pairs]
        garbage_collection.remove_cells(range_scan.worker_table(act.settings), cells, until_ms=act.until_ms)
        yield range_scan.to_batch([NONE_REMOVED], REMOVED)


def _without_rows(batches: Iterable[pa.RecordBatch], *, act: _Sweep) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        keys = batch.column("row").to_pylist()
        yield range_scan.to_batch(
            [
                garbage_collection.remove_rows(
                    range_scan.worker_table(act.settings), keys, until_ms=act.until_ms
                )
            ],
            REMOVED,
        )


def _total(removed: DataFrame) -> Removed:
    row = removed.agg(f.sum("rows"), f.sum("cells"), f.sum("bytes")).collect()[0]
    return Removed(*(int(number or 0) for number in row))
