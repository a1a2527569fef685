"""Sources of a stream of lines: a folder of NDJSON files, or Kafka topics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TypeAlias

from pyspark.errors import AnalysisException, IllegalArgumentException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.runtime.errors import ConfigurationError, LineageError
from fll_hbase.spark.exports.hadoop_files import HadoopDirectory, is_subdirectory
from fll_hbase.spark.lines import line_frames
from fll_hbase.spark.lines.line_frames import BLOCK, FILE, POSITION, TIME_MS, VALUE
from fll_hbase.spark.lines.rejects import FIRST_BYTES, drop_long, long_lines, refused_outcomes
from fll_hbase.spark.streams.kafka_connector import connector_advice
from fll_hbase.spark.streams.stream_options import (
    LATEST,
    FolderOptions,
    KafkaOptions,
    SourceOptions,
    ValueFormat,
    offsets_of,
)

HEADERS, MESSAGE_KEY, MESSAGE = "headers", "message_key", "message"
"""Columns of rejected messages: their headers, key and value as they are in the topic."""

HEADER_BYTES = 5
"""Confluent's wire format: a byte 0, the id of the schema in four bytes, then the value."""

_ALL = 2**31 - 1
_JSON_STARTS = [b"{", b"[", b'"', b" ", b"\t", b"\r", b"\n"]

_NO_AVRO = (
    "Avro and Protobuf cannot be read: let the producer write JSON, or convert the topic, for example with a"
    " Kafka Streams or ksqlDB query"
)


@dataclass(frozen=True, slots=True)
class FolderSource:
    """NDJSON files moved into a folder, one document of at most `bytes_max` bytes a line."""

    options: FolderOptions
    bytes_max: int

    def load(self, spark: SparkSession) -> DataFrame:
        """Open the folder. Raises ConfigurationError, including if it does not exist."""
        return line_frames.file_lines(_load(spark, "text", self.options.reader_options()))

    def name(self, spark: SparkSession) -> str:
        """Return the qualified path of the folder, which identifies the source."""
        return HadoopDirectory(spark, self.options.path).url

    @property
    def ending(self) -> str:
        """Return "", since a folder has no end."""
        return ""

    def reads(self, spark: SparkSession, path: str) -> bool:
        """Return whether the directory is the folder, or below it."""
        return is_subdirectory(spark, path, self.options.path)

    def check_first(self, batch: DataFrame) -> None:
        """Accept any batch, since each line is checked by itself."""

    def lines(self, batch: DataFrame) -> DataFrame:
        """Return the lines of a batch with their positions, without those above the size limit."""
        return drop_long(self._positioned(batch), bytes_max=self.bytes_max)

    def refused_lines(self, batch: DataFrame) -> DataFrame:
        """Return the lines of a batch above the size limit as rejected OUTCOMES, with their first bytes."""
        return long_lines(self._positioned(batch), bytes_max=self.bytes_max)

    def located(self, rejected: DataFrame, batch: DataFrame) -> DataFrame:
        """Return rejected lines of a batch with `line` added: the number of the line in its file, from 1."""
        return line_frames.with_line_numbers(rejected, self._positioned(batch))

    def _positioned(self, batch: DataFrame) -> DataFrame:
        """Return a batch with POSITION added, which grows from line to line."""
        # Not in `load`, because Spark refuses monotonically_increasing_id() on a streaming frame.
        return batch.withColumn(POSITION, f.monotonically_increasing_id())


