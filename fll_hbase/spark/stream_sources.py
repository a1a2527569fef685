"""Where do lines keep coming from: a folder that files are moved into, or topics of Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.errors import ConfigurationError
from fll_hbase.spark import line_frames as frames
from fll_hbase.spark.line_frames import BLOCK, FILE, POSITION, TIME_MS, VALUE
from fll_hbase.spark.rejects import is_subdirectory

KAFKA = "kafka://"
FILES_MAX, OFFSETS_MAX = 100, 100_000
FILE_AGE_MAX = "36500d"
"""Spark passes over a file that was changed a week before the newest one it saw; here it counts."""

CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"


class StreamSource(Protocol):
    """What a stream reads."""

    def load(self, spark: SparkSession) -> DataFrame:
        """What comes, as a stream. Raises ConfigurationError."""

    def reads(self, spark: SparkSession, folder: str) -> bool:
        """Whether it would read what is written to a folder."""

    def lines(self, batch: DataFrame) -> DataFrame:
        """The lines of one batch of it."""

    def with_line_numbers(self, rejected: DataFrame, batch: DataFrame) -> DataFrame:
        """Rejected lines of a batch with `line`, where in `file` each is."""


@dataclass(frozen=True, slots=True)
class FolderSource:
    """NDJSON files, as they come, the oldest first: at most `files_max` a batch."""

    path: str
    files_max: int = FILES_MAX
    options: Mapping[str, str] = field(default_factory=dict)

    def load(self, spark: SparkSession) -> DataFrame:
        asked = {"lineSep": "\n", "maxFileAge": FILE_AGE_MAX, "maxFilesPerTrigger": str(self.files_max)}
        text = _loaded(spark, "text", {**asked, **self.options, "path": self.path})
        return text.select(
            f.col("value").cast("binary").alias(VALUE),
            f.col("_metadata.file_path").alias(FILE),
            f.col("_metadata.file_block_start").alias(BLOCK),
            f.unix_millis("_metadata.file_modification_time").alias(TIME_MS),
        )

    def reads(self, spark: SparkSession, folder: str) -> bool:
        return is_subdirectory(spark, folder, self.path)

    def lines(self, batch: DataFrame) -> DataFrame:
        return batch.withColumn(POSITION, f.monotonically_increasing_id())

    def with_line_numbers(self, rejected: DataFrame, batch: DataFrame) -> DataFrame:
        return frames.with_line_numbers(rejected, self.lines(batch))


@dataclass(frozen=True, slots=True)
class KafkaSource:
    """Messages of Kafka, one document each, from the earliest on: at most `offsets_max` a batch.

    Their file is `topic/partition`, their line is the offset.
    """

    servers: str
    topics: str
    offsets_max: int = OFFSETS_MAX
    options: Mapping[str, str] = field(default_factory=dict)

    def load(self, spark: SparkSession) -> DataFrame:
        asked = {
            "kafka.bootstrap.servers": self.servers,
            "subscribe": self.topics,
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": str(self.offsets_max),
        }
        messages = _loaded(spark, "kafka", {**asked, **self.options})
        return messages.select(
            f.col("value").alias(VALUE),
            f.concat_ws("/", "topic", "partition").alias(FILE),
            f.lit(0).cast("bigint").alias(BLOCK),
            f.col("offset").alias(POSITION),
            f.unix_millis("timestamp").alias(TIME_MS),
        )

    def reads(self, spark: SparkSession, folder: str) -> bool:
        return False

    def lines(self, batch: DataFrame) -> DataFrame:
        return batch

    def with_line_numbers(self, rejected: DataFrame, batch: DataFrame) -> DataFrame:
        return rejected.withColumn("line", f.col(POSITION))


def parse_source(
    source: str, *, files_max: int | None, offsets_max: int | None, options: Mapping[str, str]
) -> StreamSource:
    """What a source names: `kafka://host:port[,host:port]/topic[,topic]`, else a folder.

    Raises ConfigurationError.
    """
    if not source.startswith(KAFKA):
        if offsets_max is not None:
            raise ConfigurationError(f"{source!r} is a folder, which has no offsets: bound its files")
        return FolderSource(source, files_max or FILES_MAX, options)
    if files_max is not None:
        raise ConfigurationError(f"{source!r} is Kafka, which has no files: bound its offsets")
    servers, _, topics = source.removeprefix(KAFKA).partition("/")
    if not servers or not topics:
        raise ConfigurationError(f"{source!r} should be {KAFKA}host:port[,host:port]/topic[,topic]")
    return KafkaSource(servers, topics, offsets_max or OFFSETS_MAX, options)


def _loaded(spark: SparkSession, form: str, options: Mapping[str, str]) -> DataFrame:
    try:
        return spark.readStream.format(form).options(**options).load()
    except AnalysisException as error:
        told = str(error).splitlines()[0]
        mend = f"; give the connector as --package {CONNECTOR}:{spark.version}" if form == "kafka" else ""
        raise ConfigurationError(f"{told}{mend}") from error
