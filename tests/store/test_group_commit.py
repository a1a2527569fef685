"""Are runs that go together answered each for itself, and once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from fll_hbase.errors import CorruptRow, LineageError, StoreUnavailable, TooLarge
from fll_hbase.model.runs import RecordedRun
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.write import group_commit
from fll_hbase.store.write.group_commit import GROUP_RUNS_MAX, GroupCommit
from fll_hbase.store.write.pending_run import CommitResult
from fll_hbase.tables import open_table

from .test_recording import DAY, DESTINATION, copying


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


class Door:
    """A record function that waits to be let through, and remembers what went together."""

    def __init__(self, error: BaseException | None = None, of: str = "") -> None:
        self.open = threading.Event()
        self.entered = threading.Event()
        self.together: list[int] = []
        self._error = error
        self._of = of

    def record(self, runs: Sequence[RecordedRun]) -> list[CommitResult | LineageError]:
        self.together.append(len(runs))
        self.entered.set()
        self.open.wait()
        if self._error is not None and any(run.run.run == self._of for run in runs):
            raise self._error
        return [CommitResult(run.info.checksum, run.run.run, True, False) for run in runs]


def asked(door: Door, count: int) -> list[object]:
    """What `count` threads are answered, the first of them alone at the door when the others come."""
    gathered = GroupCommit(door.record)
    with ThreadPoolExecutor(count) as threads:
        futures = [threads.submit(gathered.record, copying("run0"))]
        door.entered.wait()
        futures += [threads.submit(gathered.record, copying(f"run{number}")) for number in range(1, count)]
        while len(gathered._queue) < count - 1:
            pass
        door.open.set()
        return [future.exception() or future.result().run for future in futures]


def test_those_that_came_meanwhile_go_together() -> None:
    door = Door()
    assert asked(door, 8) == [f"run{number}" for number in range(8)]
    assert door.together == [1, GROUP_RUNS_MAX, 3]


def test_an_unreadable_row_is_told_to_the_run_that_has_it() -> None:
    answers = asked(Door(CorruptRow("no row"), of="run2"), 4)
    assert [str(answer) for answer in answers] == ["run0", "run1", "no row", "run3"]


@pytest.mark.parametrize(
    "error", [StoreUnavailable("away"), ZeroDivisionError("away")], ids=["away", "a bug"]
)
def test_what_no_run_is_at_fault_for_is_told_to_all(error: BaseException) -> None:
    answers = asked(Door(error, of="run2"), 4)
    assert [str(answer) for answer in answers] == ["run0", "away", "away", "away"]


def test_where_nothing_moves_those_behind_give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "STUCK_SECONDS", 0.05)
    door = Door()
    gathered = GroupCommit(door.record)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(gathered.record, copying("run0"))
        door.entered.wait()
        second = threads.submit(gathered.record, copying("run1"))
        assert isinstance(second.exception(), StoreUnavailable)
        door.open.set()
        assert first.result().run == "run0"
    assert door.together == [1]
