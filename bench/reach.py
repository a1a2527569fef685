"""Field reach through layers of datasets, whose fields are produced from fields of the layer before."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.documents import DAY_MS, FIRST_DAY_MS
from bench.report import print_figure
from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, DatasetField, Field
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.model.window import Direction, Window
from fll_hbase.runtime.config import Settings
from fll_hbase.store.factory import open_store
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.query_parameters import ReachQuery

WIDTH, FIELDS, DAYS, QUERIES, BATCH_RUNS = 20, 20, 30, 5, 2_000
GRAPHS = ((6, 2), (12, 3))
"""Layers, and from how many fields each field is produced."""
REPEATS = (10, DAYS, 100, 400)
"""How often each dataset is written in the window. With fewer runs than days, fewer days are read."""
WINDOW = Window(FIRST_DAY_MS, FIRST_DAY_MS + DAYS * DAY_MS)


def bench(_: Sequence[int]) -> None:
    """Print the CPU time for each edge, with and without counts of runs, over histories of each length."""
    for layers, fan_in in GRAPHS:
        figures: dict[str, list[float]] = {}
        for repeats in REPEATS:
            with tempfile.TemporaryDirectory() as folder:
                store = open_store(Settings(store=f"sqlite:///{Path(folder, 'reach.db')}"))
                _record(store, layers, fan_in, repeats)
                for name, query in _queries(layers):
                    seconds, edges = _measure(store, query)
                    label = f"{layers} layers, fan-in {fan_in}, {repeats} runs each, {name}"
                    print_figure(f"{label}: {edges:,} edges", 1_000 * seconds, "ms")
                    figures.setdefault(name, []).append(seconds / edges)
                store.close()
        for name, seconds_per_edge in figures.items():
            label = f"{layers} layers, {name}: an edge at {REPEATS[-1]} runs / at {DAYS}"
            ratio = seconds_per_edge[-1] / seconds_per_edge[REPEATS.index(DAYS)]
            print_figure(label, ratio, "x", target="at most 1.3")


def _queries(layers: int) -> Iterator[tuple[str, ReachQuery]]:
    starts = {Direction.BACKWARD: layers - 1, Direction.FORWARD: 0}
    for direction, layer in starts.items():
        field = DatasetField(_dataset(layer, 0), "f0")
        for counts in (False, True):
            name = f"{direction.value}, {'with' if counts else 'without'} counts"
            yield name, ReachQuery(field, WINDOW, direction, causal=False, counts=counts)


def _measure(store: LineageStore, query: ReachQuery) -> tuple[float, int]:
    """Return the CPU seconds of the fastest warm query, and the number of edges."""
    seconds = []
    for _ in range(QUERIES + 1):
        started = time.process_time()
        result = store.reach(query)
        seconds.append(time.process_time() - started)
    if result.truncated_by:
        raise RuntimeError(f"truncated by {result.truncated_by}")
    return min(seconds[1:]), len(result.edges)


def _record(store: LineageStore, layers: int, fan_in: int, repeats: int) -> None:
    infos = {
        (layer, number): _info(layer, number, fan_in) for layer in range(1, layers) for number in range(WIDTH)
    }
    batch: list[RecordedRun] = []
    for repeat in range(repeats):
        start_ms = FIRST_DAY_MS + repeat * DAYS * DAY_MS // repeats
        for (layer, number), info in infos.items():
            run = f"{repeat}-{layer}-{number}"
            batch.append(RecordedRun(ProgramRun("reach", "a", "", "spark", "p", run, start_ms + layer), info))
            if len(batch) == BATCH_RUNS:
                store.record(batch)
                batch = []
    store.record(batch)


def _info(layer: int, number: int, fan_in: int) -> FieldLineageInfo:
    """Return the operations of one dataset: a field is made of fields of several datasets."""
    sources = [_dataset(layer - 1, (number + 7 * offset) % WIDTH) for offset in range(fan_in)]
    names = [f"f{position}" for position in range(FIELDS)]
    operations: list[Operation] = [
        Read(f"read{index}", "", source, "", tuple(map(Field, names))) for index, source in enumerate(sources)
    ]
    for position, name in enumerate(names):
        inputs = tuple(
            InputField(f"read{index}", names[(position + 7 * index) % FIELDS]) for index in range(fan_in)
        )
        operations.append(Transform(f"make {name}", "", inputs, (Field(name),)))
    written = tuple(InputField(f"make {name}", name) for name in names)
    operations.append(Write("write", "", _dataset(layer, number), "", written))
    return lineage.build_lineage(operations)


def _dataset(layer: int, number: int) -> Dataset:
    return Dataset("reach", f"layer{layer:02}-{number:02}")
