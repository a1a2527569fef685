"""Rejected lines of a stream: a directory for each batch, the limit, and the dead letters."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.runtime.errors import TooManyRejects
from fll_hbase.spark.exports.hadoop_files import HadoopDirectory
from fll_hbase.spark.exports.output_directory import REJECTS, Owner, claim
from fll_hbase.spark.lines.reject_limit import NO_LIMIT, RejectLimit
from fll_hbase.spark.lines.rejects import text_columns
from fll_hbase.spark.stats import LineCounts
from fll_hbase.spark.streams.stream_options import DeadLetterTopic
from fll_hbase.spark.streams.stream_sources import HEADERS, MESSAGE_KEY

BATCH = "batch="
"""Prefix of the directory of a batch, which Spark reads as a partition column `batch`."""

FILE_LINES = 100_000
"""Maximum number of rejected lines in one file."""


BATCH_LINES_MIN = 1_000
"""Minimum number of lines for a share, so that one rejected line of a small batch does not end a stream."""

EXAMPLES, EXAMPLE_CHARACTERS = 3, 300
"""Rejected lines in the error of a stream that ends, and most characters of each."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """The limit of rejected lines of a batch, and the topic that gets them in addition to the directory."""

    limit: RejectLimit = NO_LIMIT
    dead_letter: DeadLetterTopic | None = None

    def check(self, rejected: DataFrame, counts: LineCounts) -> None:
        """Raise TooManyRejects with the first located lines if the rejected lines of a batch are too many."""
        if not self.limit.is_exceeded(counts.rejected, max(counts.read, BATCH_LINES_MIN)):
            return
        first = rejected.select("file", "line", f.element_at("faults", 1).alias("fault")).sort("file", "line")
        examples = "; ".join(
            f"{row['file']}, line {row['line']}: {row['fault']}"[:EXAMPLE_CHARACTERS]
            for row in first.take(EXAMPLES)
        )
        raise TooManyRejects(
            f"{counts.rejected:,} of the {counts.read:,} lines of a batch are rejected, more than"
            f" {self.limit}: {examples}. The batch is not committed: correct its source, or start again with"
            " a higher limit"
        )


class BatchRejects:
    """The directory of rejected lines of one checkpoint.

    Raises ConfigurationError if it belongs to another checkpoint, or has files that no stream wrote.
    """

    def __init__(self, spark: SparkSession, path: str, checkpoint: str) -> None:
        """Claim the directory for a checkpoint, named as `StreamIdentity.owner`; create it if absent."""
        self._spark = spark
        self._path = path
        self._owner = Owner(REJECTS, "stream", checkpoint)
        claim(spark, path, self._owner, parts=BATCH)

    def replace(self, number: int, rejected: DataFrame | None, *, count: int = 0) -> None:
        """Replace the rejected lines of an earlier attempt at a batch by `count` located lines, or none."""
        name = f"{BATCH}{number}"
        if rejected is None and not HadoopDirectory(self._spark, self._path).exists(name):
            return
        directory = claim(self._spark, f"{self._path}/{name}", self._owner)
        if rejected is None:
            directory.clear()
            return
        with directory.replacing() as url:
            files = -(-count // FILE_LINES)
            rows = rejected.repartitionByRange(files, "file", "line").sortWithinPartitions("file", "line")
            rows.select(*_columns(rejected)).write.mode("append").json(url)


def _columns(rejected: DataFrame) -> list[Column]:
    """Return the columns of the written lines, with key and headers only if the lines are messages."""
    columns = [f.col("file"), f.col("line")]
    if MESSAGE_KEY in rejected.columns:
        columns += [*text_columns(f.col(MESSAGE_KEY), "key", "keyBytes"), _header_texts().alias(HEADERS)]
    return [*columns, f.col("faults"), *text_columns(f.col("value"))]


def _header_texts() -> Column:
    """Return a column with the headers of a message, with values as text, or as base64 if not UTF-8."""
    return f.transform(
        HEADERS, lambda header: f.struct(header["key"].alias("key"), *text_columns(header["value"]))
    )
