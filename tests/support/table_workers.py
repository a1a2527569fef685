"""Functions that run in spawned processes, on tables given by URL."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from fll_hbase.tables import Put, open_table
from fll_hbase.tables.write_lock import WriteLock

WAIT_SECONDS = 120
CELLS_A_BATCH = 500

_SPAWN = multiprocessing.get_context("spawn")


@contextmanager
def process(work: Any, *arguments: object) -> Iterator[tuple[BaseProcess, Connection]]:
    """A spawned process and the pipe on which it reports; whatever happens, it is gone afterwards."""
    ours, theirs = _SPAWN.Pipe()
    child = _SPAWN.Process(target=work, args=(theirs, *arguments), daemon=True)
    child.start()
    theirs.close()
    try:
        yield child, ours
    finally:
        child.kill()
        child.join(WAIT_SECONDS)
        ours.close()


def received(reports: Connection) -> Any:
    """The next report. Raises EOFError when the process ended without one, TimeoutError when it is silent."""
    if not reports.poll(WAIT_SECONDS):
        raise TimeoutError("the other process says nothing")
    return reports.recv()


def stopped(child: BaseProcess) -> None:
    """Wait until the process has stopped itself."""
    assert child.pid is not None
    _, status = os.waitpid(child.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)


def go_on(child: BaseProcess) -> None:
    assert child.pid is not None
    os.kill(child.pid, signal.SIGCONT)


def holds_the_lock(reports: Connection, path: str) -> None:
    """Stop while holding the lock file; once continued, give it back and say so."""
    turn = WriteLock(path)
    with turn.acquired(WAIT_SECONDS):
        os.kill(os.getpid(), signal.SIGSTOP)
    reports.send("given back")
    reports.recv()


def acquires_the_lock(reports: Connection, path: str, seconds: float) -> None:
    """Say whether the lock file was to be had in time."""
    try:
        with WriteLock(path).acquired(seconds):
            reports.send("held")
            reports.recv()
    except TimeoutError:
        reports.send("not had")


def writes_and_reads(reports: Connection, url: str, number: int, writes: int) -> None:
    """Write batches of two rows, reading back each and all so far; report how many were seen whole."""
    table = open_table(url)
    mine = b"process%d|" % number
    reports.send("open")
    reports.recv()
    for step in range(writes):
        value = b"%d" % step
        table.write(
            [
                [Put(mine + b"%04d" % step, b"d:x", value), Put(b"shared", b"d:%d" % number, value)],
                [Put(b"shared", b"o:any", mine)],
            ]
        )
        assert table.get(mine + b"%04d" % step)[b"d:x"].value == value
        assert table.get(b"shared")[b"d:%d" % number].value == value
        assert len(list(table.scan(mine, mine + b"\xff"))) == step + 1
    table.close()
    reports.send(writes)


def batch(number: int) -> list[Put]:
    """One batch that is written again and again: many rows, all of one value."""
    return [Put(b"batch%05d|%03d" % (number, cell), b"d:x", b"%d" % number) for cell in range(CELLS_A_BATCH)]


def writes_until_killed(reports: Connection, url: str, first: int) -> None:
    """Write whole batches without end, and report each once it is acknowledged."""
    table = open_table(url)
    number = first
    while True:
        table.write([batch(number)])
        reports.send(number)
        number += 1
