"""Lines above the size limit of a document: rejected by the JVM, with their first bytes.

No worker gets them, and no shuffle: a line of 60 MB would otherwise be copied by every step.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from fll_hbase.spark.line_frames import BLOCK, FILE, POSITION, SIZE, VALUE
from fll_hbase.spark.worker_ingest import REJECTED

FIRST_BYTES = 1_000
"""Bytes of a long line that are written to the rejected lines."""


def drop_long(lines: DataFrame, *, bytes_max: int) -> DataFrame:
    """Drop lines of more than `bytes_max`, and the column SIZE."""
    return lines.where(~_is_long(bytes_max)).drop(SIZE)


def long_lines(lines: DataFrame, *, bytes_max: int) -> DataFrame:
    """Return the lines that `drop_long` drops as OUTCOMES, cut to their first bytes."""
    fault = f"%d bytes, longer than {bytes_max}; split it, or raise FLL_DOCUMENT_BYTES_MAX"
    return lines.where(_is_long(bytes_max)).select(
        f.lit(REJECTED).alias("outcome"),
        f.lit(1).cast("bigint").alias("count"),
        f.substring(VALUE, 1, FIRST_BYTES).alias(VALUE),
        FILE,
        BLOCK,
        POSITION,
        f.array(f.format_string(fault, f.col(SIZE))).alias("faults"),
    )


def _is_long(bytes_max: int) -> Column:
    # A carriage return at the end is not part of the document: the worker judges a line that may have one.
    return f.coalesce(f.col(SIZE), f.lit(0)) > bytes_max + 1
