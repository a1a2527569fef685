"""Recording of lines on Spark's workers, partition by partition, as the API and the CLI record them."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from fll_hbase.ingest.ingest import ingest
from fll_hbase.ingest.outcomes import ParsedDocument, RecordOutcome, RecordResult
from fll_hbase.ingest.registry import DocumentReader, detect
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import InputError, LineageError, StoreUnavailable, TooLarge, TooManyRejects
from fll_hbase.runtime.retry import RetryPolicy
from fll_hbase.sources import name_rules
from fll_hbase.spark.lines.arrow_batches import arrow_schema
from fll_hbase.spark.lines.line_frames import BLOCK, FILE, KEY, POSITION, TIME_MS, VALUE, batch_by_run
from fll_hbase.spark.lines.reject_limit import NO_LIMIT, RejectLimit
from fll_hbase.spark.stats import LineCounts
from fll_hbase.spark.worker_store import freeze_imports
from fll_hbase.store.factory import open_store
from fll_hbase.store.lineage_store import LineageStore

OUTCOMES = (
    "outcome string, count bigint, value binary, file string, block bigint, position bigint,"
    " faults array<string>"
)
"""Columns of outcomes: an outcome and its number of lines. A rejected line has its own row, with errors."""

REJECTED = "rejected"
"""An outcome in addition to the values of RecordOutcome."""

GC_THRESHOLDS = 100_000, 20, 20
"""Runs come by the thousand, without reference cycles. Python's defaults took a sixth of a load."""

RETRY = RetryPolicy(attempts_max=8, wait_seconds_max=15.0)
"""Half a minute of waits, plus the timeouts of the store. Then the task fails, and Spark repeats it."""

EQUAL_FAULTS, FAULTS_MAX = 1_000, 10_000
"""Maximum number of written lines of a task with equal faults, and of different faults that are counted."""

EXAMPLES, EXAMPLE_BYTES, EXAMPLE_CHARACTERS = 3, 100, 600
"""How many rejected lines the error of a job that ends early shows, and how much of each and of all."""

_FIELDS = arrow_schema(OUTCOMES)


@dataclass(frozen=True, slots=True)
class Target:
    """The store to record in, the namespace of documents without one, and the limit of rejects.

    With `take_over`, a run replaces another program's run with the same id. Else its line is rejected.
    """

    settings: Settings
    namespace: str = ""
    rejects_max: RejectLimit = NO_LIMIT
    take_over: bool = False


def ingest_lines(lines: DataFrame, target: Target, *, counts_faults: bool = False) -> DataFrame:
    """Return a lazy frame of OUTCOMES of lines, which are recorded when it is computed.

    The lines come from `group_by_run`, unless each has a different run. Persist the frame, because each
    computation records the lines again. With `counts_faults`, for lines that can be read again,
    `counted_faults` combines lines with equal errors.
    """
    is_grouped = KEY in lines.columns
    work = partial(_ingest_runs, target=target, is_grouped=is_grouped, counts_faults=counts_faults)
    return lines.mapInArrow(work, OUTCOMES)


def count_outcomes(outcomes: DataFrame) -> LineCounts:
    """Count the lines by outcome. Computes the frame, which records the lines."""
    rows = outcomes.groupBy("outcome").agg(f.sum("count").alias("count")).collect()
    counts = {row["outcome"]: int(row["count"]) for row in rows}
    replaced = counts.get(RecordOutcome.REPLACED.value, 0)
    return LineCounts(
        recorded=counts.get(RecordOutcome.RECORDED.value, 0) + replaced,
        repeated=counts.get(RecordOutcome.REPEATED.value, 0),
        rejected=counts.get(REJECTED, 0),
        replaced=replaced,
    )


@dataclass(frozen=True, slots=True)
class _Worker:
    """The open store of a worker process, and the reader of its documents."""

    store: LineageStore
    reader: DocumentReader


@lru_cache(maxsize=1)
def _worker(settings: Settings) -> _Worker:
    """Return the store, opened once per process, so that all tasks of the process share its caches.

    The first call also configures the garbage collector of the process.
    """
    # Set here, because only processes that record need these thresholds.
    gc.set_threshold(*GC_THRESHOLDS)
    store = open_store(settings)
    rules = name_rules.parse_rules(settings.name_rules, settings.namespace_rules)
    reader = DocumentReader(columns=store.catalogue.field_names, name_rules=rules)
    freeze_imports()
    return _Worker(store, reader)


def _ingest_runs(
    batches: Iterator[pa.RecordBatch], *, target: Target, is_grouped: bool, counts_faults: bool
) -> Iterator[pa.RecordBatch]:
    """Record, on a worker, batches of lines, each run in one call if lines are grouped; yield OUTCOMES."""
    # One call for all lines of a run, because the store recognises repeated documents within one call.
    outcomes = ingest_batches(batch_by_run(batches) if is_grouped else batches, target=target)
    return counted_faults(outcomes) if counts_faults else outcomes


