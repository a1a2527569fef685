"""Rejected lines: the directory they are written to, and the files in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote, urlsplit

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.errors import ConfigurationError
from fll_hbase.spark import line_frames
from fll_hbase.spark.worker_ingest import REJECTED

_SPARK_PREFIXES = ("part-", "_", ".")
"""Prefixes of the names that Spark writes."""


def prepare_directory(
    spark: SparkSession, path: str, *, inputs: Iterable[str], prefixes: tuple[str, ...] = _SPARK_PREFIXES
) -> None:
    """Create the directory if it does not exist.

    Raises ConfigurationError if it cannot be written, contains a name with none of the prefixes, or contains
    an input file.
    """
    # Hadoop's file system, which PySpark has no public way to: the directory may be on HDFS or S3.
    java: Any = spark._jvm
    try:
        hadoop_path = java.org.apache.hadoop.fs.Path(path)
        file_system = hadoop_path.getFileSystem(spark._jsc.hadoopConfiguration())
        file_system.mkdirs(hadoop_path)
        file_system.access(hadoop_path, java.org.apache.hadoop.fs.permission.FsAction.WRITE)
        names = [str(status.getPath().getName()) for status in file_system.listStatus(hadoop_path)]
    except Py4JJavaError as error:
        reason = str(error.java_exception.toString()).partition("\n")[0]
        raise ConfigurationError(f"rejected lines cannot be written to {path!r}: {reason}") from error
    # The directory is replaced: a mistyped path must not cost other files.
    foreign = [name for name in names if not name.startswith(prefixes)]
    if foreign:
        raise ConfigurationError(
            f"{path!r} contains {foreign[0]!r}, which was not written by a previous load;"
            " use an empty directory"
        )
    directory = _split_uri(str(file_system.makeQualified(hadoop_path).toUri()))
    if any(_is_below(_split_uri(file), directory) for file in inputs):
        raise ConfigurationError(f"{path!r} contains input files; use another directory for rejected lines")


def is_subdirectory(spark: SparkSession, path: str, parent: str) -> bool:
    """Return whether a directory is `parent`, or below it; neither has to exist."""
    directory, other = _qualify(spark, path), _qualify(spark, parent)
    return directory == other or _is_below(directory, other)


def remove_directory(spark: SparkSession, path: str) -> None:
    """Remove a directory of any file system that Spark supports, with its files, if it exists."""
    java: Any = spark._jvm
    hadoop_path = java.org.apache.hadoop.fs.Path(path)
    hadoop_path.getFileSystem(spark._jsc.hadoopConfiguration()).delete(hadoop_path, True)


def rejected_lines(outcomes: DataFrame) -> DataFrame:
    """Return the outcomes of rejected lines."""
    return outcomes.where(f.col("outcome") == REJECTED)


def write_rejects(outcomes: DataFrame, lines: DataFrame, path: str, *, count: int) -> None:
    """Replace the directory by the rejected lines of the outcomes; `count` is how many there are."""
    rejected = rejected_lines(outcomes)
    if count:
        numbered = line_frames.with_line_numbers(rejected, lines)
    else:
        # Numbering counts the lines of every block, which would read all input again for nothing.
        numbered = rejected.withColumn("line", f.lit(0).cast("bigint"))
    write_rejected_lines(numbered, path)


def write_rejected_lines(rejected: DataFrame, path: str) -> None:
    """Write rejected lines as NDJSON with `file`, `line`, `faults` and the line itself as `value`.

    In a line that is not UTF-8, `value` has U+FFFD for the invalid bytes and `bytes` the line in base64.
    """
    text = f.col("value").cast("string")
    raw = f.when(~f.is_valid_utf8(text), f.base64("value"))
    columns = rejected.select("file", "line", "faults", text.alias("value"), raw.alias("bytes"))
    # One file, so that people find all rejected lines in order.
    columns.coalesce(1).sort("file", "line").write.mode("overwrite").json(path)


def _qualify(spark: SparkSession, path: str) -> tuple[str, str]:
    java: Any = spark._jvm
    hadoop_path = java.org.apache.hadoop.fs.Path(path)
    file_system = hadoop_path.getFileSystem(spark._jsc.hadoopConfiguration())
    return _split_uri(str(file_system.makeQualified(hadoop_path).toUri()))


def _split_uri(uri: str) -> tuple[str, str]:
    """Return host or bucket, and the path without a slash at its end."""
    parts = urlsplit(uri)
    return parts.netloc, unquote(parts.path).rstrip("/")


def _is_below(file: tuple[str, str], directory: tuple[str, str]) -> bool:
    # With the slash, or `/data/rejects-old` would be below `/data/rejects`.
    return file[0] == directory[0] and file[1].startswith(directory[1] + "/")
