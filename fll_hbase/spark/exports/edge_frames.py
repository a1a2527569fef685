"""Frames of edges between fields, from runs that were already read: for each run, or each edge once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from fll_hbase.model import field_relations
from fll_hbase.model.runs import run_key
from fll_hbase.runtime.config import Settings
from fll_hbase.spark.datasource import run_scan
from fll_hbase.spark.datasource.reader_options import DatasetFilter, ScanBounds, TableName
from fll_hbase.spark.datasource.row_tuples import EdgeCache, edge_columns
from fll_hbase.spark.datasource.schemas import SCHEMAS, start_columns
from fll_hbase.spark.lines.arrow_batches import Row, map_rows
from fll_hbase.spark.worker_store import worker_store
from fll_hbase.store.components import StoreComponents

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
