"""Rows of the table told as 64-bit marks with what is said of them, so that no key has to travel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.config import Settings
from fll_hbase.keys.layout import Range
from fll_hbase.spark import range_scan
from fll_hbase.tables import Table

CELL_HASHES = "mark bigint, said bigint"
"""A mark, and bits that are said of it."""

BATCH_HASHES = 50_000
"""About so many marks leave a worker at once."""

_NUMBERS = 2**64

HashRange: TypeAlias = Callable[[Table, bytes, bytes], Iterator[pa.RecordBatch]]
"""What a worker says of the rows of a range, from `start` (in) to `stop` (out), as MARKS."""


def merge_flags(
    spark: SparkSession, settings: Settings, wholes: Sequence[Range], *, tell: HashRange
) -> DataFrame:
    """All that is said of each mark of the ranges.

    Marks of one worker are hardly ever the same: they meet in as many parts as they come from, not before.
    """
    ranges = range_scan.split_ranges(spark, settings, wholes)
    marked = ranges.mapInArrow(partial(_told, settings=settings, tell=tell), CELL_HASHES)
    apart = marked.repartition(ranges.rdd.getNumPartitions(), "mark")
    return apart.groupBy("mark").agg(f.bit_or("said").alias("said"))


def flagged_batch(sides: Iterable[tuple[int, Sequence[int]]]) -> pa.RecordBatch:
    """Marks as MARKS; those of one side share what is said of them."""
    sides = list(sides)
    marks = [np.array(numbers, np.uint64).view(np.int64) for _, numbers in sides]
    return hash_batch(np.concatenate(marks), np.repeat([said for said, _ in sides], list(map(len, marks))))


def hash_batch(marks: Any, said: Any) -> pa.RecordBatch:
    """Signed marks, and what is said of each, as MARKS."""
    return pa.RecordBatch.from_arrays(
        [pa.array(marks, pa.int64()), pa.array(said, pa.int64())], ["mark", "said"]
    )


def to_signed(mark: int) -> int:
    """A mark as Spark has it."""
    return mark - _NUMBERS if mark >= _NUMBERS // 2 else mark


def to_unsigned(mark: int) -> int:
    """The inverse of `signed`."""
    return mark % _NUMBERS


def _told(
    batches: Iterator[pa.RecordBatch], *, settings: Settings, tell: HashRange
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for part in batch.to_pylist():
            yield from tell(range_scan.worker_table(settings), part["start"], part["stop"])
