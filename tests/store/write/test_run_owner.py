"""Two programs that record one run id: one of them has it, whatever happens at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.operations import InputField, Read, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import RunIdConflict
from fll_hbase.store.factory import open_store
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.results import CommitResult
from fll_hbase.tables import Batch, Row, Sync, Table, open_table
from fll_hbase.tables.base import Columns

WRITERS = 8

STEPS = 15
"""Calls of one commit of a new run into a new table: reads, and batches of a write."""


def copying(program: str, *, field: str = "f", replaces_others: bool = False) -> RecordedRun:
    operations = [
        Read("read", "", Dataset("ns", program), "", (Field(field),)),
        Write("write", "", Dataset("ns", "out"), "", (InputField("read", field),)),
    ]
    run = ProgramRun("ns", "app", "", "spark", program, "2026-11-22", 10**12)
    return RecordedRun(run, lineage.build_lineage(operations), replaces_others)


class InterruptedTable:
    """Passes calls on; before call `number`, from 0, it runs `action`."""

    parallel_calls = 1

    def __init__(self, table: Table, number: int, action: Callable[[], object]) -> None:
        self._table = table
        self._number = number
        self._action = action
        self.calls = 0

    def get(self, row: bytes, *, columns: Columns = ()) -> Row:
        self._step()
        return self._table.get(row, columns=columns)

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        self._step()
        return self._table.rows(keys, columns=columns)

    def scan(
        self, start: bytes, stop: bytes, *, columns: Columns = (), limit: int | None = None
    ) -> Iterator[tuple[bytes, Row]]:
        self._step()
        return self._table.scan(start, stop, columns=columns, limit=limit)

    def write(self, batches: Iterable[Batch], *, sync: Sync = Sync.NOW) -> None:
        # One call for each batch, since others can see the table between two of them.
        for batch in self._batches(batches):
            self._table.write([batch], sync=sync)

    def _batches(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        for batch in batches:
            self._step()
            yield batch

    def _step(self) -> None:
        self.calls += 1
        if self.calls == self._number + 1:
            self._action()


def program_of(store: LineageStore) -> str:
    return store.run("2026-11-22").committed.run.program


@pytest.mark.parametrize("programs", [("p", "q"), ("q", "p")], ids=lambda pair: "-".join(pair))
@pytest.mark.parametrize("is_recorded_before", [False, True])
def test_a_commit_within_a_commit(programs: tuple[str, str], is_recorded_before: bool) -> None:
    """The second program records between any two steps of the first: exactly one of them succeeds."""
    outer, inner = map(copying, programs)
    winners = set()
    for number in range(STEPS):
        table = open_table("sqlite:///:memory:")
        store = LineageStore(table)
        if is_recorded_before:
            store.record([copying(programs[1], field="before")])
        results: list[object] = []
        interrupted = InterruptedTable(table, number, lambda s=store, r=results: r.extend(s.record([inner])))
        results[:0] = LineageStore(interrupted).record([outer])  # type: ignore[arg-type]
        if interrupted.calls <= number:
            continue
        by_program = dict(zip(programs, results, strict=True))
        recorded = [name for name, result in by_program.items() if isinstance(result, CommitResult)]
        refused = [name for name, result in by_program.items() if isinstance(result, RunIdConflict)]
        assert (len(recorded), len(refused)) == (1, 1), (number, by_program)
        assert program_of(store) == recorded[0]
        assert isinstance(store.record([copying(refused[0])])[0], RunIdConflict)
        winners.add(recorded[0])
    assert winners == ({programs[1]} if is_recorded_before else set(programs))


def test_threads_of_one_process() -> None:
    """Single runs share commits (group commit): of all programs one has the run."""
    store = LineageStore(open_table("sqlite:///:memory:"))
    barrier = threading.Barrier(WRITERS)

    def record(number: int) -> CommitResult | RunIdConflict:
        barrier.wait()
        try:
            return store.record_one(copying(f"p{number}"))
        except RunIdConflict as error:
            return error

    with ThreadPoolExecutor(WRITERS) as pool:
        results = list(pool.map(record, range(WRITERS)))
    (winner,) = [number for number, result in enumerate(results) if isinstance(result, CommitResult)]
    assert program_of(store) == f"p{winner}"


def test_two_stores_of_one_file(tmp_path: Path) -> None:
    """As two processes: whoever is acknowledged last has the run, and the others were refused."""
    stores = [open_store(Settings(store=f"sqlite:///{tmp_path}/s.db"), create=True) for _ in range(2)]
    barrier = threading.Barrier(2)

    def record(number: int) -> CommitResult | RunIdConflict:
        barrier.wait()
        (result,) = stores[number].record([copying(f"p{number}")])
        assert isinstance(result, (CommitResult, RunIdConflict))
        return result

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(record, range(2)))
    (winner,) = [number for number, result in enumerate(results) if isinstance(result, CommitResult)]
    assert program_of(stores[0]) == f"p{winner}"
    for store in stores:
        store.close()


def test_no_call_more_than_a_document_of_the_same_program() -> None:
    """The decision costs no read: the run row is read anyway."""

    def calls(document: RecordedRun) -> int:
        table = open_table("sqlite:///:memory:")
        LineageStore(table).record([copying("p", field="before")])
        counting = InterruptedTable(table, -1, lambda: None)
        LineageStore(counting).record([document])  # type: ignore[arg-type]
        return counting.calls

    assert calls(copying("p")) == calls(copying("q", replaces_others=True))
    assert calls(copying("q")) == 1
    counting = InterruptedTable(open_table("sqlite:///:memory:"), -1, lambda: None)
    LineageStore(counting).record([copying("p")])  # type: ignore[arg-type]
    assert counting.calls == STEPS
