"""Actors of a schedule: clients that send until acknowledged, and readers whose answers are checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.run_events import IncomingEvent
from fll_hbase.model.runs import RecordedRun
from fll_hbase.model.window import Direction, Window
from fll_hbase.runtime.errors import CorruptRow, NotFound, StoreUnavailable
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.query_parameters import RunsQuery, WindowQuery
from fll_hbase.store.read.run_times import RunTimes, bound_of
from fll_hbase.store.results import CommitResult, ListedRun
from tests.simulation import checks, day_checks
from tests.simulation.checks import Violation
from tests.simulation.history import History, Possible, Statement
from tests.simulation.run_states import RunStates, State
from tests.simulation.scheduler import Crash, Scheduler
from tests.simulation.sealers import offered
from tests.support.small_world import BY_CHECKSUM, COMMON, EDGES_MS, Question

ATTEMPTS_MAX = 5
PAGE_RUNS = (1, 2, 100)


class Client:
    """Sends documents through a process that may die; a new one takes its place."""

    def __init__(self, scheduler: Scheduler, history: History, start: Callable[[], LineageStore]) -> None:
        self._scheduler = scheduler
        self._history = history
        self._start = start
        self._store = start()

    def send(self, documents: Sequence[RecordedRun | IncomingEvent]) -> None:
        """Send one call, again if its outcome is unknown; give up now and then."""
        sent = " ".join(_short(document) for document in documents)
        statements = self._history.begin(documents, self._scheduler.note(f"sends {sent}"))
        for _ in range(ATTEMPTS_MAX):
            try:
                self._record(statements)
                return
            except StoreUnavailable:
                self._scheduler.note(f"again {sent}")
            except Crash:
                self._store = self._start()
                if self._scheduler.chance(0.5):
                    break
                self._scheduler.note(f"again {sent}")
        self._scheduler.note(f"gives up {sent}")

    def insist(self, call: Sequence[Statement]) -> None:
        """Send a call that was given up once more; nothing fails this time."""
        self._scheduler.note("insists " + " ".join(_short(statement.document) for statement in call))
        self._record(call)

    def _record(self, statements: Sequence[Statement]) -> None:
        documents = [statement.document for statement in statements]
        # A run may change its program here; that ids belong to programs is tested on its own.
        answers = self._store.record(
            [
                replace(item, replaces_others=True) if isinstance(item, RecordedRun) else item
                for item in documents
            ]
        )
        shown = [(a.run, a.checksum) if isinstance(a, CommitResult) else a for a in answers]
        if shown != [(document.run.run, document.info.checksum) for document in documents]:
            raise Violation("refused", f"{documents} were answered by {answers}")
        sent = " ".join(map(_short, documents))
        self._history.acknowledge(statements, self._scheduler.note(f"acknowledged {sent}"))


class Reader:
    """Queries the store, and checks answers against all states that runs may have been in meanwhile."""

    def __init__(
        self,
        scheduler: Scheduler,
        history: History,
        run_states: RunStates,
        policy: RetentionPolicy,
        store: LineageStore,
    ) -> None:
        self._scheduler = scheduler
        self._history = history
        self._run_states = run_states
        self._policy = policy
        self.store = store

    def ask(self, question: Question) -> None:
        """Run one of the queries. Raises Violation."""
        asks = (self.lineage, self.lineage, self.fields, self.runs, self.times, self.times, self.ends)
        ask: Callable[[Question], object] = self._scheduler.random.choice(asks)
        try:
            ask(question)
        except StoreUnavailable:
            self._scheduler.note("no answer")
        except CorruptRow as error:
            raise Violation("corrupt", f"{question}: {error}") from error

    def lineage(self, question: Question) -> frozenset[str]:
        question = replace(question, field=COMMON)
        began = self._scheduler.note(f"lineage {_describe(question)}")
        shown = contents_in(self.store, question)
        answered = self._scheduler.note("answered")
        checks.contents(shown, question, self._history.possible(began, answered))
        states = self._run_states.between(began, answered)
        cutoff_ms = self._policy.cutoff_ms(question.dataset)
        day_checks.check_existence(shown, question.query, states, cutoff_ms=cutoff_ms)
        return shown

    def fields(self, question: Question) -> tuple[str, ...]:
        began = self._scheduler.note(f"fields {question.field} {_describe(question)}")
        shown = contents_of_field(self.store, question)
        checks.contents(shown, question, self._possible(began))
        return shown

    def runs(self, question: Question) -> list[ListedRun]:
        began = self._scheduler.note(f"runs {_describe(question)}")
        listed = all_runs(self.store, question, self._scheduler.random.choice(PAGE_RUNS))
        checks.listed(listed, question, self._possible(began))
        return listed

    def times(self, question: Question) -> dict[str, RunTimes]:
        """Return the runs of each content, in the window and within a bound now and then."""
        query = question.query
        began = self._scheduler.note(f"times {_describe(question)}")
        times = times_of(self.store, query)
        self._check_times(times, query, began)
        if self._scheduler.chance(0.3):
            bound = bound_of(query.direction, self._scheduler.random.choice(EDGES_MS))
            self._scheduler.note(f"times within {bound}")
            self.store.components.times.complete([(query, times, bound)])
            # Days of the second read are those of another moment.
            self._check_times(times, query, began, is_first=False)
        return times

    def _check_times(
        self, times: dict[str, RunTimes], query: WindowQuery, began: int, *, is_first: bool = True
    ) -> None:
        days = offered(self.store).latest(query.direction, query.dataset) if is_first else None
        states = self._states(began)
        cutoff_ms = self._policy.cutoff_ms(query.dataset)
        day_checks.check_days(times, query, days, states, cutoff_ms=cutoff_ms)

    def ends(self, question: Question) -> dict[str, bytes]:
        """Return the newest reference of all contents."""
        query = question.query
        began = self._scheduler.note(f"newest {_describe(question)}")
        checksums = day_checks.touching(query)
        (ends,) = self.store.components.windows.newest_references({query: checksums})
        states = self._states(began)
        cutoff_ms = self._policy.cutoff_ms(query.dataset)
        day_checks.check_ends(ends, query, checksums, states, cutoff_ms=cutoff_ms)
        return ends

    def _states(self, began: int) -> list[State]:
        return self._run_states.between(began, self._scheduler.note("answered"))

    def namespace_runs(self, window: Window) -> list[RecordedRun]:
        """Return the runs of all namespaces in a window, page by page."""
        query = RunsQuery("", window)
        limit = self._scheduler.random.choice(PAGE_RUNS)
        listed: list[RecordedRun] = []
        start_after = b""
        while True:
            page = self.store.namespace_runs(query, limit=limit, start_after=start_after)
            listed += [RecordedRun(item.run, BY_CHECKSUM[item.checksum]) for item in page.runs]
            start_after = page.next_after
            if not start_after:
                return listed

    def _possible(self, began: int) -> dict[str, Possible]:
        return self._history.possible(began, self._scheduler.note("answered"))


def times_of(store: LineageStore, query: WindowQuery) -> dict[str, RunTimes]:
    """Return the runs of each content of the dataset of a query."""
    (by_name,) = store.components.times.times([query], store.components.times.budget())
    return by_name[query.dataset]


def contents_in(store: LineageStore, question: Question) -> frozenset[str]:
    """Return the contents behind a lineage result; none for an unknown dataset."""
    try:
        answer = store.lineage(question.dataset, question.window, directions=(question.direction,))
    except NotFound:
        return frozenset()
    return checks.contents_shown(answer, question)


def contents_of_field(store: LineageStore, question: Question) -> tuple[str, ...]:
    """Return the contents behind a field lineage result, newest first."""
    try:
        return store.field_lineage(
            question.dataset_field, question.window, direction=question.direction
        ).checksums
    except NotFound:
        return ()


def all_runs(store: LineageStore, question: Question, limit: int) -> list[ListedRun]:
    """Return all listed runs, page by page."""
    listed: list[ListedRun] = []
    start_after = b""
    try:
        while True:
            page = store.runs(question.dataset, question.window, limit=limit, start_after=start_after)
            listed += page.runs
            start_after = page.next_after
            if not start_after:
                return listed
    except NotFound:
        return listed


def _short(document: RecordedRun | IncomingEvent) -> str:
    if isinstance(document, IncomingEvent):
        event = document.event
        return f"{document.run}:{event.type.value}@{event.time_ms}{event.lineage_digest[:4]}"
    run = document.run
    return f"{run.run}={document.info.checksum[:4]}@{run.start_ms}{run.state.value[0]}{run.version}"


def _describe(question: Question) -> str:
    letter = "b" if question.direction is Direction.BACKWARD else "f"
    window = f"[{question.window.start_ms}, {question.window.stop_ms})"
    return f"{letter} {question.dataset} {window}{' failed too' if question.window.failed else ''}"
