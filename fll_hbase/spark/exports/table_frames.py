"""Frames of the tables of a store for jobs: the rows of the data source, without its interface.

Spark's Python data sources need Spark 4, but these frames also work on 3.5. Frames of edges begin with runs
that were already read, and have the edges of each run, or each edge once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.keys import layout, ranges
from fll_hbase.model import field_relations
from fll_hbase.model.runs import run_key
from fll_hbase.model.window import Window
from fll_hbase.runtime.config import Settings
from fll_hbase.spark.datasource import partitions, row_tuples, run_scan
from fll_hbase.spark.datasource.partitions import KeyRangePartition, Partition
from fll_hbase.spark.datasource.reader_options import (
    ALWAYS,
    DatasetFilter,
    ReadRequest,
    ScanBounds,
    TableName,
)
from fll_hbase.spark.datasource.row_tuples import EdgeCache, edge_columns
from fll_hbase.spark.datasource.schemas import SCHEMAS, start_columns
from fll_hbase.spark.hashes import range_scan
from fll_hbase.spark.lines.arrow_batches import Row, map_rows
from fll_hbase.spark.worker_store import worker_store
from fll_hbase.store.components import StoreComponents
from fll_hbase.store.factory import open_store_table
from fll_hbase.store.rows import calendar_mark
from fll_hbase.tables import Table

_SALTS = 256

EDGE_COLUMNS = (
    "source_namespace",
    "source_name",
    "source_field",
    "destination_namespace",
    "destination_name",
    "destination_field",
    "influence",
)
RUN_COLUMNS = ("run", "namespace", "start_ms", "checksum")
_SPAN_COLUMNS = "runs bigint, first_ms bigint, last_ms bigint"
_DISTINCT = ", ".join((*(f"{name} string" for name in EDGE_COLUMNS), _SPAN_COLUMNS))


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

    A region of an engine may have many millions of runs. Other partitions stay as they are. There are then
    about `parts` for all run rows.
    """
    if len(planned) >= parts:
        return list(planned)
    step = max(_SALTS // parts, 1)
    points = [layout.RUNS + b"%02x|" % salt for salt in range(step, _SALTS, step)]
    return [part for partition in planned for part in _split_partition(partition, points)]


def _split_partition(partition: Partition, points: list[bytes]) -> list[Partition]:
    """Return the parts of a range of run rows between the points, or any other partition as it is."""
    start, stop = ranges.prefix_range(layout.RUNS)
    match partition:
        case KeyRangePartition((first, end)) if start <= first and end <= stop:
            return [KeyRangePartition(part) for part in ranges.split_range((first, end), points)]
    return [partition]


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


def run_edges(runs: DataFrame, settings: Settings, *, namespace: str = "") -> DataFrame:
    """Return a lazy frame of the table `edges` with the edges of the runs in a frame of the table `runs`.

    The frame needs RUN_COLUMNS; run rows and references are not read again. With a namespace, only edges with
    a source or destination in it are returned. Runs purged meanwhile are left out.
    """
    read = partial(_edges_of_runs, settings=settings, bounds=_bounds(namespace))
    return map_rows(runs.select(*RUN_COLUMNS), read, SCHEMAS[TableName.EDGES])


def distinct_edges(runs: DataFrame, settings: Settings, *, namespace: str = "") -> DataFrame:
    """Return a lazy frame of distinct edges: EDGE_COLUMNS, `runs`, `first_start_ms` and `last_start_ms`.

    The frame of runs needs RUN_COLUMNS. With a namespace, only edges with a source or destination in it are
    returned. Each content is read once. Runs purged meanwhile are left out.
    """
    # Runs of one content have the same edges. Any of their ids, as `run`, can look the content up again.
    contents = runs.groupBy("checksum").agg(
        f.count("*").alias("runs"),
        f.min("start_ms").alias("first_ms"),
        f.max("start_ms").alias("last_ms"),
        f.max("run").alias("run"),
        f.max_by("namespace", "run").alias("namespace"),
    )
    read = partial(_edges_of_contents, settings=settings, bounds=_bounds(namespace))
    # Different contents may have the same edge, so their runs are added up.
    return (
        map_rows(contents, read, _DISTINCT)
        .groupBy(*EDGE_COLUMNS)
        .agg(
            f.sum("runs").alias("runs"),
            f.min("first_ms").alias("first_start_ms"),
            f.max("last_ms").alias("last_start_ms"),
        )
    )


def _bounds(namespace: str) -> ScanBounds:
    """Return bounds of edges with an end in the namespace, or of all edges for ""."""
    return ScanBounds(either_end=DatasetFilter(namespace))


def _edges_of_runs(
    runs: Iterator[dict[str, Any]], *, settings: Settings, bounds: ScanBounds
) -> Iterator[Row]:
    """Yield, on a worker, the matching edges of runs as rows of the table `edges`."""
    store, cache = worker_store(settings), EdgeCache()
    for run in runs:
        run_columns = (run["run"], run["namespace"], *start_columns(run["start_ms"]), run["checksum"])
        edges = cache.rows(run["checksum"], partial(_content_edges, store, run, bounds))
        yield from ((*run_columns, *columns) for columns in edges)


def _edges_of_contents(
    contents: Iterator[dict[str, Any]], *, settings: Settings, bounds: ScanBounds
) -> Iterator[Row]:
    """Yield, on a worker, the matching edges of contents, each with the number and starts of its runs."""
    store = worker_store(settings)
    for content in contents:
        run_columns = content["runs"], content["first_ms"], content["last_ms"]
        edges = _content_edges(store, content, bounds) or ()
        yield from ((*columns, *run_columns) for columns in edges)


def _content_edges(store: StoreComponents, run: dict[str, Any], bounds: ScanBounds) -> Iterable[Row] | None:
    """Return the matching edges of a run's content, or None if both were purged since the run was read."""
    field_map = run_scan.field_map(store, run_key(run["run"], run["namespace"]), run["checksum"])
    if field_map is None:
        return None
    return (edge_columns(edge) for edge in field_relations.iter_edges(field_map) if bounds.matches(edge))


def persist(frame: DataFrame, stack: ExitStack) -> DataFrame:
    """Persist a frame until the stack closes, so that not every action computes it again."""
    persisted = frame.persist(StorageLevel.DISK_ONLY)
    stack.callback(persisted.unpersist)
    return persisted
