"""Range scans of the table by all workers, as a frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, SparkSession

from fll_hbase.keys import ranges
from fll_hbase.keys.layout import Range
from fll_hbase.runtime.config import Settings
from fll_hbase.spark.lines.arrow_batches import map_rows
from fll_hbase.spark.worker_store import worker_table
from fll_hbase.store.factory import open_store_table
from fll_hbase.tables import Table

PARTITIONS_PER_CORE = 4
"""Enough tasks for each core that no core waits long for the last task."""

ReadRange: TypeAlias = Callable[[Table, bytes, bytes], Iterator[tuple[Any, ...]]]
"""A function that yields the rows from `start` (included) to `stop` (excluded) as tuples, on a worker."""


def partition_count(spark: SparkSession) -> int:
    """Return how many partitions a scan has: PARTITIONS_PER_CORE for each core of the session."""
    return spark.sparkContext.defaultParallelism * PARTITIONS_PER_CORE


def split_ranges(spark: SparkSession, settings: Settings, key_ranges: Sequence[Range]) -> DataFrame:
    """Return a frame of the parts of ranges, with binary columns `start` (included) and `stop` (excluded).

    The parts are regions if the engine has regions, else about `partition_count` for each range. Raises
    ConfigurationError without a store, and StoreUnavailable.
    """
    partitions = partition_count(spark)
    with closing(open_store_table(settings, create=False)) as table:
        splits = [
            (bytearray(start), bytearray(stop))
            for key_range in key_ranges
            for start, stop in ranges.split_range(key_range, table.splits(*key_range, parts=partitions))
        ]
    # Round-robin, so that each partition has parts of every range, because kinds of rows differ in effort.
    dealt = [split for number in range(partitions) for split in splits[number::partitions]]
    rows = spark.sparkContext.parallelize(dealt, max(min(len(splits), partitions), 1))
    return spark.createDataFrame(rows, "start binary, stop binary")


def scan_ranges(
    spark: SparkSession, settings: Settings, key_ranges: Sequence[Range], *, read: ReadRange, schema: str
) -> DataFrame:
    """Return a lazy frame of the rows that `read` yields on the workers, in the columns of `schema`.

    The ranges are split now. Raises ConfigurationError without a store, and StoreUnavailable.
    """
    worker = partial(_read_ranges, settings=settings, read=read)
    return map_rows(split_ranges(spark, settings, key_ranges), worker, schema)


def _read_ranges(
    splits: Iterator[dict[str, Any]], *, settings: Settings, read: ReadRange
) -> Iterator[tuple[Any, ...]]:
    """Yield, on a worker, the rows that `read` yields for each range."""
    for split in splits:
        yield from read(worker_table(settings), split["start"], split["stop"])
