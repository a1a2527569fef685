"""Frames of input lines, with their position in the file; lines of one run together and in file order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as f

OPTIONS = {"recursiveFileLookup": "true"}
"""Options of every read: subdirectories are included. Spark ignores names that begin with `_` or `.`."""

LINE = "value binary, file string, block bigint, position bigint, time_ms bigint"
"""Columns of a line: its bytes, its file, its block and position, and the modification time of the file.

The block is the offset in the file from which Spark read. The position is a number that grows from line to
line within the block, with gaps.
"""

RUN_BYTES_MAX = 2**28
"""Bytes of one run's lines that are recorded in one call. Further documents are recorded as if sent later."""

_RUN_MEMBERS = "run struct<run string, runId string, startTime bigint>, eventTime string"
"""The members that identify the run of a line and its start. A line without them counts as its own run."""

_HEAD_MEMBERS = "run struct<run string, startTime bigint>, operations int"
"""The same members of a native document whose operations were replaced by a number."""

_OPERATIONS = '"operations"'
"""Text that matches only a whole name or value in JSON, since quotes inside strings are escaped."""

_NOT_BLANK = "[^ \\t\\n\\r\\x0b\\x0c]"
VALUE, FILE, BLOCK, POSITION, TIME_MS = "value", "file", "block", "position", "time_ms"
SIZE = "size"
"""The bytes of a line, in a frame whose lines may be longer than a document; see `long_lines`."""

KEY, START_MS = "key", "start_ms"

FIRST_LINES = 1_000
"""Number of lines that are examined before all others."""


