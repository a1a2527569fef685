"""Tables that batches of an incremental export are appended to: Parquet directories, Delta and Iceberg.

Each append may be repeated, and leaves the rows of a batch there once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.spark.exports.changes import StagedTables, sort_rows
from fll_hbase.spark.exports.export_files import DAY
from fll_hbase.spark.exports.export_log import Batch
from fll_hbase.spark.exports.hadoop_files import TEMPORARY, HadoopDirectory

BATCH = "batch"
LOG = "fll.log"
_MARKER = "_fll_export"
"""File in the directory of an export with the log that it belongs to."""


class LakeFormat(Enum):
    """Formats of incremental exports."""

    PARQUET = "parquet"
    DELTA = "delta"
    ICEBERG = "iceberg"


_CLASSES = {
    LakeFormat.DELTA: "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    LakeFormat.ICEBERG: "org.apache.iceberg.spark.SparkCatalog",
}
_PACKAGES = {
    LakeFormat.DELTA: "io.delta:delta-spark",
    LakeFormat.ICEBERG: "org.apache.iceberg:iceberg-spark-runtime",
}


@dataclass(frozen=True)
class LakeTables(ABC):
    """The tables of one export in `out`. Methods raise ConfigurationError, and Spark's own errors."""

    spark: SparkSession
    out: str

    def claim(self, log: str) -> None:
        """Mark an empty directory as a log's. Raises ConfigurationError for other files, or another mark."""
        directory = HadoopDirectory(self.spark, self.out)
        if not directory.exists(_MARKER):
            names = sorted(name for name in directory.names() if TEMPORARY not in name)
            if names:
                raise ConfigurationError(f"{self.out!r} contains {names[0]!r}; use an empty directory")
            directory.create_file(_MARKER, log)
        if directory.read(_MARKER).decode() != log:
            raise ConfigurationError(
                f"{self.out!r} belongs to another --since-last directory; use another one"
            )

    @abstractmethod
    def append(self, stage: StagedTables, table: str, batch: Batch) -> None:
        """Append the prepared rows of a batch to a table; a repeated call leaves them there once."""


class ParquetTables(LakeTables):
    """Directories `<out>/<table>/batch=<number>`."""

    def append(self, stage: StagedTables, table: str, batch: Batch) -> None:
        """Move a batch's files, in one step if possible. Raises LineageError if other files are there."""
        HadoopDirectory(self.spark, self.out).move(
            f"{batch.stage}/{table}", f"{table}/{BATCH}={batch.number}"
        )


class DeltaTables(LakeTables):
    """Delta tables `<out>/<table>`, with the number of the batch as a column."""

    def append(self, stage: StagedTables, table: str, batch: Batch) -> None:
        """Append the rows in one transaction, which Delta skips if this batch was already committed."""
        rows = _published_rows(stage, table, batch)
        writer = rows.write.format("delta").mode("append")
        if DAY in rows.columns:
            writer = writer.partitionBy(DAY)
        # The staged rows of a batch never change, so any attempt may have written them.
        options = {"txnAppId": f"fll-{batch.log}-{table}", "txnVersion": str(batch.number)}
        writer.options(**options).save(f"{self.out}/{table}")


class IcebergTables(LakeTables):
    """Iceberg tables `<out>.<table>` of a catalog, with the number of the batch as a column."""

    def claim(self, log: str) -> None:
        """Create the namespace; `append` compares the log of each table.

        Raises ConfigurationError unless `out` is CATALOG.NAMESPACE of a catalog that Spark knows.
        """
        # Tables are marked when they are created, because a catalog has no files of its own.
        catalog = self.out.partition(".")[0]
        if not self.out.count(".") or not self.spark.conf.get(f"spark.sql.catalog.{catalog}", ""):
            raise ConfigurationError(
                f"{self.out!r} is not CATALOG.NAMESPACE of a catalog that Spark knows: set"
                f" spark.sql.catalog.{catalog} with --conf"
            )
        self.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {_quoted(self.out)}")

    def append(self, stage: StagedTables, table: str, batch: Batch) -> None:
        """Write or replace a batch's rows, in a new table, too. Raises ConfigurationError for another's."""
        name = f"{_quoted(self.out)}.{table}"
        rows = _published_rows(stage, table, batch)
        if not self.spark.catalog.tableExists(name):
            writer = rows.writeTo(name).using("iceberg").tableProperty(LOG, batch.log)
            (writer.partitionedBy(f.col(DAY)) if DAY in rows.columns else writer).create()
            return
        properties = {
            row["key"]: row["value"] for row in self.spark.sql(f"SHOW TBLPROPERTIES {name}").collect()
        }
        if properties.get(LOG) != batch.log:
            raise ConfigurationError(f"table {self.out}.{table} is not of this export; use another namespace")
        rows.writeTo(name).overwrite(f.col(BATCH) == batch.number)


def open_lake(spark: SparkSession, form: LakeFormat, out: str) -> LakeTables:
    """Return the tables of an export. Raises ConfigurationError if the library of the format is missing."""
    if form is LakeFormat.PARQUET:
        return ParquetTables(spark, out)
    _check_library(spark, form)
    return DeltaTables(spark, out) if form is LakeFormat.DELTA else IcebergTables(spark, out)


def _check_library(spark: SparkSession, form: LakeFormat) -> None:
    """Raise ConfigurationError if Spark was started without the library of a format."""
    java: Any = spark._jvm
    try:
        java.java.lang.Thread.currentThread().getContextClassLoader().loadClass(_CLASSES[form])
    except Py4JJavaError as error:
        raise ConfigurationError(
            f"--format {form.value} needs {form.value} in Spark: --conf spark.jars.packages="
            f"{_PACKAGES[form]}_…:VERSION, one that is for Spark {spark.version}"
        ) from error


def _published_rows(stage: StagedTables, table: str, batch: Batch) -> DataFrame:
    """Return the prepared rows of a table in the order of its files, with the batch's number as BATCH."""
    # The literal is typed as the column was when the table was created.
    return sort_rows(stage.read(table), table).withColumn(BATCH, f.lit(batch.number).cast("bigint"))


def _quoted(name: str) -> str:
    """Return a name with each of its parts, between dots, in backticks."""
    return ".".join(f"`{part}`" for part in name.split("."))
