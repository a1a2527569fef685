"""How long do questions take: over HTTP at every size of history, and inside the engine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

from bench.documents import DAY_MS, DESTINATION, FIRST_DAY_MS, NAMESPACE
from bench.report import said
from bench.server import Server, call
from fll_hbase.keys import layout
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import Direction, Window
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Table

ASKED, WARMING = 400, 40
END_POINT = Dataset(NAMESPACE, DESTINATION)
WINDOW = Window(FIRST_DAY_MS + 5 * DAY_MS + DAY_MS // 4, FIRST_DAY_MS + 35 * DAY_MS + DAY_MS // 4)
ADVERSARIAL = Window(FIRST_DAY_MS + 5 * DAY_MS + DAY_MS // 2, FIRST_DAY_MS + 35 * DAY_MS + DAY_MS // 2)


def window(
    servers: Mapping[int, Server], title: str, window: Window, *, bar: str = "", ratio_bar: str = ""
) -> float:
    """One question at every size, servers interleaved; milliseconds at the largest, p50."""
    times = interleaved(servers, _question(window))
    medians = {size: 1000 * statistics.median(taken) for size, taken in times.items()}
    largest = max(medians)
    for size, median in medians.items():
        said(f"{title} at {size:,} runs, p50", median, "ms", bar if size == largest else "")
    if ratio_bar:
        ratio = medians[largest] / medians[min(medians)]
        said(f"{title}: p50 at the largest over the smallest", ratio, "x", ratio_bar)
    return medians[largest]


def fixed_cost(servers: Mapping[int, Server]) -> None:
    """What HTTP takes by itself."""
    fixed = statistics.median(interleaved(servers, "/healthz")[max(servers)])
    said("HTTP's fixed cost: /healthz, p50", 1000 * fixed, "ms")


def interleaved(servers: Mapping[int, Server], path: str) -> dict[int, list[float]]:
    """Seconds of each answer, by size."""
    connections = {size: server.connect() for size, server in servers.items()}
    times: dict[int, list[float]] = {size: [] for size in servers}
    for number in range(ASKED + WARMING):
        for size, connection in connections.items():
            began = time.perf_counter()
            status, _ = call(connection, "GET", path)
            if status != 200:
                raise RuntimeError(f"{path} was answered {status}")
            if number >= WARMING:
                times[size].append(time.perf_counter() - began)
    return times


def bare_scan(table: Table) -> float:
    """Milliseconds of the index scan that the 30-day question makes, p50."""
    start, stop = layout.index_range(Direction.BACKWARD, END_POINT, WINDOW)
    bare = median_ms(lambda: list(table.scan(start, stop)))
    said("bare index scan of the 30-day question, p50", bare, "ms")
    return bare


def engine(table: Table) -> float:
    """Milliseconds of the engine's answer to the 30-day question, p50."""
    lineage = LineageStore(table)
    took = median_ms(lambda: lineage.lineage(END_POINT, WINDOW, directions=(Direction.BACKWARD,)))
    said("engine's answer to the 30-day question, p50", took, "ms")
    return took


def median_ms(act: Callable[[], object]) -> float:
    times = []
    for _ in range(ASKED):
        began = time.perf_counter()
        act()
        times.append(time.perf_counter() - began)
    return 1000 * statistics.median(times)


def _question(window: Window) -> str:
    times = f"start={window.start_ms / 1000}&end={window.stop_ms / 1000}"
    return f"/v3/namespaces/{NAMESPACE}/endpoints/{DESTINATION}/fields/lineage?{times}&direction=backward"
