"""The store on HBase: a real one on this machine, standalone, with one gateway, over HTTP."""

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

from bench import asking, documents, recording
from bench.asking import END_POINT, WINDOW
from bench.documents import NAMESPACE
from bench.report import said
from bench.server import Server
from fll_hbase.model.window import Direction
from fll_hbase.sources.native.cached_reader import CachedDocumentReader
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Batch, Put, Sync, hbase_schema, hbase_url, open_table
from fll_hbase.tables.sqlite import SqliteTable

LAUNCHER = Path(__file__).resolve().parents[1] / "docker" / "hbase" / "bin" / "hbase-local"
BARE_RUNS, BARE_CELLS = 100_000, 2_000
ASKED = 20


def bench(sizes: Sequence[int]) -> None:
    """Histories of each size, the largest last."""
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as hbase:
        servers = {size: Server(hbase.made(f"runs_{size}")) for size in sizes}
        largest = servers[sizes[-1]]
        try:
            for size, server in servers.items():
                said(f"ingest of {size:,} runs by batches", recording.ingest(server, size), "runs/s")
            bytes_stored = hbase.stored_bytes(f"runs_{sizes[-1]}")
            said(f"bytes a run in store files, {sizes[-1]:,} runs", bytes_stored / sizes[-1], "B")
            _against_bare(hbase)
            rest = asking.window(
                servers, "30-day question", WINDOW, bar="at most 25", ratio_bar="at most 1.3"
            )
            asking.window(servers, "adversarial window", asking.ADVERSARIAL)
            asking.fixed_cost(servers)
            with closing(open_table(largest.store)) as table:
                said("REST over bare scan", rest / asking.bare_scan(table), "x")
                asking.engine(table)
            for size, server in servers.items():
                _calls(server.store, size)
            recording.singles(servers[sizes[0]], count=500)
            said("memory of the server after all that", largest.resident_bytes() / 2**20, "MiB")
        finally:
            for server in servers.values():
                server.stop()


class Hbase:
    """A running HBase that nobody else uses."""

    def __init__(self, data: Path) -> None:
        self._data = data
        ports = _free_ports(4)
        names = ("ZK_PORT", "MASTER_PORT", "RS_BASE", "THRIFT_PORT")
        self._environment = {**os.environ, "HBASE_DATA": str(data), "HBASE_HEAP": "2g"}
        self._environment |= {name: str(port) for name, port in zip(names, ports, strict=True)}
        self._gateway = f"127.0.0.1:{ports[-1]}"

    def launch(self, *command: str, told: str = "") -> None:
        subprocess.run([LAUNCHER, *command], env=self._environment, check=True, input=told, text=True)

    def stored_bytes(self, name: str) -> int:
        """What a table takes on disk once it is written out and compacted."""
        self.launch("tool", "flush", name)
        self.launch("tool", "compact", name)
        files = self._data.glob(f"root/data/default/{name}/**/*")
        return sum(file.stat().st_size for file in files if file.is_file())

    def made(self, name: str) -> str:
        """The URL of a new table, split and encoded as `fll table ddl` has it."""
        self.launch("ddl", told=hbase_schema.create_statement(name))
        return f"hbase://{self._gateway}/{name}"


@contextmanager
def running(data: Path) -> Iterator[Hbase]:
    hbase = Hbase(data)
    hbase.launch("start", "standalone")
    try:
        yield hbase
    finally:
        hbase.launch("stop")


def _against_bare(hbase: Hbase) -> None:
    """The same runs over HTTP, and their cells put by bare clients, without reads or barriers."""
    server = Server(hbase.made("over_http"))
    try:
        over_http = recording.ingest(server, BARE_RUNS)
    finally:
        server.stop()
    for clients in (1, recording.BATCHERS):
        cells, bare = _bare(hbase.made(f"bare_{clients}"), clients)
        said(f"the same {cells / BARE_RUNS:.2f} cells a run put by bare clients: {clients}", bare, "runs/s")
        bar = "at least 0.5" if clients == 1 else ""
        said(
            f"ingest from {recording.BATCHERS} clients over bare clients: {clients}",
            over_http / bare,
            "x",
            bar,
        )


def _bare(url: str, clients: int) -> tuple[int, float]:
    """Cells put, and runs a second."""
    barrier = multiprocessing.Barrier(clients)
    with multiprocessing.Pool(clients, initializer=_share, initargs=(barrier,)) as pool:
        outcomes = pool.starmap(_put_bare, [(url, client, clients) for client in range(clients)], chunksize=1)
    return sum(cells for cells, _ in outcomes), BARE_RUNS / max(seconds for _, seconds in outcomes)


def _share(barrier: Any) -> None:
    globals()["_barrier"] = barrier


def _put_bare(url: str, client: int, clients: int) -> tuple[int, float]:
    """Cells put, and the seconds it took; which cells is found out before the clock starts."""
    lines = islice(
        documents.documents(BARE_RUNS), client * BARE_RUNS // clients, (client + 1) * BARE_RUNS // clients
    )
    puts = _puts(lines)
    place = hbase_url.parse_url(url)
    with closing(happybase.Connection(*place.gateways[0])) as connection:
        globals()["_barrier"].wait()
        began = time.perf_counter()
        with connection.table(place.table).batch(batch_size=BARE_CELLS) as batch:
            for put in puts:
                batch.put(put.row, {put.column: put.value})
        return len(puts), time.perf_counter() - began


def _puts(lines: Iterator[bytes]) -> list[Put]:
    """The cells that recording these documents puts."""
    reader, table = CachedDocumentReader(), _Noting()
    store = LineageStore(table)
    while runs := [reader.read(line, namespace=NAMESPACE).recorded for line in islice(lines, 2_000)]:
        store.record(runs)
    return table.puts


class _Noting(SqliteTable):
    """A table that notes what is put into it."""

    def __init__(self) -> None:
        super().__init__(":memory:")
        self.puts: list[Put] = []

    def write(self, batches: Iterable[Batch], *, sync: Sync = Sync.NOW) -> None:
        batches = list(batches)
        self.puts += [put for batch in batches for put in batch]
        super().write(batches, sync=sync)


def _calls(url: str, size: int) -> None:
    """How often a question calls the gateway, once its contents are in memory."""
    with closing(open_table(url)) as table:
        store = LineageStore(table)
        store.lineage(END_POINT, WINDOW, directions=(Direction.BACKWARD,))
        with _counted() as calls:
            for _ in range(ASKED):
                store.lineage(END_POINT, WINDOW, directions=(Direction.BACKWARD,))
    scans = calls["scannerOpenWithScan"] / ASKED
    said(f"scans of the 30-day question at {size:,} runs", scans, "scans")
    said(f"calls of the gateway for it at {size:,} runs", calls.total() / ASKED, "calls")


@contextmanager
def _counted() -> Iterator[Counter[str]]:
    """Counts calls of this process by their names."""
    calls: Counter[str] = Counter()
    plain = TClient._req

    def counting(self: TClient, api: str, *args: Any, **options: Any) -> Any:
        calls[api] += 1
        return plain(self, api, *args, **options)

    TClient._req = counting  # type: ignore[method-assign, assignment]
    try:
        yield calls
    finally:
        TClient._req = plain  # type: ignore[method-assign]


def _free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports
