"""How does Spark write: every row's document, event or proposal is recorded, or the write fails with why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import BinaryType, StringType, StructType

from fll_hbase import clock
from fll_hbase.errors import ConfigurationError, FieldError, InputError
from fll_hbase.spark.line_frames import BLOCK, FILE, POSITION, TIME_MS, VALUE
from fll_hbase.spark.settings import job_settings
from fll_hbase.spark.worker_ingest import REJECTED, Target, ingest_batches

OPTIONS = ("store", "namespace")
FAULTS_MAX = 100
SHOWN_BYTES = 60


@dataclass(frozen=True)
class TaskResult(WriterCommitMessage):
    """What became of the rows of one task."""

    recorded: int
    replaced: int
    repeated: int


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """Where rows are recorded; `time_ms` is when proposals were made that do not say."""

    target: Target
    time_ms: int

    def write(self, batches: Iterator[pa.RecordBatch]) -> TaskResult:
        """Record all rows. A task that is run again records the same once more, which changes nothing.

        Raises InputError with the faults of every row of the first batch that has any; other rows of it, and
        those before it, are recorded.
        """
        counts: Counter[str] = Counter()
        for told in ingest_batches(self._lines(batches), target=self.target):
            outcomes = told.to_pylist()
            faults = [fault for one in outcomes if one["outcome"] == REJECTED for fault in _faults(one)]
            if faults:
                raise InputError(_few(faults))
            counts.update({one["outcome"]: one["count"] for one in outcomes})
        return TaskResult(counts["recorded"], counts["replaced"], counts["repeated"])

    def _lines(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The values of rows, each with its number from 1 in its partition; a row without one is empty."""
        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        before = 0
        for batch in batches:
            count = batch.num_rows
            columns = {
                VALUE: batch.column(VALUE).cast(pa.binary()).fill_null(b""),
                FILE: pa.repeat("", count),
                BLOCK: pa.repeat(partition, count),
                POSITION: pa.array(range(before + 1, before + count + 1), pa.int64()),
                TIME_MS: pa.repeat(self.time_ms, count),
            }
            before += count
            yield pa.RecordBatch.from_pydict(columns)


class LineageWriter(DataSourceArrowWriter):
    """Writes a frame."""

    def __init__(self, sink: WriteTarget) -> None:
        self._sink = sink

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskResult:
        return self._sink.write(iterator)


class LineageStreamWriter(DataSourceStreamArrowWriter):
    """Writes a stream; a batch that is written again changes nothing."""

    def __init__(self, sink: WriteTarget) -> None:
        self._sink = sink

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskResult:
        return self._sink.write(iterator)


def write_target(options: Mapping[str, str], schema: StructType) -> WriteTarget:
    """Where rows of those columns go. Raises ConfigurationError where there is no column `value`."""
    said = {key.lower(): value for key, value in options.items()}
    unknown = sorted(said.keys() - {*OPTIONS, "path", "checkpointlocation"})
    if unknown:
        raise ConfigurationError(f"option {unknown[0]!r} is none for writing; there are {', '.join(OPTIONS)}")
    if VALUE not in schema.names or not isinstance(schema[VALUE].dataType, (StringType, BinaryType)):
        raise ConfigurationError(
            "what is written has a column `value`, string or binary: a document or event a row"
        )
    return WriteTarget(Target(job_settings(said.get("store")), said.get("namespace", "")), clock.now_ms())


def _faults(outcome: Mapping[str, object]) -> list[FieldError]:
    value = outcome["value"]
    shown = value[:SHOWN_BYTES].decode(errors="backslashreplace") if isinstance(value, bytes) else ""
    at = f"row {outcome[POSITION]} of partition {outcome[BLOCK]}, {shown!r}"
    faults = outcome["faults"]
    return [FieldError(at, str(fault)) for fault in (faults if isinstance(faults, list) else ())]


def _few(faults: list[FieldError]) -> list[FieldError]:
    """As many as a message may hold."""
    more = len(faults) - FAULTS_MAX
    return (
        faults if more <= 0 else [*faults[:FAULTS_MAX], FieldError("", f"and {more} more in the same batch")]
    )
