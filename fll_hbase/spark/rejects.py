"""Rejected lines: the directory they are written to, and the files in it."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.spark import line_frames
from fll_hbase.spark.output_directory import OutputDirectory
from fll_hbase.spark.worker_ingest import REJECTED

SORTED_MAX = 10_000
"""Rejected lines that are written as one file."""


def is_subdirectory(spark: SparkSession, path: str, parent: str) -> bool:
    """Return whether a directory is `parent`, or below it; neither has to exist."""
    directory, other = _qualify(spark, path), _qualify(spark, parent)
    return directory == other or _is_below(directory, other)


def rejected_lines(outcomes: DataFrame) -> DataFrame:
    """Return the outcomes of rejected lines."""
    return outcomes.where(f.col("outcome") == REJECTED)


def write_rejects(outcomes: DataFrame, lines: DataFrame, directory: OutputDirectory, *, count: int) -> None:
    """Replace the output in the directory by the `count` rejected lines of outcomes."""
    with directory.replacing() as url:
        # Numbering counts the lines of every block, which would read all input again for nothing.
        if count:
            rejected = line_frames.with_line_numbers(rejected_lines(outcomes), lines)
            write_rejected_lines(rejected, url, mode="append", count=count)


def write_rejected_lines(rejected: DataFrame, path: str, *, mode: str = "overwrite", count: int = 0) -> None:
    """Write rejected lines as NDJSON with `file`, `line`, `faults` and the line itself as `value`.

    In a line that is not UTF-8, `value` has U+FFFD for the invalid bytes and `bytes` the line in base64.
    Up to SORTED_MAX lines are one file, in order; more are written by all tasks, in order in each file.
    """
    columns = rejected.select("file", "line", "faults", *text_columns(f.col("value")))
    parts = columns.coalesce(1) if count <= SORTED_MAX else columns
    parts.sortWithinPartitions("file", "line").write.mode(mode).json(path)


def text_columns(raw: Column, name: str = "value", bytes_name: str = "bytes") -> tuple[Column, Column]:
    """Return bytes as text, and in base64 where they are not UTF-8."""
    text = raw.cast("string")
    # `format_string` replaces invalid bytes, in Spark 3.5 as in 4, which alone has `is_valid_utf8`.
    replaced = f.format_string("%s", text).cast("binary")
    return text.alias(name), f.when(replaced != raw, f.base64(raw)).alias(bytes_name)


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
