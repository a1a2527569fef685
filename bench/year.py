"""Queries over a year of runs inside the embedded store, and what recording such a year costs, in CPU time.

CPU and not wall time, and of a query the fastest, because neighbours on a machine would hide differences.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

from bench.documents import DAY_MS, FIRST_DAY_MS
from bench.report import print_figure
from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, DatasetField, Field
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.operations import InputField, Operation, Read, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.model.window import Direction, Window
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.config import DEFAULTS
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.write.sealing import seal_old_days
from fll_hbase.tables import Table, open_table

HOPS, WIDTH, RELEASES, DAYS = 5, 20, 3, 365
BATCH_RUNS, QUERIES, SINGLES = 1_000, 200, 1_000
YEAR = Window(FIRST_DAY_MS + DAY_MS // 3, FIRST_DAY_MS + DAYS * DAY_MS)


def bench(sizes: Sequence[int]) -> None:
    """Measure a year of a tenth and of a hundredth of the largest size: 100 programs of 3 releases each."""
    with tempfile.TemporaryDirectory() as folder:
        times = {size: _measure(size, Path(folder) / f"{size}.db") for size in sizes[:2]}
    fewest, most = (times[size] for size in sizes[:2])
    for title in fewest:
        # A history reads each day with runs, and the smaller size has fewer such days.
        target = "" if title.startswith("history") else "below 1.5"
        print_figure(f"{title}, 10 times the runs", most[title] / fewest[title], "x", target=target)


def _measure(size: int, path: Path) -> Mapping[str, float]:
    """Record a year of `size` runs, and single runs; return the fastest of each query in ms."""
    with closing(open_table(f"sqlite:///{path}")) as table:
        store = LineageStore(table)
        runs = _runs(size)
        started = time.process_time()
        while batch := list(islice(runs, BATCH_RUNS)):
            store.record(batch)
        seconds = time.process_time() - started
        print_figure(f"a year of {size:,} runs, CPU per run, 1,000 at a time", 1e6 * seconds / size, "µs")
        cells = sum(len(row) for _, row in table.scan(b"", b"\xff"))
        print_figure(f"a year of {size:,} runs, cells per run", cells / size, "cells")
        print_figure(f"a year of {size:,} runs, CPU per single run", 1000 * _single_ms(table, size), "µs")
        end = DatasetField(_dataset(HOPS, 0), "x")
        unsealed_ms = _query_ms(lambda: store.history(end, YEAR), count=10)
        print_figure(f"history of a field, none of {size:,} runs sealed, CPU, fastest", unsealed_ms, "ms")
        # As retention does each night.
        seal_old_days(table, clock=lambda: now_ms() + 3 * DEFAULTS.grace_ms, grace_ms=DEFAULTS.grace_ms)
        backward = (Direction.BACKWARD,)
        queries: dict[str, Callable[[], object]] = {
            "one field over a year": lambda: store.field_lineage(end, YEAR, direction=Direction.BACKWARD),
            "five hops over a year": lambda: store.lineage(
                end.dataset, YEAR, directions=backward, level=HOPS
            ),
            "history of a field over a year": lambda: store.history(end, YEAR),
        }
        fastest = {title: _query_ms(query) for title, query in queries.items()}
        for title, milliseconds in fastest.items():
            print_figure(f"{title}, {size:,} runs, CPU, fastest", milliseconds, "ms")
        return fastest


def _single_ms(table: Table, size: int) -> float:
    """Record SINGLES more runs one by one in a process that knows nothing; return the mean in ms."""
    runs = list(islice(_runs(size, "again"), SINGLES))
    store = LineageStore(table)
    started = time.process_time()
    for run in runs:
        store.record([run])
    return 1000 * (time.process_time() - started) / SINGLES


def _query_ms(query: Callable[[], object], *, count: int = QUERIES) -> float:
    times = []
    for _ in range(count):
        started = time.process_time()
        query()
        times.append(1000 * (time.process_time() - started))
    return min(times)


def _runs(size: int, prefix: str = "run") -> Iterator[RecordedRun]:
    """Yield runs of all programs in turn, evenly over the year, each program with RELEASES releases."""
    contents = {
        (layer, column, release): _content(layer, column, release)
        for layer in range(HOPS)
        for column in range(WIDTH)
        for release in range(RELEASES)
    }
    for number in range(size):
        layer, column = number // WIDTH % HOPS, number % WIDTH
        start_ms = FIRST_DAY_MS + DAYS * DAY_MS * number // size
        run = ProgramRun("year", "shop", "1", "spark", f"{layer}-{column}", f"{prefix}-{number}", start_ms)
        yield RecordedRun(run, contents[layer, column, RELEASES * number // size])


def _content(layer: int, column: int, release: int) -> FieldLineageInfo:
    """Return a release of a program that reads two datasets of its layer and writes one of the next."""
    sources = [_dataset(layer, column), _dataset(layer, (column + 1) % WIDTH)]
    operations: list[Operation] = [
        Read(f"read {number} of release {release}", "", source, "", (Field("x"),))
        for number, source in enumerate(sources)
    ]
    inputs = tuple(InputField(operation.name, "x") for operation in operations)
    operations.append(Write("write", "", _dataset(layer + 1, column), "", inputs))
    return lineage.build_lineage(operations)


def _dataset(layer: int, column: int) -> Dataset:
    return Dataset("year", f"layer{layer}-{column:02}")
