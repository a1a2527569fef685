"""May two servers share one file: all runs are there, and both tell the same, whoever of them dies."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from . import checks
from .caller import RECORDED, Caller
from .clients import Client, Reader, Writer, finish, start
from .ledger import EVER, Ledger, Version, version
from .processes import eventually
from .questions import Runs
from .server import Server

PROGRESS_RUNS = 500
CONTESTS, CONTESTED_RUNS = 12, 15


def test_two_servers_write_at_once(store: Path, tell: Callable[[str], None]) -> None:
    ledger = Ledger()
    with Server(store) as one, Server(store) as other:
        clients = _clients([one.port, other.port], ledger)
        start(clients)
        contested = _contests(one, other, ledger)
        eventually(lambda: ledger.acknowledgements >= PROGRESS_RUNS, 30, "writers get on")
        finish(clients)
        tell(checks.outages(clients))
        checks.none_refused(clients)
        _settle(one, contested, ledger)
        for server in (one, other):
            checks.all_there(server, ledger)
            checks.unlocked(server, ledger)
        checks.sound(store)


def test_two_servers_make_the_file_at_once(store: Path) -> None:
    ledger = Ledger()
    servers = [Server(store), Server(store)]
    try:
        for server in servers:
            server.start(wait=False)
        for server in servers:
            server.wait_whole()
        Writer([server.port for server in servers], ledger, seed=1, lines=100).turn()
        for server in servers:
            checks.all_there(server, ledger)
    finally:
        for server in servers:
            server.kill()


def test_one_of_two_servers_is_killed(store: Path, tell: Callable[[str], None]) -> None:
    ledger = Ledger()
    with Server(store) as one, Server(store) as other:
        clients = _clients([one.port, other.port], ledger)
        start(clients)
        for victim in (one, other):
            eventually(lambda victim=victim: victim.writes(), 20, "it writes")
            victim.kill()
            known = ledger.acknowledgements
            took = eventually(lambda known=known: ledger.acknowledgements > known, 10, "the other goes on")
            victim.start()
            tell(f"the other got on after {took:.2f} s")
        finish(clients)
        tell(checks.outages(clients))
        checks.none_refused(clients)
        for server in (one, other):
            checks.all_there(server, ledger)
        checks.sound(store)


def _clients(ports: Sequence[int], ledger: Ledger) -> Sequence[Client]:
    one, other = ports
    return [
        Writer([one], ledger, seed=1, lines=100),
        Writer([other], ledger, seed=2, lines=100),
        Writer([one], ledger, seed=3, lines=1),
        Writer([other], ledger, seed=4, lines=1),
        Writer([one, other], ledger, seed=5, lines=20, replaces=True),
        Reader([one, other], ledger, seed=6),
    ]


def _contests(one: Server, other: Server, ledger: Ledger) -> list[tuple[Version, Version]]:
    """Runs of which both servers were told something else at the same time; every third time the same."""
    chance = random.Random(8)
    contested: list[tuple[Version, Version]] = []
    callers = [Caller(server.port, patience_seconds=30) for server in (one, other)]
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
        thread.join(40)
    assert len(statuses) == sum(map(len, batches)), "a batch was not answered"
    assert set(statuses) <= set(RECORDED), statuses


def _settle(server: Server, contested: list[tuple[Version, Version]], ledger: Ledger) -> None:
    """Take what the server lists of each contested run as the truth: one of the two."""
    listed = set(Caller(server.port, patience_seconds=30).ask(Runs(EVER)))
    for versions in contested:
        true = [each for each in sorted(set(versions)) if (each.run, each.start_ms) in listed]
        assert len(true) == 1, f"{versions}: listed are {true}"
        ledger.acknowledge(true[0])