def counted_faults(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches of OUTCOMES in which lines with equal faults beyond EQUAL_FAULTS are one row, at the end.

    The row counts these lines in `count`, and has the place of the first one, and its value only if `count`
    is 1. After FAULTS_MAX different faults, each line with a new fault has its own row.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    rest: dict[tuple[str, ...], dict[str, Any]] = {}
    for batch in batches:
        written = [row for row in batch.to_pylist() if not _is_counted(row, seen, rest)]
        yield batch if len(written) == batch.num_rows else pa.RecordBatch.from_pylist(written, schema=_FIELDS)
    if rest:
        yield pa.RecordBatch.from_pylist(list(rest.values()), schema=_FIELDS)


def _is_counted(
    row: dict[str, Any], seen: Counter[tuple[str, ...]], rest: dict[tuple[str, ...], dict[str, Any]]
) -> bool:
    """Count a row of OUTCOMES in `seen` by its faults; return whether it is only counted in `rest`."""
    faults = tuple(row["faults"] or ())
    if row["outcome"] != REJECTED or (faults not in seen and len(seen) >= FAULTS_MAX):
        return False
    seen[faults] += 1
    if seen[faults] <= EQUAL_FAULTS:
        return False
    if faults in rest:
        rest[faults].update(count=rest[faults]["count"] + row["count"], value=None)
    else:
        rest[faults] = row
    return True


def ingest_batches(batches: Iterator[pa.RecordBatch], *, target: Target) -> Iterator[pa.RecordBatch]:
    """Record batches of LINE in this process, one call of the store each; yield batches of OUTCOMES.

    Raises StoreUnavailable after the retries, and ConfigurationError; any of the lines may then be stored.
    Raises TooManyRejects with the first rejected lines of the recorded batch that exceeds `rejects_max`.
    """
    worker = _worker(target.settings)
    retrying = RETRY.retrying(StoreUnavailable)
    rejected = read = 0
    for batch in batches:
        lines = list(zip(batch.column(VALUE).to_pylist(), batch.column(TIME_MS).to_pylist(), strict=True))
        results = retrying(_ingest, worker, lines, target)
        read += len(results)
        rejected += sum(isinstance(result, LineageError) for result in results)
        if target.rejects_max.is_exceeded_by_task(rejected, read):
            raise _too_many(batch, results, target.rejects_max)
        yield _outcome_batch(batch, results)


def _too_many(
    batch: pa.RecordBatch, results: Sequence[RecordResult | LineageError], limit: RejectLimit
) -> TooManyRejects:
    """Return the error that ends a job, with the first rejected lines of a batch on one line."""
    errors = ((number, result) for number, result in enumerate(results) if isinstance(result, LineageError))
    examples = (
        f"{batch.column(FILE)[number]}: {batch.column(VALUE)[number].as_py()[:EXAMPLE_BYTES]!r}: {error}"
        for number, error in islice(errors, EXAMPLES)
    )
    text = "; ".join(example[:EXAMPLE_CHARACTERS] for example in examples)
    return TooManyRejects(f"more lines are rejected than {limit}, such as {text}".replace("\n", " "))


def _ingest(
    worker: _Worker, lines: Sequence[tuple[bytes, int]], target: Target
) -> list[RecordResult | LineageError]:
    # Reading is retried too, since documents with SQL read the catalogue.
    documents = [_read(worker.reader, line, time_ms, target) for line, time_ms in lines]
    return ingest(worker.store, documents, take_over=target.take_over)


def _read(reader: DocumentReader, line: bytes, time_ms: int, target: Target) -> ParsedDocument | LineageError:
    """Read a line, in the target's namespace unless it names one; return the error that refuses it.

    Raises StoreUnavailable and ConfigurationError, since SQL reads the catalogue.
    """
    bytes_max = target.settings.document_bytes_max
    # The carriage return of a CRLF ending is not part of the document.
    if len(line.rstrip(b"\r")) > bytes_max:
        return TooLarge(f"longer than {bytes_max} bytes; split it, or raise FLL_DOCUMENT_BYTES_MAX")
    head = detect(line)
    namespace = target.namespace if head.namespace is None else head.namespace
    return reader.try_read(line, head, namespace=namespace or None, now_ms=time_ms)


def _outcome_batch(batch: pa.RecordBatch, results: Sequence[RecordResult | LineageError]) -> pa.RecordBatch:
    """Return the results of a batch as OUTCOMES: a row for each outcome, then one for each rejected line."""
    counts = Counter(result.outcome.value for result in results if isinstance(result, RecordResult))
    rows = [{"outcome": outcome, "count": count} for outcome, count in counts.items()]
    for number, result in enumerate(results):
        if isinstance(result, LineageError):
            line = {name: batch.column(name)[number].as_py() for name in (VALUE, FILE, BLOCK, POSITION)}
            errors = result.errors if isinstance(result, InputError) else (result,)
            rows.append({"outcome": REJECTED, "count": 1, "faults": [str(error) for error in errors], **line})
    return pa.RecordBatch.from_pylist(rows, schema=_FIELDS)
