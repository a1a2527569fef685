"""How fast are runs recorded: batches of a history, and single runs from several clients at once."""

from __future__ import annotations

import multiprocessing
import multiprocessing.pool
import time
from collections.abc import Iterator
from itertools import islice

from bench import documents
from bench.documents import FIRST_DAY_MS, NAMESPACE
from bench.report import said
from bench.server import Server, call, connect

BATCH_RUNS = 5_000
PART_RUNS = 100_000
BATCHERS, CLIENTS = 2, 4


def ingest(server: Server, size: int, *, bar: str = "") -> float:
    """Record a history by batches over HTTP from two clients; runs a second of all of it."""
    queue = documents.documents(size)
    rates = {}
    seconds = 0.0
    tenth = max(size // 10, 1)
    for title, count in (
        ("the first tenth", tenth),
        ("the middle", size - 2 * tenth),
        ("the last tenth", tenth),
    ):
        took = sum(_ingest(server, part) for part in _parts(islice(queue, count)))
        rates[title] = count / took
        seconds += took
    for title in ("the first tenth", "the last tenth"):
        said(f"ingest of {size:,} runs by batches: {title}", rates[title], "runs/s", bar)
    return size / seconds


def _parts(lines: islice[bytes]) -> Iterator[list[bytes]]:
    while part := list(islice(lines, PART_RUNS)):
        yield part


def _ingest(server: Server, lines: list[bytes]) -> float:
    """Seconds that it took; the batches are made before the clock starts."""
    bodies = [b"\n".join(lines[begin : begin + BATCH_RUNS]) for begin in range(0, len(lines), BATCH_RUNS)]
    began = time.perf_counter()
    with multiprocessing.pool.ThreadPool(BATCHERS) as pool:
        accepted = sum(pool.map(lambda body: _send(server, body), bodies, chunksize=1))
    if accepted != len(lines):
        raise RuntimeError(f"{accepted} of {len(lines)} runs were accepted")
    return time.perf_counter() - began


def _send(server: Server, body: bytes) -> int:
    connection = server.connect()
    status, answer = call(connection, "POST", f"/v3/namespaces/{NAMESPACE}/lineage/batch", body)
    connection.close()
    return answer.count(b'"status":201') if status == 200 else 0


def singles(server: Server, *, count: int = 1_000, bars: tuple[str, str] = ("", "")) -> None:
    """Single runs from several clients at once, every one durable."""
    with multiprocessing.Pool(CLIENTS) as pool:
        began = time.perf_counter()
        times = pool.starmap(_singles, [(server.port, client, count) for client in range(CLIENTS)])
        took = time.perf_counter() - began
    every = [taken for client in times for taken in client]
    said(f"single runs from {CLIENTS} clients", len(every) / took, "runs/s", bars[0])
    said("slowest of them", 1000 * max(every), "ms", bars[1])


def _singles(port: int, client: int, count: int) -> list[float]:
    connection = connect(port)
    times = []
    for number in range(count):
        body = documents.single(client * count + number, FIRST_DAY_MS + number)
        began = time.perf_counter()
        status, _ = call(connection, "POST", f"/v3/namespaces/{NAMESPACE}/lineage", body)
        times.append(time.perf_counter() - began)
        if status != 201:
            raise RuntimeError(f"a single run was answered {status}")
    return times
