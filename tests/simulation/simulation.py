"""One schedule: clients, readers, sealers and sweepers at once, then everything settles and is checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import TypeAlias

from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.runs import RecordedRun
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import StoreUnavailable
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance import garbage_collection
from fll_hbase.store.read.requested_horizons import restrict_window
from fll_hbase.store.write.sealing import seal_old_days
from fll_hbase.tables import Put, Table
from tests.simulation import brute_force, checks, faults, settled_checks, sizes
from tests.simulation.actors import Client, Reader
from tests.simulation.checks import Violation
from tests.simulation.faults import CALM, Faults
from tests.simulation.history import History
from tests.simulation.run_states import RunStates
from tests.simulation.scheduler import Crash, Scheduler
from tests.simulation.sealers import OfferedDays, offered
from tests.simulation.settled_checks import WithoutSeals
from tests.simulation.simtable import SimTable
from tests.support.small_world import ALWAYS, Question, World

GRACE_MS = 3_600_000
QUESTIONS_MEANWHILE = 20
PAUSE_STEPS_MAX = 25
QUESTIONS_AT_END = 3

Make: TypeAlias = Callable[[Table, Callable[[], int]], LineageStore]
"""Opens the store of a process over the table with the clock of its machine."""

Sweep: TypeAlias = Callable[[Table, Callable[[], int], RetentionPolicy], None]
"""Sweeps a table once, given a clock and a policy."""

SWEEPING = 0.5
"""The share of schedules with a sweeper."""

SEALING = 0.7
"""The share of schedules with a sealer."""

HUNTING = 0.5
"""The share of schedules in which few runs change now and then, and half of all reads seal at once."""

AGES = (0.3, 0.48, 0.6, 1.1, 1.6, 2.1, 2.1, 2.5)
"""Times that pass before a sealer looks, in grace periods."""

GRACES_OF_QUIET = 4

Draw: TypeAlias = Callable[[Random], Faults]


class Failure(AssertionError):
    """A schedule that broke an invariant, with the seed and trace that reproduce it."""

    def __init__(self, seed: int, trace: Sequence[object], cause: Exception) -> None:
        self.seed = seed
        self.kind = cause.kind if isinstance(cause, Violation) else type(cause).__name__
        self.steps = len(trace)
        lines = "\n".join(map(str, trace))
        super().__init__(f"seed {seed}\n{lines}\nseed {seed}: {type(cause).__name__}: {cause}")


def open_store(
    table: Table, clock: Callable[[], int], kind: type[LineageStore] = LineageStore
) -> LineageStore:
    """Open the real store; a schedule seals what it offers."""
    return kind(table, settings=Settings(grace_ms=GRACE_MS), clock=clock, make_sealer=OfferedDays)


def sweep_once(table: Table, clock: Callable[[], int], policy: RetentionPolicy) -> None:
    """Purge and sweep once, as the real job does."""
    until_ms = garbage_collection.safe_until_ms(clock(), GRACE_MS)
    garbage_collection.purge(table, policy, until_ms=until_ms, grace_ms=GRACE_MS, clock=clock)
    until_ms = garbage_collection.safe_until_ms(clock(), GRACE_MS)
    garbage_collection.remove(
        table,
        garbage_collection.find_garbage(table, policy, until_ms=until_ms),
        policy,
        until_ms=until_ms,
    )


def run(
    seed: int,
    *,
    writers: Make = open_store,
    readers: Make = open_store,
    draw: Draw = faults.drawn,
    sweeper: Sweep = sweep_once,
    kind: type[Simulation] | None = None,
) -> Scheduler:
    """Run one schedule. Raises Failure."""
    simulation = (kind or Simulation)(seed, writers, readers, sweeper)
    try:
        with sizes.drawn(Random(seed)):
            simulation.run(draw)
    except Exception as error:
        raise Failure(seed, simulation.scheduler.trace, error) from error
    return simulation.scheduler


class Simulation:
    """One schedule, determined by its seed."""

    worlds: type[World] = World
    histories: type[History] = History
    clients: type[Client] = Client

    def __init__(self, seed: int, writers: Make, readers: Make, sweeper: Sweep) -> None:
        self._sweeper = sweeper
        self.scheduler = Scheduler(seed, deadline_ms=GRACE_MS // 2)
        self._random = self.scheduler.random
        self._open_to_write, self._open_to_read = writers, readers
        self._table = SimTable(self.scheduler)
        self._table.on_put = self._check_references
        self._run_states = RunStates(self.scheduler)
        self._table.on_change = self._run_states.note
        self._is_hunt = self.scheduler.chance(HUNTING)
        self._world = self.worlds(self._random, is_narrow=self._is_hunt)
        self._history = self.histories()
        self._policy = RetentionPolicy()
        self._open: list[LineageStore] = []
        self._readers: list[Reader] = []

    def run(self, draw: Draw) -> None:
        """Run the schedule. Raises Violation, or an unexpected error of the store."""
        self.scheduler.faults = draw(self._random)
        for number in range(self._random.randint(1, 4)):
            self.scheduler.spawn(f"client {number}", self._client)
        if self.scheduler.chance(SWEEPING):
            self._policy = self._world.policy()
            self._history.horizon_ms = max(self._policy.default_ms, *self._policy.datasets_ms.values(), 0)
            self.scheduler.spawn("sweeper", self._sweep)
        self._readers = [self._reader() for _ in range(self._random.randint(1, 2))]
        for number, reader in enumerate(self._readers):
            self.scheduler.spawn(f"reader {number}", partial(self._ask, reader))
        if self._is_hunt or self.scheduler.chance(SEALING):
            for number in range(self._random.randint(1, 2)):
                self.scheduler.spawn(f"sealer {number}", self._seal)
        self.scheduler.run()
        self._settle()
        self._check()
        self._check_sealed()

    def _writing(self) -> LineageStore:
        """Return the store of a new process with its own clock, or one that others write through."""
        if not self._open or self.scheduler.chance(0.8):
            self._open.append(
                self._open_to_write(self._table, self.scheduler.clock(self.scheduler.skew_ms()))
            )
        return self._open[-1]

    def _reading(self) -> LineageStore:
        return self._open_to_read(self._table, self.scheduler.clock(self.scheduler.skew_ms()))

    def _reader(self) -> Reader:
        return self._reader_of(self._reading())

    def _reader_of(self, store: LineageStore) -> Reader:
        return Reader(self.scheduler, self._history, self._run_states, self._policy, store)

    def _client(self) -> None:
        client = self.clients(self.scheduler, self._history, self._writing)
        for _ in range(self._random.randint(1, 5 if self._is_hunt else 3)):
            if self._is_hunt:
                self.scheduler.pause(PAUSE_STEPS_MAX * 8)
            client.send([self._world.document() for _ in range(self._random.choice((1, 1, 2, 3)))])

    def _sweep(self) -> None:
        """Sweep now and then, as a process of its own, often after a leap in time."""
        clock = self.scheduler.clock(self.scheduler.skew_ms())
        try:
            for _ in range(self._random.randint(1, 3)):
                self.scheduler.pause(PAUSE_STEPS_MAX * (16 if self._is_hunt else 4))
                if self.scheduler.chance(0.7):
                    self.scheduler.leap(GRACE_MS + self._random.randrange(GRACE_MS))
                self._sweeper(self._table, clock, self._policy)
        except (Crash, StoreUnavailable):
            self.scheduler.note("sweeps no more")

    def _seal(self) -> None:
        """Seal now and then what readers offered, or all old days, often after a leap in time."""
        clock = self.scheduler.clock(self.scheduler.skew_ms())
        for _ in range(self._random.randint(2, 6)):
            self.scheduler.pause(PAUSE_STEPS_MAX * 3)
            if self.scheduler.chance(0.6):
                self.scheduler.leap(int(GRACE_MS * self._random.choice(AGES)))
            try:
                if self.scheduler.chance(0.3):
                    seal_old_days(self._table, clock=clock, grace_ms=GRACE_MS)
                else:
                    self._seal_offered(self._readers)
            except (Crash, StoreUnavailable):
                self.scheduler.note("seals not")

    def _seal_offered(self, readers: Sequence[Reader]) -> None:
        """Seal what readers offered until now."""
        for reader in readers:
            try:
                if offered(reader.store).seal(self._random):
                    self.scheduler.note("seals")
            except StoreUnavailable:
                self.scheduler.note("seals not")

    def _ask(self, reader: Reader) -> None:
        try:
            for _ in range(QUESTIONS_MEANWHILE):
                self.scheduler.pause(PAUSE_STEPS_MAX)
                reader.ask(self._world.question())
                if self._is_hunt and self.scheduler.chance(0.5):
                    self._seal_offered([reader])
        except Crash:
            reader.store = self._reading()

    def _settle(self) -> None:
        """Let all puts in flight land; leave what was not acknowledged, or send it again until it is."""
        self.scheduler.faults = CALM
        self.scheduler.settle()
        self._history.close(self.scheduler.note("quiet"))
        if self.scheduler.chance(0.5):
            self.scheduler.leap(GRACE_MS)
            for reader in self._readers * 3:
                reader.ask(self._world.question())
        if self.scheduler.chance(0.5):
            for number, call in enumerate(self._history.unacknowledged()):
                self._history.reopen(call)
                client = self.clients(self.scheduler, self._history, self._writing)
                self.scheduler.spawn(f"again {number}", partial(client.insist, call))
            self.scheduler.run()

    def _check_references(self, put: Put) -> None:
        checks.content_exists(put, self._table.everything())

    def _check(self) -> None:
        """Check the answers of all readers against brute force over one document for each run."""
        fresh = self._reader()
        documents = self._documents(fresh)
        for question in self._everything():
            brute_force.check_all(fresh, question, documents)
            for reader in self._readers:
                brute_force.check_lineage(reader, question, documents)
        for window in (ALWAYS, self._world.window()):
            retained = restrict_window(window, self._history.horizon_ms)
            brute_force.check_namespace_runs(fresh, retained, documents)
        for question in [self._retained(self._world.question()) for _ in range(QUESTIONS_AT_END)]:
            for reader in (fresh, *self._readers):
                brute_force.check_all(reader, question, documents)
        checks.catalogue_is_complete(fresh.store.catalogue, documents)
        settled_checks.check_seals(self._table, all_sealed=False)
        settled_checks.check_calendars(self._table, self._policy)
        if not self._history.horizon_ms:
            checks.single_commits(self._table.everything())
            checks.audit_is_clean(self._table)

    def _check_sealed(self) -> None:
        """Seal all days long after; then they say what run rows do, and readers as much as without them."""
        self.scheduler.leap(GRACES_OF_QUIET * GRACE_MS)
        seal_old_days(self._table, clock=self.scheduler.clock(0), grace_ms=GRACE_MS)
        settled_checks.check_seals(self._table, all_sealed=not self._history.horizon_ms)
        fresh = self._reader()
        without_seals = self._reader_of(
            self._open_to_read(WithoutSeals(self._table), self.scheduler.clock(0))
        )
        documents = self._documents(fresh)
        for question in [*self._everything(), self._retained(self._world.question())]:
            for reader in (fresh, without_seals):
                brute_force.check_calendars(reader, question, documents)

    def _everything(self) -> list[Question]:
        return list(map(self._retained, self._world.everything()))

    def _retained(self, question: Question) -> Question:
        """Return a question without the starts before which its dataset may have lost references."""
        cutoff_ms = self._policy.cutoff_ms(question.dataset)
        return replace(question, window=restrict_window(question.window, cutoff_ms))

    def _documents(self, fresh: Reader) -> list[RecordedRun]:
        documents = brute_force.documents(fresh)
        now = self.scheduler.tick()
        certain = {run for run, may_be in self._history.possible(now, now).items() if may_be.certain}
        if lost := certain - documents.keys():
            raise Violation("lost", f"{sorted(lost)}: no list of runs has them")
        return list(documents.values())
