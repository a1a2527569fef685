"""Schedules by hand, for rules of calendars that random schedules seldom need; each ends with a check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from greenlet import GreenletExit, getcurrent, greenlet

from fll_hbase.keys import calendars, layout
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.model.window import DAY_MS, Direction
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.tables import Batch, Put, Row, Sync, Table
from fll_hbase.tables.base import Columns
from tests.simulation import day_checks, settled_checks
from tests.simulation.actors import times_of
from tests.simulation.run_states import RunStates
from tests.simulation.scheduler import Scheduler
from tests.simulation.sealers import offered
from tests.simulation.simtable import SimTable
from tests.simulation.simulation import GRACE_MS, Make, Sweep, open_store, sweep_once
from tests.support.passing_table import Through
from tests.support.small_world import ALWAYS, CONTENTS, MIDNIGHT_MS, A, B

NOON_MS = MIDNIGHT_MS + DAY_MS // 2
NEXT_NOON_MS = NOON_MS + DAY_MS
HALF_MS = GRACE_MS // 2
LATE_MS = GRACE_MS // 5
"""Puts land no later than this after they were sent."""

CONTENT = CONTENTS[0]


class Pausing(Through):
    """A table at which somebody else acts before rows are read, and after a batch was written."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.before_horizon: list[Callable[[], object]] = []
        self.before_pages: list[Callable[[], object]] = []
        self.after_batch: Callable[[Batch], object] = lambda batch: None

    def get(self, row: bytes, *, columns: Columns = ()) -> Row:
        if row.startswith(calendars.HORIZONS) and self.before_horizon:
            self.before_horizon.pop(0)()
        return super().get(row, columns=columns)

    def scan(
        self, start: bytes, stop: bytes, *, columns: Columns = (), limit: int | None = None
    ) -> Iterator[tuple[bytes, Row]]:
        if start.startswith(layout.REFERENCES) and self.before_pages:
            self.before_pages.pop(0)()
        return super().scan(start, stop, columns=columns, limit=limit)

    def write(self, batches: Iterable[Batch], *, sync: Sync = Sync.NOW) -> None:
        for batch in batches:
            self._table.write([batch], sync=sync)
            self.after_batch(batch)


