"""Runs that share a group commit get their own results, each once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from fll_hbase.model.runs import RecordedRun
from fll_hbase.runtime import deadline, metrics
from fll_hbase.runtime.errors import CorruptRow, DeadlineExceeded, LineageError, StoreUnavailable, TooLarge
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.results import CommitResult
from fll_hbase.store.write import group_commit
from fll_hbase.store.write.group_commit import GROUP_RUNS_MAX, GroupCommit
from fll_hbase.tables import open_table
from tests.support.copy_runs import DAY, DESTINATION, copying
from tests.support.waiting import eventually


def test_every_run_is_recorded_once_and_answered_for_itself() -> None:
    store = LineageStore(open_table("sqlite:///:memory:"))
    runs = [copying(f"run{number}", field=f"f{number % 3}") for number in range(200)]
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(store.record_one, runs))
    assert [answer.run for answer in answers] == [run.run.run for run in runs]
    assert [answer.checksum for answer in answers] == [run.info.checksum for run in runs]
    assert all(answer.recorded for answer in answers)
    assert len(store.runs(DESTINATION, DAY, limit=1_000).runs) == 200


def test_a_run_that_no_row_holds_is_refused_alone() -> None:
    store = LineageStore(open_table("sqlite:///:memory:"))
    runs = [copying("r" * 40_000 if number % 5 == 0 else f"run{number}") for number in range(40)]

    def kind(run: RecordedRun) -> type:
        try:
            return type(store.record_one(run))
        except TooLarge as error:
            return type(error)

    with ThreadPoolExecutor(8) as threads:
        kinds = list(threads.map(kind, runs))
    assert kinds == [TooLarge if number % 5 == 0 else CommitResult for number in range(40)]


class Gate:
    """A record function that waits until the gate opens, and notes the sizes of its calls."""

    def __init__(self, error: BaseException | None = None, failing_run: str = "") -> None:
        self.open = threading.Event()
        self.entered = threading.Event()
        self.group_sizes: list[int] = []
        self._error = error
        self._failing_run = failing_run

    def record(self, runs: Sequence[RecordedRun]) -> list[CommitResult | LineageError]:
        self.group_sizes.append(len(runs))
        self.entered.set()
        self.open.wait()
        if self._error is not None and any(run.run.run == self._failing_run for run in runs):
            raise self._error
        return [CommitResult(run.info.checksum, run.run.run, True, False) for run in runs]


def record_concurrently(gate: Gate, count: int) -> list[object]:
    """Return the results of `count` threads, of which the first waits alone when the others arrive."""
    group = GroupCommit(gate.record)
    with ThreadPoolExecutor(count) as threads:
        futures = [threads.submit(group.record, copying("run0"))]
        gate.entered.wait()
        futures += [threads.submit(group.record, copying(f"run{number}")) for number in range(1, count)]
        eventually(lambda: len(group._queue) >= count - 1, "all others wait")
        gate.open.set()
        return [future.exception() or future.result().run for future in futures]


def test_those_that_came_meanwhile_go_together() -> None:
    gate = Gate()
    assert record_concurrently(gate, 8) == [f"run{number}" for number in range(8)]
    assert gate.group_sizes == [1, GROUP_RUNS_MAX, 3]


def test_an_unreadable_row_fails_its_run_alone() -> None:
    answers = record_concurrently(Gate(CorruptRow("no row"), failing_run="run2"), 4)
    assert [str(answer) for answer in answers] == ["run0", "run1", "no row", "run3"]


@pytest.mark.parametrize(
    "error", [StoreUnavailable("away"), ZeroDivisionError("away")], ids=["away", "a bug"]
)
def test_an_error_of_no_run_goes_to_all(error: BaseException) -> None:
    answers = record_concurrently(Gate(error, failing_run="run2"), 4)
    assert [str(answer) for answer in answers] == ["run0", "away", "away", "away"]


def test_a_store_that_exceeds_a_deadline_of_its_own_is_called_once() -> None:
    """Not again and again until the deadline of the request."""
    gate = Gate(DeadlineExceeded("late"), "run0")
    gate.open.set()
    with pytest.raises(DeadlineExceeded, match="late"):
        GroupCommit(gate.record).record(copying("run0"))
    assert gate.group_sizes == [1]


def test_where_nothing_moves_those_behind_give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "STUCK_SECONDS", 0.05)
    gate = Gate()
    group = GroupCommit(gate.record)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(group.record, copying("run0"))
        gate.entered.wait()
        second = threads.submit(group.record, copying("run1"))
        assert isinstance(second.exception(), StoreUnavailable)
        gate.open.set()
        assert first.result().run == "run0"
    assert gate.group_sizes == [1]


def test_a_run_that_gives_up_leaves_an_equal_one_in_the_queue() -> None:
    gate = Gate()
    group = GroupCommit(gate.record)

    def record(seconds: float) -> CommitResult:
        with deadline.limited(seconds):
            return group.record(copying("run1"))

    with ThreadPoolExecutor(2) as threads:
        threads.submit(group.record, copying("run0"))
        gate.entered.wait()
        patient = threads.submit(record, 60)
        eventually(lambda: len(group._queue) == 1, "it waits")
        with pytest.raises(DeadlineExceeded):
            record(0)
        gate.open.set()
        assert patient.result().run == "run1"
    assert gate.group_sizes == [1, 1]


def test_only_committed_runs_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[float] = []
    monkeypatch.setattr(metrics.GROUP_RUNS, "record", lambda value, labels: measured.append(value))
    record_concurrently(Gate(StoreUnavailable("away"), failing_run="run2"), 4)
    assert measured == [1]
    measured.clear()
    record_concurrently(Gate(CorruptRow("no row"), failing_run="run2"), 4)
    assert measured == [1, 1, 1]
    measured.clear()
    record_concurrently(Gate(), 8)
    assert measured == [1, GROUP_RUNS_MAX, 3]
