"""Recording rates: batches of a history, and single runs from several clients at once."""

from __future__ import annotations

import multiprocessing
import multiprocessing.pool
import time
from collections.abc import Iterator
from itertools import islice

from bench import documents
from bench.documents import FIRST_DAY_MS, NAMESPACE
from bench.report import print_figure
from bench.server import Server, call, connect
from fll_hbase.ingest.ingest import ingest
from fll_hbase.ingest.registry import DocumentReader, detect
from fll_hbase.runtime.errors import LineageError
from fll_hbase.store.lineage_store import LineageStore

BATCH_RUNS = 5_000
SEGMENT_RUNS = 100_000
BATCH_CLIENTS, CLIENTS = 2, 4


def measure_batches(server: Server, size: int, *, target: str = "") -> float:
    """Record a history in batches over HTTP from two clients; returns runs per second over all of it."""
    lines = documents.generate(size)
    rates = {}
    seconds = 0.0
    tenth = max(size // 10, 1)
    for title, count in (("first tenth", tenth), ("middle", size - 2 * tenth), ("last tenth", tenth)):
        elapsed = sum(_record(server, segment) for segment in _segments(islice(lines, count)))
        rates[title] = count / elapsed
        seconds += elapsed
    for title in ("first tenth", "last tenth"):
        print_figure(f"batch ingest of {size:,} runs, {title}", rates[title], "runs/s", target=target)
    return size / seconds


def _segments(lines: islice[bytes]) -> Iterator[list[bytes]]:
    while segment := list(islice(lines, SEGMENT_RUNS)):
        yield segment


def _record(server: Server, lines: list[bytes]) -> float:
    """Record the lines; returns seconds. The batches are built before the clock starts."""
    bodies = [b"\n".join(lines[start : start + BATCH_RUNS]) for start in range(0, len(lines), BATCH_RUNS)]
    started = time.perf_counter()
    with multiprocessing.pool.ThreadPool(BATCH_CLIENTS) as pool:
        accepted = sum(pool.map(lambda body: _send_batch(server, body), bodies, chunksize=1))
    if accepted != len(lines):
        raise RuntimeError(f"{accepted} of {len(lines)} runs were accepted")
    return time.perf_counter() - started


def _send_batch(server: Server, body: bytes) -> int:
    connection = server.connect()
    status, answer = call(connection, "POST", f"/v3/namespaces/{NAMESPACE}/lineage/batch", body)
    connection.close()
    return answer.count(b'"status":201') if status == 200 else 0


def record_lines(store: LineageStore, lines: Iterator[bytes], *, call_runs: int) -> None:
    """Record documents in this process, so many in a call, on the path that the API and jobs share."""
    reader = DocumentReader(columns=lambda _: None)
    while chunk := list(islice(lines, call_runs)):
        parsed = [reader.read(line, detect(line), namespace=NAMESPACE, now_ms=FIRST_DAY_MS) for line in chunk]
        for result in ingest(store, parsed):
            if isinstance(result, LineageError):
                raise result


def measure_singles(server: Server, *, count: int = 1_000, targets: tuple[str, str] = ("", "")) -> None:
    """Record single runs from several clients at once, each durable; `count` runs per client."""
    with multiprocessing.Pool(CLIENTS) as pool:
        started = time.perf_counter()
        times = pool.starmap(_send_singles, [(server.port, client, count) for client in range(CLIENTS)])
        elapsed = time.perf_counter() - started
    seconds = [request for client in times for request in client]
    print_figure(f"single runs, {CLIENTS} clients", len(seconds) / elapsed, "runs/s", target=targets[0])
    print_figure("slowest single run", 1000 * max(seconds), "ms", target=targets[1])


def _send_singles(port: int, client: int, count: int) -> list[float]:
    connection = connect(port)
    times = []
    for number in range(count):
        body = documents.single(client * count + number, FIRST_DAY_MS + number)
        started = time.perf_counter()
        status, _ = call(connection, "POST", f"/v3/namespaces/{NAMESPACE}/lineage", body)
        times.append(time.perf_counter() - started)
        if status != 201:
            raise RuntimeError(f"a single run was answered {status}")
    return times
