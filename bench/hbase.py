"""The store on a real HBase of this machine, standalone, with one gateway, over HTTP."""

from __future__ import annotations

import multiprocessing
import os
import socket
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import happybase
from thriftpy2.thrift import TClient

from bench import documents, hops, queries, recording
from bench.queries import DATASET, WINDOW
from bench.report import print_figure
from bench.server import Server
from fll_hbase.keys import layout
from fll_hbase.model.window import Direction
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Batch, Row, Sync, hbase_schema, hbase_url, open_table
from fll_hbase.tables.base import Columns
from fll_hbase.tables.sqlite import SqliteTable

LAUNCHER = Path(__file__).resolve().parents[1] / "docker" / "hbase" / "bin" / "hbase-local"
PUT_RUNS, PUT_CELLS, CALL_RUNS = 100_000, 2_000, 2_500

ThriftCall: TypeAlias = tuple[str, dict[str, Any]]
"""Name and arguments of a call of the gateway."""

Calls: TypeAlias = list[tuple[list[bytes], list[Batch]]]
"""Calls of a table in their order: the keys of rows that are read, or the batches that are written."""


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
            queries.measure_window(
                servers, "30-day query", WINDOW, target="at most 25", ratio_target="at most 1.3"
            )
            queries.measure_window(servers, "adversarial window", queries.ADVERSARIAL)
            queries.measure_http(servers)
            with closing(open_table(largest.store)) as table:
                queries.measure_store(table)
            for size, server in servers.items():
                _measure_calls(server.store, size)
            queries.measure_sealed(servers, ratio_target="at most 1.3")
            for size, server in servers.items():
                _measure_calls(server.store, size, days="days sealed, ")
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
    """Compare recording over HTTP with clients that only put the same cells, and with such that also read."""
    server = Server(hbase.create_table("over_http"))
    try:
        http_rate = recording.measure_batches(server, PUT_RUNS)
    finally:
        server.stop()
    for clients in (1, recording.BATCH_CLIENTS):
        cells, put_rate = _measure_clients(hbase.create_table(f"puts_{clients}"), clients, _put_cells)
        print_figure(
            f"puts of the same {cells / PUT_RUNS:.2f} cells per run, clients: {clients}", put_rate, "runs/s"
        )
        label = f"ingest, {recording.BATCH_CLIENTS} clients / puts, clients: {clients}"
        print_figure(label, http_rate / put_rate, "x", target="at least 0.5" if clients == 1 else "")
    clients = recording.BATCH_CLIENTS
    _, rate = _measure_clients(hbase.create_table("calls"), clients, _make_calls)
    print_figure(f"the same reads and puts in the same order, bare clients: {clients}", rate, "runs/s")
    print_figure(f"ingest, {clients} clients / these", http_rate / rate, "x")
    print_figure("these / puts alone, the limit of recording here", rate / put_rate, "x")


def _measure_clients(
    url: str, clients: int, send: Callable[[happybase.Table, Calls], None]
) -> tuple[int, float]:
    """Send the calls that record PUT_RUNS runs; returns the number of cells, and runs per second."""
    barrier = multiprocessing.Barrier(clients)
    with multiprocessing.Pool(clients, initializer=_share, initargs=(barrier,)) as pool:
        shares = [(url, client, clients, send) for client in range(clients)]
        results = pool.starmap(_send_share, shares, chunksize=1)
    return sum(cells for cells, _ in results), PUT_RUNS / max(seconds for _, seconds in results)


def _share(barrier: Any) -> None:
    globals()["_barrier"] = barrier


def _send_share(
    url: str, client: int, clients: int, send: Callable[[happybase.Table, Calls], None]
) -> tuple[int, float]:
    """Send the share of one client, computed before the clock starts; returns cells and seconds."""
    lines = islice(
        documents.generate(PUT_RUNS), client * PUT_RUNS // clients, (client + 1) * PUT_RUNS // clients
    )
    calls = _compute_calls(lines)
    target = hbase_url.parse_url(url)
    with closing(happybase.Connection(*target.gateways[0])) as connection:
        globals()["_barrier"].wait()
        started = time.perf_counter()
        send(connection.table(target.table), calls)
        seconds = time.perf_counter() - started
    return sum(len(batch) for _, batches in calls for batch in batches), seconds


