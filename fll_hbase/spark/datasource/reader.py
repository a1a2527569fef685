"""How does Spark read: what was asked for as parts, each part as batches of rows, in any worker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from fll_hbase.spark.datasource import partitions as plan
from fll_hbase.spark.datasource import rows, schemas
from fll_hbase.spark.datasource.options import ReadRequest
from fll_hbase.spark.datasource.pushdown import push_down
from fll_hbase.spark.datasource.worker_store import worker_store


class LineageReader(DataSourceReader):
    """Reads within the bounds of the options alone."""

    def __init__(self, asked: ReadRequest) -> None:
        self.request = asked

    def partitions(self) -> Sequence[InputPartition]:
        found = plan.plan_partitions(self.request, worker_store(self.request.settings).table)
        return [InputPartition(part) for part in found or [plan.IdPartition(())]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        found = rows.read_rows(worker_store(self.request.settings), self.request, partition.value)
        return schemas.to_batches(found, schemas.SCHEMAS[self.request.table])


class PushingReader(LineageReader):
    """Reads within the bounds of the WHERE clause, too.

    A class of its own, because Spark refuses readers with this method unless
    `spark.sql.python.filterPushdown.enabled` is set.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  # Spark's name
        """Narrows what is read, and leaves every filter to Spark all the same."""
        bounds = push_down(self.asked.bounds, filters, self.asked.table)
        self.asked = replace(self.asked, bounds=bounds)
        return filters
