"""Rejected lines of a stream: a directory for each batch, the limit, and the topic of dead letters."""

from __future__ import annotations

from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.runtime.errors import ConfigurationError, TooManyRejects
from fll_hbase.spark.exports.hadoop_files import HadoopDirectory
from fll_hbase.spark.exports.output_directory import REJECTS, Owner, claim
from fll_hbase.spark.lines.line_frames import FILE, VALUE
from fll_hbase.spark.lines.reject_limit import NO_LIMIT, RejectLimit
from fll_hbase.spark.lines.rejects import text_columns
from fll_hbase.spark.stats import LineCounts
from fll_hbase.spark.streams.kafka_connector import connector_advice
from fll_hbase.spark.streams.stream_options import EARLIEST, DeadLetterTopic
from fll_hbase.spark.streams.stream_sources import HEADERS, MESSAGE, MESSAGE_KEY

BATCH = "batch="
"""Prefix of the directory of a batch, which Spark reads as a partition column `batch`."""

FILE_LINES = 100_000
"""Maximum number of rejected lines of one file."""


BATCH_LINES_MIN = 1_000
"""Minimum number of lines for a share, so that one rejected line of a small batch does not end the stream."""

EXAMPLES, EXAMPLE_CHARACTERS = 3, 300
"""Rejected lines in the error of a stream that ends, and most characters of each."""


FAULTS_CHARACTERS_MAX = 4_000
"""Maximum number of characters of the errors in a header. The directory of rejected lines has all of them."""

HEADER_TYPE = "array<struct<key:string,value:binary>>"


@dataclass(frozen=True, slots=True)
class Rejection:
    """The limit of rejected lines of a batch, and the topic that gets them in addition to the directory."""

    limit: RejectLimit = NO_LIMIT
    dead_letter: DeadLetterTopic | None = None

    def check(self, rejected: DataFrame, counts: LineCounts) -> None:
        """Raise TooManyRejects with the first located lines if a batch's rejected lines exceed the limit.

        For a share, a batch of fewer than BATCH_LINES_MIN lines counts as that many. Reads `rejected` only to
        raise.
        """
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
        """Replace the rejected lines of an earlier attempt at a batch by `count` located lines, or by none.

        Raises ConfigurationError as `claim`, and LineageError as `OutputDirectory.replacing`.
        """
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
        headers = f.transform(
            HEADERS, lambda header: f.struct(header["key"].alias("key"), *text_columns(header["value"]))
        )
        columns += [*text_columns(f.col(MESSAGE_KEY), "key", "keyBytes"), headers.alias(HEADERS)]
    return [*columns, f.col("faults"), *text_columns(f.col("value"))]


def check_topic(spark: SparkSession, target: DeadLetterTopic) -> None:
    """Raise ConfigurationError if the topic does not exist or cannot be reached; reads no message."""
    reader = spark.read.format("kafka").options(**target.client_options)
    try:
        # Planning asks the servers for the partitions, and reads no message.
        reader.option("subscribe", target.topic).option(
            "startingOffsets", EARLIEST
        ).load().rdd.getNumPartitions()
    except (PySparkException, Py4JJavaError) as error:
        causes = [line for line in str(error).splitlines() if "Exception: " in line]
        reason = causes[-1].strip() if causes else str(error).partition("\n")[0]
        missing = connector_advice() if "Failed to find data source" in reason else ""
        raise ConfigurationError(
            f"no messages can be sent to topic {target.topic!r}: {reason}{missing}"
        ) from error


def send_dead_letters(rejected: DataFrame, target: DeadLetterTopic) -> None:
    """Send the located rejected lines of a batch. Raises the error of a broker that does not store them all.

    A repeated batch is sent again.
    """
    is_message = MESSAGE in rejected.columns
    original = [f.col(MESSAGE), f.col(VALUE)] if is_message else [f.col(VALUE)]
    key = f.col(MESSAGE_KEY) if is_message else f.lit(None).cast("binary")
    headers = f.col(HEADERS) if is_message else f.lit(None).cast(HEADER_TYPE)
    messages = rejected.select(
        f.lit(target.topic).alias("topic"),
        key.alias("key"),
        f.coalesce(*original).alias("value"),
        f.concat(f.coalesce(headers, f.array().cast(HEADER_TYPE)), _fault_headers()).alias("headers"),
    )
    messages.write.format("kafka").options(**target.client_options).save()


def _fault_headers() -> Column:
    """Return headers with the members of a rejected line."""
    members = {
        "fll.file": f.col(FILE),
        "fll.line": f.col("line").cast("string"),
        "fll.faults": f.substring(f.array_join("faults", "; "), 1, FAULTS_CHARACTERS_MAX),
    }
    headers = [
        f.struct(f.lit(name).alias("key"), value.cast("binary").alias("value"))
        for name, value in members.items()
    ]
    return f.array(*headers)
