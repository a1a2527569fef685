"""Lineage as it comes, batch by batch: what one batch wrote, a second go of the same batch writes again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from fll_hbase.errors import ConfigurationError
from fll_hbase.spark import line_frames as frames
from fll_hbase.spark.jobs.load import count_outcomes, rejected_lines, write_rejected_lines
from fll_hbase.spark.rejects import prepare_directory
from fll_hbase.spark.shutdown import StopFlag
from fll_hbase.spark.stats import LineCounts
from fll_hbase.spark.stream_sources import StreamSource
from fll_hbase.spark.stream_stats import BatchReport, StreamReport
from fll_hbase.spark.worker_ingest import Target, ingest_lines

POLL_SECONDS = 0.1
BATCH = "batch="
"""Rejected lines of each batch have a folder, by which Spark knows `batch` as a column."""


@dataclass(frozen=True, slots=True)
class StreamPaths:
    """Where a stream keeps how far it is, and what it rejected; both belong to one source and one store."""

    checkpoint: str
    rejects: str


@dataclass(frozen=True, slots=True)
class Trigger:
    """How often a batch begins at most; `once`: whether all there is is taken, and then no more."""

    interval_seconds: float = 1.0
    once: bool = False


def stream(
    spark: SparkSession,
    source: StreamSource,
    target: Target,
    *,
    paths: StreamPaths,
    trigger: Trigger,
    report: Callable[[BatchReport], None],
    stop: StopFlag,
) -> StreamReport:
    """Record what arrives until it is asked to stop, or with `pace.once` until no more is there.

    Each batch is told when all of it is recorded. Raises what a batch failed of: started again with the same
    checkpoint the stream goes on with that batch. Raises ConfigurationError, before anything is recorded, for a
    source that cannot be read and for folders that cannot be written, or that the stream would read.
    """
    began = time.monotonic()
    for folder in (paths.checkpoint, paths.rejects):
        if source.reads(spark, folder):
            raise ConfigurationError(f"{folder!r} is in the folder that is read; name another one")
    arriving = source.load(spark)
    prepare_directory(spark, paths.rejects, inputs=(), written=("_", ".", BATCH))
    batches = _Batches(source, target, paths.rejects, report, stop)
    trigger = (
        {"availableNow": True} if trigger.once else {"processingTime": f"{trigger.interval_seconds} seconds"}
    )
    writer = arriving.writeStream.foreachBatch(batches)
    query = writer.option("checkpointLocation", paths.checkpoint).trigger(**trigger).start()
    _follow(query, stop)
    error = batches.error or query.exception()
    if error is not None and not isinstance(error, _Stopped):
        raise error
    return StreamReport(batches.done, batches.counts, time.monotonic() - began, paths.rejects)


def _follow(query: StreamingQuery, stop: StopFlag) -> None:
    """Until the query ends; when it is asked to and no batch is under way it is stopped."""
    while query.isActive:
        if stop.is_set and not query.status["isTriggerActive"]:
            query.stop()
        time.sleep(POLL_SECONDS)


class _Stopped(Exception):
    """A batch that was not begun; the one before it is done, and the checkpoint says so."""


class _Batches:
    """Records batches; keeps what they came to, and the error that ended it."""

    def __init__(
        self,
        arrivals: StreamSource,
        target: Target,
        rejects: str,
        tell: Callable[[BatchReport], None],
        stop: StopFlag,
    ) -> None:
        self._arrivals = arrivals
        self._target = target
        self._rejects = rejects
        self._tell = tell
        self._stop = stop
        self.done = 0
        self.counts = LineCounts()
        self.error: Exception | None = None

    def __call__(self, batch: DataFrame, number: int) -> None:
        try:
            self._record(batch, number)
        except Exception as error:
            self.error = error
            raise

    def _record(self, batch: DataFrame, number: int) -> None:
        context = batch.sparkSession.sparkContext
        if self._stop.is_set:
            context.setLogLevel("OFF")  # Spark knows no end between two batches but by an error, and logs it
            raise _Stopped
        began = time.monotonic()
        lines = frames.drop_blank(self._arrivals.lines(batch))
        met = frames.group_by_run(lines, partitions=context.defaultParallelism)
        outcomes = ingest_lines(met, self._target).persist(StorageLevel.DISK_ONLY)
        try:
            counts = count_outcomes(outcomes)
            self._keep(outcomes, batch, f"{self._rejects}/{BATCH}{number}", counts)
        finally:
            outcomes.unpersist()
        self.done += 1
        self.counts += counts
        self._tell(BatchReport(number, counts, time.monotonic() - began))

    def _keep(self, outcomes: DataFrame, batch: DataFrame, folder: str, counts: LineCounts) -> None:
        """Put the rejects of a batch in place of those of an earlier go."""
        if counts.rejected:
            write_rejected_lines(self._arrivals.with_line_numbers(rejected_lines(outcomes), batch), folder)
        else:
            _remove(batch.sparkSession, folder)


def _remove(spark: SparkSession, folder: str) -> None:
    """Remove a folder of any file system that Spark knows, where it is there."""
    java: Any = spark._jvm
    path = java.org.apache.hadoop.fs.Path(folder)
    path.getFileSystem(spark._jsc.hadoopConfiguration()).delete(path, True)
