"""Spark's reader of the data source: plans partitions on the driver, reads each on a worker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from fll_hbase.spark.datasource import row_tuples, schemas
from fll_hbase.spark.datasource.partitions import IdPartition, plan_partitions
from fll_hbase.spark.datasource.pushdown import push_down
from fll_hbase.spark.datasource.reader_options import ReadRequest
from fll_hbase.spark.lines.arrow_batches import to_batches
from fll_hbase.spark.worker_store import worker_store


class LineageReader(DataSourceReader):
    """Reads within the bounds of the options."""

    def __init__(self, request: ReadRequest) -> None:
        self.request: ReadRequest = request

    def partitions(self) -> Sequence[InputPartition]:
        """Plan at least one partition, since Spark refuses a reader without any."""
        partitions = plan_partitions(self.request, worker_store(self.request.settings).table)
        return [InputPartition(partition) for partition in partitions or [IdPartition(())]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition as Arrow batches in the columns of the table. Raises CorruptRow."""
        table_rows = row_tuples.read_rows(worker_store(self.request.settings), self.request, partition.value)
        return to_batches(table_rows, schemas.SCHEMAS[self.request.table])


class PushingReader(LineageReader):
    """Reads within the bounds of the options and of the WHERE clause."""

    # A separate class, because Spark refuses readers with this method unless
    # `spark.sql.python.filterPushdown.enabled` is set.
    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  # Spark's name
        """Narrow the bounds of the read, and return every filter for Spark to apply again."""
        bounds = push_down(self.request.bounds, filters, self.request.table)
        self.request = replace(self.request, bounds=bounds)
        return filters
