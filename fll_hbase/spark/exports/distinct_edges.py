"""Distinct edges: each field-to-field edge once, with its number of runs and their first and last start."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from fll_hbase.model import field_relations
from fll_hbase.runtime.config import Settings
from fll_hbase.spark.datasource import run_scan
from fll_hbase.spark.datasource.reader_options import DatasetFilter, ScanBounds
from fll_hbase.spark.datasource.row_tuples import edge_columns
from fll_hbase.spark.lines.arrow_batches import Row, to_batches
from fll_hbase.spark.worker_store import worker_store

EDGE_COLUMNS = (
    "source_namespace",
    "source_name",
    "source_field",
    "destination_namespace",
    "destination_name",
    "destination_field",
    "influence",
)
_RUN_COLUMNS = "runs bigint, first_ms bigint, last_ms bigint"
_EDGES = ", ".join((*(f"{name} string" for name in EDGE_COLUMNS), _RUN_COLUMNS))


def distinct_edges(runs: DataFrame, settings: Settings, *, namespace: str = "") -> DataFrame:
    """Return a lazy frame of the distinct edges of runs, each with the number of its runs and their starts.

    With a namespace, only edges with a source or destination in it. Reads each content once.
    """
    # Runs of one content have the same edges: `run` is any of them, to look the content up again.
    contents = runs.groupBy("checksum").agg(
        f.count("*").alias("runs"),
        f.min("start_ms").alias("first_ms"),
        f.max("start_ms").alias("last_ms"),
        f.max("run").alias("run"),
    )
    bounds = ScanBounds(either_end=DatasetFilter(namespace))
    edges = contents.mapInArrow(partial(_edges_of_contents, settings=settings, bounds=bounds), _EDGES)
    # Different contents have edges in common, so their runs are added up.
    return edges.groupBy(*EDGE_COLUMNS).agg(
        f.sum("runs").alias("runs"),
        f.min("first_ms").alias("first_start_ms"),
        f.max("last_ms").alias("last_start_ms"),
    )


def _edges_of_contents(
    batches: Iterator[pa.RecordBatch], *, settings: Settings, bounds: ScanBounds
) -> Iterator[pa.RecordBatch]:
    return to_batches(_rows(batches, settings, bounds), _EDGES)


def _rows(batches: Iterator[pa.RecordBatch], settings: Settings, bounds: ScanBounds) -> Iterator[Row]:
    store = worker_store(settings)
    for batch in batches:
        for content in batch.to_pylist():
            run_columns = content["runs"], content["first_ms"], content["last_ms"]
            field_map = run_scan.field_map(store, content["run"], content["checksum"])
            for edge in field_relations.iter_edges(field_map) if field_map else ():
                if bounds.matches(edge):
                    yield *edge_columns(edge), *run_columns
