"""Years of lineage into a store: files of documents, events and proposals, as fast as the cores allow."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.spark import line_frames as frames
from fll_hbase.spark.rejects import make_room
from fll_hbase.spark.stats import Counts, numbers, words
from fll_hbase.spark.worker_ingest import RECORDED, REJECTED, REPEATED, REPLACED, Target, recorded

PART_BYTES = 2**30
"""Of input; so much of it meets in one partition."""

TEXT, PARQUET = "text", "parquet"


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a load came to, how long it took, and where rejected lines are."""

    counts: Counts
    seconds: float
    rejects: str

    def summary(self) -> dict[str, int | float | str]:
        """For a program."""
        return {"job": "load", **numbers(self.counts, self.seconds), "rejects": self.rejects}

    def __str__(self) -> str:
        return words(self.counts, self.seconds, rejects=self.rejects)


def load(
    spark: SparkSession, paths: Sequence[str], target: Target, *, rejects: str, form: str = TEXT
) -> Loaded:
    """Record all lines of the files; those rejected go to the folder `rejects`, in place of earlier ones.

    Files are taken in the order of their names. Started again after any end it comes to the same rows. Raises
    ConfigurationError, before anything is recorded, for a folder that rejects cannot go to.
    """
    began = time.monotonic()
    read = frames.of_parquet if form == PARQUET else frames.of_text
    every = read(spark, paths)
    make_room(spark, rejects, inputs=every.inputFiles())
    lines = frames.not_blank(every)
    parts = parts_of(spark, every)
    outcomes = recorded(frames.met(lines, parts=parts), target).persist(StorageLevel.DISK_ONLY)
    try:
        counts = counted(outcomes)
        write_rejects(outcomes, every, rejects, any_=counts.rejected > 0)
    finally:
        outcomes.unpersist()
    return Loaded(counts, time.monotonic() - began, rejects)


def parts_of(spark: SparkSession, lines: DataFrame) -> int:
    """Into how many parts lines meet: enough for all cores, none of them too large."""
    plan = lines._jdf.queryExecution().optimizedPlan()
    size_bytes = int(str(plan.stats().sizeInBytes()))
    return max(spark.sparkContext.defaultParallelism, -(-size_bytes // PART_BYTES))


def counted(outcomes: DataFrame) -> Counts:
    """What became of the lines, in numbers; asking records them."""
    rows = outcomes.groupBy("outcome").agg(f.sum("count").alias("count")).collect()
    found = {row["outcome"]: int(row["count"]) for row in rows}
    replaced = found.get(REPLACED, 0)
    return Counts(
        recorded=found.get(RECORDED, 0) + replaced,
        repeated=found.get(REPEATED, 0),
        rejected=found.get(REJECTED, 0),
        replaced=replaced,
    )


def write_rejects(outcomes: DataFrame, lines: DataFrame, folder: str, *, any_: bool) -> None:
    """Rejected lines, with their numbers; the folder is replaced where there are none, too."""
    found = rejected(outcomes)
    write_numbered(
        frames.numbered(found, lines) if any_ else found.withColumn("line", f.lit(0).cast("bigint")), folder
    )


def rejected(outcomes: DataFrame) -> DataFrame:
    """The outcomes of lines that were rejected."""
    return outcomes.where(f.col("outcome") == REJECTED)


def write_numbered(found: DataFrame, folder: str) -> None:
    """Rejected lines as NDJSON: `file`, `line`, `faults`, and the line itself as `value`.

    What is not UTF-8 in a line stands as U+FFFD there; the line as it is then stands in `bytes`, in base64.
    """
    text = f.col("value").cast("string")
    raw = f.when(~f.is_valid_utf8(text), f.base64("value"))
    told = found.select("file", "line", "faults", text.alias("value"), raw.alias("bytes"))
    told.coalesce(1).sort("file", "line").write.mode("overwrite").json(folder)
