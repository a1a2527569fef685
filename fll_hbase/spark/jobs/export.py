"""Export of lineage to files: runs, edges and the catalogue as Parquet or CSV, or OpenLineage events."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as f

from fll_hbase.clock import now_ms
from fll_hbase.config import Settings
from fll_hbase.errors import ConfigurationError
from fll_hbase.model.window import Window
from fll_hbase.spark import datasource, event_frames
from fll_hbase.spark.datasource.options import ALWAYS, TableName
from fll_hbase.spark.distinct_edges import EDGE_COLUMNS, distinct_edges

RUNS, EDGES, CATALOGUE, EVENTS = "runs", "edges", "catalogue", "events"
"""The directories of an export."""

DAY = "day"
# By default Spark writes INT96, which other readers take for a local time.
_TIMESTAMPS = "spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS"

_CSV = {
    "header": "true",
    "escape": '"',
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
}


class Format(Enum):
    """Formats of the files."""

    OPENLINEAGE = "openlineage"
    PARQUET = "parquet"
    CSV = "csv"


@dataclass(frozen=True, slots=True)
class ExportSpec:
    """The lineage to export: runs that start in the window; with a namespace, those with a dataset in it.

    `distinct` exports each edge once, instead of once for each run.
    """

    settings: Settings
    window: Window = ALWAYS
    namespace: str = ""
    distinct: bool = False


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
        counts = ", ".join(f"{count:,} in {name}" for name, count in self.rows.items())
        return f"{counts}: {self.out}, {self.seconds:.0f} s"


def export(
    spark: SparkSession, spec: ExportSpec, out: str, *, form: Format, overwrite: bool = False
) -> ExportReport:
    """Write the files below the directory `out`.

    Raises ConfigurationError if `out` is not empty, unless with `overwrite`, which replaces earlier exports.
    """
    started = time.monotonic()
    _prepare_directory(spark, out, overwrite=overwrite)
    datasource.register(spark)
    spark.conf.set(*_TIMESTAMPS)
    runs, catalogue = _table(spark, spec, TableName.RUNS), _table(spark, spec, TableName.FIELDS)
    if form is Format.OPENLINEAGE:
        events = event_frames.run_events(runs, spec.settings)
        datasets = event_frames.dataset_events(catalogue, spec.settings, time_ms=now_ms())
        rows = {EVENTS: _write(events.unionByName(datasets), f"{out}/{EVENTS}", form)}
    else:
        frames = {
            RUNS: sort_by_start(runs, form),
            EDGES: _edges(spark, runs, spec, form),
            CATALOGUE: catalogue.orderBy("namespace", "name", "field"),
        }
        rows = {name: _write(frame, f"{out}/{name}", form) for name, frame in frames.items()}
    return ExportReport(out, form, rows, time.monotonic() - started)


def sort_by_start(frame: DataFrame, form: Format) -> DataFrame:
    """Return the frame sorted by start within each file; for Parquet, with column DAY and one file a day."""
    # Not a global order: Spark would sample the starts first, and read the store twice.
    if form is Format.CSV:
        return frame.sortWithinPartitions("start_ms", "run")
    dated = frame.withColumn(DAY, f.date_format("start", "yyyy-MM-dd"))
    return dated.repartition(DAY).sortWithinPartitions(DAY, "start_ms", "run")


def _edges(spark: SparkSession, runs: DataFrame, spec: ExportSpec, form: Format) -> DataFrame:
    if not spec.distinct:
        return sort_by_start(_table(spark, spec, TableName.EDGES), form)
    return distinct_edges(runs, spec.settings, namespace=spec.namespace).orderBy(*EDGE_COLUMNS)


def _table(spark: SparkSession, spec: ExportSpec, table: TableName) -> DataFrame:
    options = {"store": spec.settings.store, "table": table.value}
    if table is not TableName.FIELDS and spec.window != ALWAYS:
        options |= {"start": _seconds(spec.window.start_ms), "end": _seconds(spec.window.stop_ms)}
    if spec.namespace:
        options["namespace"] = spec.namespace
    return spark.read.format(datasource.FORMAT).options(**options).load()


def _write(frame: DataFrame, path: str, form: Format) -> int:
    """Write a frame to the directory; return the number of its rows."""
    # Observed while they are written: count() would compute the frame, and read the store, once more.
    observation = Observation()
    writer = frame.observe(observation, f.count(f.lit(1)).alias("rows")).write
    if form is Format.OPENLINEAGE:
        writer.text(path)
    elif form is Format.CSV:
        writer.options(**_CSV).csv(path)
    elif DAY in frame.columns:
        writer.partitionBy(DAY).parquet(path)
    else:
        writer.parquet(path)
    return int(observation.get["rows"])


def _prepare_directory(spark: SparkSession, out: str, *, overwrite: bool) -> None:
    """Refuse a directory that is not empty, or remove earlier exports from it; other files stay."""
    java: Any = spark._jvm
    path = java.org.apache.hadoop.fs.Path(out)
    file_system = path.getFileSystem(spark._jsc.hadoopConfiguration())
    # Hadoop's file system rather than pathlib: `out` may be on HDFS or S3.
    if not overwrite and file_system.exists(path) and len(file_system.listStatus(path)):
        raise ConfigurationError(f"{out} is not empty; --overwrite replaces an earlier export")
    for name in (RUNS, EDGES, CATALOGUE, EVENTS):
        file_system.delete(java.org.apache.hadoop.fs.Path(path, name), True)


def _seconds(time_ms: int) -> str:
    # Not a division of floats, which would lose the milliseconds of late starts.
    return f"{time_ms // 1000}.{time_ms % 1000:03d}"
