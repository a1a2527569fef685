"""The store on a real HBase of this machine, standalone, with one gateway, over HTTP."""

from __future__ import annotations

import multiprocessing
import os
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import happybase
from thriftpy2.thrift import TClient

from bench import documents, hops, queries, recording
from bench.documents import NAMESPACE
from bench.queries import DATASET, WINDOW
from bench.report import print_figure
from bench.server import Server
from fll_hbase.model.window import Direction
from fll_hbase.sources.native.cached_reader import CachedDocumentReader
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Batch, Put, Sync, hbase_schema, hbase_url, open_table
from fll_hbase.tables.sqlite import SqliteTable

LAUNCHER = Path(__file__).resolve().parents[1] / "docker" / "hbase" / "bin" / "hbase-local"
PUT_RUNS, PUT_CELLS = 100_000, 2_000
QUERIES = 20


def bench(sizes: Sequence[int]) -> None:
    """Measure histories of each size, the largest last."""
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as hbase:
        servers = {size: Server(hbase.create_table(f"runs_{size}")) for size in sizes}
        largest = servers[sizes[-1]]
        try:
            for size, server in servers.items():
                rate = recording.measure_batches(server, size)
                print_figure(f"batch ingest of {size:,} runs", rate, "runs/s")
            run_bytes = hbase.stored_bytes(f"runs_{sizes[-1]}") / sizes[-1]
            print_figure(f"bytes per run in store files, {sizes[-1]:,} runs", run_bytes, "B")
            _compare_with_puts(hbase)
            rest_ms = queries.measure_window(
                servers, "30-day query", WINDOW, target="at most 25", ratio_target="at most 1.3"
            )
            queries.measure_window(servers, "adversarial window", queries.ADVERSARIAL)
            queries.measure_http(servers)
            with closing(open_table(largest.store)) as table:
                print_figure(
                    "query over HTTP / scan of ways alone", rest_ms / queries.measure_ways_scan(table), "x"
                )
                queries.measure_store(table)
            for size, server in servers.items():
                _measure_calls(server.store, size)
            with closing(open_table(hbase.create_table("hops"))) as table:
                hops.measure(table)
            recording.measure_singles(servers[sizes[0]], count=500)
            print_figure("server memory at the end", largest.resident_bytes() / 2**20, "MiB")
        finally:
            for server in servers.values():
                server.stop()


class Hbase:
    """A running HBase that nothing else uses."""

    def __init__(self, data: Path) -> None:
        self._data = data
        ports = _free_ports(4)
        names = ("ZK_PORT", "MASTER_PORT", "RS_BASE", "THRIFT_PORT")
        self._environment = {**os.environ, "HBASE_DATA": str(data), "HBASE_HEAP": "2g"}
        self._environment |= {name: str(port) for name, port in zip(names, ports, strict=True)}
        self._gateway = f"127.0.0.1:{ports[-1]}"

    def launch(self, *command: str, stdin: str = "") -> None:
        """Run the launcher script with a command and wait for its end."""
        subprocess.run([LAUNCHER, *command], env=self._environment, check=True, input=stdin, text=True)

    def stored_bytes(self, name: str) -> int:
        """The size of a table on disk, after a flush and a compaction."""
        self.launch("tool", "flush", name)
        self.launch("tool", "compact", name)
        files = self._data.glob(f"root/data/default/{name}/**/*")
        return sum(file.stat().st_size for file in files if file.is_file())

    def create_table(self, name: str) -> str:
        """Create a table, split and encoded as by `fll table ddl`; returns its URL."""
        self.launch("ddl", stdin=hbase_schema.create_statement(name))
        return f"hbase://{self._gateway}/{name}"


@contextmanager
def running(data: Path) -> Iterator[Hbase]:
    """Start a standalone HBase in the directory, and stop it at the end."""
    hbase = Hbase(data)
    hbase.launch("start", "standalone")
    try:
        yield hbase
    finally:
        hbase.launch("stop")


