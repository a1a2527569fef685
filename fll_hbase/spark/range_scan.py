"""The table read by all workers: ranges of keys as a frame, and the store that each worker opens once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import lru_cache, partial
from itertools import islice
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from fll_hbase.config import Settings
from fll_hbase.keys import ranges
from fll_hbase.keys.layout import Range
from fll_hbase.store.factory import table_of
from fll_hbase.tables import Table

BATCH_ROWS = 5_000
PARTITIONS_PER_CORE = 4
"""So many partitions for each core, so that none waits long for the last."""

Read: TypeAlias = Callable[[Table, bytes, bytes], Iterator[tuple[Any, ...]]]
"""What a worker makes of the rows of a range, from `start` (in) to `stop` (out), in columns of a schema."""


@lru_cache(maxsize=1)
def worker_table(settings: Settings) -> Table:
    """The table, opened once in a process."""
    return table_of(settings)


def split_ranges(spark: SparkSession, settings: Settings, wholes: Sequence[Range]) -> DataFrame:
    """The ranges, cut where the engine would cut them: columns `start` and `stop`.

    A partition has a part of every range, because those of one cost more than those of another.
    """
    parts = spark.sparkContext.defaultParallelism * PARTITIONS_PER_CORE
    with closing(table_of(settings)) as table:
        cut = [
            (bytearray(start), bytearray(stop))
            for whole in wholes
            for start, stop in ranges.parted(whole, table.splits(*whole, parts=parts))
        ]
    dealt = [part for number in range(parts) for part in cut[number::parts]]
    rows = spark.sparkContext.parallelize(dealt, max(min(len(cut), parts), 1))
    return spark.createDataFrame(rows, "start binary, stop binary")


def scan_ranges(
    spark: SparkSession, settings: Settings, wholes: Sequence[Range], *, read: Read, schema: str
) -> DataFrame:
    """What `read` makes of the rows of all the ranges, as a frame of that schema."""
    worker = partial(_read, settings=settings, read=read, schema=schema)
    return split_ranges(spark, settings, wholes).mapInArrow(worker, schema)


def to_batch(rows: Sequence[tuple[Any, ...]], schema: str) -> pa.RecordBatch:
    """Rows, at least one, as a batch of that schema."""
    columns = (column.split() for column in schema.split(", "))
    fields = pa.schema([(name, _TYPES[kind]) for name, kind in columns])
    arrays = [pa.array(column, one.type) for column, one in zip(zip(*rows, strict=True), fields, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=fields)


def _read(
    batches: Iterator[pa.RecordBatch], *, settings: Settings, read: Read, schema: str
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for part in batch.to_pylist():
            told = read(worker_table(settings), part["start"], part["stop"])
            while some := list(islice(told, BATCH_ROWS)):
                yield to_batch(some, schema)


_TYPES = {
    "binary": pa.binary(),
    "bigint": pa.int64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "array<binary>": pa.list_(pa.binary()),
}
