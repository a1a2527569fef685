"""A purge touches the days of runs before it deletes them, and again where that took too long."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fll_hbase.keys import calendars, layout
from fll_hbase.keys.codec import day_of
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.runtime.errors import StoreUnavailable
from fll_hbase.store.maintenance import garbage_collection
from fll_hbase.store.maintenance.garbage_collection import TRIES_MAX, days_of_commits, touch_days
from fll_hbase.store.rows.calendar_rows import ContentDay
from fll_hbase.tables import Cell, CellKey, Put, Table
from tests.support.journals import Journal
from tests.support.retained_histories import LATER_MS, cells, recorded
from tests.support.small_world import CONTENTS, STARTS_MS

GRACE_MS = 3_600_000
RUNS = [
    RecordedRun(ProgramRun("n", "a", "", "t", "p", str(start_ms), start_ms), CONTENTS[number % 2])
    for number, start_ms in enumerate(STARTS_MS)
]
KEYS = [layout.run_row(run.run.run, run.run.namespace) for run in RUNS]


def token_cells(runs: Sequence[RecordedRun]) -> set[CellKey]:
    days = {(run.info.checksum, day_of(run.run.start_ms)) for run in runs}
    return {
        CellKey(
            calendars.calendar_row(checksum, calendars.period_of(day)),
            calendars.day_column(calendars.TOKEN, day),
        )
        for checksum, day in days
    }


def removed(table: Journal, **options: object) -> None:
    options = {"until_ms": LATER_MS, "grace_ms": GRACE_MS, **options}
    garbage_collection.remove_runs(table, KEYS, **options)  # type: ignore[arg-type]


def test_all_days_are_touched_before_a_commit_record_is_deleted() -> None:
    table, _ = recorded(RUNS)
    journal = Journal(table)
    removed(journal)
    first, second = journal.steps[:2]
    assert (first.act, set(first.cells)) == ("write", token_cells(RUNS))
    assert second.act == "delete"
    assert second.has(layout.RUNS, layout.COMMIT)
    assert not any(cell[0].startswith(layout.RUNS) for cell in cells(table))


class Stalls:
    """A clock that jumps by half the grace period after each of the first writes."""

    def __init__(self, count: int) -> None:
        self.now_ms = 0
        self._count = count

    def __call__(self) -> int:
        return self.now_ms

    def stall(self) -> None:
        if self._count:
            self._count -= 1
            self.now_ms += GRACE_MS // 2


@pytest.mark.parametrize("count", [0, 1, TRIES_MAX - 1])
def test_a_purge_that_stalls_touches_again(count: int) -> None:
    table, _ = recorded(RUNS)
    stalls = Stalls(count)
    journal = Journal(table, at_write=stalls.stall)
    removed(journal, clock=stalls)
    assert [step.act for step in journal.steps[: count + 2]] == ["write"] * (count + 1) + ["delete"]
    assert not any(cell[0].startswith(layout.RUNS) for cell in cells(table))


def test_a_purge_that_always_stalls_deletes_nothing() -> None:
    table, _ = recorded(RUNS)
    stalls = Stalls(TRIES_MAX)
    journal = Journal(table, at_write=stalls.stall)
    unchanged = list(cells(table))
    with pytest.raises(StoreUnavailable, match="half the grace period"):
        removed(journal, clock=stalls)
    assert list(cells(table)) == unchanged


def test_a_day_is_touched_again_before_a_run_is_restored() -> None:
    table, _ = recorded(RUNS[:1])
    event = Put(KEYS[0], layout.event_column(1, "0" * 32), b"")
    journal = Journal(table, at_delete=lambda _: _put_later(table, event))
    removed(journal, until_ms=max(cell.stamp_ms for cell in table.get(KEYS[0]).values()))
    first, deleted, again, restored = (step for step in journal.steps if step.cells)
    assert first == again == ("write", tuple(token_cells(RUNS[:1])))
    assert (deleted.act, restored.act) == ("delete", "write")
    assert restored.cells == deleted.cells
    assert restored.has(KEYS[0], layout.COMMIT)
    assert {column for _, column in restored.cells} < table.get(KEYS[0]).keys()


def _put_later(table: Table, put: Put) -> None:
    """Put a cell in a later millisecond than any cell of its row."""
    before_ms = max(cell.stamp_ms for cell in table.get(put.row).values())
    while table.get(put.row).get(put.column, Cell(b"", 0)).stamp_ms <= before_ms:
        table.write([[put]])


def test_every_commit_record_of_a_row_has_its_day() -> None:
    values = [b"%032x|%d|COMPLETE" % (number, start_ms) for number, start_ms in enumerate((0, 86_400_000))]
    row = {b"d:z|%08x|0" % n: Cell(value, 1) for n, value in enumerate([*values, b"unreadable"])}
    row[layout.DOCUMENT + b"00000001|0"] = Cell(b"f" * 32 + b"|0|COMPLETE", 1)
    assert days_of_commits([row]) == {ContentDay("0" * 32, 0), ContentDay("0" * 31 + "1", 1)}


def test_without_a_grace_period_one_touch_is_enough() -> None:
    table, _ = recorded(RUNS[:1])
    stalls = Stalls(1)
    journal = Journal(table, at_write=stalls.stall)
    touch_days(journal, {ContentDay("0" * 32, 5)}, grace_ms=0, clock=stalls)  # type: ignore[arg-type]
    assert len(journal.steps) == 1
