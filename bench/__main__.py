"""All benchmarks over HTTP on the embedded store; `--runs` sets the largest size, 1,000,000 by default."""

from __future__ import annotations

import argparse
import multiprocessing
import multiprocessing.pool
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from bench import documents
from bench.documents import DAY_MS, DESTINATION, FIRST_DAY_MS, NAMESPACE
from bench.server import Server, call
from fll_hbase.keys import layout
from fll_hbase.model.operations import EndPoint
from fll_hbase.model.runs import Direction, Window
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table

BATCH_RUNS = 5_000
CLIENTS = 4
ASKED = 400
WINDOW = Window(FIRST_DAY_MS + 5 * DAY_MS + DAY_MS // 4, FIRST_DAY_MS + 35 * DAY_MS + DAY_MS // 4)
ADVERSARIAL = Window(FIRST_DAY_MS + 5 * DAY_MS + DAY_MS // 2, FIRST_DAY_MS + 35 * DAY_MS + DAY_MS // 2)


def main() -> None:
    """Print every figure with its bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000_000)
    largest = parser.parse_args().runs
    sizes = [largest // 100, largest // 10, largest]
    with tempfile.TemporaryDirectory() as folder:
        servers = {size: Server(Path(folder) / f"{size}.db") for size in sizes}
        try:
            for size, server in servers.items():
                ingest(server, size)
            windows(servers)
            engine(servers[largest].store)
            singles(servers[sizes[0]])
            said("memory of the server after all that", servers[largest].resident_bytes() / 2**20, "MiB")
        finally:
            for server in servers.values():
                server.stop()


def ingest(server: Server, size: int) -> None:
    """(3) Batches over HTTP from two clients."""
    last_from = size - size // 10
    queue = documents.documents(size)
    first_rate = _ingest(server, list(islice(queue, size // 10)))
    _ingest_streamed(server, queue, last_from - size // 10)
    last_rate = _ingest(server, list(queue))
    server_bytes = server.stored_bytes()
    said(f"ingest of {size:,} runs by batches: the first tenth", first_rate, "runs/s", "at least 8,000")
    said(f"ingest of {size:,} runs by batches: the last tenth", last_rate, "runs/s", "at least 8,000")
    said(f"bytes a run on disk, {size:,} runs", server_bytes / size, "B", "at most 1,000")


def _ingest_streamed(server: Server, queue: object, count: int) -> None:
    while count > 0:
        part = list(islice(queue, min(count, 100_000)))  # type: ignore[call-overload]
        _ingest(server, part)
        count -= len(part)


def _ingest(server: Server, lines: list[bytes]) -> float:
    """Runs a second; the batches are made before the clock starts."""
    bodies = [b"\n".join(lines[begin : begin + BATCH_RUNS]) for begin in range(0, len(lines), BATCH_RUNS)]
    began = time.perf_counter()
    with multiprocessing.pool.ThreadPool(2) as pool:
        accepted = sum(pool.map(lambda body: _send(server, body), bodies, chunksize=1))
    if accepted != len(lines):
        raise RuntimeError(f"{accepted} of {len(lines)} runs were accepted")
    return len(lines) / (time.perf_counter() - began)


def _send(server: Server, body: bytes) -> int:
    connection = server.connect()
    status, answer = call(connection, "POST", f"/v3/namespaces/{NAMESPACE}/lineage/batch", body)
    connection.close()
    return answer.count(b'"status":201') if status == 200 else 0


def windows(servers: dict[int, Server]) -> None:
    """(1) The 30-day question at every size, servers interleaved."""
    for title, window, bar in (("30-day question", WINDOW, 2), ("adversarial window", ADVERSARIAL, 5)):
        times = _interleaved(servers, _question(DESTINATION, window, "backward"))
        medians = {size: 1000 * statistics.median(taken) for size, taken in times.items()}
        for size, median in medians.items():
            is_largest = size == max(medians)
            said(f"{title} at {size:,} runs, p50", median, "ms", f"at most {bar}" if is_largest else "")
        if window is WINDOW:
            ratio = medians[max(medians)] / medians[min(medians)]
            said(f"{title}: p50 at the largest over the smallest", ratio, "x", "at most 1.2")
    fixed = statistics.median(_interleaved(servers, "/healthz")[max(servers)])
    said("HTTP's fixed cost: /healthz, p50", 1000 * fixed, "ms")


def _question(name: str, window: Window, direction: str) -> str:
    times = f"start={window.start_ms / 1000}&end={window.stop_ms / 1000}"
    return f"/v3/namespaces/{NAMESPACE}/endpoints/{name}/fields/lineage?{times}&direction={direction}"


def _interleaved(servers: dict[int, Server], path: str) -> dict[int, list[float]]:
    connections = {size: server.connect() for size, server in servers.items()}
    times: dict[int, list[float]] = {size: [] for size in servers}
    for number in range(ASKED + 40):
        for size, connection in connections.items():
            began = time.perf_counter()
            status, _ = call(connection, "GET", path)
            if status != 200:
                raise RuntimeError(f"{path} was answered {status}")
            if number >= 40:
                times[size].append(time.perf_counter() - began)
    return times


def engine(store: Path) -> None:
    """(2) The engine's time over the bare index scans of the same answer."""
    table = open_table(f"sqlite:///{store}")
    lineage = LineageStore(table)
    end_point = EndPoint(NAMESPACE, DESTINATION)
    start, stop = layout.index_window(Direction.BACKWARD, end_point, WINDOW)
    bare = _median(lambda: list(table.scan(start, stop)))
    asked = _median(lambda: lineage.lineage(end_point, WINDOW, directions=(Direction.BACKWARD,)))
    said("bare index scan of the 30-day question, p50", 1000 * bare, "ms")
    said("engine's answer to the 30-day question, p50", 1000 * asked, "ms")
    said("engine over bare scan", asked / bare, "x", "at most 2")
    lineage.close()


def _median(act: Callable[[], object]) -> float:
    times = []
    for _ in range(ASKED):
        began = time.perf_counter()
        act()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def singles(server: Server) -> None:
    """(4) Single runs from several clients at once, every one durable."""
    with multiprocessing.Pool(CLIENTS) as pool:
        began = time.perf_counter()
        times = pool.starmap(_singles, [(server.port, client, 1_000) for client in range(CLIENTS)])
        took = time.perf_counter() - began
    every = [taken for client in times for taken in client]
    said(f"single runs from {CLIENTS} clients", len(every) / took, "runs/s", "at least 1,000")
    said("slowest of them", 1000 * max(every), "ms", "at most 100")


def _singles(port: int, client: int, count: int) -> list[float]:
    server = Server.__new__(Server)
    server.port = port
    connection = server.connect()
    times = []
    for number in range(count):
        body = documents.single(client * count + number, FIRST_DAY_MS + number)
        began = time.perf_counter()
        status, _ = call(connection, "POST", f"/v3/namespaces/{NAMESPACE}/lineage", body)
        times.append(time.perf_counter() - began)
        if status != 201:
            raise RuntimeError(f"a single run was answered {status}")
    return times


def said(what: str, value: float, unit: str, bar: str = "") -> None:
    """One line of the report."""
    print(f"{what:62} {value:>12,.3f} {unit:7} {'(bar: ' + bar + ')' if bar else ''}", flush=True)


if __name__ == "__main__":
    main()
