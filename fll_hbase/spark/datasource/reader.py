"""How does Spark read: what was asked for as parts, each part as batches of rows, in any worker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from fll_hbase.spark.datasource import partitions as plan
from fll_hbase.spark.datasource import rows, schemas
from fll_hbase.spark.datasource.options import Asked
from fll_hbase.spark.datasource.pushdown import narrowed
from fll_hbase.spark.datasource.worker_store import held


class LineageReader(DataSourceReader):
    """Reads within the bounds of the options alone."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked

    def partitions(self) -> Sequence[InputPartition]:
        found = plan.parts(self.asked, held(self.asked.settings).table)
        return [InputPartition(part) for part in found or [plan.Named(())]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        found = rows.read(held(self.asked.settings), self.asked, partition.value)
        return schemas.batches(found, schemas.SCHEMAS[self.asked.table])


class PushingReader(LineageReader):
    """Reads within the bounds of the WHERE clause, too.

    A class of its own, because Spark refuses readers with this method unless
    `spark.sql.python.filterPushdown.enabled` is set.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  # Spark's name
        """Narrows what is read, and leaves every filter to Spark all the same."""
        bounds = narrowed(self.asked.bounds, filters, self.asked.table)
        self.asked = replace(self.asked, bounds=bounds)
        return filters
