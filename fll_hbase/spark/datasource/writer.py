"""Spark's writers of the data source: each row is a document, and the write fails if any is rejected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import BinaryType, StringType, StructType

from fll_hbase.runtime import clock
from fll_hbase.runtime.errors import ConfigurationError, ErrorList, FieldError, InputError
from fll_hbase.spark.datasource.reader_options import PATH, parse_store
from fll_hbase.spark.lines.line_frames import BLOCK, FILE, POSITION, TIME_MS, VALUE
from fll_hbase.spark.lines.worker_ingest import REJECTED, Target, ingest_batches
from fll_hbase.spark.worker_store import job_settings

OPTIONS = ("store", "namespace")
SHOWN_BYTES = 60

W = TypeVar("W", bound="_Writer")


@dataclass(frozen=True)
class TaskResult(WriterCommitMessage):
    """Counts of the rows of one task by outcome, without any rejected row."""

    recorded: int
    replaced: int
    repeated: int


@dataclass(frozen=True)
class _Writer:
    """Writes documents, one in each row; `time_ms` is the time of proposals without one.

    `column` is the name of the column of documents, in the case that the frame uses.
    """

    target: Target
    time_ms: int
    column: str = VALUE

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskResult:
        """Record all rows of a task; return their number by outcome.

        A repeated task changes nothing. Raises InputError with the errors of every rejected row of the first
        batch that has any. Its other rows and earlier batches are recorded. Raises StoreUnavailable and
        ConfigurationError.
        """
        counts: Counter[str] = Counter()
        for outcomes in ingest_batches(self._lines(iterator), target=self.target):
            rows = outcomes.to_pylist()
            errors = ErrorList(
                error for row in rows if row["outcome"] == REJECTED for error in _row_errors(row)
            )
            if errors:
                raise InputError(errors)
            counts.update({row["outcome"]: row["count"] for row in rows})
        return TaskResult(counts["recorded"], counts["replaced"], counts["repeated"])

    def _lines(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows as batches of LINE, numbered from 1 in their partition. Null is an empty line."""
        # Rows have no file, so the block is the number of the partition, and errors can name the row.
        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        lines = 0
        for batch in batches:
            count = batch.num_rows
            columns = {
                VALUE: batch.column(self.column).cast(pa.binary()).fill_null(b""),
                FILE: pa.repeat("", count),
                BLOCK: pa.repeat(partition, count),
                POSITION: pa.array(range(lines + 1, lines + count + 1), pa.int64()),
                TIME_MS: pa.repeat(self.time_ms, count),
            }
            lines += count
            yield pa.RecordBatch.from_pydict(columns)


class LineageWriter(_Writer, DataSourceArrowWriter):
    """Writes a frame."""


class LineageStreamWriter(_Writer, DataSourceStreamArrowWriter):
    """Writes the batches of a stream."""


def open_writer(kind: type[W], options: Mapping[str, str], schema: StructType) -> W:
    """Return a writer with these options. Their names and the column `value` are case-insensitive.

    Raises ConfigurationError for an unknown option, a frame without that column, and a store that jobs cannot
    use.
    """
    values = {key.lower(): value for key, value in options.items()}
    # Spark itself adds the path, and for streams `checkpointLocation`.
    unknown = sorted(values.keys() - {*OPTIONS, PATH, "checkpointlocation"})
    if unknown:
        raise ConfigurationError(
            f"unknown option {unknown[0]!r} for writing; valid options: {', '.join(OPTIONS)}"
        )
    column = _find_column(schema)
    if column is None or not isinstance(schema[column].dataType, (StringType, BinaryType)):
        raise ConfigurationError(
            "the frame needs a column `value`, string or binary, with one document or event a row"
        )
    target = Target(job_settings(parse_store(values)), values.get("namespace", ""))
    return kind(target, clock.now_ms(), column)


def _find_column(schema: StructType) -> str | None:
    """Return the column `value`, ignoring case, or None if absent. Raises ConfigurationError if ambiguous."""
    names = [name for name in schema.names if name.lower() == VALUE]
    if VALUE in names:
        return VALUE
    if len(names) > 1:
        raise ConfigurationError(f"the columns {', '.join(names)} are ambiguous: rename one to `value`")
    return names[0] if names else None


def _row_errors(outcome: Mapping[str, object]) -> list[FieldError]:
    """Return the faults of a rejected row, with its position, partition and first SHOWN_BYTES as the path."""
    value = outcome["value"]
    shown = value[:SHOWN_BYTES].decode(errors="backslashreplace") if isinstance(value, bytes) else ""
    path = f"row {outcome[POSITION]} of partition {outcome[BLOCK]}, {shown!r}"
    texts = outcome["faults"]
    return [FieldError(path, str(text)) for text in (texts if isinstance(texts, list) else ())]
