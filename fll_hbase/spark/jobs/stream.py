"""Recording of a stream of lines batch by batch; a repeated batch produces the same rows."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import permutations
from threading import Event
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.spark.exports.hadoop_files import HadoopDirectory, is_subdirectory
from fll_hbase.spark.lines import line_frames
from fll_hbase.spark.lines.rejects import rejected_lines
from fll_hbase.spark.lines.worker_ingest import Target, count_outcomes, ingest_lines
from fll_hbase.spark.stats import BatchReport, LineCounts, StreamReport, parse_lag
from fll_hbase.spark.streams.stream_identity import StreamIdentity, claim_checkpoint
from fll_hbase.spark.streams.stream_rejects import BatchRejects, Rejection, check_topic, send_dead_letters
from fll_hbase.spark.streams.stream_sources import StreamSource
from fll_hbase.store.factory import open_store
from fll_hbase.tables import canonical_url

POLL_SECONDS = 0.1
REPORTS_MAX = 50
"""Maximum number of batch reports that await printing. Spark keeps the progress of the last 100 batches."""

CONCURRENT = "CONCURRENT_STREAM_LOG_UPDATE"
"""Spark's name for the error of two streams that write the same entry of a checkpoint."""

NO_REJECTION = Rejection()


@dataclass(frozen=True, slots=True)
class StreamPaths:
    """Directories of the Spark checkpoint and of rejected lines, both of one source and one store."""

    checkpoint: str
    rejects: str


@dataclass(frozen=True, slots=True)
class Trigger:
    """Minimum seconds between batch starts. With `once`, read what is available and end."""

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
    stop: Event,
    rejection: Rejection = NO_REJECTION,
) -> StreamReport:
    """Record batches until `stop` is set, or with `trigger.once` until the source is exhausted.

    Calls `report` when a batch is committed. Raises the error of a failed batch; a new start with the same
    checkpoint continues with it. Before anything is recorded, raises StoreUnavailable, and ConfigurationError
    for a store, source or dead-letter topic that cannot be used, or directories that cannot be written, are
    below the source, or belong to another stream.
    """
    started = time.monotonic()
    rejects = claim_paths(spark, source, target, paths)
    # Opened only now: with a mistyped URL, this would create a store.
    open_store(target.settings).close()
    lines = source.load(spark)
    if rejection.dead_letter:
        check_topic(spark, rejection.dead_letter)
    batches = _BatchRecorder(source, target, rejects, rejection, stop)
    writer = lines.writeStream.foreachBatch(batches).option("checkpointLocation", paths.checkpoint)
    query = writer.trigger(**trigger.options()).start()
    try:
        _wait(query, batches, report, stop)
    except Exception:
        # `report` may fail, for example if the output is closed.
        query.stop()
        raise
    error = batches.error or query.exception()
    if error is not None and not isinstance(error, _Stopped):
        raise _explain(error, paths.checkpoint)
    return StreamReport(batches.recorded, batches.counts, time.monotonic() - started, paths.rejects)


def claim_paths(
    spark: SparkSession, source: StreamSource, target: Target, paths: StreamPaths
) -> BatchRejects:
    """Claim the directories for this source and store, creating absent ones; return the one of rejects.

    Reads and records no line. Raises ConfigurationError for directories of another stream, in the folder of
    the source, in each other, or that cannot be written.
    """
    # A stream that reads its own rejects would never end.
    for path in (paths.checkpoint, paths.rejects):
        if source.reads(spark, path):
            raise ConfigurationError(f"{path!r} is in the folder that the stream reads; use another one")
    for path, parent in permutations((paths.checkpoint, paths.rejects)):
        if is_subdirectory(spark, path, parent):
            raise ConfigurationError(f"{path!r} is in {parent!r}; use separate directories")
    identity = StreamIdentity(
        store=canonical_url(target.settings.store),
        source=source.name(spark),
        checkpoint=HadoopDirectory(spark, paths.checkpoint).url,
        rejects=HadoopDirectory(spark, paths.rejects).url,
        ending=source.ending,
        begun="",
    )
    agreed = claim_checkpoint(spark, paths.checkpoint, identity)
    return BatchRejects(spark, paths.rejects, agreed.owner)


def _wait(
    query: StreamingQuery, batches: _BatchRecorder, report: Callable[[BatchReport], None], stop: Event
) -> None:
    """Report batches until the query ends, and stop it between two batches when the flag is set."""
    while query.isActive:
        _report(query, batches.finished, report)
        # stop() would interrupt the tasks of a running batch. _Stopped ends a batch that begins just now.
        if stop.is_set() and not query.status["isTriggerActive"]:
            query.stop()
        time.sleep(POLL_SECONDS)
    _report(query, batches.finished, report)


