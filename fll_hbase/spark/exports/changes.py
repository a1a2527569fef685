"""Changes of a store since an earlier scan: runs by their commit records, the catalogue by its rows.

The stored bytes show changed rows, but not deleted ones (decision 0029).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from fll_hbase.keys import layout, ranges
from fll_hbase.model.checksum import digest
from fll_hbase.runtime.config import Settings
from fll_hbase.spark.datasource import row_tuples, run_scan
from fll_hbase.spark.datasource.reader_options import TableName
from fll_hbase.spark.datasource.schemas import SCHEMAS
from fll_hbase.spark.hashes import range_scan
from fll_hbase.spark.lines.arrow_batches import Row
from fll_hbase.spark.worker_store import worker_store
from fll_hbase.store.rows import run_rows
from fll_hbase.tables import Row as Cells
from fll_hbase.tables import Table

COMMIT, COMMITTED_MS, DIGEST = "commit", "committed_ms", "digest"
CHANGED_RUNS = f"{SCHEMAS[TableName.RUNS]}, {COMMIT} string, {COMMITTED_MS} bigint"
"""The table `runs`, with the valid commit record of the run and the time of the store at which it was put."""

CHANGED_FIELDS = f"{SCHEMAS[TableName.FIELDS]}, {DIGEST} string"
"""The table `fields`, with the digest of all rows of the dataset."""


def committed_runs(spark: SparkSession, settings: Settings, *, since_ms: int) -> DataFrame:
    """Return a lazy frame of CHANGED_RUNS: runs whose valid commit record was put at `since_ms` or later.

    All run rows are read, because a scan cannot skip runs by the time of their commit.
    """
    read = partial(_read_runs, settings=settings, since_ms=since_ms)
    key_range = ranges.prefix_range(layout.RUNS)
    return range_scan.scan_ranges(spark, settings, [key_range], read=read, schema=CHANGED_RUNS)


def digested_fields(spark: SparkSession, settings: Settings) -> DataFrame:
    """Return a lazy frame of CHANGED_FIELDS of the whole catalogue."""
    read = partial(_read_fields, settings=settings)
    key_range = ranges.prefix_range(layout.DATASETS)
    return range_scan.scan_ranges(spark, settings, [key_range], read=read, schema=CHANGED_FIELDS)


def _read_runs(
    table: Table, start: bytes, stop: bytes, *, settings: Settings, since_ms: int
) -> Iterator[tuple[Any, ...]]:
    """Yield, as CHANGED_RUNS, the runs of a key range that were committed at `since_ms` or later."""
    events = worker_store(settings).events
    scan = table.scan(start, stop, columns=(layout.LIGHT,))
    while page := list(islice(scan, run_scan.BATCH_RUNS)):
        commits = {key: commit for key, row in page if (commit := _commit(row)) and commit[1] >= since_ms}
        cells = {ranges.run_of(key): row for key, row in page if key in commits}
        for run, committed in events.committed_runs(cells).items():
            yield *row_tuples.run_columns(committed), *commits[layout.run_row(*run)]


def _commit(row: Cells) -> tuple[str, int] | None:
    """Return the name and time of the valid commit record, or None if no commit of the run has completed."""
    column = run_rows.commit_column_of(row)
    return None if column is None else (column[len(layout.COMMIT) :].decode(), row[column].stamp_ms)


def _read_fields(table: Table, start: bytes, stop: bytes, *, settings: Settings) -> Iterator[Row]:
    """Yield, as CHANGED_FIELDS, the rows of the datasets of a range of catalogue keys."""
    for dataset_rows in row_tuples.dataset_rows(worker_store(settings), (start, stop)):
        dataset_digest = digest(repr(dataset_rows).encode())
        yield from ((*row, dataset_digest) for row in dataset_rows)
