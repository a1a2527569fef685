"""All changes of the run rows of a schedule, which answers are compared with."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from fll_hbase.keys import layout, ranges
from fll_hbase.model.runs import RunKey
from fll_hbase.store.rows import run_rows
from fll_hbase.tables import Row
from tests.simulation.scheduler import Scheduler


class Counted(NamedTuple):
    """Content, start and state in the valid commit record of a run row."""

    checksum: str
    start_ms: int
    failed: bool


State: TypeAlias = dict[RunKey, Counted]
"""All committed runs at one moment."""


class _Change(NamedTuple):
    tick: int
    run: RunKey
    counted: Counted | None


class RunStates:
    """The committed runs at every moment of a schedule."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._changes: list[_Change] = []
        self.now: State = {}

    def note(self, key: bytes, row: Row) -> None:
        """Note a row of the table after a change."""
        if not key.startswith(layout.RUNS):
            return
        run = ranges.run_of(key)
        value = run_rows.commit_value(row)
        counted = None
        if value is not None:
            head = run_rows.decode_head(value)
            counted = Counted(head.checksum, head.start_ms, head.state.failed)
        if counted != self.now.get(run):
            self._changes.append(_Change(self._scheduler.tick(), run, counted))
            _apply(self.now, self._changes[-1])

    def between(self, began: int, answered: int) -> list[State]:
        """Return the states at all moments from one tick to another, the first one included."""
        state: State = {}
        states: list[State] = []
        for change in self._changes:
            if change.tick > answered:
                break
            if change.tick > began and not states:
                states.append(dict(state))
            _apply(state, change)
            if change.tick > began:
                states.append(dict(state))
        return states or [state]


def _apply(state: State, change: _Change) -> None:
    if change.counted is None:
        state.pop(change.run, None)
    else:
        state[change.run] = change.counted
