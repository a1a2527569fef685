"""What is too old goes, and what nothing needs: purge and sweep of a table by all workers.

The rules are those of fll_hbase/store/sweep.py, which does the same in one process; here what run rows keep
and what is there meet as frames, by 64-bit marks of their keys. Two keys of one mark keep each other.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
import xxhash
from cachetools import LRUCache
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.config import Settings
from fll_hbase.keys import layout, ranges
from fll_hbase.model.horizons import Horizons
from fll_hbase.pipeline import scans
from fll_hbase.store import marks, sweep
from fll_hbase.store.marks import Marking
from fll_hbase.store.sweep import HINTS, NOTHING, Removed
from fll_hbase.tables import CellKey, Table

KEPT = "mark bigint, shortened binary"
"""The mark of what a run row needs; or the catalogue row of an end point whose past is cut."""

HINT = "mark bigint, row binary, column binary, bytes bigint"
"""A cell of references or index rows that is old enough to go."""

ROW = "mark bigint, row binary, old boolean, bytes bigint, ends array<binary>"
"""A row of contents or parts, with the catalogue rows of the end points that it names."""

DUE = "row binary, bytes bigint"
REMOVED = "rows bigint, cells bigint, bytes bigint"

_REMEMBERED = 200_000
_KINDS = {
    **dict.fromkeys(layout.REFERENCES, "references"),
    layout.INDEX: "index rows",
    layout.CONTENTS: "contents",
    layout.PARTS: "parts",
}


@dataclass(frozen=True, slots=True)
class Retained:
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


def retain(spark: SparkSession, settings: Settings, horizons: Horizons, *, dry_run: bool) -> Retained:
    """Purge what started before its horizon, then sweep what nothing needs. Raises CorruptRow.

    Safe beside running writers. Whatever ends it, the next one goes on.
    """
    began = time.monotonic()
    runs = _purge(spark, settings, horizons, dry_run=dry_run)
    until_ms = sweep.until_ms(_now_ms(), settings.grace_ms)
    kept = _kept(spark, settings, horizons, due_until_ms=until_ms if dry_run else 0)
    kept = kept.persist(StorageLevel.DISK_ONLY)
    hints = garbage(_hints(spark, settings, until_ms), kept).persist(StorageLevel.DISK_ONLY)
    every = _rows(spark, settings, until_ms).persist(StorageLevel.DISK_ONLY)
    rows = garbage(every.where("old"), kept).persist(StorageLevel.DISK_ONLY)
    try:
        counts, size = _counted(hints.unionByName(rows, allowMissingColumns=True))
        dead = _dead(every, rows, settings)
        if not dry_run:
            _remove(_Sweep(settings, until_ms, horizons), kept=kept, hints=hints, rows=rows, dead=dead)
    finally:
        for frame in (kept, hints, every, rows):
            frame.unpersist()
    told = {"runs": runs.rows, **counts, "end points": len(dead)}
    return Retained(dry_run, told, runs.bytes + size, time.monotonic() - began)


def garbage(found: DataFrame, kept: DataFrame) -> DataFrame:
    """What is found and nothing keeps."""
    return found.join(kept.select("mark"), "mark", "left_anti")


def mark(row: bytes, column: bytes = b"") -> int:
    """A row, or one cell of a row, as a number."""
    return xxhash.xxh3_64_intdigest(row + b"\0" + column) - 2**63


@dataclass(frozen=True, slots=True)
class _Sweep:
    """What removing takes."""

    settings: Settings
    until_ms: int
    horizons: Horizons


def _purge(spark: SparkSession, settings: Settings, horizons: Horizons, *, dry_run: bool) -> Removed:
    if horizons == Horizons():
        return NOTHING
    until_ms = sweep.until_ms(_now_ms(), settings.grace_ms)
    read = partial(_purged, horizons=horizons, until_ms=until_ms, dry_run=dry_run)
    return _total(scans.scanned(spark, settings, [ranges.under(layout.RUNS)], read=read, schema=REMOVED))


def _purged(
    table: Table, start: bytes, stop: bytes, *, horizons: Horizons, until_ms: int, dry_run: bool
) -> Iterator[Removed]:
    marking = Marking(table, horizons)
    for page in sweep.pages(table, start, stop):
        due = list(marking.due(page, until_ms=until_ms))
        if dry_run:
            yield sweep.measured({key: page[key] for key in due})
        else:
            yield sweep.remove_runs(table, due, until_ms=until_ms)


def _kept(spark: SparkSession, settings: Settings, horizons: Horizons, *, due_until_ms: int) -> DataFrame:
    read = partial(_marked, horizons=horizons, due_until_ms=due_until_ms)
    return scans.scanned(spark, settings, [ranges.under(layout.RUNS)], read=read, schema=KEPT)


def _marked(
    table: Table, start: bytes, stop: bytes, *, horizons: Horizons, due_until_ms: int
) -> Iterator[tuple[int, bytes | None]]:
    """What run rows keep that are not due: in a dry run those are there yet."""
    marking = Marking(table, horizons)
    told: LRUCache[int, bool] = LRUCache(_REMEMBERED)
    for page in sweep.pages(table, start, stop):
        due = set(marking.due(page, until_ms=due_until_ms))
        for kept in marking.kept({key: row for key, row in page.items() if key not in due}):
            for number in (*map(mark, kept.rows), *(mark(*cell) for cell in kept.cells)):
                if number not in told:
                    told[number] = True
                    yield number, None
            for end_point in kept.shortened:
                yield 0, layout.end_point_row(end_point)


def _hints(spark: SparkSession, settings: Settings, until_ms: int) -> DataFrame:
    read = partial(_old_hints, until_ms=until_ms)
    wholes = [ranges.under(kind) for kind in HINTS]
    return scans.scanned(spark, settings, wholes, read=read, schema=HINT)


def _old_hints(
    table: Table, start: bytes, stop: bytes, *, until_ms: int
) -> Iterator[tuple[int, bytes, bytes, int]]:
    for row, cells in table.scan(start, stop):
        for column, cell in cells.items():
            if cell.stamp_ms <= until_ms:
                yield mark(row, column), row, column, sweep.size_bytes(row, column, cell.value)


def _rows(spark: SparkSession, settings: Settings, until_ms: int) -> DataFrame:
    wholes = [ranges.under(layout.CONTENTS), ranges.under(layout.PARTS)]
    return scans.scanned(spark, settings, wholes, read=partial(_named, until_ms=until_ms), schema=ROW)


def _named(
    table: Table, start: bytes, stop: bytes, *, until_ms: int
) -> Iterator[tuple[int, bytes, bool, int, list[bytes]]]:
    columns = (layout.SOURCES, layout.DESTINATIONS, layout.PART)
    for key, row in table.scan(start, stop, columns=columns):
        ends = marks.end_points_of(key, row) if key.startswith(layout.CONTENTS) else []
        yield mark(key), key, marks.is_old(row, until_ms), sweep.measured({key: row}).bytes, ends


def _counted(found: DataFrame) -> tuple[dict[str, int], int]:
    kind = f.substring("row", 1, 2)
    rows = found.groupBy(kind.alias("kind")).agg(f.count("*"), f.sum("bytes")).collect()
    counts = dict.fromkeys(_KINDS.values(), 0)
    for letter, count, _ in rows:
        counts[_KINDS[bytes(letter)]] += count
    return counts, sum(size for _, _, size in rows)


def _dead(every: DataFrame, rows: DataFrame, settings: Settings) -> list[bytes]:
    """The catalogue rows of end points that only garbage names, with those of their further names."""
    gone = rows.select("mark").distinct()
    alive = every.join(gone, "mark", "left_anti").select(f.explode("ends").alias("row")).distinct()
    dead = rows.select(f.explode("ends").alias("row")).distinct().join(alive, "row", "left_anti")
    found = {bytes(row["row"]) for row in dead.collect()}
    table = scans.opened(settings)
    further = sorted(sweep.aliases(table, sorted(found)) - found)
    if further:
        spark = every.sparkSession
        names = spark.createDataFrame([(bytearray(key),) for key in further], "row binary")
        found |= {bytes(row["row"]) for row in names.join(alive, "row", "left_anti").collect()}
    return sorted(found)


def _remove(act: _Sweep, *, kept: DataFrame, hints: DataFrame, rows: DataFrame, dead: list[bytes]) -> None:
    """In the order of fll_hbase/store/sweep.py, each step whole before the next."""
    table = scans.opened(act.settings)
    shortened = kept.where("shortened is not null").select("shortened").distinct().collect()
    sweep.shorten(table, [bytes(row["shortened"]) for row in shortened], act.horizons)
    _done(hints.select("row", "column").sort("row", "column"), partial(_without_cells, act=act))
    sweep.remove_end_points(table, dead, until_ms=act.until_ms)
    _done(rows.select("row").sort("row"), partial(_without_rows, act=act))


def _done(frame: DataFrame, act: Any) -> None:
    _total(frame.mapInArrow(act, REMOVED))


def _without_cells(batches: Iterable[pa.RecordBatch], *, act: _Sweep) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        pairs = zip(batch.column("row").to_pylist(), batch.column("column").to_pylist(), strict=True)
        cells = [CellKey(row, column) for row, column in pairs]
        sweep.remove_cells(scans.opened(act.settings), cells, until_ms=act.until_ms)
        yield scans.batch_of([NOTHING], REMOVED)


def _without_rows(batches: Iterable[pa.RecordBatch], *, act: _Sweep) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        keys = batch.column("row").to_pylist()
        yield scans.batch_of(
            [sweep.remove_rows(scans.opened(act.settings), keys, until_ms=act.until_ms)], REMOVED
        )


def _total(removed: DataFrame) -> Removed:
    row = removed.agg(f.sum("rows"), f.sum("cells"), f.sum("bytes")).collect()[0]
    return Removed(*(int(number or 0) for number in row))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
