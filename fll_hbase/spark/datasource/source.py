"""The data source `spark.read.format("fll")`: lineage as Spark tables."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.spark.datasource.reader_options import parse_options
from fll_hbase.spark.datasource.scan_reader import LineageReader, PushingReader
from fll_hbase.spark.datasource.schemas import SCHEMAS
from fll_hbase.spark.datasource.writer import LineageStreamWriter, LineageWriter, write_target

FORMAT = "fll"
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


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
        """Return a reader of the table. Raises ConfigurationError for a schema other than the table's."""
        request = parse_options(self.options)
        # Spark passes the table's own schema unless the user gave one.
        ddl = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in schema.fields)
        if ddl != SCHEMAS[request.table]:
            raise ConfigurationError(f"table {request.table.value} has its own columns; leave out the schema")
        return self._reader(request)

    def writer(self, schema: StructType, overwrite: bool) -> LineageWriter:
        """Return a writer of documents. Raises ConfigurationError for `overwrite` or no column `value`."""
        # Overwriting would delete the lineage of all other writers, and only retention may delete.
        if overwrite:
            raise ConfigurationError('lineage is append-only: write with mode("append")')
        return LineageWriter(write_target(self.options, schema))

    def streamWriter(self, schema: StructType, overwrite: bool) -> LineageStreamWriter:  # noqa: N802  # Spark's
        """Return a writer of a stream of documents. Raises ConfigurationError in the cases of `writer`."""
        if overwrite:
            raise ConfigurationError('lineage is append-only: write with outputMode("append")')
        return LineageStreamWriter(write_target(self.options, schema))


class PushingSource(LineageSource):
    """A LineageSource with filter pushdown."""

    _reader = PushingReader


def register(spark: SparkSession) -> None:
    """Register the format `fll` with the session. Call it again after changing the setting PUSHDOWN."""
    pushes = spark.conf.get(PUSHDOWN, "false") == "true"
    spark.dataSource.register(PushingSource if pushes else LineageSource)
