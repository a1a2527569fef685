"""A table split over region servers, `fll serve` in front of it, and clients at work."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

import happybase

from tests.faults import checks
from tests.faults.clients import Client, Reader, Writer, finish, start
from tests.faults.ledger import Ledger
from tests.support.clusters import TABLE, Cluster
from tests.support.server_process import Server
from tests.support.waiting import eventually

REGION_SERVERS = ("rs1", "rs2")
GATEWAYS = ("thrift", "thrift1")
DAEMONS = ("zk", "master", *REGION_SERVERS, *GATEWAYS)

ANSWER_SECONDS = 90.0
"""How long any request may take, whatever is broken; a client that waits longer takes it for lost.

A request has 10 s; the rest is what a busy machine adds.
"""

HEAL_SECONDS = 300.0
PROGRESS = 2
"""How often each client must have been served to count as at work."""

THINK_SECONDS = 0.3
CHECK_SECONDS = 0.1
WINDOWS = 8
SHARE_MIN = 8
"""Regions of the 33 that either region server must hold before one is hurt."""

GATEWAY_MS = 30_000
LOG_LINES = 60

HOT = (b"b|ns|sink|", b"f|ns|source|", b"w|b|ns|sink|", b"e|ns|sink")
"""Rows that every writer puts and nearly every question reads."""


class Work:
    """Clients: writers of single runs and of batches, of new runs and of replaced ones; and readers."""

    def __init__(self, server: Server, ledger: Ledger, *, seed: int) -> None:
        def writer(number: int, lines: int, *, replaces: bool = False) -> Writer:
            return Writer(
                [server.port],
                ledger,
                seed=seed + number,
                lines=lines,
                replaces=replaces,
                patience_seconds=ANSWER_SECONDS,
                gives_up_seconds=HEAL_SECONDS,
                think_seconds=THINK_SECONDS,
            )

        self.writers = [
            writer(1, 5),
            writer(2, 3, replaces=True),
            writer(3, 1),
            writer(4, 1, replaces=True),
        ]
        self.readers = [
            Reader(
                [server.port],
                ledger,
                seed=seed + number,
                patience_seconds=ANSWER_SECONDS,
                think_seconds=THINK_SECONDS,
                forgiving=True,
            )
            for number in (5, 6)
        ]

    @property
    def clients(self) -> Sequence[Client]:
        return [*self.writers, *self.readers]

    def gets_on(self) -> float:
        """Wait until each client was served some times more; the seconds it took. Raises what went wrong."""
        wanted = {client: client.done + PROGRESS for client in self.clients}

        def served() -> bool:
            self._check()
            return all(client.done >= least for client, least in wanted.items())

        return eventually(served, "each client is served again")

    def was_refused(self) -> bool:
        """Whether writers and readers were told 503."""
        return all(
            any(tally.refused for client in clients for tally in client.tallies)
            for clients in (self.writers, self.readers)
        )

    def longest_seconds(self) -> float:
        """The longest that a client waited for what it wanted, be it in one answer or in many tries."""
        tallies = [tally for client in self.clients for tally in client.tallies]
        return max(max(tally.outage_seconds, tally.slowest_seconds) for tally in tallies)

    def lives(self, seconds: float) -> None:
        """Let the clients go on for a while. Raises what goes wrong in one."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._check()
            time.sleep(CHECK_SECONDS)

    def _check(self) -> None:
        for client in self.clients:
            client.check()

    def answered(self, *, api_hurt: bool) -> None:
        """Every request was answered in bounded time, and every 503 said when to come back."""
        for tally in (tally for client in self.clients for tally in client.tallies):
            assert not tally.late, f"{tally.late} requests had no answer within {ANSWER_SECONDS} s"
            assert api_hurt or not tally.broken, f"{tally.broken} connections broke: nobody hurt the API"
            assert tally.retry_after <= {"2"}, tally.retry_after


class Site:
    """A cluster of two region servers and two gateways, the table, and `fll serve` with two workers.

    The ledger is kept from fault to fault: what was acknowledged before the first one must survive all.
    """

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.ledger = Ledger()
        self.server = Server(folder / "site", url=cluster.url)
        self._seeds = count(0, 10)

    def make_table(self) -> None:
        """As an operator does: the statement that `fll table ddl` prints, run by HBase."""
        fll = str(Path(sys.executable).with_name("fll"))
        ddl = subprocess.run(
            [fll, "table", "ddl", "--store", self.cluster.url], capture_output=True, text=True, check=True
        )
        self.cluster.ddl(ddl.stdout)

    def restore(self, report: Callable[[str], None]) -> None:
        """Start what does not run and spread the table over both region servers.

        A master may never finish the crash of a server, which is no fault of the store: then all
        daemons are started again, as operators do, with the data that is there, and that is reported.
        """
        self._start_missing()
        try:
            eventually(self._spreads, "both region servers hold regions")
        except AssertionError as error:
            report(f"{error}; the cluster starts again: {self._diagnosis()}")
            self.cluster.stop()
            self.cluster.start("cluster", len(REGION_SERVERS), len(GATEWAYS))
            eventually(self._spreads, "both region servers hold regions after a new start")

    def _start_missing(self) -> None:
        for name, state in self.cluster.status().items():
            if state == "paused":
                self.cluster.resume(name)
            if state == "down":
                self.cluster.restart(name)
        self.cluster.wait()

    def _diagnosis(self) -> str:
        """Where the regions are, the error of the last moves and the end of the master's log."""
        regions = {name: len(keys) for name, keys in self.regions().items()}
        log = (self.cluster.data / "logs" / "master.log").read_text(errors="replace").splitlines()
        return "\n".join([f"{regions} {self.cluster.status()} {self.cluster.spread()}", *log[-LOG_LINES:]])

    def pid(self, name: str) -> int:
        """The process of a daemon."""
        return int((self.cluster.data / "run" / f"{name}.pid").read_text())

    def _spreads(self) -> bool:
        return self.is_spread() or (self.cluster.spread() == "" and self.is_spread())

    def is_spread(self) -> bool:
        """Whether both region servers hold a good part of the table, run rows among it."""
        return all(
            len(keys) >= SHARE_MIN and any(key.startswith(b"r|") for key in keys)
            for keys in self.regions().values()
        )

    def regions(self) -> dict[str, list[bytes]]:
        """The first keys of the regions that each region server holds."""
        regions: dict[str, list[bytes]] = {name: [] for name in REGION_SERVERS}
        names = {self.cluster.ports.region_servers + 1 + n: name for n, name in enumerate(REGION_SERVERS)}
        with closing(
            happybase.Connection("127.0.0.1", self.cluster.gateways[0], timeout=GATEWAY_MS)
        ) as connection:
            for region in connection.table(TABLE).regions():
                if region["port"] in names:
                    regions[names[region["port"]]].append(region["start_key"])
        return regions

    def holder(self, key: bytes) -> str:
        """The region server that holds a row."""
        servers = {first: name for name, keys in self.regions().items() for first in keys}
        return servers[max(first for first in servers if first <= key)]

    @contextmanager
    def at_work(self, report: Callable[[str], None], *, api_hurt: bool = False) -> Iterator[Work]:
        """Clients at work before the fault, at work after it, and nothing lost."""
        work = Work(self.server, self.ledger, seed=next(self._seeds))
        start(work.clients)
        work.gets_on()
        yield work
        work.gets_on()
        finish(work.clients)
        report(f"writers: {checks.outages(work.writers)}")
        report(f"readers: {checks.outages(work.readers)}")
        work.answered(api_hurt=api_hurt)
        checks.nothing_lost(self.server, self.ledger, windows=WINDOWS)
