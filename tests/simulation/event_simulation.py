"""Simulation of events: a run may be any merge of events that includes all acknowledged ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, combinations
from random import Random

from fll_hbase.model import event_operations, lineage, run_events
from fll_hbase.model.run_events import (
    DatasetMention,
    EventLineage,
    EventRunFacts,
    EventType,
    IncomingEvent,
    InputColumn,
    OutputColumn,
    RunEvent,
)
from fll_hbase.model.runs import RecordedRun
from fll_hbase.store.results import CommitResult
from tests.simulation.actors import Client
from tests.simulation.checks import Violation
from tests.simulation.history import History, Possible, Statement
from tests.simulation.simulation import Simulation
from tests.support.small_world import BY_CHECKSUM, COMMON, OWN_FIELDS, RUNS, STARTS_MS, A, B, C, World

KINDS = (
    EventType.START,
    EventType.START,
    EventType.RUNNING,
    EventType.OTHER,
    EventType.COMPLETE,
    EventType.COMPLETE,
    EventType.FAIL,
    EventType.ABORT,
)
EVENTS_OF_RUN_MAX = 8
"""Different events of one run; later ones repeat these, since every subset of them is a state to compare."""


def _part(number: int) -> EventLineage:
    """Every part is about the same end points, and has a field of its own beside the common one."""
    names = sorted((COMMON, f"events-{number}"))
    columns = tuple(OutputColumn(name, (InputColumn(0, name, True, "", ""),)) for name in names)
    written = tuple(DatasetMention(position, True, columns=columns) for position in (1, 2))
    ends = tuple((dataset.namespace, dataset.name) for dataset in (A, B, C))
    return EventLineage("n", "p", "t", ends, (DatasetMention(0, False), *written))


PARTS = tuple(map(_part, range(3)))
INFOS = {part: lineage.build_lineage_lenient(event_operations.build_operations(part)) for part in PARTS}
BY_DIGEST = {
    run_events.make_event("", 0, EventType.START, part, EventRunFacts()).event.lineage_digest: part
    for part in PARTS
}
BY_CHECKSUM |= {info.checksum: info for info in INFOS.values()}
OWN_FIELDS |= {info.checksum: f"events-{number}" for number, info in enumerate(INFOS.values())}


def merged(events: Sequence[IncomingEvent]) -> RecordedRun:
    """Merge events of one run, without the store."""
    return _merged(events[0].run, frozenset(event.event for event in events))


@lru_cache(maxsize=100_000)
def _merged(run: str, events: frozenset[RunEvent]) -> RecordedRun:
    ordered = run_events.sort_events(events)
    last = BY_DIGEST[ordered[-1].lineage_digest]
    return RecordedRun(
        run_events.program_run(run, ordered, last, [EventRunFacts()] * len(ordered)), INFOS[last]
    )


@lru_cache(maxsize=1_000)
def _merges(
    run: str, certain: tuple[RunEvent, ...], perhaps: tuple[RunEvent, ...]
) -> tuple[RecordedRun, ...]:
    """All states of a run, of whose events some may not count; cached, as queries ask for the same again."""
    subsets = chain.from_iterable(combinations(perhaps, size) for size in range(len(perhaps) + 1))
    sets = [frozenset((*certain, *subset)) for subset in subsets if certain or subset]
    return tuple({(m.run, m.info.checksum): m for m in (_merged(run, events) for events in sets)}.values())


def _events(documents: Iterable[IncomingEvent]) -> tuple[RunEvent, ...]:
    return tuple(document.event for document in documents)


class EventWorld(World):
    """Events of few runs, at few times."""

    def __init__(self, random: Random, *, is_narrow: bool = False) -> None:
        super().__init__(random, is_narrow=is_narrow)
        self._contents = list(INFOS.values())
        self._event_runs = RUNS[: random.randint(1, 2)]
        self._times = random.sample(STARTS_MS, random.randint(2, 4))
        self._sent: dict[str, list[IncomingEvent]] = {run: [] for run in self._event_runs}

    def document(self) -> IncomingEvent:
        pick = self._random.choice
        run = pick(self._event_runs)
        sent = self._sent[run]
        if len(sent) == EVENTS_OF_RUN_MAX:
            return pick(sent)
        event = run_events.make_event(run, pick(self._times), pick(KINDS), pick(PARTS), EventRunFacts())
        if event not in sent:
            sent.append(event)
        return event


class EventHistory(History):
    """Statements are events: once acknowledged they always count, until then they may."""

    def possible(self, began: int, answered: int) -> dict[str, Possible]:
        possible = {}
        for run, sent in self.by_run.items():
            in_retention = all(merged([s.document]).run.start_ms >= self.horizon_ms for s in sent)
            certain = {_key(s): s.document for s in sent if in_retention and s.acknowledged_before(began)}
            begun = {_key(s): s.document for s in sent if s.begun < answered}
            perhaps = [document for key, document in begun.items() if key not in certain]
            possible[run] = Possible(_merges(run, _events(certain.values()), _events(perhaps)), bool(certain))
        return possible

    def acknowledged(self) -> list[RecordedRun]:
        """Return none: an event may be overtaken before it was ever committed."""
        return []


class EventClient(Client):
    """Sends events; of the results only the run can be predicted."""

    def _record(self, statements: Sequence[Statement]) -> None:
        events = [statement.document for statement in statements]
        answers = self._store.record(events)
        if [a.run if isinstance(a, CommitResult) else a for a in answers] != [event.run for event in events]:
            raise Violation("refused", f"{events} were answered by {answers}")
        self._history.acknowledge(statements, self._scheduler.note(f"acknowledged {len(events)} events"))


class EventSimulation(Simulation):
    """One schedule of events."""

    worlds = EventWorld
    histories = EventHistory
    clients = EventClient


def _key(statement: Statement) -> object:
    document = statement.document
    return document.event if isinstance(document, IncomingEvent) else document
