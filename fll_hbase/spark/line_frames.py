"""Lines of files as a frame: each with where it stands, runs of one id together and in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

LINE = "value binary, file string, block bigint, place bigint, time_ms bigint"
"""One line: its bytes, the file and the byte where its block of the file begins, its place among the lines
of the block, which grows but not one by one, and when the file was last changed."""

RUN_BYTES_MAX = 2**28
"""So much of one run is kept until all its lines are there; its documents beyond that are as of another."""

_SEEN = "run struct<run string, runId string, startTime bigint>, eventTime string"
"""What of a line says which run it tells of, and when; a line that says neither is a run of its own."""

_NOT_BLANK = "[^ \\t\\n\\r\\x0b\\x0c]"
VALUE, FILE, BLOCK, POSITION, TIME_MS = "value", "file", "block", "place", "time_ms"
KEY, SAID_MS = "key", "said_ms"


def read_text(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """The lines of text files: any path and compression that Spark reads."""
    text = spark.read.option("lineSep", "\n").text(list(paths))
    return text.select(
        f.col("value").cast("binary").alias(VALUE),
        f.col("_metadata.file_path").alias(FILE),
        f.col("_metadata.file_block_start").alias(BLOCK),
        f.monotonically_increasing_id().alias(POSITION),
        f.unix_millis("_metadata.file_modification_time").alias(TIME_MS),
    )


def read_parquet(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """The column `value` of Parquet files, text or binary."""
    rows = spark.read.parquet(*paths)
    return rows.select(
        f.col("value").cast("binary").alias(VALUE),
        f.col("_metadata.file_path").alias(FILE),
        f.lit(0).cast("bigint").alias(BLOCK),
        f.col("_metadata.row_index").alias(POSITION),
        f.unix_millis("_metadata.file_modification_time").alias(TIME_MS),
    )


def drop_blank(lines: DataFrame) -> DataFrame:
    """Without lines of blanks alone, which tell nothing."""
    document = f.substring(f.col(VALUE), 1, 1) == f.lit(b"{")
    return lines.where(document | f.col(VALUE).cast("string").rlike(_NOT_BLANK))


def group_by_run(lines: DataFrame, *, partitions: int) -> DataFrame:
    """Lines of one run in one partition, side by side and in the order of the files; runs in order of time.

    Partitions take an even share of the runs. What is recorded together then lies together in the table,
    whose references stand in order of time.
    """
    seen = lines.withColumn("seen", f.from_json(f.col(VALUE).cast("string"), _SEEN))
    run = f.coalesce("seen.run.run", "seen.run.runId", f.col(VALUE).cast("string"))
    time_ms = f.coalesce("seen.run.startTime", f.unix_millis(f.try_to_timestamp("seen.eventTime")))
    keyed = (
        seen.withColumns({KEY: f.xxhash64(run), SAID_MS: time_ms}).drop("seen").repartition(partitions, KEY)
    )
    first_ms = f.min(SAID_MS).over(Window.partitionBy(KEY))
    return keyed.withColumn(SAID_MS, first_ms).sortWithinPartitions(SAID_MS, KEY, FILE, BLOCK, POSITION)


def with_line_numbers(rejected: DataFrame, lines: DataFrame) -> DataFrame:
    """Rejected lines with `line`, their number in the file from 1 on: the lines before them are counted."""
    blocks = lines.groupBy(FILE, BLOCK).agg(f.count("*").alias("lines"), f.min(POSITION).alias("first"))
    earlier = blocks.select(f.col(FILE), f.col(BLOCK).alias("earlier"), f.col("lines").alias("before"))
    begins = (
        blocks.join(earlier, FILE)
        .where(f.col("earlier") < f.col(BLOCK))
        .groupBy(FILE, BLOCK)
        .agg(f.sum("before").alias("before"))
    )
    placed = rejected.join(blocks.select(FILE, BLOCK, "first"), [FILE, BLOCK]).join(
        begins, [FILE, BLOCK], "left"
    )
    number = f.col(POSITION) - f.col("first") + f.coalesce(f.col("before"), f.lit(0)) + 1
    return placed.withColumn("line", number)


def batch_by_run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Lines that met, in batches that end where the lines of a run do."""
    kept: list[pa.RecordBatch] = []
    for batch in (batch for batch in batches if batch.num_rows):
        keys = batch.column(KEY)
        last = keys.index(keys[-1]).as_py()
        goes_on = bool(kept) and kept[-1].column(KEY)[-1] == keys[-1]
        if not goes_on or sum(part.nbytes for part in kept) > RUN_BYTES_MAX:
            yield from _whole([*kept, batch.slice(0, last)])
            kept = []
        kept.append(batch.slice(last))
    yield from _whole(kept)


def _whole(parts: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All parts as one batch, if there is anything in them."""
    if any(part.num_rows for part in parts):
        yield pa.concat_batches(parts)
