"""Dead letters: rejected messages in a separate topic, with their key, headers and faults."""

from __future__ import annotations

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.spark.lines.line_frames import FILE, VALUE
from fll_hbase.spark.streams.kafka_connector import connector_advice
from fll_hbase.spark.streams.stream_options import EARLIEST, DeadLetterTopic
from fll_hbase.spark.streams.stream_sources import HEADERS, MESSAGE, MESSAGE_KEY

FAULTS_CHARACTERS_MAX = 4_000
"""Maximum number of characters of the errors in a header. The directory of rejected lines has all of them."""

HEADER_TYPE = "array<struct<key:string,value:binary>>"


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


def send(rejected: DataFrame, target: DeadLetterTopic) -> None:
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
        f.concat(f.coalesce(headers, f.array().cast(HEADER_TYPE)), _provenance()).alias("headers"),
    )
    messages.write.format("kafka").options(**target.client_options).save()


def _provenance() -> Column:
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
