"""Frames of exported rows: files of JSON lines, CSV or Parquet as lines, and the documents of their runs."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.ingest.row_documents import NULL_TEXTS, RowFile
from fll_hbase.spark.lines.line_frames import (
    BLOCK,
    FILE,
    OPTIONS,
    POSITION,
    SIZE,
    TIME_MS,
    VALUE,
    drop_blank,
    file_lines,
)

_POSITION = (FILE, BLOCK, POSITION)
_CSV = {"header": "true", "multiLine": "true", "escape": '"', "encoding": "UTF-8"}
# By default Spark gives values of a damaged row to wrong columns, and takes the names of the first file.
_STRICT = {"mode": "FAILFAST", "enforceSchema": "false"}


def read_csv_rows(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """Read CSV files with equal headers as lines of JSON, without NULL_TEXTS. A damaged row fails the job."""
    rows = spark.read.options(**OPTIONS, **_CSV, **_STRICT).csv(list(paths))
    columns = {name: f.col(f"`{name}`") for name in rows.columns}
    values = [f.when(~column.isin(*NULL_TEXTS), column).alias(name) for name, column in columns.items()]
    lines = file_lines(rows.select(_as_json(values), "_metadata"))
    return lines.withColumn(POSITION, f.monotonically_increasing_id())


def read_parquet_rows(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """Read the rows of Parquet files, one column for each column of the rows, as lines of JSON."""
    rows = spark.read.options(**OPTIONS).parquet(*paths)
    row_index = f.col("_metadata.row_index").alias(POSITION)
    values = [f.col(f"`{name}`") for name in rows.columns]
    lines = file_lines(rows.select(_as_json(values), "_metadata"), row_index)
    return lines.withColumn(BLOCK, f.lit(0).cast("bigint"))


def to_documents(lines: DataFrame, rows: RowFile) -> DataFrame:
    """Return the documents of lines of rows, one for each run, at the place of its first row.

    Rows may be in any order, unlike in one process. A row that is not JSON is a document of its own.
    """
    texts = drop_blank(lines).withColumn(VALUE, f.col(VALUE).cast("string"))
    if rows.row_format.run_columns:
        texts = _grouped(texts, rows.row_format.run_columns)
    head, tail = (f.lit(text.decode()) for text in rows.ends())
    documents = texts.withColumn(VALUE, f.concat(head, f.col(VALUE), tail))
    return documents.withColumn(SIZE, f.octet_length(VALUE)).withColumn(VALUE, f.col(VALUE).cast("binary"))


def _grouped(texts: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return the rows of each run as one text, separated by commas, in the order of files."""
    # Names of columns ignore case. Runs whose ids differ only in case share a document, and its reader
    # separates them.
    text = f.lower(VALUE)
    ids = [f.nullif(f.get_json_object(text, f"$.{column}"), f.lit("")) for column in columns]
    row = f.struct(*_POSITION, TIME_MS, VALUE)
    key = f.coalesce(*ids, f.col(VALUE)).alias("run_key")
    groups = texts.groupBy(key).agg(f.sort_array(f.collect_list(row)).alias("rows"))
    first = f.col("rows")[0]
    return groups.select(
        f.array_join("rows.value", ",").alias(VALUE),
        *(first[name].alias(name) for name in (*_POSITION, TIME_MS)),
    )


def _as_json(values: Sequence[Column]) -> Column:
    """Return a column with each row as JSON, without its nulls."""
    return f.to_json(f.struct(*values)).alias("value")
