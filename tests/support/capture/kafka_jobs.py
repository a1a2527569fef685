"""Jobs that read and write topics of a real Kafka."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession, functions

BROKER = "KAFKA_BROKER"
"""Variable with `host:port` of the broker, which has the topics of TOPICS."""

TOPICS = ("orders", "copies", "large", "small")


def _options(**more: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": os.environ[BROKER], **more}


def _numbers(spark: SparkSession, home: str) -> None:
    spark.range(5).select("id", (functions.col("id") * 2).alias("v")).write.parquet(f"{home}/numbers")


def _topic(spark: SparkSession, home: str) -> None:
    value = functions.to_json(functions.struct("id", "v")).alias("value")
    frame = spark.read.parquet(f"{home}/numbers").select(
        functions.col("id").cast("string").alias("key"), value
    )
    frame.write.format("kafka").options(**_options(topic="orders")).save()


def _topics_of_rows(spark: SparkSession, home: str) -> None:
    topic = functions.when(functions.col("id") > 2, "large").otherwise("small").alias("topic")
    value = functions.col("v").cast("string").alias("value")
    frame = spark.read.parquet(f"{home}/numbers").select(value, topic).where("value > 1")
    frame.union(frame.select("value", functions.lit("copies"))).write.format("kafka").options(
        **_options()
    ).save()


def _unknown_topic(spark: SparkSession, home: str) -> None:
    value = functions.col("v").cast("string").alias("value")
    topic = functions.regexp_replace(functions.concat(functions.lit("copies"), "id"), "[0-9]", "").alias(
        "topic"
    )
    frame = spark.read.parquet(f"{home}/numbers").select(value, topic)
    frame.write.format("kafka").options(**_options()).save()


def _read(spark: SparkSession, home: str) -> None:
    text = functions.col("value").cast("string").alias("text")
    _load(spark, subscribe="orders").select(text, "timestamp").write.parquet(f"{home}/read")
    both = _load(spark, assign='{"orders": [0], "copies": [0]}')
    both.select("value").write.parquet(f"{home}/assigned")


def _load(spark: SparkSession, **options: str) -> DataFrame:
    return spark.read.format("kafka").options(**_options(**options)).load()


def _streamed(spark: SparkSession) -> DataFrame:
    options = _options(subscribe="orders", startingOffsets="earliest")
    return spark.readStream.format("kafka").options(**options).load()


def _parsed(spark: SparkSession) -> DataFrame:
    order = functions.from_json(functions.col("value").cast("string"), "id LONG, v LONG").alias("o")
    return _streamed(spark).select(order).select("o.id", (functions.col("o.v") + 1).alias("w"))


def _finish(writer: Any, state: str) -> None:
    writer.option("checkpointLocation", state).trigger(availableNow=True).start().awaitTermination()


def _stream_to_files(spark: SparkSession, home: str) -> None:
    writer = _parsed(spark).writeStream.format("parquet").option("path", f"{home}/streamed")
    _finish(writer, f"{home}/state_files")


def _stream_to_topic(spark: SparkSession, home: str) -> None:
    value = functions.upper(functions.col("value").cast("string")).alias("value")
    frame = _streamed(spark).where("key IS NOT NULL").select("key", value)
    _finish(frame.writeStream.format("kafka").options(**_options(topic="copies")), f"{home}/state_topic")


def _stream_with_state(spark: SparkSession, home: str) -> None:
    """A second batch without rows writes what the watermark closed."""
    keys = functions.window("timestamp", "1 minute"), functions.col("key")
    frame = _streamed(spark).withWatermark("timestamp", "1 minute").groupBy(*keys).count()
    writer = frame.select("window.start", "key", "count").writeStream.format("parquet").outputMode("append")
    _finish(writer.option("path", f"{home}/counted"), f"{home}/state_counted")


def _for_each_batch_to_topic(spark: SparkSession, home: str) -> None:
    def write(frame: DataFrame, _: int) -> None:
        value = functions.col("w").cast("string").alias("value")
        frame.select(value).write.format("kafka").options(**_options(topic="copies")).save()

    _finish(_parsed(spark).writeStream.foreachBatch(write), f"{home}/state_batches")


Job = Callable[[SparkSession, str], None]

KAFKA_JOBS: list[Job] = [
    _numbers,
    _topic,
    _topics_of_rows,
    _unknown_topic,
    _read,
    _stream_to_files,
    _stream_to_topic,
    _stream_with_state,
    _for_each_batch_to_topic,
]