def _compare_with_puts(hbase: Hbase) -> None:
    """Compare recording over HTTP with clients that only put the same cells, without reads or barriers."""
    server = Server(hbase.create_table("over_http"))
    try:
        http_rate = recording.measure_batches(server, PUT_RUNS)
    finally:
        server.stop()
    for clients in (1, recording.BATCH_CLIENTS):
        cells, rate = _measure_puts(hbase.create_table(f"puts_{clients}"), clients)
        print_figure(
            f"puts of the same {cells / PUT_RUNS:.2f} cells per run, clients: {clients}", rate, "runs/s"
        )
        label = f"ingest, {recording.BATCH_CLIENTS} clients / puts, clients: {clients}"
        print_figure(label, http_rate / rate, "x", target="at least 0.5" if clients == 1 else "")


def _measure_puts(url: str, clients: int) -> tuple[int, float]:
    """Put the cells of PUT_RUNS runs; returns their number, and runs per second."""
    barrier = multiprocessing.Barrier(clients)
    with multiprocessing.Pool(clients, initializer=_share, initargs=(barrier,)) as pool:
        shares = [(url, client, clients) for client in range(clients)]
        results = pool.starmap(_put_share, shares, chunksize=1)
    return sum(cells for cells, _ in results), PUT_RUNS / max(seconds for _, seconds in results)


def _share(barrier: Any) -> None:
    globals()["_barrier"] = barrier


def _put_share(url: str, client: int, clients: int) -> tuple[int, float]:
    """Put the share of one client, computed before the clock starts; returns cells and seconds."""
    lines = islice(
        documents.generate(PUT_RUNS), client * PUT_RUNS // clients, (client + 1) * PUT_RUNS // clients
    )
    puts = _compute_puts(lines)
    target = hbase_url.parse_url(url)
    with closing(happybase.Connection(*target.gateways[0])) as connection:
        globals()["_barrier"].wait()
        started = time.perf_counter()
        with connection.table(target.table).batch(batch_size=PUT_CELLS) as batch:
            for put in puts:
                batch.put(put.row, {put.column: put.value})
        return len(puts), time.perf_counter() - started


def _compute_puts(lines: Iterator[bytes]) -> list[Put]:
    """The cells that recording these documents puts."""
    reader, table = CachedDocumentReader(), _PutRecorder()
    store = LineageStore(table)
    while runs := [reader.read(line, namespace=NAMESPACE).recorded for line in islice(lines, 2_000)]:
        store.record(runs)
    return table.puts


class _PutRecorder(SqliteTable):
    """A table in memory that also lists all puts."""

    def __init__(self) -> None:
        super().__init__(":memory:")
        self.puts: list[Put] = []

    def write(self, batches: Iterable[Batch], *, sync: Sync = Sync.NOW) -> None:
        """Write the batches, and append their puts to the list."""
        batches = list(batches)
        self.puts += [put for batch in batches for put in batch]
        super().write(batches, sync=sync)


def _measure_calls(url: str, size: int) -> None:
    """Count the gateway calls of a query whose contents are in the cache."""
    with closing(open_table(url)) as table:
        store = LineageStore(table)
        store.lineage(DATASET, WINDOW, directions=(Direction.BACKWARD,))
        with _count_calls() as calls:
            for _ in range(QUERIES):
                store.lineage(DATASET, WINDOW, directions=(Direction.BACKWARD,))
    scans = calls["scannerOpenWithScan"] / QUERIES
    print_figure(f"scans of the 30-day query, {size:,} runs", scans, "scans")
    print_figure(f"gateway calls of the 30-day query, {size:,} runs", calls.total() / QUERIES, "calls")


@contextmanager
def _count_calls() -> Iterator[Counter[str]]:
    """Count the Thrift calls of this process by name."""
    calls: Counter[str] = Counter()
    send = TClient._send

    def count(self: TClient, api: str, **arguments: Any) -> None:
        calls[api] += 1
        send(self, api, **arguments)

    TClient._send = count  # type: ignore[method-assign, assignment]
    try:
        yield calls
    finally:
        TClient._send = send  # type: ignore[method-assign]


def _free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports
