"""Which fields made which at all: each edge once, with how many runs it is of, and from when to when."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from fll_hbase.config import Settings
from fll_hbase.model import field_edges
from fll_hbase.spark.datasource import run_scan, schemas
from fll_hbase.spark.datasource.options import DatasetFilter, ScanBounds
from fll_hbase.spark.datasource.rows import edge_columns
from fll_hbase.spark.datasource.schemas import Row
from fll_hbase.spark.datasource.worker_store import worker_store

EDGE_COLUMNS = (
    "source_namespace",
    "source_name",
    "source_field",
    "destination_namespace",
    "destination_name",
    "destination_field",
    "influence",
)
_EDGES = ", ".join(
    (*(f"{name} string" for name in EDGE_COLUMNS), "runs bigint, first_ms bigint, last_ms bigint")
)


def distinct_edges(runs: DataFrame, settings: Settings, *, namespace: str = "") -> DataFrame:
    """The edges of the runs, or those with an end in the namespace; each content is read once."""
    contents = runs.groupBy("checksum").agg(
        f.count("*").alias("runs"),
        f.min("start_ms").alias("first_ms"),
        f.max("start_ms").alias("last_ms"),
        f.max("run").alias("run"),
    )
    made = partial(_of_contents, settings=settings, bounds=ScanBounds(either_end=DatasetFilter(namespace)))
    summed = contents.mapInArrow(made, _EDGES).groupBy(*EDGE_COLUMNS)
    return summed.agg(
        f.sum("runs").alias("runs"),
        f.min("first_ms").alias("first_start_ms"),
        f.max("last_ms").alias("last_start_ms"),
    )


def _of_contents(
    batches: Iterator[pa.RecordBatch], *, settings: Settings, bounds: ScanBounds
) -> Iterator[pa.RecordBatch]:
    return schemas.to_batches(_rows(batches, settings, bounds), _EDGES)


def _rows(batches: Iterator[pa.RecordBatch], settings: Settings, bounds: ScanBounds) -> Iterator[Row]:
    of = worker_store(settings)
    for batch in batches:
        for said in batch.to_pylist():
            of_content = said["runs"], said["first_ms"], said["last_ms"]
            field_map = run_scan.field_map(of, said["run"], said["checksum"])
            for edge in field_edges.iter_edges(field_map) if field_map else ():
                if bounds.matches(edge):
                    yield *edge_columns(edge), *of_content
