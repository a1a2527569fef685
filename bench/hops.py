"""A query over two hops, the second of thousands of datasets, inside the store."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from bench.documents import DAY_MS, FIRST_DAY_MS
from bench.report import print_figure
from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.operations import InputField, Operation, Read, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.model.window import Direction, Window
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Table

DATASETS, DAYS, BATCH_RUNS, QUERIES = 3_000, 3, 1_000, 5
START = Dataset("hops", "start")
WINDOW = Window(FIRST_DAY_MS, FIRST_DAY_MS + 30 * DAY_MS)


def measure(table: Table) -> None:
    """Record a run that writes DATASETS datasets, and a run a day that reads each; print query times."""
    store = LineageStore(table)
    runs = list(_fan_out())
    for begin in range(0, len(runs), BATCH_RUNS):
        store.record(runs[begin : begin + BATCH_RUNS])
    seconds = {"empty": [_query_seconds(LineageStore(table)) for _ in range(QUERIES)]}
    seconds["warm"] = [_query_seconds(store) for _ in range(QUERIES + 1)][1:]
    for cache, measured in seconds.items():
        label = f"two hops, the second of {DATASETS:,} datasets, {cache} cache, p50"
        print_figure(label, 1000 * statistics.median(measured), "ms")


def _query_seconds(store: LineageStore) -> float:
    started = time.perf_counter()
    result = store.lineage(START, WINDOW, directions=(Direction.FORWARD,), level=2)
    seconds = time.perf_counter() - started
    if len(result.entries) != 2 * DATASETS:
        raise RuntimeError(f"{len(result.entries)} entries instead of {2 * DATASETS}")
    return seconds


def _fan_out() -> Iterator[RecordedRun]:
    middle = [Dataset("hops", f"middle{number:05}") for number in range(DATASETS)]
    yield _copy("first", 0, START, *middle)
    for number, source in enumerate(middle):
        for day in range(DAYS):
            yield _copy(f"{number:05}-{day}", day, source, Dataset("hops", f"end{number:05}"))


def _copy(run: str, day: int, source: Dataset, *destinations: Dataset) -> RecordedRun:
    operations: list[Operation] = [Read("read", "", source, "", (Field("x"),))]
    for number, destination in enumerate(destinations):
        operations.append(Write(f"write {number}", "", destination, "", (InputField("read", "x"),)))
    program_run = ProgramRun("hops", "shop", "1.4", "spark", "copy", run, FIRST_DAY_MS + day * DAY_MS + 1)
    return RecordedRun(program_run, lineage.build_lineage(operations))