def _report(
    query: StreamingQuery, finished: deque[BatchReport], report: Callable[[BatchReport], None]
) -> None:
    """Report the batches that Spark has committed, with their lag; all others once the query has ended."""
    while finished:
        progress = _progress(query, finished[0].number)
        if progress is None and query.isActive:
            # Spark publishes the progress only after it has committed the batch.
            return
        report(replace(finished.popleft(), lag=parse_lag(progress or {})))


def _progress(query: StreamingQuery, number: int) -> Mapping[str, Any] | None:
    """Return Spark's progress of a batch as JSON, None before its commit, or {} if Spark has forgotten it."""
    last = query.lastProgress
    if last is None or last["batchId"] < number:
        return None
    recent = [last] if last["batchId"] == number else query.recentProgress
    for progress in recent:
        if progress["batchId"] == number:
            # Spark 3.5 returns plain dictionaries.
            return json.loads(progress.json) if hasattr(progress, "json") else progress
    return {}


def _explain(error: Exception, checkpoint: str) -> Exception:
    """Return the error itself, or if two streams used one checkpoint, an error that states what to do."""
    if CONCURRENT not in str(error):
        return error
    return ConfigurationError(
        f"another stream is using the checkpoint {checkpoint!r}, and has recorded the same batch: stop one"
        " of them; restart this one if it should continue; no line is lost"
    )


class _Stopped(Exception):
    """Ends the query before a batch; the batches before it are in the checkpoint."""


@dataclass
class _BatchRecorder:
    """Records each batch; sums the counts and keeps the error that ended the query."""

    source: StreamSource
    target: Target
    rejects: BatchRejects
    rejection: Rejection
    stop: Event
    finished: deque[BatchReport] = field(default_factory=deque)
    recorded: int = 0
    counts: LineCounts = field(default_factory=LineCounts)
    error: Exception | None = None

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Record a micro-batch; keep an error as `error`, and raise it."""
        try:
            self._record(batch, number)
        # Keep the original error, because Spark wraps it in its own error, which loses the class.
        except Exception as error:
            self.error = error
            raise

    def _record(self, batch: DataFrame, number: int) -> None:
        """Record a micro-batch and its rejects, and keep its report; raise _Stopped once stopped.

        Waits before while REPORTS_MAX reports are not printed. Batch 0 is checked by the source.
        """
        context = batch.sparkSession.sparkContext
        if self.stop.is_set():
            # Only an error ends a Spark query between two batches, and Spark would log its trace.
            context.setLogLevel("OFF")
            raise _Stopped
        # Wait here, so that reports do not fill the memory while nothing reads the output.
        while len(self.finished) >= REPORTS_MAX:
            time.sleep(POLL_SECONDS)
        started = time.monotonic()
        if number == 0:
            self.source.check_first(batch)
        # Persisted as in a load, because collecting the rejected lines would otherwise record all lines
        # again.
        outcomes = self._outcomes(batch, context.defaultParallelism).persist(StorageLevel.DISK_ONLY)
        try:
            counts = count_outcomes(outcomes)
            self._reject(outcomes, batch, number, counts)
        finally:
            outcomes.unpersist()
        self.recorded += 1
        self.counts += counts
        self.finished.append(BatchReport(number, counts, time.monotonic() - started))

    def _outcomes(self, batch: DataFrame, partitions: int) -> DataFrame:
        """Return a lazy frame of the outcomes of a batch's lines; computing it records them."""
        lines = line_frames.drop_blank(self.source.lines(batch))
        outcomes = ingest_lines(line_frames.group_by_run(lines, partitions=partitions), self.target)
        return outcomes.unionByName(self.source.refused_lines(batch))

    def _reject(self, outcomes: DataFrame, batch: DataFrame, number: int, counts: LineCounts) -> None:
        """Write the rejected lines, if any, in place of an earlier attempt's; send them as dead letters.

        Raises TooManyRejects between both, so that no dead letter of a batch beyond the limit is sent.
        """
        if not counts.rejected:
            self.rejects.replace(number, None)
            return
        located = self.source.located(rejected_lines(outcomes), batch)
        self.rejects.replace(number, located, count=counts.rejected)
        # Check before sending, because a batch beyond the limit is run again at each start.
        self.rejection.check(located, counts)
        if self.rejection.dead_letter:
            send_dead_letters(located, self.rejection.dead_letter)
