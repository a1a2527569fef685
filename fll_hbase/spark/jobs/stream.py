"""Record a stream of lines batch by batch; a batch that is run again produces the same rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from fll_hbase.errors import ConfigurationError
from fll_hbase.spark import line_frames
from fll_hbase.spark.rejects import (
    prepare_directory,
    rejected_lines,
    remove_directory,
    write_rejected_lines,
)
from fll_hbase.spark.shutdown import StopFlag
from fll_hbase.spark.stats import BatchReport, LineCounts, StreamReport
from fll_hbase.spark.stream_sources import StreamSource
from fll_hbase.spark.worker_ingest import Target, count_outcomes, ingest_lines

POLL_SECONDS = 0.1
BATCH = "batch="
"""Prefix of the directory of rejected lines of a batch, which Spark reads as a partition column `batch`."""


@dataclass(frozen=True, slots=True)
class StreamPaths:
    """Directories of the Spark checkpoint and of rejected lines, both of one source and one store."""

    checkpoint: str
    rejects: str


@dataclass(frozen=True, slots=True)
class Trigger:
    """Minimum seconds between batch starts; with `once`, read what is available and end."""

    interval_seconds: float = 1.0
    once: bool = False

    def options(self) -> dict[str, Any]:
        """Return the keyword arguments of Spark's `DataStreamWriter.trigger`."""
        return {"availableNow": True} if self.once else {"processingTime": f"{self.interval_seconds} seconds"}


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
    """Record batches until `stop` is set, or with `trigger.once` until the source has no more.

    Calls `report` when a batch is recorded. Raises the error of a failed batch; started again with the same
    checkpoint, the stream continues with that batch. Raises ConfigurationError, before anything is recorded,
    for a source that cannot be read, and for directories that cannot be written or are below the source.
    """
    started = time.monotonic()
    # A stream that reads its own rejects would never end.
    for path in (paths.checkpoint, paths.rejects):
        if source.reads(spark, path):
            raise ConfigurationError(f"{path!r} is in the folder that the stream reads; use another one")
    lines = source.load(spark)
    prepare_directory(spark, paths.rejects, inputs=(), prefixes=("_", ".", BATCH))
    batches = _BatchRecorder(source, target, paths.rejects, report, stop)
    writer = lines.writeStream.foreachBatch(batches).option("checkpointLocation", paths.checkpoint)
    query = writer.trigger(**trigger.options()).start()
    _wait(query, stop)
    error = batches.error or query.exception()
    if error is not None and not isinstance(error, _Stopped):
        raise error
    return StreamReport(batches.recorded, batches.counts, time.monotonic() - started, paths.rejects)


def _wait(query: StreamingQuery, stop: StopFlag) -> None:
    """Wait for the end of the query; stops it between two batches when the flag is set."""
    while query.isActive:
        # stop() during a batch would interrupt its tasks; a batch that begins just now ends by _Stopped.
        if stop.is_set and not query.status["isTriggerActive"]:
            query.stop()
        time.sleep(POLL_SECONDS)


class _Stopped(Exception):
    """Ends the query before a batch; the batches before it are in the checkpoint."""


class _BatchRecorder:
    """Records each batch; sums the counts and keeps the error that ended the query."""

    def __init__(
        self,
        source: StreamSource,
        target: Target,
        rejects: str,
        report: Callable[[BatchReport], None],
        stop: StopFlag,
    ) -> None:
        self._source = source
        self._target = target
        self._rejects = rejects
        self._report = report
        self._stop = stop
        self.recorded = 0
        self.counts = LineCounts()
        self.error: Exception | None = None

    def __call__(self, batch: DataFrame, number: int) -> None:
        try:
            self._record(batch, number)
        # Spark wraps errors of a batch in one of its own, without their class: keep the original.
        except Exception as error:
            self.error = error
            raise

    def _record(self, batch: DataFrame, number: int) -> None:
        context = batch.sparkSession.sparkContext
        if self._stop.is_set:
            # Only an error ends a Spark query between two batches, and Spark would log its trace.
            context.setLogLevel("OFF")
            raise _Stopped
        started = time.monotonic()
        lines = line_frames.drop_blank(self._source.lines(batch))
        runs = line_frames.group_by_run(lines, partitions=context.defaultParallelism)
        # Persisted as in a load: the rejected lines would be recorded again with all others.
        outcomes = ingest_lines(runs, self._target).persist(StorageLevel.DISK_ONLY)
        try:
            counts = count_outcomes(outcomes)
            self._write_rejects(outcomes, batch, f"{self._rejects}/{BATCH}{number}", counts.rejected)
        finally:
            outcomes.unpersist()
        self.recorded += 1
        self.counts += counts
        self._report(BatchReport(number, counts, time.monotonic() - started))

    def _write_rejects(self, outcomes: DataFrame, batch: DataFrame, path: str, count: int) -> None:
        """Replace the rejected lines of an earlier attempt at the batch."""
        if count:
            write_rejected_lines(self._source.with_line_numbers(rejected_lines(outcomes), batch), path)
        else:
            remove_directory(batch.sparkSession, path)
