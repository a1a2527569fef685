"""Files of an input: how many, how many bytes of lines, and from which directories."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.spark.exports.hadoop_files import ancestors

OPTIONS = {"recursiveFileLookup": "true"}
"""Options of every read: subdirectories are included. Spark ignores names that begin with `_` or `.`."""

EXPANSION = 8
"""Decompressed bytes for each byte of a compressed file, a usual ratio for lineage in JSON."""

_EXTENSION = r"(\.(?:gz|gzip|bz2|zst|zstd|deflate|snappy|lz4))$"
"""Extensions of files that Hadoop decompresses; any other file is plain."""


def measure(spark: SparkSession, paths: Sequence[str], *, is_compressed: bool) -> tuple[int, int]:
    """Return the number of files of an input, and the estimated bytes of all lines. No file is opened.

    The estimate is the size of plain files, and EXPANSION times the size of compressed ones, or of all files
    with `is_compressed`, as for Parquet.
    """
    files = spark.read.format("binaryFile").options(**OPTIONS).load(list(paths))
    is_plain = f.lit(not is_compressed) & (f.regexp_extract("_metadata.file_name", _EXTENSION, 1) == "")
    line_bytes = f.col("_metadata.file_size") * f.when(is_plain, 1).otherwise(EXPANSION)
    count, total = files.select(line_bytes.alias("bytes")).agg(f.count("*"), f.sum("bytes")).collect()[0]
    return count, total or 0


def is_read(spark: SparkSession, lines: DataFrame, path: str) -> bool:
    """Return whether a frame of files reads a directory, because one of its paths is or contains it.

    The directory need not exist. The JVM compares the paths, because there may be as many paths as files.
    """
    roots = lines._jdf.queryExecution().analyzed().collectLeaves().head().relation().location().rootPaths()
    return any(roots.contains(directory) for directory in ancestors(spark, path))
