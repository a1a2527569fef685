"""While a worker is stopped, others go on or answer within a bounded time when to retry."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults import checks
from tests.faults.clients import Reader, Writer, finish, start
from tests.faults.ledger import Ledger
from tests.support.processes import reading, state, writing
from tests.support.server_process import Server
from tests.support.waiting import eventually

READS_MIN = 20
"""So many are answered while writes wait for their turn: if each waited as long, that would take minutes."""

WAITING = 12
"""More writers than a worker has threads."""


@pytest.mark.slow
def test_stopped_while_it_writes(store: Path, report: Callable[[str], None]) -> None:
    ledger = Ledger()
    with Server(store) as server:
        Writer([server.port], ledger, seed=0, lines=500).turn()
        early_writers = [
            Writer([server.port], ledger, seed=seed, lines=lines) for seed, lines in ((1, 300), (2, 1))
        ]
        start(early_writers)
        with stopped_writer(server):
            singles = [Writer([server.port], ledger, seed=seed, lines=1) for seed in (3, 4)]
            batches = [Writer([server.port], ledger, seed=5, lines=50)]
            reader = Reader([server.port], ledger, seed=6)
            start([*singles, *batches, reader])
            waited = eventually(
                lambda: all(client.tallies[0].refused for client in singles + batches),
                "every write to the other worker is answered 503",
            )
            eventually(lambda: reader.done >= READS_MIN, "reads go on while nobody can write")
            reads = reader.done
        went_on = _progress(ledger)
        finish([*early_writers, *singles, *batches, reader])
        report(f"503 after {waited:.1f} s, writes {went_on:.2f} s after it went on, {reads} reads meanwhile")
        report(checks.outages([*early_writers, *singles, *batches]))
        assert {seconds for client in singles for seconds in client.tallies[0].retry_after} == {"2"}
        assert not reader.tallies[0].broken
        checks.all_there(server, ledger)
        checks.unlocked(server, ledger)
        checks.sound(store)


@pytest.mark.slow
def test_stopped_while_it_reads(store: Path, report: Callable[[str], None]) -> None:
    ledger = Ledger()
    with Server(store) as server:
        Writer([server.port], ledger, seed=0, lines=2_000).turn()
        clients = [Reader([server.port], ledger, seed=seed) for seed in (1, 2, 3)]
        start(clients)
        with stopped_reader(server):
            writers = [Writer([server.port], ledger, seed=seed, lines=10) for seed in (4, 5)]
            start(writers)
            took = max(_progress(ledger) for _ in range(10))
        finish([*clients, *writers])
        report(f"others got on after {took:.2f} s; {checks.outages([*clients, *writers])}")
        checks.none_refused(writers)
        checks.all_there(server, ledger)


@pytest.mark.slow
def test_stopped_and_killed_while_it_writes(store: Path, report: Callable[[str], None]) -> None:
    ledger = Ledger()
    with Server(store) as server:
        clients = [Writer([server.port], ledger, seed=seed, lines=10) for seed in (1, 2, 3)]
        start(clients)
        with stopped_writer(server) as pid:
            time.sleep(0.5)
            os.kill(pid, signal.SIGKILL)
            took = _progress(ledger)
        finish(clients)
        report(f"others got on {took:.2f} s after the kill; {checks.outages(clients)}")
        server.wait_for_all_workers()
        checks.all_there(server, ledger)
        checks.unlocked(server, ledger)


@pytest.mark.slow
def test_a_new_worker_answers_beside_a_stopped_one(store: Path, report: Callable[[str], None]) -> None:
    with Server(store) as server:
        writer = Writer([server.port], Ledger(), seed=1, lines=10)
        start([writer])
        with stopped_writer(server) as pid:
            (other,) = set(server.workers()) - {pid}
            os.kill(other, signal.SIGKILL)
            report(f"answered after {eventually(server.answers, 'a worker answers'):.2f} s")


@pytest.mark.slow
def test_reads_go_on_beside_many_waiting_writers(store: Path, report: Callable[[str], None]) -> None:
    ledger = Ledger()
    with Server(store) as server:
        Writer([server.port], ledger, seed=0, lines=10).turn()
        writers = [Writer([server.port], ledger, seed=1 + number, lines=1) for number in range(1 + WAITING)]
        start(writers[:1])
        with stopped_writer(server):
            start(writers[1:])
            time.sleep(1)
            reader = Reader([server.port], ledger, seed=99)
            start([reader])
            took = eventually(lambda: reader.done >= READS_MIN, "reads go on beside writers that wait")
        finish([*writers, reader])
        report(f"{READS_MIN} reads answered after {took:.2f} s")


@contextmanager
def stopped_writer(server: Server) -> Iterator[int]:
    """A worker that was stopped while it had the turn to write; it goes on afterwards."""
    with _stopped(server, lambda: server.writer(), lambda pid: writing(server.store) == pid) as pid:
        yield pid


@contextmanager
def stopped_reader(server: Server) -> Iterator[int]:
    """A worker that was stopped while it read, without the turn to write; it goes on afterwards."""
    chance = random.Random(5)

    def holds_snapshot(pid: int) -> bool:
        return pid in reading(server.store) and writing(server.store) != pid

    with _stopped(server, lambda: chance.choice(server.workers()), holds_snapshot) as pid:
        yield pid


@contextmanager
def _stopped(server: Server, choose: Callable[[], int], wanted: Callable[[int], bool]) -> Iterator[int]:
    stopped: list[int] = []

    def tried() -> bool:
        pid = choose()
        os.kill(pid, signal.SIGSTOP)
        eventually(lambda: state(pid) == "T", "it stands still")
        if wanted(pid):
            stopped.append(pid)
        else:
            os.kill(pid, signal.SIGCONT)
        return bool(stopped)

    eventually(tried, "a worker was stopped at the right moment")
    try:
        yield stopped[0]
    finally:
        if stopped[0] in server.workers():
            os.kill(stopped[0], signal.SIGCONT)


def _progress(ledger: Ledger) -> float:
    """Wait until some more is acknowledged; the seconds it took."""
    acknowledgements = ledger.acknowledgements
    return eventually(lambda: ledger.acknowledgements > acknowledgements, "writers get on")
