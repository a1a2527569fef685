"""Faults that the simulation once found in the store, each as a short test.

A seed means another schedule once the store changes; a story stays what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from greenlet import getcurrent, greenlet

from fll_hbase.keys import layout
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.model.window import DAY_MS
from fll_hbase.tables import Batch, Row, Sync, Table
from fll_hbase.tables.base import Columns
from tests.simulation.actors import contents_in, contents_of_field
from tests.simulation.mutants import REFERENCES
from tests.simulation.scheduler import SKEW_MAX_MS, Scheduler
from tests.simulation.simtable import SimTable
from tests.simulation.simulation import GRACE_MS, open_store
from tests.support.passing_table import Through
from tests.support.small_world import ALWAYS, CONTENTS, MIDNIGHT_MS, B, Question

FIRST, SECOND, THIRD = (info.checksum for info in CONTENTS[:3])
ELSEWHERE = CONTENTS[3].checksum
"""Does not write the dataset of the question; the other three do."""

QUESTION = Question(B, ALWAYS)
NOON_MS = MIDNIGHT_MS + DAY_MS // 2
NEXT_NOON_MS = NOON_MS + DAY_MS


class Between(Through):
    """A table at which something happens before a write, and before a look for contents in references."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.before_write: Callable[[Batch], None] = lambda batch: None
        self.before_look: list[Callable[[], None]] = []

    def scan(
        self, start: bytes, stop: bytes, *, columns: Columns = (), limit: int | None = None
    ) -> Iterator[tuple[bytes, Row]]:
        if columns and start.startswith(REFERENCES) and self.before_look:
            self.before_look.pop(0)()
        return super().scan(start, stop, columns=columns, limit=limit)

    def write(self, batches: Sequence[Batch], *, sync: Sync = Sync.NOW) -> None:
        for batch in batches:
            self.before_write(batch)
            super().write([batch], sync=sync)


class Stage:
    """A writer and a long-lived reader of one table, with the given clock skews."""

    def __init__(self, *, table_skew_ms: int = 0, reader_skew_ms: int = 0) -> None:
        self.time = Scheduler(0, deadline_ms=GRACE_MS // 2)
        self.table = Between(SimTable(self.time, skews_ms=(table_skew_ms,)))
        self._writer = open_store(self.table, self.time.clock(0))
        self.reader = open_store(self.table, self.time.clock(reader_skew_ms))

    def record(self, run: str, checksum: str, start_ms: int = NOON_MS) -> None:
        info = next(info for info in CONTENTS if info.checksum == checksum)
        self._writer.record([RecordedRun(ProgramRun("n", "app", "1", "t", "p", run, start_ms), info)])

    def answer(self) -> frozenset[str]:
        return contents_in(self.reader, QUESTION)


def test_a_run_whose_content_is_replaced_during_a_question_shows_either() -> None:
    stage = Stage()
    stage.record("run-1", FIRST)
    stage.record("run-2", FIRST)
    stage.record("run-2", ELSEWHERE)
    stage.table.before_look = [lambda: stage.record("run-1", SECOND)]
    assert stage.answer() in ({FIRST}, {SECOND})


def test_a_run_that_moves_to_another_day_during_a_question_shows() -> None:
    stage = Stage()
    for run in ("run-1", "run-2"):
        stage.record(run, FIRST, NEXT_NOON_MS)
        stage.record(run, FIRST, NOON_MS)
    stage.record("run-2", FIRST, NEXT_NOON_MS)
    stage.record("run-2", ELSEWHERE)
    stage.table.before_look = [lambda: None, lambda: None, lambda: stage.record("run-1", FIRST, NEXT_NOON_MS)]
    assert stage.answer() == {FIRST}


def test_a_reference_left_behind_does_not_make_a_content_newest() -> None:
    stage = Stage()
    stage.record("run-1", FIRST, NOON_MS + 3)
    stage.record("run-1", SECOND, NOON_MS)
    stage.record("run-2", FIRST, NOON_MS + 1)
    stage.record("run-3", SECOND, NOON_MS + 2)
    assert contents_of_field(stage.reader, QUESTION) == (SECOND, FIRST)


def test_a_question_that_takes_long_does_not_take_a_run_recorded_meanwhile_for_dead() -> None:
    stage = Stage()
    query = greenlet(stage.answer)
    recording = getcurrent()
    stage.table.before_look = [lambda: None, recording.switch]
    stage.table.before_write = _once_before_commit(query.switch)
    stage.record("run-1", FIRST)
    stage.time.leap(GRACE_MS)
    query.switch()
    assert stage.answer() == {FIRST}


def test_clocks_apart_do_not_take_a_run_just_recorded_for_dead() -> None:
    stage = Stage(table_skew_ms=-SKEW_MAX_MS, reader_skew_ms=SKEW_MAX_MS)
    stage.table.before_write = _once_before_commit(lambda: _query_late(stage))
    stage.record("run-1", FIRST)
    assert stage.answer() == {FIRST}


def _query_late(stage: Stage) -> None:
    stage.time.leap(GRACE_MS // 2 - SKEW_MAX_MS)
    assert stage.answer() == frozenset()


def _once_before_commit(happens: Callable[[], object]) -> Callable[[Batch], None]:
    waiting = [happens]

    def on_batch(batch: Batch) -> None:
        if any(put.column.startswith(layout.COMMIT) for put in batch) and waiting:
            waiting.pop()()

    return on_batch
