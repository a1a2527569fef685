"""Years of lineage into a store: files of documents, events and proposals, as fast as the cores allow."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.spark import line_frames as frames
from fll_hbase.spark.rejects import prepare_directory
from fll_hbase.spark.stats import LineCounts, describe, to_members
from fll_hbase.spark.worker_ingest import RECORDED, REJECTED, REPEATED, REPLACED, Target, ingest_lines

PART_BYTES = 2**30
"""Of input; so much of it meets in one partition."""

TEXT, PARQUET = "text", "parquet"


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What a load came to, how long it took, and where rejected lines are."""

    counts: LineCounts
    seconds: float
    rejects: str

    def summary(self) -> dict[str, int | float | str]:
        """For a program."""
        return {"job": "load", **to_members(self.counts, self.seconds), "rejects": self.rejects}

    def __str__(self) -> str:
        return describe(self.counts, self.seconds, rejects=self.rejects)


def load(
    spark: SparkSession, paths: Sequence[str], target: Target, *, rejects: str, form: str = TEXT
) -> LoadReport:
    """Record all lines of the files; those rejected go to the folder `rejects`, in place of earlier ones.

    Files are taken in the order of their names. Started again after any end it comes to the same rows. Raises
    ConfigurationError, before anything is recorded, for a folder that rejects cannot go to.
    """
    began = time.monotonic()
    read = frames.read_parquet if form == PARQUET else frames.read_text
    every = read(spark, paths)
    prepare_directory(spark, rejects, inputs=every.inputFiles())
    lines = frames.drop_blank(every)
    parts = partition_count(spark, every)
    outcomes = ingest_lines(frames.group_by_run(lines, partitions=parts), target).persist(
        StorageLevel.DISK_ONLY
    )
    try:
        counts = count_outcomes(outcomes)
        write_rejects(outcomes, every, rejects, any_=counts.rejected > 0)
    finally:
        outcomes.unpersist()
    return LoadReport(counts, time.monotonic() - began, rejects)


def partition_count(spark: SparkSession, lines: DataFrame) -> int:
    """Into how many parts lines meet: enough for all cores, none of them too large."""
    plan = lines._jdf.queryExecution().optimizedPlan()
    size_bytes = int(str(plan.stats().sizeInBytes()))
    return max(spark.sparkContext.defaultParallelism, -(-size_bytes // PART_BYTES))


def count_outcomes(outcomes: DataFrame) -> LineCounts:
    """What became of the lines, in numbers; asking records them."""
    rows = outcomes.groupBy("outcome").agg(f.sum("count").alias("count")).collect()
    found = {row["outcome"]: int(row["count"]) for row in rows}
    replaced = found.get(REPLACED, 0)
    return LineCounts(
        recorded=found.get(RECORDED, 0) + replaced,
        repeated=found.get(REPEATED, 0),
        rejected=found.get(REJECTED, 0),
        replaced=replaced,
    )


def write_rejects(outcomes: DataFrame, lines: DataFrame, folder: str, *, any_: bool) -> None:
    """Rejected lines, with their numbers; the folder is replaced where there are none, too."""
    found = rejected_lines(outcomes)
    write_rejected_lines(
        frames.with_line_numbers(found, lines) if any_ else found.withColumn("line", f.lit(0).cast("bigint")),
        folder,
    )


def rejected_lines(outcomes: DataFrame) -> DataFrame:
    """The outcomes of lines that were rejected."""
    return outcomes.where(f.col("outcome") == REJECTED)


def write_rejected_lines(found: DataFrame, folder: str) -> None:
    """Rejected lines as NDJSON: `file`, `line`, `faults`, and the line itself as `value`.

    What is not UTF-8 in a line stands as U+FFFD there; the line as it is then stands in `bytes`, in base64.
    """
    text = f.col("value").cast("string")
    raw = f.when(~f.is_valid_utf8(text), f.base64("value"))
    told = found.select("file", "line", "faults", text.alias("value"), raw.alias("bytes"))
    told.coalesce(1).sort("file", "line").write.mode("overwrite").json(folder)
