"""Load files of documents, events and proposals into a store."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.ingest.row_documents import RowFile
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.spark.exports.hadoop_files import ancestors
from fll_hbase.spark.exports.output_directory import REJECTS, Owner, claim
from fll_hbase.spark.lines import line_frames, row_frames
from fll_hbase.spark.lines.rejects import drop_long, long_lines, write_rejects
from fll_hbase.spark.lines.worker_ingest import Target, count_outcomes, ingest_lines
from fll_hbase.spark.stats import LoadReport
from fll_hbase.store.factory import open_store

PARTITION_BYTES = 2**30
"""Decompressed bytes of a partition of the shuffle by run.

The value is large because references that are recorded together are near each other in the table.
"""

EXPANSION = 8
"""Decompressed bytes for each byte of a compressed file, a usual ratio for lineage in JSON."""

_EXTENSION = r"(\.(?:gz|gzip|bz2|zst|zstd|deflate|snappy|lz4))$"
"""Extensions of files that Hadoop decompresses; any other file is plain."""

TEXT, PARQUET, CSV = "text", "parquet", "csv"
_DOCUMENTS = {TEXT: line_frames.read_text, PARQUET: line_frames.read_parquet}
_ROWS = {
    TEXT: line_frames.read_text,
    PARQUET: row_frames.read_parquet_rows,
    CSV: row_frames.read_csv_rows,
}


def load(
    spark: SparkSession,
    paths: Sequence[str],
    target: Target,
    *,
    rejects: str,
    form: str = TEXT,
    rows: RowFile | None = None,
) -> LoadReport:
    """Record all lines of the files and return a report. Lines of one run are in the order of file names.

    `form` is TEXT or PARQUET, with `rows` also CSV. With `rows`, the files have rows of a warehouse, and a
    line of the report is a run. The rejected lines replace the output in the directory `rejects`. A load is
    idempotent: after any interruption, running it again produces the same rows. Before a line is recorded,
    raises StoreUnavailable, and ConfigurationError for a store that cannot be used, or for a directory with
    files that no load wrote, or that the load would read. Errors of workers are PySparkExceptions.
    """
    started = time.monotonic()
    file_lines = (_ROWS if rows else _DOCUMENTS)[form](spark, paths)
    lines = row_frames.to_documents(file_lines, rows) if rows else file_lines
    if _is_read(spark, lines, rejects):
        detail = "is in a directory that the load reads; use another one for rejected lines"
        raise ConfigurationError(f"{rejects!r} {detail}")
    directory = claim(spark, rejects, Owner(REJECTS, "load"))
    # Opened only now: this creates a SQLite store, and a refused load leaves none.
    open_store(target.settings).close()
    files, size_bytes = _measure(spark, paths, is_compressed=form == PARQUET)
    partitions = partition_count(spark, size_bytes)
    bytes_max = target.settings.document_bytes_max
    documents = line_frames.drop_blank(drop_long(lines, bytes_max=bytes_max))
    if line_frames.is_plain(lines, bytes_max=bytes_max):
        spread = line_frames.spread(documents, partitions=partitions)
        outcomes = ingest_lines(spread, target, counts_faults=True)
    else:
        runs = line_frames.group_by_run(documents, partitions=partitions)
        recorded = ingest_lines(runs, target, counts_faults=True)
        outcomes = recorded.unionByName(long_lines(lines, bytes_max=bytes_max))
    # Persisted on disk, because computing the frame again would record again, and rejects can be many.
    outcomes = outcomes.persist(StorageLevel.DISK_ONLY)
    try:
        counts = count_outcomes(outcomes)
        write_rejects(outcomes, file_lines, directory, count=counts.rejected)
    finally:
        outcomes.unpersist()
    return LoadReport(counts, time.monotonic() - started, rejects, files)


def partition_count(spark: SparkSession, size_bytes: int) -> int:
    """Return the number of partitions of PARTITION_BYTES for `size_bytes`, but at least one per core."""
    return max(spark.sparkContext.defaultParallelism, -(-size_bytes // PARTITION_BYTES))


def _measure(spark: SparkSession, paths: Sequence[str], *, is_compressed: bool) -> tuple[int, int]:
    """Return the number of files of an input, and the estimated bytes of all lines. No file is opened.

    The estimate is the size of plain files, and EXPANSION times the size of compressed ones, or of all files
    with `is_compressed`, as for Parquet.
    """
    files = spark.read.format("binaryFile").options(**line_frames.OPTIONS).load(list(paths))
    is_plain = f.lit(not is_compressed) & (f.regexp_extract("_metadata.file_name", _EXTENSION, 1) == "")
    line_bytes = f.col("_metadata.file_size") * f.when(is_plain, 1).otherwise(EXPANSION)
    count, total = files.select(line_bytes.alias("bytes")).agg(f.count("*"), f.sum("bytes")).collect()[0]
    return count, total or 0


def _is_read(spark: SparkSession, lines: DataFrame, path: str) -> bool:
    """Return whether a frame of files reads a directory, because one of its paths is or contains it.

    The directory need not exist. The JVM compares the paths, because there may be as many paths as files.
    """
    roots = lines._jdf.queryExecution().analyzed().collectLeaves().head().relation().location().rootPaths()
    return any(roots.contains(directory) for directory in ancestors(spark, path))