@dataclass(frozen=True, slots=True)
class KafkaSource:
    """Messages of Kafka topics, one document of at most `bytes_max` bytes each.

    The file of a message is `topic/partition`, its line is the offset.
    """

    options: KafkaOptions
    bytes_max: int

    def load(self, spark: SparkSession) -> DataFrame:
        """Subscribe to the topics. Raises ConfigurationError, including if the Kafka connector is missing."""
        messages = _load(spark, "kafka", self.options.reader_options())
        return messages.where(_is_read(self.options)).select(
            f.col("value").alias(MESSAGE),
            f.col("key").alias(MESSAGE_KEY),
            HEADERS,
            f.concat_ws("/", "topic", "partition").alias(FILE),
            # Offsets are already positions within the partition, so there are no blocks.
            f.lit(0).cast("bigint").alias(BLOCK),
            f.col("offset").alias(POSITION),
            f.unix_millis("timestamp").alias(TIME_MS),
        )

    def name(self, spark: SparkSession) -> str:
        """Return the URL with sorted servers and topics, or their pattern, which identifies the source."""
        return self.options.name

    @property
    def ending(self) -> str:
        """Return the end in the form of `parse_position`, or "" without an end."""
        return self.options.ending

    def reads(self, spark: SparkSession, path: str) -> bool:
        """Return False, since topics are not files."""
        return False

    def check_first(self, batch: DataFrame) -> None:
        """Raise LineageError for the first message of a schema registry, if the options declare no format."""
        if self.options.value_format is not ValueFormat.DETECT:
            return
        wire = batch.where(_has_wire_format())
        rows = wire.select(FILE, POSITION, _schema_id().alias("id")).take(1)
        for row in rows:
            raise LineageError(
                f"{row[FILE]}, offset {row[POSITION]}: the message is in the wire format of Confluent's"
                f" schema registry, with schema id {row['id']}. Nothing was recorded. If the values are JSON"
                " Schema, start with --value-format confluent-json; Avro and Protobuf have to be converted to"
                " JSON before. If only some messages are, --value-format json rejects those"
            )

    def lines(self, batch: DataFrame) -> DataFrame:
        """Return the documents of a batch's messages without fault as LINE, with offsets as positions."""
        value = f.col(MESSAGE)
        if self.options.value_format is ValueFormat.CONFLUENT_JSON:
            value = f.substring(value, HEADER_BYTES + 1, _ALL)
        readable = batch.where(self._fault().isNull())
        return readable.select(value.alias(VALUE), FILE, BLOCK, POSITION, TIME_MS)

    def refused_lines(self, batch: DataFrame) -> DataFrame:
        """Return messages in another format or above the size limit as rejected OUTCOMES, large ones cut."""
        is_large = f.octet_length(MESSAGE) > self.bytes_max
        shown = f.when(is_large, f.substring(MESSAGE, 1, FIRST_BYTES))
        refused = batch.where(self._fault().isNotNull())
        return refused_outcomes(refused, shown.otherwise(f.col(MESSAGE)), self._fault())

    def located(self, rejected: DataFrame, batch: DataFrame) -> DataFrame:
        """Add the offset as line, key and headers, and the value as sent unless it is too large."""
        is_small = f.octet_length(MESSAGE) <= self.bytes_max
        details = batch.select(
            FILE, POSITION, MESSAGE_KEY, HEADERS, f.when(is_small, f.col(MESSAGE)).alias(MESSAGE)
        )
        # Reading the batch again takes less time than carrying all keys and headers along.
        joined = rejected.join(details, [FILE, POSITION], "left")
        return joined.withColumn("line", f.col(POSITION))

    def _fault(self) -> Column:
        """Return a column with why a message cannot be a document; null if it may be one or has no value."""
        header = HEADER_BYTES if self.options.value_format is ValueFormat.CONFLUENT_JSON else 0
        size = f.octet_length(MESSAGE)
        too_large = f.format_string(
            f"%d bytes, longer than {self.bytes_max}; split it, or raise FLL_DOCUMENT_BYTES_MAX", size
        )
        format_fault = _format_fault(self.options.value_format)
        return f.when(size > self.bytes_max + header, too_large).otherwise(format_fault)


StreamSource: TypeAlias = FolderSource | KafkaSource


def open_source(options: SourceOptions, *, bytes_max: int) -> StreamSource:
    """Return the source of the options; `bytes_max` is the size limit of a document."""
    if isinstance(options, KafkaOptions):
        return KafkaSource(options, bytes_max)
    return FolderSource(options, bytes_max)


def _load(spark: SparkSession, source_format: str, options: Mapping[str, str]) -> DataFrame:
    """Return a stream of a format. Raises ConfigurationError, with advice for a missing connector."""
    try:
        return spark.readStream.format(source_format).options(**options).load()
    except (AnalysisException, IllegalArgumentException) as error:
        # Errors of the connector begin with an empty line.
        reason = next(line.strip() for line in str(error).splitlines() if line.strip())
        advice = connector_advice() if "Failed to find" in reason else ""
        raise ConfigurationError(reason + advice) from error


def _has_wire_format() -> Column:
    """Return the condition that a message begins like Confluent's wire format, unlike any JSON."""
    return (f.substring(MESSAGE, 1, 1) == f.lit(b"\x00")) & (f.octet_length(MESSAGE) >= HEADER_BYTES)


def _schema_id() -> Column:
    """Return a column with the schema id, in decimal, of a message in the wire format."""
    return f.conv(f.hex(f.substring(MESSAGE, 2, 4)), 16, 10)


def _format_fault(value_format: ValueFormat) -> Column:
    """Return a column with why a message does not have the expected format, or null if it has."""
    is_wire = _has_wire_format()
    if value_format is not ValueFormat.CONFLUENT_JSON:
        advice = f"if it is JSON Schema, start with --value-format confluent-json; {_NO_AVRO}"
        text = f"in Confluent's wire format, with schema id %s: {advice}"
        return f.when(is_wire, f.format_string(text, _schema_id()))
    no_json = f"no JSON behind the schema id %s of Confluent's wire format: {_NO_AVRO}"
    is_json = f.substring(MESSAGE, HEADER_BYTES + 1, 1).isin(_JSON_STARTS)
    plain = "not in Confluent's wire format: use --value-format json for a topic that mixes formats"
    return f.when(~is_wire, f.lit(plain)).when(~is_json, f.format_string(no_json, _schema_id()))


def _is_read(options: KafkaOptions) -> Column:
    """Return the condition that a message is before the end; true without an end and for LATEST."""
    if options.ending.isdecimal():
        return f.unix_millis("timestamp") < int(options.ending)
    ends = [
        (f.col("topic") == topic) & (f.col("partition") == int(partition)) & (f.col("offset") >= offset)
        for topic, partitions in offsets_of(options.ending).items()
        for partition, offset in partitions.items()
        if offset >= 0
    ]
    return ~reduce(or_, ends, f.lit(False)) if options.ending != LATEST else f.lit(True)
