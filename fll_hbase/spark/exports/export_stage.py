"""Prepared tables of a batch of an incremental export, and the rows that earlier batches contain."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.spark.datasource.reader_options import TableName
from fll_hbase.spark.datasource.schemas import SCHEMAS
from fll_hbase.spark.exports.changes import CHANGED_FIELDS, CHANGED_RUNS, COMMIT, COMMITTED_MS, DIGEST
from fll_hbase.spark.exports.export_files import (
    CATALOGUE,
    EDGES,
    RUNS,
    Format,
    count_files,
    partition_by_day,
    write_files,
)

_SCHEMA_BY_TABLE = {RUNS: CHANGED_RUNS, EDGES: SCHEMAS[TableName.EDGES], CATALOGUE: CHANGED_FIELDS}
_SEEN_RUNS = f"run string, {COMMIT} string, {COMMITTED_MS} bigint"
_SEEN_FIELDS = f"namespace string, name string, {DIGEST} string"
_DATASET = ["namespace", "name"]


class StagedTables:
    """The tables of one batch as Parquet files in a separate directory."""

    def __init__(self, spark: SparkSession, directory: str) -> None:
        self._spark = spark
        self._directory = directory

    def path(self, table: str) -> str:
        """Return the directory of a table."""
        return f"{self._directory}/{table}"

    def write(self, frame: DataFrame, table: str) -> int:
        """Write a table, by day if its rows have a start; return the number of its rows."""
        frame = sort_rows(frame, table)
        return write_files(frame, self.path(table), Format.PARQUET)

    def read(self, table: str) -> DataFrame:
        """Return a lazy frame of the rows of a written table, without the column of the day."""
        schema = _SCHEMA_BY_TABLE[table]
        columns = [column.split()[0] for column in schema.split(", ")]
        return self._spark.read.schema(schema).parquet(self.path(table)).select(*columns)

    def count_files(self, table: str) -> int:
        """Return the number of data files of a table, or 0 if it was not written."""
        return count_files(self._spark, self.path(table))


class SeenRows:
    """Rows that earlier batches wrote and a scan finds again: recent commit records, and the catalogue.

    For the first batch there are no such rows.
    """

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
