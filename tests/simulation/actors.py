"""Who uses the store: clients that send until they are heard, and readers whose answers are checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from fll_hbase.errors import CorruptRow, NotFound, StoreUnavailable
from fll_hbase.model.run_events import IncomingEvent
from fll_hbase.model.runs import RecordedRun
from fll_hbase.model.window import Direction
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.results import ListedRun
from fll_hbase.store.write.pending_run import CommitResult

from . import checks
from .checks import Violation
from .history import History, Possible, Statement
from .scheduler import Crash, Scheduler
from .world import COMMON, Question

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
        """One call, sent again where its outcome is unknown, now and then given up."""
        said = " ".join(_short(document) for document in documents)
        statements = self._history.begin(documents, self._scheduler.note(f"sends {said}"))
        for _ in range(ATTEMPTS_MAX):
            try:
                self._record(statements)
                return
            except StoreUnavailable:
                self._scheduler.note(f"again {said}")
            except Crash:
                self._store = self._start()
                if self._scheduler.chance(0.5):
                    break
                self._scheduler.note(f"again {said}")
        self._scheduler.note(f"gives up {said}")

    def insist(self, call: Sequence[Statement]) -> None:
        """Send once more what was given up; nothing goes wrong this time."""
        self._scheduler.note("insists " + " ".join(_short(statement.document) for statement in call))
        self._record(call)

    def _record(self, statements: Sequence[Statement]) -> None:
        documents = [statement.document for statement in statements]
        answers = self._store.record(documents)
        told = [(a.run, a.checksum) if isinstance(a, CommitResult) else a for a in answers]
        if told != [(document.run.run, document.info.checksum) for document in documents]:
            raise Violation("refused", f"{documents} were answered by {answers}")
        said = " ".join(map(_short, documents))
        self._history.acknowledge(statements, self._scheduler.note(f"acknowledged {said}"))


class Reader:
    """Asks, and checks the answer against what every run may have been meanwhile."""

    def __init__(self, scheduler: Scheduler, history: History, store: LineageStore) -> None:
        self._scheduler = scheduler
        self._history = history
        self.store = store

    def ask(self, question: Question) -> None:
        """One of the three questions. Raises Violation."""
        ask = self._scheduler.random.choice((self.lineage, self.lineage, self.fields, self.runs))
        try:
            ask(question)
        except StoreUnavailable:
            self._scheduler.note("no answer")
        except CorruptRow as error:
            raise Violation("corrupt", f"{question}: {error}") from error

    def lineage(self, question: Question) -> frozenset[str]:
        question = replace(question, field=COMMON)
        asked = self._scheduler.note(f"lineage {_asked(question)}")
        told = contents_in(self.store, question)
        checks.contents(told, question, self._possible(asked))
        return told

    def fields(self, question: Question) -> tuple[str, ...]:
        asked = self._scheduler.note(f"fields {question.field} {_asked(question)}")
        told = contents_of_field(self.store, question)
        checks.contents(told, question, self._possible(asked))
        return told

    def runs(self, question: Question) -> list[ListedRun]:
        asked = self._scheduler.note(f"runs {_asked(question)}")
        found = all_runs(self.store, question, self._scheduler.random.choice(PAGE_RUNS))
        checks.listed(found, question, self._possible(asked))
        return found

    def _possible(self, asked: int) -> dict[str, Possible]:
        return self._history.possible(asked, self._scheduler.note("answered"))


def contents_in(store: LineageStore, question: Question) -> frozenset[str]:
    """The contents behind an answer about lineage; none where the end point was never seen."""
    try:
        answer = store.lineage(
            question.end_point, question.window, directions=(question.direction,), failed=question.failed
        )
    except NotFound:
        return frozenset()
    return checks.contents_told(answer, question)


def contents_of_field(store: LineageStore, question: Question) -> tuple[str, ...]:
    """The contents behind an answer about a field, newest first."""
    try:
        return store.field_lineage(
            question.end_point_field, question.window, direction=question.direction, failed=question.failed
        ).checksums
    except NotFound:
        return ()


def all_runs(store: LineageStore, question: Question, limit: int) -> list[ListedRun]:
    """Every run listed, page by page."""
    found: list[ListedRun] = []
    start_after = b""
    try:
        while True:
            page = store.runs(question.end_point, question.window, limit=limit, start_after=start_after)
            found += page.runs
            start_after = page.next_after
            if not start_after:
                return found
    except NotFound:
        return found


def _short(document: RecordedRun | IncomingEvent) -> str:
    if isinstance(document, IncomingEvent):
        event = document.event
        return f"{document.run}:{event.type.value}@{event.time_ms}{event.lineage_digest[:4]}"
    run = document.run
    return f"{run.run}={document.info.checksum[:4]}@{run.start_ms}{run.state.value[0]}{run.version}"


def _asked(question: Question) -> str:
    letter = "b" if question.direction is Direction.BACKWARD else "f"
    window = f"[{question.window.start_ms}, {question.window.stop_ms})"
    return f"{letter} {question.end_point} {window}{' failed too' if question.failed else ''}"
