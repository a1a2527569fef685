"""Incremental export: changes since the last batch are appended to Parquet, Delta or Iceberg tables.

A batch is prepared as files, committed by one file in the log, then published, which may be repeated.
Therefore a process that is killed at any point leaves either a complete batch, or a batch that no reader
sees.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession

from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.runtime.release import VERSION
from fll_hbase.spark.exports import changes
from fll_hbase.spark.exports.changes import SeenRows, StagedTables
from fll_hbase.spark.exports.export_files import CATALOGUE, EDGES, FILE_BYTES, RUNS, write_settings
from fll_hbase.spark.exports.export_log import Batch, ExportLog, ExportTarget, remove_attempts
from fll_hbase.spark.exports.hadoop_files import is_subdirectory
from fll_hbase.spark.exports.lake_tables import LakeFormat, LakeTables, open_lake
from fll_hbase.spark.exports.table_frames import run_edges
from fll_hbase.spark.hashes import range_scan


@dataclass(frozen=True, slots=True)
class ChangesReport:
    """The batch that was written, its log, and the duration."""

    batch: Batch
    log: str
    seconds: float

    def summary(self) -> dict[str, Any]:
        """Return the report as JSON members."""
        target = self.batch.target
        members = {"job": "export", "format": target.format, "out": target.out, "batch": self.batch.number}
        window = {"since_ms": self.batch.since_ms, "until_ms": self.batch.until_ms}
        return {**members, **self.batch.rows, **window, "seconds": round(self.seconds, 1)}

    def __str__(self) -> str:
        """Return the number of the batch, rows by table, place and duration as one line of text."""
        counts = ", ".join(f"{count:,} in {name}" for name, count in self.batch.rows.items())
        return f"batch {self.batch.number}, {counts}: {self.batch.target.out}, {self.seconds:.0f} s"


@dataclass(frozen=True, slots=True)
class ChangesSpec:
    """The store to export, and where: `log` is the state directory, `file_bytes` the target size."""

    settings: Settings
    out: str
    log: str
    form: LakeFormat = LakeFormat.PARQUET
    file_bytes: int = FILE_BYTES

    @property
    def target(self) -> ExportTarget:
        """Return store, place and format, which must be the same in all batches of a log."""
        return ExportTarget(self.settings.store, self.out.rstrip("/"), self.form.value)


def export_changes(spark: SparkSession, spec: ChangesSpec) -> ChangesReport:
    """Append the runs and datasets that changed since the last batch of the log; all of them without one.

    The call first completes a batch that a killed process has left. Raises ConfigurationError for a store,
    format or directories that cannot be used, for a log or tables of another export, and if another process
    writes the same batch. Raises StoreUnavailable.
    """
    started = time.monotonic()
    _check_directories(spark, spec)
    log = ExportLog(spark, spec.log)
    last = log.last()
    lake = open_lake(spark, spec.form, spec.target.out)
    _check_target(last, spec)
    lake.claim(log.identity())
    with write_settings(spark, file_bytes=spec.file_bytes):
        if last and not log.is_published(last):
            _publish(spark, lake, last, log)
        batch = _prepare(spark, spec, last, _next_batch(last, spec, log.identity()))
        log.commit(batch)
        _publish(spark, lake, batch, log)
    return ChangesReport(batch, spec.log, time.monotonic() - started)


def _check_directories(spark: SparkSession, spec: ChangesSpec) -> None:
    """Raise ConfigurationError if directories are nested or equal. Iceberg has no directory of tables."""
    if spec.form is not LakeFormat.ICEBERG and (
        is_subdirectory(spark, spec.log, spec.out) or is_subdirectory(spark, spec.out, spec.log)
    ):
        raise ConfigurationError(
            f"{spec.log!r} and {spec.out!r} are one directory, or one is in the other: put the state beside"
            " the tables"
        )


def _check_target(last: Batch | None, spec: ChangesSpec) -> None:
    """Raise ConfigurationError if there is a last batch, with another store, place or format."""
    if last and last.target != spec.target:
        raise ConfigurationError(
            f"{spec.log!r} is the state of an export of {last.target.store} to {last.target.out} as"
            f" {last.target.format}; use another directory for this one"
        )


def _next_batch(last: Batch | None, spec: ChangesSpec, log: str) -> Batch:
    """Return the batch after `last`, up to a grace period ago or the end of `last`, without counts."""
    time_ms = now_ms()
    return Batch(
        number=last.number + 1 if last else 1,
        log=log,
        attempt=uuid.uuid4().hex,
        target=spec.target,
        since_ms=last.until_ms if last else 0,
        # Commit records that this scan does not see have a later time than this. A commit takes at most half
        # the grace period, and clocks differ by less than the rest (docs/reference/row-keys.md).
        until_ms=max(time_ms - spec.settings.grace_ms, last.until_ms if last else 0),
        rows={},
        files={},
        version=VERSION,
        started=datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="seconds"),
    )


def _prepare(spark: SparkSession, spec: ChangesSpec, last: Batch | None, batch: Batch) -> Batch:
    """Write a batch where no reader looks, and the state for later batches; return it with its counts."""
    seen = SeenRows(spark, f"{spec.log}/{last.seen}" if last else "")
    runs = changes.committed_runs(spark, spec.settings, since_ms=batch.since_ms)
    fields = changes.digested_fields(spark, spec.settings)
    stage = StagedTables(spark, f"{_stage_root(batch, spec.log)}/{batch.stage}")
    rows = {
        RUNS: stage.write(seen.new_runs(runs), RUNS),
        CATALOGUE: stage.write(seen.new_fields(fields), CATALOGUE),
    }
    # One task reads a file, which may contain all runs of a batch.
    spread = stage.read(RUNS).repartition(range_scan.partition_count(spark))
    rows[EDGES] = stage.write(run_edges(spread, spec.settings), EDGES)
    seen.write_next(
        stage.read(RUNS), stage.read(CATALOGUE), f"{spec.log}/{batch.seen}", until_ms=batch.until_ms
    )
    return replace(batch, rows=rows, files={table: stage.count_files(table) for table in rows})


def _publish(spark: SparkSession, lake: LakeTables, batch: Batch, log: ExportLog) -> None:
    """Append the rows of a committed batch, mark it as published, and remove what it no longer needs.

    Tables without rows in the batch are skipped. Calls may be repeated.
    """
    root = _stage_root(batch, log.path)
    stage = StagedTables(spark, f"{root}/{batch.stage}")
    for table, rows in batch.rows.items():
        if rows:
            lake.append(stage, table, batch)
    log.set_published(batch)
    for directory in {root, log.path}:
        remove_attempts(spark, directory, batch)


def _stage_root(batch: Batch, log: str) -> str:
    """Return the directory in which a batch is prepared: for Parquet the target, since files are moved."""
    return batch.target.out if batch.target.format == LakeFormat.PARQUET.value else log
