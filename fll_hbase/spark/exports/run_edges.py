"""Edges of runs that were read already: no run row and no reference is read again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from fll_hbase.model import field_relations
from fll_hbase.runtime.config import Settings
from fll_hbase.spark.datasource import run_scan
from fll_hbase.spark.datasource.reader_options import DatasetFilter, ScanBounds, TableName
from fll_hbase.spark.datasource.row_tuples import EdgeCache, edge_columns
from fll_hbase.spark.datasource.schemas import SCHEMAS, start_columns
from fll_hbase.spark.lines.arrow_batches import Row, to_batches
from fll_hbase.spark.worker_store import worker_store
from fll_hbase.store.components import StoreComponents

_EDGES = SCHEMAS[TableName.EDGES]


def run_edges(runs: DataFrame, settings: Settings, *, namespace: str = "") -> DataFrame:
    """Return a lazy frame of the table `edges` with the edges of the rows of the table `runs`.

    With a namespace, only edges with a source or destination in it.
    """
    bounds = ScanBounds(either_end=DatasetFilter(namespace))
    columns = runs.select("run", "start_ms", "checksum")
    return columns.mapInArrow(partial(_edges_of_runs, settings=settings, bounds=bounds), _EDGES)


def _edges_of_runs(
    batches: Iterator[pa.RecordBatch], *, settings: Settings, bounds: ScanBounds
) -> Iterator[pa.RecordBatch]:
    return to_batches(_rows(batches, worker_store(settings), bounds), _EDGES)


def _rows(batches: Iterator[pa.RecordBatch], store: StoreComponents, bounds: ScanBounds) -> Iterator[Row]:
    cache = EdgeCache()
    for batch in batches:
        for run in batch.to_pylist():
            run_columns = (run["run"], *start_columns(run["start_ms"]), run["checksum"])
            edges = cache.rows(run["checksum"], partial(_content_edges, store, run, bounds))
            yield from ((*run_columns, *columns) for columns in edges)


def _content_edges(store: StoreComponents, run: dict[str, Any], bounds: ScanBounds) -> Iterable[Row] | None:
    field_map = run_scan.field_map(store, run["run"], run["checksum"])
    if field_map is None:
        return None
    return (edge_columns(edge) for edge in field_relations.iter_edges(field_map) if bounds.matches(edge))
