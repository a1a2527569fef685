"""The data source `spark.read.format("fll")`: lineage as Spark tables.

Its readers plan partitions on the driver, and read each on a worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.spark.datasource import row_tuples
from fll_hbase.spark.datasource.partitions import IdPartition, plan_partitions
from fll_hbase.spark.datasource.pushdown import push_down
from fll_hbase.spark.datasource.reader_options import ReadRequest, parse_options
from fll_hbase.spark.datasource.schemas import SCHEMAS
from fll_hbase.spark.datasource.writer import LineageStreamWriter, LineageWriter, open_writer
from fll_hbase.spark.lines.arrow_batches import to_batches
from fll_hbase.spark.worker_store import worker_store

FORMAT = "fll"
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


class LineageReader(DataSourceReader):
    """Reads within the bounds of the options."""

    def __init__(self, request: ReadRequest) -> None:
        self.request: ReadRequest = request

    def partitions(self) -> Sequence[InputPartition]:
        """Plan at least one partition, since Spark refuses a reader without any.

        Raises ConfigurationError without a store of this release, CorruptRow and StoreUnavailable.
        """
        partitions = plan_partitions(self.request, worker_store(self.request.settings).table)
        return [InputPartition(partition) for partition in partitions or [IdPartition(())]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition as Arrow batches in the columns of the table. Raises CorruptRow."""
        table_rows = row_tuples.read_rows(worker_store(self.request.settings), self.request, partition.value)
        return to_batches(table_rows, SCHEMAS[self.request.table])


class PushingReader(LineageReader):
    """Reads within the bounds of the options and of the WHERE clause."""

    # A separate class, because Spark refuses readers with this method unless
    # `spark.sql.python.filterPushdown.enabled` is set.
    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  # Spark's name
        """Narrow the bounds of the read, and return every filter for Spark to apply again."""
        bounds = push_down(self.request.bounds, filters, self.request.table)
        self.request = replace(self.request, bounds=bounds)
        return filters


class LineageSource(DataSource):
    """Tables of a store, read within the bounds of the options. Written rows are documents to record."""

    _reader: type[LineageReader] = LineageReader

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return FORMAT

    def schema(self) -> str:
        """Return the columns of the selected table as DDL. Raises ConfigurationError and InvalidQuery."""
        return SCHEMAS[parse_options(self.options).table]

    def reader(self, schema: StructType) -> LineageReader:
        """Return a reader of the table. Raises ConfigurationError for a schema other than the table's.

        Also raises the errors of the options, as `schema`.
        """
        request = parse_options(self.options)
        # Spark passes the table's own schema unless the user gave one.
        ddl = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in schema.fields)
        if ddl != SCHEMAS[request.table]:
            raise ConfigurationError(f"table {request.table.value} has its own columns; leave out the schema")
        return self._reader(request)

    def writer(self, schema: StructType, overwrite: bool) -> LineageWriter:
        """Return a writer of documents. Raises ConfigurationError for `overwrite`, or as `open_writer`."""
        # Overwriting would delete the lineage of all other writers, and only retention may delete.
        if overwrite:
            raise ConfigurationError('lineage is append-only: write with mode("append")')
        return open_writer(LineageWriter, self.options, schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> LineageStreamWriter:  # noqa: N802  # Spark's
        """Return a writer of a stream of documents. Raises ConfigurationError in the cases of `writer`."""
        if overwrite:
            raise ConfigurationError('lineage is append-only: write with outputMode("append")')
        return open_writer(LineageStreamWriter, self.options, schema)


class PushingSource(LineageSource):
    """A LineageSource with filter pushdown."""

    _reader = PushingReader


def register(spark: SparkSession) -> None:
    """Register the format `fll` with the session. Call it again after changing the setting PUSHDOWN."""
    pushes = spark.conf.get(PUSHDOWN, "false") == "true"
    spark.dataSource.register(PushingSource if pushes else LineageSource)
