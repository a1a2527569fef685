"""Files of an input: how many, how large, and how compressed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.spark.exports.hadoop_files import ancestors

FILE, SIZE, CODEC = "file", "size_bytes", "codec"
OPTIONS = {"recursiveFileLookup": "true"}
"""Options of every read: subdirectories are included. Spark ignores names that begin with `_` or `.`."""

PLAIN = ""

EXPANSION = 8
"""Decompressed bytes for each byte of a compressed file, a usual ratio for lineage in JSON."""

_EXTENSION = r"(\.(?:gz|gzip|bz2|zst|zstd|deflate|snappy|lz4))$"
"""Extensions of files that Hadoop decompresses; any other file is plain."""


@dataclass(frozen=True, slots=True)
class FileCounts:
    """Files with the same compression: how many, and their bytes."""

    count: int
    size_bytes: int


def list_files(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """Return a frame of FILE, SIZE and CODEC of the files of an input. No file is opened."""
    files = spark.read.format("binaryFile").options(**OPTIONS).load(list(paths))
    return files.select(
        f.col("_metadata.file_path").alias(FILE),
        f.col("_metadata.file_size").alias(SIZE),
        f.regexp_extract("_metadata.file_name", _EXTENSION, 1).alias(CODEC),
    )


def count_files(files: DataFrame) -> dict[str, FileCounts]:
    """Return counts by extension, PLAIN for files that are not compressed."""
    rows = files.groupBy(CODEC).agg(f.count("*").alias("count"), f.sum(SIZE).alias("sum")).collect()
    return {row[CODEC]: FileCounts(row["count"], row["sum"]) for row in rows}


def text_bytes(counts: Mapping[str, FileCounts], *, is_compressed: bool = False) -> int:
    """Return the estimated bytes of all lines: EXPANSION times the size for compressed files and Parquet."""
    return sum(
        files.size_bytes * (1 if codec == PLAIN and not is_compressed else EXPANSION)
        for codec, files in counts.items()
    )


def is_read(spark: SparkSession, lines: DataFrame, path: str) -> bool:
    """Return whether a frame of files reads a directory, because one of its paths is or contains it.

    The directory need not exist. The JVM compares the paths, because there may be as many paths as files.
    """
    roots = lines._jdf.queryExecution().analyzed().collectLeaves().head().relation().location().rootPaths()
    return any(roots.contains(directory) for directory in ancestors(spark, path))
