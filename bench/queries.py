"""Query times: over HTTP at every size of history, and inside the store."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import closing

from bench.documents import DAY_MS, DESTINATION, FIRST_DAY_MS, NAMESPACE
from bench.report import print_figure
from bench.server import Server, call
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import Direction, Window
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.config import DEFAULTS
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.write.sealing import seal_old_days
from fll_hbase.tables import Table, open_table

QUERIES, WARMUP_QUERIES = 400, 40
DATASET = Dataset(NAMESPACE, DESTINATION)
WINDOW = Window(FIRST_DAY_MS + 5 * DAY_MS + DAY_MS // 4, FIRST_DAY_MS + 35 * DAY_MS + DAY_MS // 4)
ADVERSARIAL = Window(FIRST_DAY_MS + 5 * DAY_MS + DAY_MS // 2, FIRST_DAY_MS + 35 * DAY_MS + DAY_MS // 2)


def measure_window(
    servers: Mapping[int, Server], title: str, window: Window, *, target: str = "", ratio_target: str = ""
) -> float:
    """Query a window at every size, servers interleaved; returns the median at the largest size in ms."""
    times = interleaved_seconds(servers, query_path(window))
    medians = {size: 1000 * statistics.median(seconds) for size, seconds in times.items()}
    largest = max(medians)
    for size, median in medians.items():
        print_figure(f"{title}, {size:,} runs, p50", median, "ms", target=target if size == largest else "")
    if ratio_target:
        ratio = medians[largest] / medians[min(medians)]
        print_figure(f"{title}, p50 at the largest size / smallest size", ratio, "x", target=ratio_target)
    return medians[largest]


def measure_http(servers: Mapping[int, Server]) -> None:
    """Measure a request that reads nothing."""
    seconds = statistics.median(interleaved_seconds(servers, "/healthz")[max(servers)])
    print_figure("HTTP overhead: /healthz, p50", 1000 * seconds, "ms")


def interleaved_seconds(servers: Mapping[int, Server], path: str) -> dict[int, list[float]]:
    """Seconds of each request, by size of history."""
    connections = {size: server.connect() for size, server in servers.items()}
    times: dict[int, list[float]] = {size: [] for size in servers}
    for number in range(QUERIES + WARMUP_QUERIES):
        for size, connection in connections.items():
            started = time.perf_counter()
            status, _ = call(connection, "GET", path)
            if status != 200:
                raise RuntimeError(f"{path} was answered {status}")
            if number >= WARMUP_QUERIES:
                times[size].append(time.perf_counter() - started)
    return times


def measure_sealed(servers: Mapping[int, Server], *, target: str = "", ratio_target: str) -> None:
    """Measure the 30-day query when its days are sealed, as retention and earlier queries leave them."""
    for server in servers.values():
        with closing(open_table(server.store)) as table:
            seal_old_days(table, clock=lambda: now_ms() + 3 * DEFAULTS.grace_ms, grace_ms=DEFAULTS.grace_ms)
    measure_window(servers, "30-day query, days sealed", WINDOW, target=target, ratio_target=ratio_target)


def measure_store(table: Table) -> None:
    """Measure the 30-day query inside the store, without HTTP."""
    lineage = LineageStore(table)
    median = median_ms(lambda: lineage.lineage(DATASET, WINDOW, directions=(Direction.BACKWARD,)))
    print_figure("30-day query inside the store, p50", median, "ms")


def median_ms(operation: Callable[[], object]) -> float:
    """The median of QUERIES calls, in ms."""
    times = []
    for _ in range(QUERIES):
        started = time.perf_counter()
        operation()
        times.append(time.perf_counter() - started)
    return 1000 * statistics.median(times)


def query_path(window: Window) -> str:
    """The path of the query of a window."""
    bounds = f"start={window.start_ms / 1000}&end={window.stop_ms / 1000}"
    return f"/v3/namespaces/{NAMESPACE}/endpoints/{DESTINATION}/fields/lineage?{bounds}&direction=backward"