class Flying(Pausing):
    """A table whose client dies at its first commit record, which lands when `land` is called."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self._flying: list[Put] = []

    def write(self, batches: Iterable[Batch], *, sync: Sync = Sync.NOW) -> None:
        for batch in batches:
            if any(put.column.startswith(layout.COMMIT) for put in batch):
                self._flying += batch
                raise GreenletExit
            super().write([batch], sync=sync)

    def land(self) -> None:
        """Put what the client sent last."""
        self._table.write([self._flying])


class Scene:
    """A table with its clock, and a reader whose days are sealed when `seal` is called."""

    def __init__(self, readers: Make = open_store) -> None:
        self.time = Scheduler(0, deadline_ms=HALF_MS)
        self.table = SimTable(self.time, skews_ms=(0,))
        self._run_states = RunStates(self.time)
        self.table.on_change = self._run_states.note
        self.seen = Pausing(self.table)
        self.reader = readers(self.seen, self.time.clock(0))
        self._writer = self.open(self.table)

    def open(self, table: Table) -> Callable[[RecordedRun], object]:
        """Return what records runs into a table, in a process of its own."""
        store = open_store(table, self.time.clock(0))
        return lambda document: store.record([document])

    def record(self, *documents: RecordedRun) -> None:
        for document in documents:
            self._writer(document)

    def ask(self, direction: Direction = Direction.BACKWARD) -> None:
        """Read the runs of all contents, and check them. Raises Violation."""
        query = WindowQuery(
            direction, B if direction is Direction.BACKWARD else A, replace(ALWAYS, failed=True)
        )
        began = self.time.note("asks")
        times = times_of(self.reader, query)
        states = self._run_states.between(began, self.time.note("answered"))
        days = offered(self.reader).latest(query.direction, query.dataset)
        horizons = self.table.get(layout.dataset_row(query.dataset))
        cutoffs = [layout.parse_horizon(column) for column in horizons if column.startswith(layout.HORIZON)]
        day_checks.check_days(times, query, days, states, cutoff_ms=max(cutoffs, default=0))

    def seal(self, direction: Direction = Direction.BACKWARD) -> int:
        """Ask, seal what is old enough, and return how many days were."""
        self.ask(direction)
        return offered(self.reader).seal(self.time.random)

    def check(self) -> int:
        """Check seals and ask once more; return how many seals hold. Raises Violation."""
        self.ask()
        return settled_checks.check_seals(self.table, all_sealed=False)


def document(run: str, start_ms: int, info: FieldLineageInfo = CONTENT) -> RecordedRun:
    """Return a document of a run."""
    return RecordedRun(ProgramRun("n", "app", "1", "t", "p", run, start_ms), info)


def two_old_runs(readers: Make) -> Scene:
    """Return a scene of two runs of one day that may be sealed."""
    scene = Scene(readers)
    scene.record(document("run-0", NOON_MS), document("run-1", NOON_MS + 2))
    scene.time.leap(3 * GRACE_MS)
    return scene


def commit_that_lands_unseen(readers: Make = open_store) -> Scene:
    """A record lands late, a writer that never read it moves its run away: that takes more than one grace."""
    scene = Scene(readers)
    dying = Flying(scene.table)
    dying.after_batch = lambda batch: scene.time.leap(HALF_MS - 10_000) if _has_reference(batch) else None
    first = greenlet(scene.open(dying))
    first.switch(document("run-0", NOON_MS))
    scene.time.leap(LATE_MS - 10_000)
    slow, hub = Pausing(scene.table), getcurrent()
    slow.after_batch = lambda batch: hub.switch() if _has_reference(batch) else None
    second = greenlet(scene.open(slow))
    second.switch(document("run-0", NEXT_NOON_MS))
    dying.land()
    scene.time.leap(GRACE_MS - HALF_MS - LATE_MS + 60_000)
    scene.seal()
    second.switch()
    scene.check()
    return scene


def horizon_within_a_day(readers: Make = open_store, sweeper: Sweep = sweep_once) -> Scene:
    """A dataset loses references of a day that is sealed later: another dataset keeps its runs."""
    scene = two_old_runs(readers)
    sweeper(scene.table, scene.time.clock(0), RetentionPolicy(datasets_ms={A: NOON_MS + 1}))
    scene.seal(Direction.FORWARD)
    scene.check()
    return scene


def run_recorded_while_its_day_is_sealed(readers: Make = open_store) -> Scene:
    """A run joins a day between the moment its references were read and that of its seal."""
    scene = Scene(readers)
    scene.record(document("run-0", NOON_MS))
    scene.time.leap(3 * GRACE_MS)
    scene.ask()
    scene.seen.before_horizon = [lambda: scene.record(document("run-1", NOON_MS))]
    offered(scene.reader).seal(scene.time.random)
    scene.check()
    return scene


def purge_of_a_sealed_day(readers: Make = open_store, sweeper: Sweep = sweep_once) -> Scene:
    """A purge takes one of two runs of a sealed day."""
    scene = two_old_runs(readers)
    scene.seal()
    sweeper(scene.table, scene.time.clock(0), RetentionPolicy(NOON_MS + 1))
    scene.check()
    return scene


def run_that_moves_between_pages(readers: Make = open_store) -> Scene:
    """A run moves within its day while a question is between the pages of its references."""
    scene = Scene(readers)
    scene.record(document("run-0", NOON_MS))
    scene.seen.before_pages = [lambda: None, lambda: scene.record(document("run-0", NOON_MS - 1))]
    scene.check()
    return scene


def _has_reference(batch: Sequence[Put]) -> bool:
    return any(put.row.startswith(layout.REFERENCES) for put in batch)
