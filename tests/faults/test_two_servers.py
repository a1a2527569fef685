"""May two servers share one file: all runs are there, and both report the same, whoever of them dies."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.faults import checks
from tests.faults.caller import RECORDED, Caller
from tests.faults.clients import Client, Reader, Writer, finish, start
from tests.faults.ledger import EVER, Ledger, Version, version
from tests.faults.questions import Runs
from tests.support.server_process import Server
from tests.support.waiting import PATIENCE_SECONDS, eventually

PROGRESS_RUNS = 500
CONTESTS, CONTESTED_RUNS = 12, 15


@pytest.mark.slow
def test_two_servers_write_at_once(store: Path, report: Callable[[str], None]) -> None:
    ledger = Ledger()
    with Server(store) as first, Server(store) as second:
        clients = _clients([first.port, second.port], ledger)
        start(clients)
        contested = _contests(first, second, ledger)
        eventually(lambda: ledger.acknowledgements >= PROGRESS_RUNS, "writers get on")
        finish(clients)
        report(checks.outages(clients))
        checks.none_refused(clients)
        _settle(first, contested, ledger)
        for server in (first, second):
            checks.all_there(server, ledger)
            checks.unlocked(server, ledger)
        checks.sound(store)


@pytest.mark.slow
def test_two_servers_make_the_file_at_once(store: Path) -> None:
    ledger = Ledger()
    servers = [Server(store), Server(store)]
    try:
        for server in servers:
            server.start(wait=False)
        for server in servers:
            server.wait_for_all_workers()
        Writer([server.port for server in servers], ledger, seed=1, lines=100).turn()
        for server in servers:
            checks.all_there(server, ledger)
    finally:
        for server in servers:
            server.kill()


@pytest.mark.slow
def test_one_of_two_servers_is_killed(store: Path, report: Callable[[str], None]) -> None:
    ledger = Ledger()
    with Server(store) as first, Server(store) as second:
        clients = _clients([first.port, second.port], ledger)
        start(clients)
        for victim in (first, second):
            eventually(lambda victim=victim: victim.writes(), "it writes")
            victim.kill()
            acknowledgements = ledger.acknowledgements
            took = eventually(
                lambda existing=acknowledgements: ledger.acknowledgements > existing, "the other goes on"
            )
            victim.start()
            report(f"the other got on after {took:.2f} s")
        finish(clients)
        report(checks.outages(clients))
        checks.none_refused(clients)
        for server in (first, second):
            checks.all_there(server, ledger)
        checks.sound(store)


def _clients(ports: Sequence[int], ledger: Ledger) -> Sequence[Client]:
    first, other = ports
    return [
        Writer([first], ledger, seed=1, lines=100),
        Writer([other], ledger, seed=2, lines=100),
        Writer([first], ledger, seed=3, lines=1),
        Writer([other], ledger, seed=4, lines=1),
        Writer([first, other], ledger, seed=5, lines=20, replaces=True),
        Reader([first, other], ledger, seed=6),
    ]


def _contests(first: Server, second: Server, ledger: Ledger) -> list[tuple[Version, Version]]:
    """Runs of which both servers were told something else at the same time; every third time the same."""
    chance = random.Random(8)
    contested: list[tuple[Version, Version]] = []
    callers = [Caller(server.port, patience_seconds=PATIENCE_SECONDS) for server in (first, second)]
    for number in range(CONTESTS):
        names = [f"contested-{number}-{line}" for line in range(CONTESTED_RUNS)]
        left = [version(name, chance) for name in names]
        right = left if number % 3 == 0 else [version(name, chance) for name in names]
        ledger.begin([*left, *right])
        _at_once(callers, [left, right])
        contested += zip(left, right, strict=True)
    return contested


def _at_once(callers: Sequence[Caller], batches: Sequence[list[Version]]) -> None:
    statuses: list[int] = []
    threads = [
        threading.Thread(target=lambda caller=caller, batch=batch: statuses.extend(caller.record(batch)))
        for caller, batch in zip(callers, batches, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * PATIENCE_SECONDS)
    assert len(statuses) == sum(map(len, batches)), "a batch was not answered"
    assert set(statuses) <= set(RECORDED), statuses


def _settle(server: Server, contested: list[tuple[Version, Version]], ledger: Ledger) -> None:
    """Take what the server lists of each contested run as the truth: one of the two."""
    listed = set(Caller(server.port, patience_seconds=PATIENCE_SECONDS).ask(Runs(EVER)))
    for versions in contested:
        true = [version for version in sorted(set(versions)) if (version.run, version.start_ms) in listed]
        assert len(true) == 1, f"{versions}: listed are {true}"
        ledger.acknowledge(true[0])
