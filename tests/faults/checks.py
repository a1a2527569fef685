"""Is everything there that was acknowledged, once, and nothing in the way of the next writer."""

from __future__ import annotations

import fcntl
import random
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from fll_hbase.tables.sqlite_connection import connect
from tests.faults.caller import Caller
from tests.faults.clients import Client
from tests.faults.ledger import CONTENTS, EVER, SINK, SOURCE, Ledger, Version, Window, version, window
from tests.faults.questions import Lineage, Question, Runs, Ways, wrong
from tests.support.server_process import Server
from tests.support.waiting import PATIENCE_SECONDS


def all_there(server: Server, ledger: Ledger) -> None:
    """The acknowledged versions and no others, now that nothing is under way."""
    assert ledger.under_way() == 0, "something is left unanswered; `nothing_lost` is the check for that"
    nothing_lost(server, ledger, windows=20)


def nothing_lost(server: Server, ledger: Ledger, *, windows: int = 5) -> None:
    """The acknowledged versions, and no others than those under way; clients may go on meanwhile."""
    versions = ledger.versions()
    assert versions, "nothing was acknowledged: the test tests nothing"
    caller = Caller(server.port, patience_seconds=PATIENCE_SECONDS)
    for question in _questions(versions, windows):
        moment = ledger.now()
        results = caller.ask(question)
        reason = wrong(question, results, *ledger.bounds(moment))
        assert not reason, reason


def sound(store: Path) -> None:
    """The file is whole, as SQLite sees it, and each page has its checksum."""
    with closing(connect(str(store), busy_seconds=PATIENCE_SECONDS, cache_kib=2_000)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def unlocked(server: Server, ledger: Ledger) -> None:
    """No lock is left behind: the lock file and SQLite's own can be had at once, and a write goes through."""
    with open(f"{server.store}.lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with closing(sqlite3.connect(server.store, timeout=0, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
    last = version(f"last-{time.monotonic_ns()}", random.Random(0))
    ledger.begin([last])
    assert Caller(server.port, patience_seconds=PATIENCE_SECONDS).record([last]) == [201]
    ledger.acknowledge(last)


def none_refused(clients: Iterable[Client]) -> None:
    """Nobody was told to come back: with no process standing still, the turn to write comes in time."""
    refused = [seconds for client in clients for tally in client.tallies for seconds in tally.refused]
    assert not refused, f"{len(refused)} times 503 after {refused} s"


def outages(clients: Iterable[Client]) -> str:
    """Summarise the tallies of clients in one line."""
    tallies = [tally for client in clients for tally in client.tallies]
    refused = [seconds for tally in tallies for seconds in tally.refused]
    return (
        f"{sum(tally.answers for tally in tallies)} answers,"
        f" {sum(tally.broken for tally in tallies)} broken connections,"
        f" {len(refused)} times 503 (after {max(refused, default=0):.1f} s at most),"
        f" longest outage {max(tally.outage_seconds for tally in tallies):.2f} s,"
        f" slowest answer {max(tally.slowest_seconds for tally in tallies):.2f} s"
    )


def _questions(versions: list[Version], windows: int) -> Iterable[Question]:
    chance = random.Random(len(versions))
    for end_point in (SOURCE, SINK):
        yield Runs(EVER, end_point)
        yield Lineage(EVER, end_point)
    for _ in range(windows):
        end_point = chance.choice((SOURCE, SINK))
        start_ms = chance.choice(versions).start_ms
        yield Lineage(Window(start_ms, start_ms + 1), end_point)
        yield Lineage(window(versions, chance), end_point)
    for _ in range(windows // 2):
        yield Runs(window(versions, chance), chance.choice((SOURCE, SINK)))
    for content in chance.sample(range(CONTENTS), windows // 4):
        if any(version.content == content for version in versions):
            yield Ways(EVER, content)