def read_text(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """Read text files as lines: paths, globs and directories with subdirectories, in any compression."""
    # By default Spark also splits at a lone carriage return, which the online path does not.
    text = spark.read.options(**OPTIONS, lineSep="\n").text(list(paths))
    return file_lines(text).withColumn(POSITION, f.monotonically_increasing_id())


def read_parquet(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """Read the column `value`, string or binary, of Parquet files as lines."""
    rows = spark.read.options(**OPTIONS).parquet(*paths)
    row_index = f.col("_metadata.row_index").alias(POSITION)
    return file_lines(rows, row_index).withColumn(BLOCK, f.lit(0).cast("bigint"))


def file_lines(files: DataFrame, *others: Column) -> DataFrame:
    """Return the column `value` of a frame of files as LINE without POSITION, with SIZE and other columns."""
    return files.select(
        f.col("value").cast("binary").alias(VALUE),
        # Measured on the text as read, since measuring the cast bytes would copy them.
        f.octet_length("value").alias(SIZE),
        f.col("_metadata.file_path").alias(FILE),
        f.col("_metadata.file_block_start").alias(BLOCK),
        f.unix_millis("_metadata.file_modification_time").alias(TIME_MS),
        *others,
    )


def drop_blank(lines: DataFrame) -> DataFrame:
    """Return the frame without lines that are empty or contain only white space."""
    return lines.where(_has_text())


def _has_text() -> Column:
    # The first byte decides for nearly every line, which avoids the slow regular expression.
    document = f.substring(f.col(VALUE), 1, 1) == f.lit(b"{")
    return document | f.col(VALUE).cast("string").rlike(_NOT_BLANK)


def is_long(bytes_max: int) -> Column:
    """Return a column that is true where a line of a frame with SIZE has over `bytes_max` + 1 bytes."""
    # One byte more, because a carriage return at the end is not part of the document. At that size the
    # worker decides.
    return f.coalesce(f.col(SIZE), f.lit(0)) > bytes_max + 1


def is_plain(lines: DataFrame, *, bytes_max: int) -> bool:
    """Return whether each line of a frame with SIZE has a different run, and none is long.

    This reads all lines that are not blank, unless one of the first FIRST_LINES repeats a run.
    """
    is_long_line = is_long(bytes_max)
    texts = lines.where(is_long_line | _has_text())
    # Without long lines, since every operation would copy them.
    texts = texts.withColumn(VALUE, f.when(~is_long_line, f.col(VALUE)))
    keys = _with_run(texts).select(KEY, is_long_line.alias("long"))
    # Most events repeat the run of a recent event.
    first = [row[KEY] for row in keys.limit(FIRST_LINES).collect()]
    if len(set(first)) < len(first):
        return False
    runs = keys.groupBy(KEY).agg(f.count("*").alias("lines"), f.bool_or("long").alias("long"))
    return runs.where((f.col("lines") > 1) | f.col("long")).isEmpty()


def spread(lines: DataFrame, *, partitions: int) -> DataFrame:
    """Return lines that need no order in at least `partitions` partitions, without a shuffle if possible."""
    is_enough = lines.rdd.getNumPartitions() >= partitions
    return lines if is_enough else lines.repartition(partitions, FILE, BLOCK, POSITION)


def group_by_run(lines: DataFrame, *, partitions: int) -> DataFrame:
    """Repartition lines so that all lines of a run are adjacent and in file order; add KEY and START_MS.

    Partitions have about equally many runs, sorted by the first start of each.
    """
    # One start for all lines of a run, since sorting by their own times would separate them.
    first_ms = f.min(START_MS).over(Window.partitionBy(KEY))
    # Sorted by time, like references, so that runs recorded together are on few pages of a SQLite file.
    return (
        _with_run(lines)
        .repartition(partitions, KEY)
        .withColumn(START_MS, first_ms)
        .sortWithinPartitions(START_MS, KEY, FILE, BLOCK, POSITION)
    )


def _with_run(lines: DataFrame) -> DataFrame:
    """Add KEY, by run or by text for lines without one, and START_MS in milliseconds, null if unknown."""
    # With Spark's own expressions, so that lines move from the JVM to Python only to be recorded (decision
    # 0014).
    parsed = _with_members(lines)
    # Lines of other formats have no run to group by. Each line is its own group, which spreads them evenly.
    run = f.coalesce("members.run.run", "members.run.runId", "head.run.run", f.col(VALUE).cast("string"))
    # Without `try_`, an invalid time in one line would fail the job instead of rejecting the line.
    event_ms = f.unix_millis(f.try_to_timestamp("members.eventTime"))
    start_ms = f.coalesce("members.run.startTime", "head.run.startTime", event_ms)
    return parsed.withColumns({KEY: f.xxhash64(run), START_MS: start_ms}).drop("head", "members")


def _with_members(lines: DataFrame) -> DataFrame:
    """Add `head` with _HEAD_MEMBERS and, if not enough, `members` with _RUN_MEMBERS; null if not JSON."""
    text = f.col(VALUE).cast("string")
    # Operations are most of a native document, and usually its last member. They need not be parsed here.
    cut_text = f.concat(f.substring_index(text, _OPERATIONS, 1), f.lit(f"{_OPERATIONS}:0}}"))
    head = f.from_json(f.when(f.contains(text, f.lit(_OPERATIONS)), cut_text), _HEAD_MEMBERS)
    # 0 means that the text was cut at that member of the document itself. The run may still come after it.
    is_enough = (f.col("head.operations") == 0) & f.col("head.run.run").isNotNull()
    members = f.from_json(f.when(is_enough, None).otherwise(text), _RUN_MEMBERS)
    return lines.withColumn("head", head).withColumn("members", members)


def with_line_numbers(rejected: DataFrame, lines: DataFrame) -> DataFrame:
    """Add `line`, the number in the file from 1 on, to rejected lines. Counts all `lines` of each block."""
    blocks = lines.groupBy(FILE, BLOCK).agg(f.count("*").alias("lines"), f.min(POSITION).alias("first"))
    # Spark splits large files into blocks and numbers lines within each: add the lines of earlier blocks.
    earlier = blocks.select(f.col(FILE), f.col(BLOCK).alias("earlier"), f.col("lines").alias("offset"))
    offsets = (
        blocks.join(earlier, FILE)
        .where(f.col("earlier") < f.col(BLOCK))
        .groupBy(FILE, BLOCK)
        .agg(f.sum("offset").alias("offset"))
    )
    located = rejected.join(blocks.select(FILE, BLOCK, "first"), [FILE, BLOCK]).join(
        offsets, [FILE, BLOCK], "left"
    )
    number = f.col(POSITION) - f.col("first") + f.coalesce(f.col("offset"), f.lit(0)) + 1
    return located.withColumn("line", number)


def batch_by_run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a partition of `group_by_run` in batches that never end in the middle of a run.

    Only a run of more than RUN_BYTES_MAX is split. Empty batches are left out.
    """
    pending: list[pa.RecordBatch] = []
    for batch in (batch for batch in batches if batch.num_rows):
        keys = batch.column(KEY)
        # The last run of a batch has to wait, because it may continue in the next one.
        last_run = keys.index(keys[-1]).as_py()
        continues = bool(pending) and pending[-1].column(KEY)[-1] == keys[-1]
        if not continues or sum(part.nbytes for part in pending) > RUN_BYTES_MAX:
            yield from _concat([*pending, batch.slice(0, last_run)])
            pending = []
        pending.append(batch.slice(last_run))
    yield from _concat(pending)


def _concat(batches: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield one batch with all rows of the batches; nothing without rows."""
    if any(batch.num_rows for batch in batches):
        yield pa.concat_batches(batches)
