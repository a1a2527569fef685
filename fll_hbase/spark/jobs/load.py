"""Load files of documents, events and proposals into a store."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from fll_hbase.spark import line_frames
from fll_hbase.spark.rejects import prepare_directory, write_rejects
from fll_hbase.spark.stats import LoadReport
from fll_hbase.spark.worker_ingest import Target, count_outcomes, ingest_lines

PARTITION_BYTES = 2**30
"""Input bytes of a partition of the shuffle by run; large, so that references recorded together are near."""

TEXT, PARQUET = "text", "parquet"


def load(
    spark: SparkSession, paths: Sequence[str], target: Target, *, rejects: str, form: str = TEXT
) -> LoadReport:
    """Record all lines of the files, in the order of file names; `form` is TEXT or PARQUET.

    Replaces the directory `rejects` by the rejected lines. Idempotent: after any interruption, running it
    again produces the same rows. Raises ConfigurationError, before anything is recorded, for a directory
    that rejects cannot be written to.
    """
    started = time.monotonic()
    read = line_frames.read_parquet if form == PARQUET else line_frames.read_text
    lines = read(spark, paths)
    prepare_directory(spark, rejects, inputs=lines.inputFiles())
    runs = line_frames.group_by_run(line_frames.drop_blank(lines), partitions=partition_count(spark, lines))
    # Persisted, because computing it again would record again: on disk, since rejects can be many.
    outcomes = ingest_lines(runs, target).persist(StorageLevel.DISK_ONLY)
    try:
        counts = count_outcomes(outcomes)
        write_rejects(outcomes, lines, rejects, count=counts.rejected)
    finally:
        outcomes.unpersist()
    return LoadReport(counts, time.monotonic() - started, rejects)


def partition_count(spark: SparkSession, lines: DataFrame) -> int:
    """Return the number of partitions of the shuffle: one per core, more if they exceed PARTITION_BYTES."""
    # PySpark has no public way to the estimated size of the input.
    plan = lines._jdf.queryExecution().optimizedPlan()
    size_bytes = int(str(plan.stats().sizeInBytes()))
    return max(spark.sparkContext.defaultParallelism, -(-size_bytes // PARTITION_BYTES))
