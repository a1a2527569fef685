"""Changes of a store since an earlier scan: runs by their commit records, the catalogue by its rows.

The stored bytes show changed rows, but not deleted ones (decision 0029). An incremental export prepares them
as tables, without the rows that earlier batches contain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.keys import layout, ranges
from fll_hbase.model.checksum import digest
from fll_hbase.runtime.config import Settings
from fll_hbase.spark.datasource import row_tuples, run_scan
from fll_hbase.spark.datasource.reader_options import TableName
from fll_hbase.spark.datasource.schemas import SCHEMAS
from fll_hbase.spark.exports.export_files import (
    CATALOGUE,
    EDGES,
    RUNS,
    Format,
    count_files,
    partition_by_day,
    write_files,
)
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


_SCHEMA_BY_TABLE = {RUNS: CHANGED_RUNS, EDGES: SCHEMAS[TableName.EDGES], CATALOGUE: CHANGED_FIELDS}
_SEEN_RUNS = f"run string, {COMMIT} string, {COMMITTED_MS} bigint"
_SEEN_FIELDS = f"namespace string, name string, {DIGEST} string"
_DATASET = ["namespace", "name"]


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


@dataclass(frozen=True, slots=True)
class StagedTables:
    """The tables of one batch as Parquet files in a separate directory."""

    spark: SparkSession
    directory: str

    def path(self, table: str) -> str:
        """Return the directory of a table."""
        return f"{self.directory}/{table}"

    def write(self, frame: DataFrame, table: str) -> int:
        """Write a table, by day if its rows have a start; return the number of its rows."""
        return write_files(sort_rows(frame, table), self.path(table), Format.PARQUET)

    def read(self, table: str) -> DataFrame:
        """Return a lazy frame of the rows of a written table, without the column of the day."""
        schema = _SCHEMA_BY_TABLE[table]
        columns = [column.split()[0] for column in schema.split(", ")]
        return self.spark.read.schema(schema).parquet(self.path(table)).select(*columns)

    def count_files(self, table: str) -> int:
        """Return the number of data files of a table, or 0 if it was not written."""
        return count_files(self.spark, self.path(table))


class SeenRows:
    """Rows that earlier batches wrote and a scan finds again: recent commit records, and the catalogue."""

    def __init__(self, spark: SparkSession, directory: str) -> None:
        """Open the rows that `write_next` of the last batch wrote to a directory, "" for the first batch."""
        self._runs = self._fields = None
        if directory:
            self._runs = spark.read.schema(_SEEN_RUNS).parquet(f"{directory}/runs")
            self._fields = spark.read.schema(_SEEN_FIELDS).parquet(f"{directory}/fields")

    def new_runs(self, runs: DataFrame) -> DataFrame:
        """Return the runs with a commit record that no earlier batch contains."""
        return runs if self._runs is None else runs.join(self._runs, ["run", COMMIT], "left_anti")

    def new_fields(self, fields: DataFrame) -> DataFrame:
        """Return the rows of the datasets that are new or differ from their last export."""
        return fields if self._fields is None else fields.join(self._fields, [*_DATASET, DIGEST], "left_anti")

    def write_next(self, runs: DataFrame, fields: DataFrame, directory: str, *, until_ms: int) -> None:
        """Write the rows of this and earlier batches for the next one, which reads from `until_ms` on."""
        seen_runs, seen_fields = runs.select("run", COMMIT, COMMITTED_MS), fields.select(*_DATASET, DIGEST)
        # From the written rows, because the store has changed since.
        if self._runs is not None:
            seen_runs = seen_runs.unionByName(self._runs)
        if self._fields is not None:
            seen_fields = seen_fields.unionByName(self._fields.join(seen_fields, _DATASET, "left_anti"))
        seen_runs.where(f.col(COMMITTED_MS) >= until_ms).write.parquet(f"{directory}/runs")
        seen_fields.distinct().write.parquet(f"{directory}/fields")


def sort_rows(frame: DataFrame, table: str) -> DataFrame:
    """Return the rows of a table in the order of its files, with the column of the day if they have one."""
    if table == CATALOGUE:
        return frame.sortWithinPartitions(*_DATASET, "field")
    return partition_by_day(frame)
