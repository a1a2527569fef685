"""Killing workers during writes loses no acknowledged run, and no answer is partial."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

import pytest

from tests.faults import checks
from tests.faults.clients import Client, Reader, Writer, finish, start
from tests.faults.ledger import Ledger
from tests.support.profiles import KILLS
from tests.support.server_process import Server
from tests.support.waiting import eventually

NOTICED = KILLS // 2
PROGRESS_RUNS = 30
"""How much must be acknowledged between two kills, so that each of them hits a server at work."""


@pytest.mark.slow
def test_writers_lose_nothing(store: Path, report: Callable[[str], None]) -> None:
    ledger = Ledger()
    with Server(store) as server:
        clients = writers(server, ledger)
        kill_workers(server, ledger, clients, noticed_by=clients)
        finish(clients)
        server.wait_for_all_workers()
        report(checks.outages(clients))
        checks.none_refused(clients)
        checks.all_there(server, ledger)
        checks.unlocked(server, ledger)
        checks.sound(store)


@pytest.mark.slow
def test_readers_see_all_or_nothing(store: Path, report: Callable[[str], None]) -> None:
    ledger = Ledger()
    with Server(store) as server:
        Writer([server.port], ledger, seed=9, lines=200).turn()
        readers = [Reader([server.port], ledger, seed=seed) for seed in range(20, 24)]
        clients: list[Client] = [Writer([server.port], ledger, seed=1, lines=40), *readers]
        clients.append(Writer([server.port], ledger, seed=2, lines=10, replaces=True))
        start(clients)
        kill_workers(server, ledger, clients, noticed_by=readers)
        finish(clients)
        server.wait_for_all_workers()
        report(f"{sum(reader.done for reader in readers)} right answers; {checks.outages(readers)}")
        checks.none_refused(clients)
        checks.all_there(server, ledger)
        checks.sound(store)


def writers(server: Server, ledger: Ledger) -> Sequence[Client]:
    """Clients of every kind, at work."""
    ports = [server.port]
    clients = [
        Writer(ports, ledger, seed=1, lines=400),
        Writer(ports, ledger, seed=2, lines=150, replaces=True),
        Writer(ports, ledger, seed=3, lines=20),
        Writer(ports, ledger, seed=4, lines=1),
        Writer(ports, ledger, seed=5, lines=1, replaces=True),
    ]
    start(clients)
    return clients


def kill_workers(
    server: Server, ledger: Ledger, clients: Sequence[Client], *, noticed_by: Sequence[Client]
) -> None:
    """SIGKILL to workers, one time to whichever has the turn to write, the other time to any.

    KILLS times, and until connections of some clients broke NOTICED times: a worker that starts has none.
    """
    chance = random.Random(7)
    for number in count():
        broken = sum(tally.broken for client in noticed_by for tally in client.tallies)
        if number >= KILLS and broken >= NOTICED:
            return
        assert number < 10 * KILLS, f"{number} kills, and only {broken} broken connections"
        acknowledgements = ledger.acknowledgements
        eventually(
            lambda existing=acknowledgements: ledger.acknowledgements >= existing + PROGRESS_RUNS,
            "writers get on",
        )
        time.sleep(chance.uniform(0, 0.1))
        os.kill(server.writer() if number % 2 else chance.choice(server.some_workers()), signal.SIGKILL)
        for client in clients:
            client.check()
