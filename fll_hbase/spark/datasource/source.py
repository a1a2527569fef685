"""What is `spark.read.format("fll")`: lineage as tables of Spark."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from fll_hbase.errors import ConfigurationError
from fll_hbase.spark.datasource.options import parse_options
from fll_hbase.spark.datasource.reader import LineageReader, PushingReader
from fll_hbase.spark.datasource.schemas import SCHEMAS
from fll_hbase.spark.datasource.writer import LineageStreamWriter, LineageWriter, write_target

FORMAT = "fll"
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


class LineageSource(DataSource):
    """Tables of a store; what is read is narrowed by options."""

    _reader: type[LineageReader] = LineageReader

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return SCHEMAS[parse_options(self.options).table]

    def reader(self, schema: StructType) -> LineageReader:
        wanted = parse_options(self.options)
        said = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in schema.fields)
        if said != SCHEMAS[wanted.table]:
            raise ConfigurationError(f"table {wanted.table.value} has its own columns; leave out the schema")
        return self._reader(wanted)

    def writer(self, schema: StructType, overwrite: bool) -> LineageWriter:
        if overwrite:
            raise ConfigurationError('lineage is only ever added to: write with mode("append")')
        return LineageWriter(write_target(self.options, schema))

    def streamWriter(self, schema: StructType, overwrite: bool) -> LineageStreamWriter:  # noqa: N802  # Spark's
        if overwrite:
            raise ConfigurationError('lineage is only ever added to: write with outputMode("append")')
        return LineageStreamWriter(write_target(self.options, schema))


class PushingSource(LineageSource):
    """The same, narrowed by WHERE clauses, too."""

    _reader = PushingReader


def register(spark: SparkSession) -> None:
    """Let the session read and write `fll`; once more after the setting PUSHDOWN was changed."""
    pushes = spark.conf.get(PUSHDOWN, "false") == "true"
    spark.dataSource.register(PushingSource if pushes else LineageSource)
