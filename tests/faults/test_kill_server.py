"""Killing the whole server loses no acknowledged run, and the file opens again."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fll_hbase.tables import Put, open_table
from tests.faults import checks
from tests.faults.clients import Client, Reader, Writer, finish, paused, start
from tests.faults.ledger import Ledger
from tests.support.server_process import Server
from tests.support.waiting import eventually

ROUNDS = 3
PROGRESS_RUNS = 200
FILES, FILE_STEP_SECONDS = 40, 0.0003
"""Each file is made by a process that is killed a little later than the one before."""

FORK = multiprocessing.get_context("fork")


@pytest.mark.slow
def test_whole_server_killed_and_started_again(store: Path, report: Callable[[str], None]) -> None:
    ledger = Ledger()
    away: list[float] = []
    with Server(store) as server:
        clients = _clients(server, ledger)
        start(clients)
        for _ in range(ROUNDS):
            _wait_for_mid_batch(server, ledger)
            began = time.monotonic()
            with paused(clients):
                server.kill()
                server.start()
                away.append(time.monotonic() - began)
                checks.nothing_lost(server, ledger)
        finish(clients)
        report(f"answers {max(away):.2f} s after the kill at the latest; {checks.outages(clients)}")
        checks.none_refused(clients)
        assert sum(tally.broken for client in clients for tally in client.tallies) >= ROUNDS
        server.wait_for_all_workers()
        checks.all_there(server, ledger)
        checks.unlocked(server, ledger)
        checks.sound(store)


@pytest.mark.slow
def test_killed_while_it_makes_its_file(store: Path) -> None:
    for number in range(FILES):
        unfinished = store.with_name(f"{number}.db")
        child = FORK.Process(target=_make, args=(unfinished,))
        child.start()
        eventually(lambda path=unfinished: path.exists(), "the file is being made")
        time.sleep(number * FILE_STEP_SECONDS)
        child.kill()
        child.join()
        _make(unfinished)
        checks.sound(unfinished)


def _make(path: Path) -> None:
    """Open a table, making its file, and write to it."""
    table = open_table(f"sqlite:///{path}")
    table.write([[Put(b"row", b"d:column", b"value")]])
    assert table.get(b"row")[b"d:column"].value == b"value"
    table.close()


def _clients(server: Server, ledger: Ledger) -> Sequence[Client]:
    ports = [server.port]
    return [
        Writer(ports, ledger, seed=1, lines=400),
        Writer(ports, ledger, seed=2, lines=100, replaces=True),
        Writer(ports, ledger, seed=3, lines=1),
        Reader(ports, ledger, seed=4),
    ]


def _wait_for_mid_batch(server: Server, ledger: Ledger) -> None:
    acknowledgements = ledger.acknowledgements
    eventually(lambda: ledger.acknowledgements >= acknowledgements + PROGRESS_RUNS, "writers get on")
    server.writer()
    assert ledger.under_way() > 0