def _put_cells(table: happybase.Table, calls: Calls) -> None:
    """Put all cells, without reads or barriers."""
    with table.batch(batch_size=PUT_CELLS) as batch:
        for _, batches in calls:
            for put in (put for puts in batches for put in puts):
                batch.put(put.row, {put.column: put.value})


def _make_calls(table: happybase.Table, calls: Calls) -> None:
    """Read and put what recording does, in its order: each batch is stored before the next one is put."""
    for keys, batches in calls:
        if keys:
            table.rows(keys, columns=[layout.LIGHT[:-1]])
        for puts in batches:
            with table.batch(batch_size=PUT_CELLS) as batch:
                for put in puts:
                    batch.put(put.row, {put.column: put.value})


def _compute_calls(lines: Iterator[bytes]) -> Calls:
    """The calls that recording these documents makes."""
    table = _CallRecorder()
    recording.record_lines(LineageStore(table), lines, call_runs=CALL_RUNS)
    return table.calls


class _CallRecorder(SqliteTable):
    """A table in memory that also lists what is read and put."""

    def __init__(self) -> None:
        super().__init__(":memory:")
        self.calls: Calls = []
        # Passes are as large as those on HBase.
        self.parallel_calls = 2

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        """Read the rows, and list their keys."""
        self.calls.append((list(keys), []))
        return super().rows(keys, columns=columns)

    def write(self, batches: Iterable[Batch], *, sync: Sync = Sync.NOW) -> None:
        """Write the batches, and list them."""
        batches = list(batches)
        self.calls.append(([], batches))
        super().write(batches, sync=sync)


def _measure_calls(url: str, size: int, *, days: str = "") -> None:
    """Count the gateway calls of a query whose contents are in the cache, and time them without the query."""
    target = hbase_url.parse_url(url)
    with closing(open_table(url)) as table, closing(happybase.Connection(*target.gateways[0])) as connection:
        store = LineageStore(table)
        store.lineage(DATASET, WINDOW, directions=(Direction.BACKWARD,))
        with _record_calls() as calls:
            store.lineage(DATASET, WINDOW, directions=(Direction.BACKWARD,))
        scans = sum(name == "scannerOpenWithScan" for name, _ in calls)
        print_figure(f"scans of the 30-day query, {days}{size:,} runs", scans, "scans")
        print_figure(f"gateway calls of the 30-day query, {days}{size:,} runs", len(calls), "calls")
        median = queries.median_ms(lambda: _repeat_calls(connection.client, calls))
        print_figure(f"these calls by a bare client, one by one, {days}{size:,} runs, p50", median, "ms")


@contextmanager
def _record_calls() -> Iterator[list[ThriftCall]]:
    """List the Thrift calls of this process."""
    calls: list[ThriftCall] = []
    send = TClient._send

    def record(self: TClient, api: str, **arguments: Any) -> None:
        calls.append((api, arguments))
        send(self, api, **arguments)

    TClient._send = record  # type: ignore[method-assign, assignment]
    try:
        yield calls
    finally:
        TClient._send = send  # type: ignore[method-assign]


def _repeat_calls(client: Any, calls: Sequence[ThriftCall]) -> None:
    """Make the calls again; new scanners are read and closed in the order of their opening."""
    scanners: deque[int] = deque()
    for name, arguments in calls:
        if "id" in arguments:
            arguments = {**arguments, "id": scanners[0]}
        answer = getattr(client, name)(**arguments)
        if name == "scannerOpenWithScan":
            scanners.append(answer)
        elif name == "scannerClose":
            scanners.popleft()


def _free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports
