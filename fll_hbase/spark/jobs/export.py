"""Export of lineage to files: runs, edges and the catalogue as Parquet or CSV, or OpenLineage events."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from fll_hbase.model.window import Window
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.runtime.release import VERSION
from fll_hbase.spark.datasource.reader_options import ALWAYS, TableName
from fll_hbase.spark.exports import output_directory
from fll_hbase.spark.exports.export_files import (
    CATALOGUE,
    EDGES,
    EVENTS,
    FILE_BYTES,
    RUNS,
    Format,
    count_files,
    sort_by_start,
    write_files,
    write_settings,
)
from fll_hbase.spark.exports.hadoop_files import HadoopDirectory
from fll_hbase.spark.exports.output_directory import EXPORT, Owner
from fll_hbase.spark.exports.table_frames import (
    EDGE_COLUMNS,
    RUN_COLUMNS,
    distinct_edges,
    run_edges,
    table_frame,
)
from fll_hbase.spark.hashes import range_scan
from fll_hbase.spark.lines import event_frames

MANIFEST = "export.json"
_OWNER = Owner(EXPORT, "export")


@dataclass(frozen=True, slots=True)
class ExportSpec:
    """The lineage to export: runs that start in the window. With a namespace, those with a dataset in it.

    `distinct` exports each edge once, instead of once for each run. `file_bytes` is the target size.
    """

    settings: Settings
    window: Window = ALWAYS
    namespace: str = ""
    distinct: bool = False
    file_bytes: int = FILE_BYTES


@dataclass(frozen=True, slots=True)
class ExportReport:
    """The rows written to each directory of `out`, and the duration."""

    out: str
    format: Format
    rows: Mapping[str, int]
    seconds: float

    def summary(self) -> dict[str, Any]:
        """Return the report as JSON members."""
        members = {"job": "export", "format": self.format.value, "out": self.out}
        return {**members, **self.rows, "seconds": round(self.seconds, 1)}

    def __str__(self) -> str:
        """Return rows by directory, place and duration as one line of text."""
        counts = ", ".join(f"{count:,} in {name}" for name, count in self.rows.items())
        return f"{counts}: {self.out}, {self.seconds:.0f} s"


def export(
    spark: SparkSession, spec: ExportSpec, out: str, *, form: Format, overwrite: bool = False
) -> ExportReport:
    """Write the files below the directory `out`, in place of an earlier export if `overwrite` is set.

    Raises ConfigurationError for an earlier export without `overwrite`, for other files in `out`, and if
    `out` or the store cannot be used. Raises StoreUnavailable, and LineageError as
    `OutputDirectory.replacing`.
    """
    started, started_ms = time.monotonic(), now_ms()
    directory = output_directory.claim(spark, out, _OWNER)
    if not overwrite and directory.files():
        raise ConfigurationError(f"{out} has an earlier export; --overwrite replaces it")
    # Spark writes to a directory below `out`, which replaces the last export when it is complete.
    with write_settings(spark, file_bytes=spec.file_bytes), directory.replacing() as new:
        rows = dict(_write_tables(spark, spec, new, form))
        manifest = _manifest(spec, form, started_ms, rows)
        files = {name: count_files(spark, f"{new}/{name}") for name in rows}
        members = {**manifest, "files": files}
        HadoopDirectory(spark, new).create_file(MANIFEST, json.dumps(members, indent=1))
    return ExportReport(out, form, rows, time.monotonic() - started)


def _write_tables(spark: SparkSession, spec: ExportSpec, out: str, form: Format) -> Iterator[tuple[str, int]]:
    """Write runs, edges and catalogue, or only events, one by one; yield each with its number of rows."""
    runs = table_frame(spark, spec.settings, TableName.RUNS, window=spec.window, namespace=spec.namespace)
    catalogue = table_frame(spark, spec.settings, TableName.FIELDS, namespace=spec.namespace)
    if form is Format.OPENLINEAGE:
        events = event_frames.run_events(runs, spec.settings)
        datasets = event_frames.dataset_events(catalogue, spec.settings, time_ms=now_ms())
        frames = {EVENTS: events.unionByName(datasets)}
    else:
        yield RUNS, write_files(sort_by_start(runs, form), f"{out}/{RUNS}", form, file_bytes=spec.file_bytes)
        frames = {
            EDGES: _edges(_written_runs(spark, runs, f"{out}/{RUNS}", form), spec, form),
            CATALOGUE: catalogue.sortWithinPartitions("namespace", "name", "field"),
        }
    for name, frame in frames.items():
        yield name, write_files(frame, f"{out}/{name}", form, file_bytes=spec.file_bytes)


def _written_runs(spark: SparkSession, runs: DataFrame, path: str, form: Format) -> DataFrame:
    """Return the columns of runs that edges need, read from the written files if the format has types."""
    if form is not Format.PARQUET:
        return runs.select(*RUN_COLUMNS)
    # Run rows, which are most of a store, are read only once, and both tables have the same runs even while
    # writers run.
    written = spark.read.schema(runs.schema).parquet(path).select(*RUN_COLUMNS)
    # One task reads a file, which may contain all runs.
    return written.repartition(range_scan.partition_count(spark))


def _edges(runs: DataFrame, spec: ExportSpec, form: Format) -> DataFrame:
    """Return a lazy frame of the edges of runs, sorted by start, or with `distinct` of each edge once."""
    if not spec.distinct:
        return sort_by_start(run_edges(runs, spec.settings, namespace=spec.namespace), form)
    edges = distinct_edges(runs, spec.settings, namespace=spec.namespace)
    return edges.sortWithinPartitions(*EDGE_COLUMNS)


def _manifest(spec: ExportSpec, form: Format, started_ms: int, rows: Mapping[str, int]) -> dict[str, Any]:
    """Return what was exported, as JSON members without the numbers of files."""
    window = {"start_ms": spec.window.start_ms, "end_ms": spec.window.stop_ms, "namespace": spec.namespace}
    time_text = datetime.fromtimestamp(started_ms / 1000, UTC).isoformat(timespec="seconds")
    members = {"job": "export", "store": spec.settings.store, "format": form.value, **window}
    return {**members, "started": time_text, "version": VERSION, "rows": dict(rows)}
