"""Files of an export: formats, sizes and order of rows, and the version that wrote them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as f

from fll_hbase.spark.exports.hadoop_files import HadoopDirectory

RUNS, EDGES, CATALOGUE, EVENTS = "runs", "edges", "catalogue", "events"
"""The directories of an export."""

DAY = "day"
FILE_BYTES = 256 * 2**20
"""Default target size of files."""

SHUFFLE_BYTES_PER_FILE_BYTE = 4
"""Compressed bytes that Spark shuffles for each byte of Parquet (decision 0029)."""

_ROW_BYTES = {"csv": 256, "openlineage": 2_048}
"""Approximate bytes of a row of text, from which the most rows of a file follow; text is not shuffled."""

_CSV = {
    "header": "true",
    "escape": '"',
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
}


class Format(Enum):
    """Formats of the files."""

    OPENLINEAGE = "openlineage"
    PARQUET = "parquet"
    CSV = "csv"


@contextmanager
def write_settings(spark: SparkSession, *, file_bytes: int) -> Iterator[None]:
    """Return a context with the settings that lazy frames of this module need while they are written."""
    settings = {
        # By default Spark writes INT96, which other readers interpret as local time.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": str(file_bytes * SHUFFLE_BYTES_PER_FILE_BYTE),
    }
    previous: dict[str, str | None] = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, earlier in previous.items():
            if earlier is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, earlier)


def partition_by_day(frame: DataFrame) -> DataFrame:
    """Add DAY, and spread rows by day, sorted by start, into partitions of about the advised size.

    Smaller days share a partition, and a larger day has several.
    """
    dated = frame.withColumn(DAY, f.date_format("start", "yyyy-MM-dd"))
    # After the shuffle Spark splits large partitions by their measured size. A global order would sample the
    # starts first, and so read the store twice.
    # In SQL, because PySpark 3.5 passes no column to `hint`.
    balanced = dated.sparkSession.sql(f"SELECT /*+ REBALANCE({DAY}) */ * FROM {{dated}}", dated=dated)
    return balanced.sortWithinPartitions(DAY, "start_ms", "run")


def sort_by_start(frame: DataFrame, form: Format) -> DataFrame:
    """Return the frame sorted by start within each file and, except for CSV, with DAY and spread by day."""
    return frame.sortWithinPartitions("start_ms", "run") if form is Format.CSV else partition_by_day(frame)


def write_files(frame: DataFrame, path: str, form: Format, *, file_bytes: int = FILE_BYTES) -> int:
    """Write a frame to the directory, which must not exist; return the number of its rows.

    `file_bytes` applies to text alone. The size of Parquet files follows from `write_settings`.
    """
    # Rows are counted while they are written, since count() would compute the frame and read the store again.
    observation = Observation()
    writer = frame.observe(observation, f.count(f.lit(1)).alias("rows")).write
    if form is not Format.PARQUET:
        writer = writer.option("maxRecordsPerFile", max(file_bytes // _ROW_BYTES[form.value], 1))
    match form:
        case Format.PARQUET:
            (writer.partitionBy(DAY) if DAY in frame.columns else writer).parquet(path)
        case Format.CSV:
            writer.options(**_CSV).csv(path)
        case Format.OPENLINEAGE:
            writer.text(path)
    return int(observation.get["rows"])


def count_files(spark: SparkSession, directory: str) -> int:
    """Return the number of data files of a table, or 0 without a directory."""
    names = (file.path.rpartition("/")[2] for file in HadoopDirectory(spark, directory).walk())
    return sum(name.startswith("part-") for name in names)
