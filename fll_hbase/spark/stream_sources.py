"""Sources of a stream of lines: a folder of NDJSON files, or Kafka topics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.errors import ConfigurationError
from fll_hbase.spark import line_frames
from fll_hbase.spark.line_frames import BLOCK, FILE, POSITION, TIME_MS, VALUE
from fll_hbase.spark.rejects import is_subdirectory

KAFKA = "kafka://"
FILES_MAX, OFFSETS_MAX = 100, 100_000
FILE_AGE_MAX = "36500d"
"""By default Spark ignores files a week older than the newest one it has seen: lines would be lost."""

CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"


class StreamSource(Protocol):
    """A source of lines."""

    def load(self, spark: SparkSession) -> DataFrame:
        """Open the source as a streaming frame. Raises ConfigurationError."""

    def reads(self, spark: SparkSession, path: str) -> bool:
        """Return whether the source would read files that are written to the directory."""

    def lines(self, batch: DataFrame) -> DataFrame:
        """Return the lines of a batch, with the columns of line_frames.LINE."""

    def with_line_numbers(self, rejected: DataFrame, batch: DataFrame) -> DataFrame:
        """Add `line` to rejected lines of a batch: their number within `file`."""


@dataclass(frozen=True, slots=True)
class FolderSource:
    """NDJSON files moved into a folder, oldest first, at most `files_max` a batch."""

    path: str
    files_max: int = FILES_MAX
    options: Mapping[str, str] = field(default_factory=dict)

    def load(self, spark: SparkSession) -> DataFrame:
        """Open the folder. Raises ConfigurationError, also where it does not exist."""
        options = {"lineSep": "\n", "maxFileAge": FILE_AGE_MAX, "maxFilesPerTrigger": str(self.files_max)}
        text = _load(spark, "text", {**options, **self.options, "path": self.path})
        return text.select(
            f.col("value").cast("binary").alias(VALUE),
            f.col("_metadata.file_path").alias(FILE),
            f.col("_metadata.file_block_start").alias(BLOCK),
            f.unix_millis("_metadata.file_modification_time").alias(TIME_MS),
        )

    def reads(self, spark: SparkSession, path: str) -> bool:
        """Return whether the directory is the folder, or below it."""
        return is_subdirectory(spark, path, self.path)

    def lines(self, batch: DataFrame) -> DataFrame:
        """Return the lines of a batch with their positions."""
        # Not in `load`: Spark refuses monotonically_increasing_id() on a streaming frame.
        return batch.withColumn(POSITION, f.monotonically_increasing_id())

    def with_line_numbers(self, rejected: DataFrame, batch: DataFrame) -> DataFrame:
        """Add the number of the line in its file, from 1."""
        return line_frames.with_line_numbers(rejected, self.lines(batch))


@dataclass(frozen=True, slots=True)
class KafkaSource:
    """Messages of Kafka topics, one document each, from the earliest, at most `offsets_max` a batch.

    The file of a message is `topic/partition`, its line is the offset.
    """

    servers: str
    topics: str
    offsets_max: int = OFFSETS_MAX
    options: Mapping[str, str] = field(default_factory=dict)

    def load(self, spark: SparkSession) -> DataFrame:
        """Subscribe to the topics. Raises ConfigurationError, also where the Kafka connector is missing."""
        options = {
            "kafka.bootstrap.servers": self.servers,
            "subscribe": self.topics,
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": str(self.offsets_max),
        }
        messages = _load(spark, "kafka", {**options, **self.options})
        return messages.select(
            f.col("value").alias(VALUE),
            f.concat_ws("/", "topic", "partition").alias(FILE),
            # Offsets already are positions within the partition: there are no blocks.
            f.lit(0).cast("bigint").alias(BLOCK),
            f.col("offset").alias(POSITION),
            f.unix_millis("timestamp").alias(TIME_MS),
        )

    def reads(self, spark: SparkSession, path: str) -> bool:
        """Return False, since topics are not files."""
        return False

    def lines(self, batch: DataFrame) -> DataFrame:
        """Return the batch itself, whose offsets are the positions."""
        return batch

    def with_line_numbers(self, rejected: DataFrame, batch: DataFrame) -> DataFrame:
        """Add the offset."""
        return rejected.withColumn("line", f.col(POSITION))


def parse_source(
    source: str, *, files_max: int | None, offsets_max: int | None, options: Mapping[str, str]
) -> StreamSource:
    """Parse `kafka://host:port[,host:port]/topic[,topic]` or the path of a folder; None means the default.

    Raises ConfigurationError.
    """
    if not source.startswith(KAFKA):
        if offsets_max is not None:
            raise ConfigurationError(f"{source!r} is a folder, which has no offsets: limit its files")
        return FolderSource(source, files_max or FILES_MAX, options)
    if files_max is not None:
        raise ConfigurationError(f"{source!r} is Kafka, which has no files: limit its offsets")
    servers, _, topics = source.removeprefix(KAFKA).partition("/")
    if not servers or not topics:
        raise ConfigurationError(f"{source!r} should be {KAFKA}host:port[,host:port]/topic[,topic]")
    return KafkaSource(servers, topics, offsets_max or OFFSETS_MAX, options)


def _load(spark: SparkSession, source_format: str, options: Mapping[str, str]) -> DataFrame:
    try:
        return spark.readStream.format(source_format).options(**options).load()
    except AnalysisException as error:
        reason = str(error).splitlines()[0]
        connector = f"; add the connector with --package {CONNECTOR}:{spark.version}"
        raise ConfigurationError(reason + (connector if source_format == "kafka" else "")) from error
