"""Datasets that no content needs any longer, and their deletion by the workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from fll_hbase.keys import layout
from fll_hbase.runtime.config import Settings
from fll_hbase.spark.exports.table_frames import persist
from fll_hbase.spark.hashes import cell_hashes, range_scan
from fll_hbase.spark.jobs.retention_hashes import cell_hash, key_ranges
from fll_hbase.spark.lines.arrow_batches import to_batches
from fll_hbase.spark.worker_store import worker_table
from fll_hbase.store.maintenance import garbage_collection, liveness
from fll_hbase.tables import Table

CONTENT_DATASETS = "hash bigint, dataset binary"
"""The hash of a content row, and the catalogue row of a dataset in it."""

ALIAS_CELLS = "row binary, column binary, dataset binary"
"""Row and column of a cell of an alias row, and the catalogue row of the alias that it names."""


def unreferenced_datasets(
    spark: SparkSession, settings: Settings, garbage: DataFrame, persisted: ExitStack
) -> DataFrame:
    """Return the catalogue rows, in the column `dataset`, that only contents in the garbage need.

    These datasets, and their aliases, are named by no other content.
    """
    # Any content may reference a dataset, so live contents are read too.
    contents = persist(
        range_scan.scan_ranges(
            spark, settings, key_ranges([layout.CONTENTS]), read=read_datasets, schema=CONTENT_DATASETS
        ),
        persisted,
    )
    live = contents.join(garbage, "hash", "left_anti").select("dataset").distinct()
    in_garbage = contents.join(garbage, "hash", "left_semi").select("dataset").distinct()
    datasets = in_garbage.join(live, "dataset", "left_anti")
    aliases = read_aliases(datasets, settings).select("dataset").join(live, "dataset", "left_anti")
    return persist(datasets.union(aliases).distinct(), persisted)


def read_aliases(datasets: DataFrame, settings: Settings) -> DataFrame:
    """Return a lazy frame of ALIAS_CELLS: the cells of alias rows of the datasets in the column `dataset`."""
    return datasets.mapInArrow(partial(_read_aliases, settings=settings), ALIAS_CELLS)


def read_datasets(table: Table, start: bytes, stop: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the signed hash of each content row with the catalogue key of each dataset it names."""
    for row, cells in table.scan(start, stop, columns=(layout.SOURCES, layout.DESTINATIONS)):
        for dataset in liveness.catalogue_keys(row, cells):
            yield cell_hashes.to_signed(cell_hash(row)), dataset


def _read_aliases(batches: Iterator[pa.RecordBatch], *, settings: Settings) -> Iterator[pa.RecordBatch]:
    """Yield, on a worker, the alias cells of the datasets in the column `dataset` as ALIAS_CELLS."""
    table = worker_table(settings)
    for batch in batches:
        cells = garbage_collection.alias_cells(table, batch.column("dataset").to_pylist())
        yield from to_batches(((*cell, alias) for cell, alias in cells), ALIAS_CELLS)
