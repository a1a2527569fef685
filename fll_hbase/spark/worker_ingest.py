"""Lines recorded on Spark's workers, each partition by the very pass of the online path."""

from __future__ import annotations

import gc
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame

from fll_hbase.config import Settings
from fll_hbase.errors import InputError, LineageError, StoreUnavailable, TooLarge
from fll_hbase.ingest.detect import glance
from fll_hbase.ingest.registry import LineReader, Told
from fll_hbase.sources import name_rules
from fll_hbase.spark.line_frames import BLOCK, FILE, POSITION, TIME_MS, VALUE, batch_by_run
from fll_hbase.store.factory import open_store
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.write.commit import CommitResult

_Answer = TypeVar("_Answer")

_random = random.SystemRandom()

OUTCOME = (
    "outcome string, count bigint, value binary, file string, block bigint, place bigint,"
    " faults array<string>"
)
"""What became of so many lines; one that was rejected stands alone, with where it is and every fault."""

RECORDED, REPLACED, REPEATED, REJECTED = "recorded", "replaced", "repeated", "rejected"

COLLECTED = 100_000, 20, 20
"""How rarely cycles are looked for."""

TRIES_MAX, PAUSE_SECONDS_MAX = 8, 15.0
"""A store that is away is waited for some minutes, then the task fails."""

_FIELDS = pa.schema(
    [
        ("outcome", pa.string()),
        ("count", pa.int64()),
        ("value", pa.binary()),
        ("file", pa.string()),
        ("block", pa.int64()),
        ("place", pa.int64()),
        ("faults", pa.list_(pa.string())),
    ]
)


@dataclass(frozen=True, slots=True)
class Target:
    """Which store lines are recorded in, and in which namespace those are that name none."""

    settings: Settings
    namespace: str = ""


def ingest_lines(lines: DataFrame, target: Target) -> DataFrame:
    """What became of lines that met, as OUTCOME; they are recorded when it is asked for, again if twice."""
    return lines.mapInArrow(partial(_record_met, target=target), OUTCOME)


@dataclass(frozen=True, slots=True)
class _Worker:
    store: LineageStore
    reader: LineReader


@lru_cache(maxsize=1)
def _worker(settings: Settings) -> _Worker:
    """The store as this process has opened it: what it knows of contents serves all its tasks.

    Runs come by the thousand and go without cycles; to look for any all the time took a sixth of a load.
    """
    gc.set_threshold(*COLLECTED)
    store = open_store(settings)
    rules = name_rules.parsed(settings.name_rules)
    return _Worker(store, LineReader(rules=rules, columns=store.catalogue.field_names))


def _record_met(batches: Iterator[pa.RecordBatch], *, target: Target) -> Iterator[pa.RecordBatch]:
    """Documents of one run are told to the store in one call, by which it knows them again."""
    return ingest_batches(batch_by_run(batches), target=target)


def ingest_batches(batches: Iterator[pa.RecordBatch], *, target: Target) -> Iterator[pa.RecordBatch]:
    """What became of lines in batches of LINE, as OUTCOME: a partition recorded in this process."""
    worker = _worker(target.settings)
    for batch in batches:
        lines = list(zip(batch.column(VALUE).to_pylist(), batch.column(TIME_MS).to_pylist(), strict=True))
        yield _told(batch, _patiently(partial(_outcomes, worker, lines, target)))


def _outcomes(
    worker: _Worker, lines: Sequence[tuple[bytes, int]], target: Target
) -> list[str | LineageError]:
    """What became of each line. Raises StoreUnavailable: then any of them may have landed."""
    readings = [_read(worker.reader, raw, time_ms, target) for raw, time_ms in lines]
    told = [reading for reading in readings if isinstance(reading, Told)]
    answers = iter(worker.store.record([run for one in told for run in one.runs]))
    worker.store.put_metadata(schema for one in told for schema in one.schemas)
    return [_outcome([next(answers) for _ in one.runs]) if isinstance(one, Told) else one for one in readings]


def _read(reader: LineReader, raw: bytes, time_ms: int, target: Target) -> Told | LineageError:
    bytes_max = target.settings.document_bytes_max
    if len(raw.rstrip(b"\r")) > bytes_max:
        return TooLarge(f"longer than {bytes_max} bytes; split it, or raise FLL_DOCUMENT_BYTES_MAX")
    seen = glance(raw)
    namespace = target.namespace if seen.namespace is None else seen.namespace
    try:
        return reader.read(raw, seen.form, namespace=namespace or None, now_ms=time_ms)
    except StoreUnavailable:
        raise
    except LineageError as error:
        return error


def _patiently(ask: Callable[[], _Answer]) -> _Answer:
    """The answer, however many tries it takes within reason. Raises StoreUnavailable: the task may be run again."""
    for number in range(TRIES_MAX):
        try:
            return ask()
        except StoreUnavailable:
            if number == TRIES_MAX - 1:
                raise
            time.sleep(_random.uniform(0.5, 1.0) * min(0.25 * 2.0**number, PAUSE_SECONDS_MAX))
    raise AssertionError("either it was done or the last try failed")


def _outcome(answers: Sequence[CommitResult | LineageError]) -> str | LineageError:
    """One word for a line: rejected where any of its runs was, recorded where any is new."""
    for answer in answers:
        if isinstance(answer, LineageError):
            return answer
    if all(isinstance(answer, CommitResult) and not answer.recorded for answer in answers) and answers:
        return REPEATED
    replaced = any(isinstance(answer, CommitResult) and answer.replaced for answer in answers)
    return REPLACED if replaced else RECORDED


def _told(batch: pa.RecordBatch, outcomes: Sequence[str | LineageError]) -> pa.RecordBatch:
    counts = Counter(outcome for outcome in outcomes if isinstance(outcome, str))
    rows = [{"outcome": outcome, "count": count} for outcome, count in counts.items()]
    for number, outcome in enumerate(outcomes):
        if isinstance(outcome, LineageError):
            where = {name: batch.column(name)[number].as_py() for name in (VALUE, FILE, BLOCK, POSITION)}
            faults = outcome.errors if isinstance(outcome, InputError) else (outcome,)
            rows.append(
                {"outcome": REJECTED, "count": 1, "faults": [str(fault) for fault in faults], **where}
            )
    return pa.RecordBatch.from_pylist(rows, schema=_FIELDS)
