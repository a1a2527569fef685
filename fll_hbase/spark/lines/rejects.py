"""Rejected lines: lines that are too long for a worker, and the directory and files of all rejected lines.

The JVM rejects long lines, because every step would copy a line of 60 MB.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from fll_hbase.spark.exports.output_directory import OutputDirectory
from fll_hbase.spark.lines import line_frames
from fll_hbase.spark.lines.line_frames import BLOCK, FILE, POSITION, SIZE, VALUE
from fll_hbase.spark.lines.worker_ingest import REJECTED

SORTED_MAX = 10_000
"""Maximum number of rejected lines that are written as one file."""


FIRST_BYTES = 1_000
"""Bytes of a long line that are written to the rejected lines."""


def rejected_lines(outcomes: DataFrame) -> DataFrame:
    """Return the rows of a frame of OUTCOMES that are rejected lines."""
    return outcomes.where(f.col("outcome") == REJECTED)


def write_rejects(outcomes: DataFrame, lines: DataFrame, directory: OutputDirectory, *, count: int) -> None:
    """Replace the output in the directory with the `count` rejected lines of outcomes.

    All `lines` are counted for the line numbers. Raises LineageError as `OutputDirectory.replacing`.
    """
    with directory.replacing() as url:
        # Only with rejects, because numbering counts the lines of every block and reads all input again.
        if count:
            rejected = line_frames.with_line_numbers(rejected_lines(outcomes), lines)
            _append_lines(rejected, url, count)


def _append_lines(rejected: DataFrame, path: str, count: int) -> None:
    """Add rejected lines to a directory as NDJSON: `file`, `line`, `faults`, and the line itself as `value`.

    A row for several lines has their number as `count`, the first of them as `line`, and no value.
    In a line that is not UTF-8, `value` has U+FFFD for the invalid bytes and `bytes` the line in base64.
    Up to SORTED_MAX lines are one file, in order; more are written by all tasks, in order in each file.
    """
    count_column = f.when(f.col("count") > 1, f.col("count")).alias("count")
    columns = rejected.select("file", "line", "faults", count_column, *text_columns(f.col("value")))
    parts = columns.coalesce(1) if count <= SORTED_MAX else columns
    parts.sortWithinPartitions("file", "line").write.mode("append").json(path)


def text_columns(raw: Column, name: str = "value", bytes_name: str = "bytes") -> tuple[Column, Column]:
    """Return bytes as text, with U+FFFD for invalid ones, and in base64 if there are any, else null."""
    text = raw.cast("string")
    # `format_string` replaces invalid bytes, in Spark 3.5 as in 4, which alone has `is_valid_utf8`.
    replaced = f.format_string("%s", text).cast("binary")
    return text.alias(name), f.when(replaced != raw, f.base64(raw)).alias(bytes_name)


def drop_long(lines: DataFrame, *, bytes_max: int) -> DataFrame:
    """Drop the lines that `line_frames.is_long` marks, and the column SIZE."""
    return lines.where(~line_frames.is_long(bytes_max)).drop(SIZE)


def long_lines(lines: DataFrame, *, bytes_max: int) -> DataFrame:
    """Return the lines that `drop_long` drops as OUTCOMES, rejected, and cut to FIRST_BYTES."""
    fault = f"%d bytes, longer than {bytes_max}; split it, or raise FLL_DOCUMENT_BYTES_MAX"
    long = lines.where(line_frames.is_long(bytes_max))
    return refused_outcomes(long, f.substring(VALUE, 1, FIRST_BYTES), f.format_string(fault, f.col(SIZE)))


def refused_outcomes(lines: DataFrame, value: Column, fault: Column) -> DataFrame:
    """Return lines that are not sent to workers as rejected OUTCOMES, with the shown value and the fault."""
    return lines.select(
        f.lit(REJECTED).alias("outcome"),
        f.lit(1).cast("bigint").alias("count"),
        value.alias(VALUE),
        FILE,
        BLOCK,
        POSITION,
        f.array(fault).alias("faults"),
    )
