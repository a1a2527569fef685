"""Frames of the tables of a store for jobs: the rows of the data source, without its interface.

Spark's Python data sources need Spark 4, but these frames also work on 3.5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.keys import layout, ranges
from fll_hbase.keys.layout import Range
from fll_hbase.model.window import Window
from fll_hbase.runtime.config import Settings
from fll_hbase.spark.datasource import partitions, row_tuples
from fll_hbase.spark.datasource.partitions import KeyRangePartition, Partition
from fll_hbase.spark.datasource.reader_options import (
    ALWAYS,
    DatasetFilter,
    ReadRequest,
    ScanBounds,
    TableName,
)
from fll_hbase.spark.datasource.schemas import SCHEMAS
from fll_hbase.spark.hashes import range_scan
from fll_hbase.spark.lines.arrow_batches import Row, map_rows
from fll_hbase.spark.worker_store import worker_store
from fll_hbase.store.factory import open_store_table
from fll_hbase.store.rows import calendar_mark
from fll_hbase.tables import Table

_SALTS = 256


def table_frame(
    spark: SparkSession, settings: Settings, table: TableName, *, window: Window = ALWAYS, namespace: str = ""
) -> DataFrame:
    """Return a lazy frame of a table, for runs in the window that touch a dataset of `namespace`, if given.

    With a namespace, a job of Spark first reads the catalogue. Raises ConfigurationError if there is no
    store, or a store of an earlier release. Raises StoreUnavailable.
    """
    parts = range_scan.partition_count(spark)
    either_end = DatasetFilter(namespace)
    request = ReadRequest(settings, table, ScanBounds(window, either_end), parts)
    horizon_ms = latest_horizon(spark, settings, either_end) if namespace else 0
    with closing(open_store_table(settings, create=False)) as store_table:
        calendar_mark.require(store_table)
        planned = partitions.plan_partitions(request, store_table, latest_horizon_ms=horizon_ms)
    return read_partitions(spark, request, split_at_salts(planned, parts=parts))


def read_partitions(spark: SparkSession, request: ReadRequest, planned: Sequence[Partition]) -> DataFrame:
    """Return a lazy frame of the rows of partitions, each read by its own task."""
    numbers = spark.range(0, len(planned), 1, max(len(planned), 1))
    read = partial(_read_partitions, request=request, planned=tuple(planned))
    return map_rows(numbers, read, SCHEMAS[request.table])


def latest_horizon(spark: SparkSession, settings: Settings, datasets: DatasetFilter) -> int:
    """Return the latest retention horizon of the datasets, in ms since 1970, or 0 if there is none.

    Workers read the catalogue in a job of Spark, because a namespace may have millions of rows there.
    """
    key_range = partitions.catalogue_range(datasets)
    horizons = range_scan.scan_ranges(
        spark, settings, [key_range], read=_horizons, schema="horizon_ms bigint"
    )
    return horizons.agg(f.max("horizon_ms")).collect()[0][0] or 0


def split_at_salts(planned: Sequence[Partition], *, parts: int) -> list[Partition]:
    """Return partitions, with ranges of run rows split at salts of keys if there are fewer than `parts`.

    A region of an engine may have many millions of runs. Other partitions stay as they are.
    """
    if len(planned) >= parts:
        return list(planned)
    step = max(_SALTS // parts, 1)
    points = [layout.RUNS + b"%02x|" % salt for salt in range(step, _SALTS, step)]
    return [part for partition in planned for part in _split_partition(partition, points)]


def _split_partition(partition: Partition, points: list[bytes]) -> list[Partition]:
    if not isinstance(partition, KeyRangePartition) or not _is_of_runs(partition.key_range):
        return [partition]
    return [KeyRangePartition(key_range) for key_range in ranges.split_range(partition.key_range, points)]


def _is_of_runs(key_range: Range) -> bool:
    """Return whether a range has only keys of run rows."""
    start, stop = ranges.prefix_range(layout.RUNS)
    return start <= key_range[0] and key_range[1] <= stop


def _horizons(table: Table, start: bytes, stop: bytes) -> Iterator[tuple[int]]:
    """Yield one row with the latest horizon in a range of catalogue rows, or 0 without any."""
    yield (partitions.latest_horizon_in(table, [(start, stop)]),)


def _read_partitions(
    numbers: Iterator[dict[str, int]], *, request: ReadRequest, planned: Sequence[Partition]
) -> Iterator[Row]:
    """Yield, on a worker, the rows of the planned partitions with the numbers in the column `id`."""
    store = worker_store(request.settings)
    for row in numbers:
        yield from row_tuples.read_rows(store, request, planned[row["id"]])


def persist(frame: DataFrame, stack: ExitStack) -> DataFrame:
    """Persist a frame until the stack closes, so that not every action computes it again."""
    persisted = frame.persist(StorageLevel.DISK_ONLY)
    stack.callback(persisted.unpersist)
    return persisted
