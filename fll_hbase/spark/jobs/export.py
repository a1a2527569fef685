"""Lineage out of a store into files that anything reads: runs, edges and the catalogue, or events of them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from pyspark.sql import DataFrame, DataFrameWriter, Observation, SparkSession
from pyspark.sql import functions as f

from fll_hbase import clock
from fll_hbase.config import Settings
from fll_hbase.errors import ConfigurationError
from fll_hbase.model.window import Window
from fll_hbase.spark import datasource, event_frames
from fll_hbase.spark.datasource.options import ALWAYS, TableName
from fll_hbase.spark.distinct_edges import EDGE_COLUMNS, distinct_edges

RUNS, EDGES, CATALOGUE, EVENTS = "runs", "edges", "catalogue", "events"
"""The folders of an export."""

DAY = "day"
_TIMES = "spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS"
"""In UTC as Parquet says it; by default Spark writes a form that others take for a time of no zone."""

_CSV = {
    "header": "true",
    "escape": '"',
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
}


class Format(Enum):
    """What files are written."""

    OPENLINEAGE = "openlineage"
    PARQUET = "parquet"
    CSV = "csv"


@dataclass(frozen=True, slots=True)
class ExportSpec:
    """What is exported: of runs that start in the window, and with a namespace what touches it.

    `distinct`: each edge once, instead of once for each run.
    """

    settings: Settings
    window: Window = ALWAYS
    namespace: str = ""
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What was written where: rows by folder, and how long it took."""

    out: str
    format: Format
    rows: Mapping[str, int]
    seconds: float

    def summary(self) -> dict[str, Any]:
        """For a program."""
        told = {"job": "export", "format": self.format.value, "out": self.out}
        return {**told, **self.rows, "seconds": round(self.seconds, 1)}

    def __str__(self) -> str:
        counts = ", ".join(f"{count:,} in {name}" for name, count in self.rows.items())
        return f"{counts}: {self.out}, {self.seconds:.0f} s"


def export(
    spark: SparkSession, wanted: ExportSpec, out: str, *, form: Format, overwrite: bool = False
) -> ExportReport:
    """Write the files. Raises ConfigurationError where something is at `out` already, unless it may be replaced."""
    began = time.monotonic()
    _make_room(spark, out, overwrite=overwrite)
    datasource.register(spark)
    spark.conf.set(*_TIMES)
    runs, catalogue = _table(spark, wanted, TableName.RUNS), _table(spark, wanted, TableName.FIELDS)
    if form is Format.OPENLINEAGE:
        rows = {EVENTS: _write_events(runs, catalogue, wanted, f"{out}/{EVENTS}")}
    else:
        frames = {
            RUNS: sort_by_start(runs, form),
            EDGES: _edges(spark, runs, wanted, form),
            CATALOGUE: catalogue.orderBy("namespace", "name", "field"),
        }
        rows = {name: _write(frame, f"{out}/{name}", form) for name, frame in frames.items()}
    return ExportReport(out, form, rows, time.monotonic() - began)


def sort_by_start(frame: DataFrame, form: Format) -> DataFrame:
    """In the order of starts within each file; for Parquet a file is of one day.

    An order over all files would read the store twice, to learn which starts there are.
    """
    if form is Format.CSV:
        return frame.sortWithinPartitions("start_ms", "run")
    dated = frame.withColumn(DAY, f.date_format("start", "yyyy-MM-dd"))
    return dated.repartition(DAY).sortWithinPartitions(DAY, "start_ms", "run")


def _edges(spark: SparkSession, runs: DataFrame, wanted: ExportSpec, form: Format) -> DataFrame:
    if not wanted.distinct:
        return sort_by_start(_table(spark, wanted, TableName.EDGES), form)
    return distinct_edges(runs, wanted.settings, namespace=wanted.namespace).orderBy(*EDGE_COLUMNS)


def _table(spark: SparkSession, wanted: ExportSpec, table: TableName) -> DataFrame:
    options = {"store": wanted.settings.store, "table": table.value}
    if table is not TableName.FIELDS and wanted.window != ALWAYS:
        options |= {"start": _seconds(wanted.window.start_ms), "end": _seconds(wanted.window.stop_ms)}
    if wanted.namespace:
        options["namespace"] = wanted.namespace
    return spark.read.format(datasource.FORMAT).options(**options).load()


def _write(frame: DataFrame, folder: str, form: Format) -> int:
    """Write a table; returns its rows."""
    seen = Observation()
    writer = frame.observe(seen, f.count(f.lit(1)).alias("rows")).write
    if form is Format.CSV:
        writer.options(**_CSV).csv(folder)
    else:
        _by_day(writer, frame).parquet(folder)
    return int(seen.get["rows"])


def _by_day(writer: DataFrameWriter, frame: DataFrame) -> DataFrameWriter:
    return writer.partitionBy(DAY) if DAY in frame.columns else writer


def _write_events(runs: DataFrame, catalogue: DataFrame, wanted: ExportSpec, folder: str) -> int:
    """One event a line: of runs, and of what is known of end points without any."""
    of_runs = event_frames.run_events(runs, wanted.settings)
    of_all = of_runs.unionByName(
        event_frames.dataset_events(catalogue, wanted.settings, time_ms=clock.now_ms())
    )
    seen = Observation()
    of_all.observe(seen, f.count(f.lit(1)).alias("rows")).write.text(folder)
    return int(seen.get["rows"])


def _make_room(spark: SparkSession, out: str, *, overwrite: bool) -> None:
    """An empty folder, or none yet; of what is there only earlier exports are removed."""
    java: Any = spark._jvm
    path = java.org.apache.hadoop.fs.Path(out)
    files = path.getFileSystem(spark._jsc.hadoopConfiguration())
    if not overwrite and files.exists(path) and len(files.listStatus(path)):
        raise ConfigurationError(
            f"{out} is not empty; --overwrite replaces what an earlier export wrote there"
        )
    for folder in (RUNS, EDGES, CATALOGUE, EVENTS):
        files.delete(java.org.apache.hadoop.fs.Path(path, folder), True)


def _seconds(moment_ms: int) -> str:
    return f"{moment_ms // 1000}.{moment_ms % 1000:03d}"
