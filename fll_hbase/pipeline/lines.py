"""Lines of files as a frame: each with where it stands, runs of one id together and in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import xxhash
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import LongType

from fll_hbase.sources.forms import glance

LINE = "value binary, file string, block bigint, place bigint, time_ms bigint"
"""One line: its bytes, the file and the byte where its block of the file begins, its place among the lines
of the block, which grows but not one by one, and when the file was last changed."""

KEPT_BYTES_MAX = 2**28
"""So much of one run is kept until all its lines are there; its documents beyond that are as of another."""

_KEY_BITS = 63
_NOT_BLANK = "[^ \\t\\n\\r\\x0b\\x0c]"
VALUE, FILE, BLOCK, PLACE, TIME_MS = "value", "file", "block", "place", "time_ms"
KEY, PART = "key", "part"


def of_text(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """The lines of text files: any path and compression that Spark reads."""
    text = spark.read.option("lineSep", "\n").text(list(paths))
    return text.select(
        f.col("value").cast("binary").alias(VALUE),
        f.col("_metadata.file_path").alias(FILE),
        f.col("_metadata.file_block_start").alias(BLOCK),
        f.monotonically_increasing_id().alias(PLACE),
        f.unix_millis("_metadata.file_modification_time").alias(TIME_MS),
    )


def of_parquet(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """The column `value` of Parquet files, text or binary."""
    rows = spark.read.parquet(*paths)
    return rows.select(
        f.col("value").cast("binary").alias(VALUE),
        f.col("_metadata.file_path").alias(FILE),
        f.lit(0).cast("bigint").alias(BLOCK),
        f.col("_metadata.row_index").alias(PLACE),
        f.unix_millis("_metadata.file_modification_time").alias(TIME_MS),
    )


def not_blank(lines: DataFrame) -> DataFrame:
    """Without lines of blanks alone, which tell nothing."""
    document = f.substring(f.col(VALUE), 1, 1) == f.lit(b"{")
    return lines.where(document | f.col(VALUE).cast("string").rlike(_NOT_BLANK))


def met(lines: DataFrame, *, parts: int) -> DataFrame:
    """Lines of one run in one partition, in the order of the files; runs in the order of their rows, nearly.

    Partitions take an even share of the keys, whoever holds most of the runs.
    """
    keyed = lines.withColumn(KEY, _KEY(f.col(VALUE)))
    share = (f.shiftright(f.col(KEY), _KEY_BITS - 31) * parts).cast("bigint")
    part = f.shiftright(share, 31).cast("int")
    return keyed.repartitionById(parts, part).sortWithinPartitions(KEY, FILE, BLOCK, PLACE)


def numbered(rejected: DataFrame, lines: DataFrame) -> DataFrame:
    """Rejected lines with `line`, their number in the file from 1 on: the lines before them are counted."""
    blocks = lines.groupBy(FILE, BLOCK).agg(f.count("*").alias("lines"), f.min(PLACE).alias("first"))
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
    number = f.col(PLACE) - f.col("first") + f.coalesce(f.col("before"), f.lit(0)) + 1
    return placed.withColumn("line", number)


def whole_runs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Lines that met, in batches that end where the lines of a run do."""
    kept: list[pa.RecordBatch] = []
    for batch in (batch for batch in batches if batch.num_rows):
        keys = batch.column(KEY)
        last = keys.index(keys[-1]).as_py()
        goes_on = bool(kept) and kept[-1].column(KEY)[-1] == keys[-1]
        if not goes_on or sum(part.nbytes for part in kept) > KEPT_BYTES_MAX:
            yield from _whole([*kept, batch.slice(0, last)])
            kept = []
        kept.append(batch.slice(last))
    yield from _whole(kept)


def _whole(parts: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All parts as one batch, if there is anything in them."""
    if any(part.num_rows for part in parts):
        yield pa.concat_batches(parts)


def _keys(values: pa.Array) -> pa.Array:
    """Of the run that each line tells of, the hash by which its row is salted; else one of the line."""
    return pa.array([_key_of(value) for value in values.to_pylist()], pa.int64())


def _key_of(raw: bytes | None) -> int:
    raw = raw or b""
    run = glance(raw).run
    return xxhash.xxh3_64_intdigest(run.encode() if run else raw) >> 1


_KEY: Any = arrow_udf(_keys, LongType())  # type: ignore[call-overload]  # pyarrow has no types
