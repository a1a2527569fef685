"""Does a server that is told to stop finish what it began, in bounded time, and lose nothing acknowledged."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults import checks
from tests.faults.caller import Caller
from tests.faults.clients import Client, Reader, Writer, finish, paused, start
from tests.faults.ledger import Ledger, version
from tests.support.server_process import Server
from tests.support.waiting import PATIENCE_SECONDS, eventually

BATCH_RUNS = 5_000
"""Recorded in three steps, so that there is time to stop between them."""


@pytest.mark.slow
def test_terminated_in_mid_batch(store: Path, report: Callable[[str], None]) -> None:
    ledger = Ledger()
    with Server(store) as server:
        clients: list[Client] = [
            Writer([server.port], ledger, seed=1, lines=500),
            Writer([server.port], ledger, seed=2, lines=1),
            Writer([server.port], ledger, seed=3, lines=50, replaces=True),
            Reader([server.port], ledger, seed=4),
        ]
        start(clients)
        eventually(lambda: ledger.acknowledgements > 1_000, "writers get on")
        server.writer()
        with paused(clients):
            took = _terminated(server)
            server.start()
            checks.nothing_lost(server, ledger)
        finish(clients)
        report(f"ended after {took:.2f} s; {checks.outages(clients)}")
        checks.none_refused(clients)
        checks.all_there(server, ledger)
        checks.unlocked(server, ledger)
        checks.sound(store)


@pytest.mark.slow
def test_a_batch_under_way_is_answered(store: Path, report: Callable[[str], None]) -> None:
    ledger = Ledger()
    chance = random.Random(6)
    versions = [version(f"run-{number}", chance) for number in range(BATCH_RUNS)]
    statuses: list[int] = []
    with Server(store) as server:
        caller = Caller(server.port, patience_seconds=PATIENCE_SECONDS)
        sender = threading.Thread(target=lambda: statuses.extend(caller.record(versions)), daemon=True)
        ledger.begin(versions)
        sender.start()
        server.writer()
        assert not statuses
        took = _terminated(server)
        sender.join(PATIENCE_SECONDS)
        assert statuses == [201] * BATCH_RUNS, f"{len(statuses)} answers, {caller.tally.broken} broken"
        report(f"ended after {took:.2f} s, {BATCH_RUNS} runs under way were answered")
        for recorded_version in versions:
            ledger.acknowledge(recorded_version)
        server.start()
        checks.all_there(server, ledger)


def _terminated(server: Server) -> float:
    """Report it to stop, and wait until it did; the seconds it took."""
    began = time.monotonic()
    code = server.terminate(PATIENCE_SECONDS)
    assert code == 0, f"exit code {code}: {server.log()}"
    took = time.monotonic() - began
    server.kill()
    return took
