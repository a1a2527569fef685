"""Runs told in several events: a run may be what any events come to that hold all acknowledged ones."""

from __future__ import annotations

from collections.abc import Sequence
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
from fll_hbase.store.write.pending_run import CommitResult

from .actors import Client
from .checks import Violation
from .history import History, Possible, Statement
from .simulation import GRACE_MS, Simulation
from .world import BY_CHECKSUM, COMMON, OWN_FIELDS, RUNS, STARTS_MS, A, B, C, World

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
EVENTS_OF_RUN_MAX = 7
"""Their subsets are all looked at."""


def _part(number: int) -> EventLineage:
    """Every part is about the same end points, and has a field of its own beside the common one."""
    names = sorted((COMMON, f"told-{number}"))
    columns = tuple(OutputColumn(name, (InputColumn(0, name, True, "", ""),)) for name in names)
    written = tuple(DatasetMention(place, True, columns=columns) for place in (1, 2))
    ends = tuple((end_point.namespace, end_point.name) for end_point in (A, B, C))
    return EventLineage("n", "p", "t", ends, (DatasetMention(0, False), *written))


PARTS = tuple(map(_part, range(3)))
INFOS = {part: lineage.build_lineage_lenient(event_operations.build_operations(part)) for part in PARTS}
BY_DIGEST = {
    run_events.make_event("", 0, EventType.START, part, EventRunFacts()).event.lineage_digest: part
    for part in PARTS
}
BY_CHECKSUM |= {info.checksum: info for info in INFOS.values()}
OWN_FIELDS |= {info.checksum: f"told-{number}" for number, info in enumerate(INFOS.values())}


def come_to(said: Sequence[IncomingEvent]) -> RecordedRun:
    """What events of one run come to, without the store."""
    return _come_to(said[0].run, frozenset(one.event for one in said))


@lru_cache(maxsize=100_000)
def _come_to(run: str, said: frozenset[RunEvent]) -> RecordedRun:
    ordered = run_events.sort_events(said)
    last = BY_DIGEST[ordered[-1].lineage_digest]
    return RecordedRun(
        run_events.program_run(run, ordered, last, [EventRunFacts()] * len(ordered)), INFOS[last]
    )


class TellingWorld(World):
    """Events of few runs, at few times."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self._contents = list(INFOS.values())
        self._told_runs = RUNS[: random.randint(1, 2)]
        self._times = random.sample(STARTS_MS, random.randint(2, 4))

    def document(self) -> IncomingEvent:
        pick = self._random.choice
        return run_events.make_event(
            pick(self._told_runs), pick(self._times), pick(KINDS), pick(PARTS), EventRunFacts()
        )


class TellingHistory(History):
    """Statements are of events: once acknowledged they are told for ever, until then perhaps."""

    def possible(self, asked: int, answered: int) -> dict[str, Possible]:
        possible = {}
        for run, sent in self.by_run.items():
            kept = all(come_to([one.document]).run.start_ms >= self.horizon_ms for one in sent)
            certain = {_key(one): one.document for one in sent if kept and one.acknowledged_before(asked)}
            begun = {_key(one): one.document for one in sent if one.begun < answered}
            perhaps = [document for key, document in begun.items() if key not in certain]
            subsets = chain.from_iterable(combinations(perhaps, size) for size in range(len(perhaps) + 1))
            sets = [[*certain.values(), *some] for some in subsets if certain or some]
            documents = {(one.run, one.info.checksum): one for one in map(come_to, sets)}
            possible[run] = Possible(tuple(documents.values()), bool(certain))
        return possible

    def acknowledged(self) -> list[RecordedRun]:
        """None: an event may be overtaken before anything of it was ever true."""
        return []


class TellingClient(Client):
    """Sends events; the answers tell of their runs, and of nothing that can be known beforehand."""

    def _record(self, statements: Sequence[Statement]) -> None:
        said = [statement.document for statement in statements]
        answers = self._store.record(said)
        if [a.run if isinstance(a, CommitResult) else a for a in answers] != [one.run for one in said]:
            raise Violation("refused", f"{said} were answered by {answers}")
        self._history.acknowledge(statements, self._scheduler.note(f"acknowledged {len(said)} events"))


class Telling(Simulation):
    """One schedule of events.

    At the end the grace period passes: so long may a reader believe in a dead row of the index, after a pass
    that took longer than any may and died before it was told so.
    """

    worlds = TellingWorld
    histories = TellingHistory
    clients = TellingClient

    def _check(self) -> None:
        self.scheduler.leap(GRACE_MS)
        super()._check()


def _key(statement: Statement) -> object:
    event = statement.document
    return event.event if isinstance(event, IncomingEvent) else event
