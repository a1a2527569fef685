"""What do the events of one run come to together: they are cumulative, late, twice, and in any order.

An event is stored as its time and kind, the digest of its part (what it says of lineage, the same in every
run of a daily job) and the digest of its facts (what it says of this run). Facets add up: of each kind the
one with the latest time holds, and a later event without it takes nothing away.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

import msgspec

from fll_hbase.errors import CorruptRow
from fll_hbase.model.checksum import digest
from fll_hbase.model.runs import ProgramRun, State, encode_details

Shape = TypeVar("Shape")

UNKNOWN_JOB = "unknown"
"""What an agent calls a job until it knows its name."""

DEFAULT_RUN_TYPE = "OPENLINEAGE"
"""The type of a run that no event told the type of."""


class EventType(Enum):
    """How far a run was when an event told of it; in this order where times are equal."""

    START = "START"
    RUNNING = "RUNNING"
    OTHER = "OTHER"
    COMPLETE = "COMPLETE"
    ABORT = "ABORT"
    FAIL = "FAIL"


_ENDS = {EventType.FAIL: State.FAIL, EventType.ABORT: State.ABORT, EventType.COMPLETE: State.COMPLETE}
_RANKS = {kind: rank for rank, kind in enumerate(EventType)}


class InputColumn(msgspec.Struct, frozen=True, array_like=True, order=True):
    """A source field; `place` counts in the part's end points, `how` is what was done with it in words."""

    dataset_index: int
    field: str
    direct: bool
    kind: str
    transformation: str


class OutputColumn(msgspec.Struct, frozen=True, array_like=True, order=True):
    """A field of an output and what it was made from; nothing at all says that it was generated."""

    name: str
    inputs: tuple[InputColumn, ...]


class DatasetMention(msgspec.Struct, frozen=True, array_like=True, order=True):
    """What an event says of one end point. None is not said, which is not the same as nothing."""

    dataset_index: int
    written: bool
    fields: tuple[tuple[str, str], ...] | None = None
    columns: tuple[OutputColumn, ...] | None = None
    dataset_inputs: tuple[InputColumn, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    lifecycle: str = ""
    previous: tuple[str, str] | None = None
    description: str = ""


class EventLineage(msgspec.Struct, frozen=True, array_like=True):
    """What an event says of lineage: the job, and every end point it mentions, all in canonical order."""

    namespace: str
    job: str
    type: str
    datasets: tuple[tuple[str, str], ...]
    mentions: tuple[DatasetMention, ...]
    sql: str = ""
    operations: str = ""


class EventRunFacts(msgspec.Struct, frozen=True, array_like=True):
    """What an event says of its run alone. `names` are physical names where a name rule gave another."""

    parent: tuple[str, str, str] | None = None
    root: tuple[str, str, str] | None = None
    nominal_start: str = ""
    nominal_end: str = ""
    error: str = ""
    physical_names: tuple[tuple[str, str, str], ...] = ()
    program: tuple[str, str, str, str, str] | None = None


@dataclass(frozen=True, slots=True)
class RunEvent:
    """One event as stored; `part` and `facts` are digests."""

    time_ms: int
    type: EventType
    lineage_digest: str
    facts_digest: str


@dataclass(frozen=True, slots=True)
class IncomingEvent:
    """An event on its way in: its run, and the texts behind its digests."""

    run: str
    event: RunEvent
    bodies: dict[str, bytes]


def make_event(
    run: str, time_ms: int, kind: EventType, part: EventLineage, facts: EventRunFacts
) -> IncomingEvent:
    """The event that says this of a run."""
    texts = [msgspec.json.encode(part), msgspec.json.encode(facts)]
    digests = [digest(text) for text in texts]
    return IncomingEvent(run, RunEvent(time_ms, kind, *digests), dict(zip(digests, texts, strict=True)))


def decode_lineage(text: bytes) -> EventLineage:
    """The part of a stored text. Raises CorruptRow."""
    return _parsed(text, EventLineage)


def decode_run_facts(text: bytes) -> EventRunFacts:
    """The facts of a stored text. Raises CorruptRow."""
    return _parsed(text, EventRunFacts)


def sort_events(events: Iterable[RunEvent]) -> list[RunEvent]:
    """As they happened, whenever they came."""
    return sorted(
        events, key=lambda one: (one.time_ms, _RANKS[one.type], one.lineage_digest, one.facts_digest)
    )


def merge_lineage(parts: Sequence[EventLineage]) -> EventLineage:
    """All parts of a run as one, the latest last: what it says of each end point is the latest said."""
    named = [part for part in parts if part.job != UNKNOWN_JOB] or parts
    found: dict[tuple[tuple[str, str], bool], DatasetMention] = {}
    places = {
        end_point: place
        for place, end_point in enumerate(sorted({each for part in parts for each in part.datasets}))
    }
    for part in parts:
        to = [places[end_point] for end_point in part.datasets]
        for mention in part.mentions:
            key = part.datasets[mention.dataset_index], mention.written
            found[key] = _over(found.get(key), remap_positions(mention, to))
    return EventLineage(
        namespace=named[-1].namespace,
        job=named[-1].job,
        type=next((part.type for part in reversed(parts) if part.type), ""),
        datasets=tuple(places),
        mentions=tuple(sorted(found.values(), key=lambda one: (one.dataset_index, one.written))),
        sql=next((part.sql for part in reversed(parts) if part.sql), ""),
        operations=next((part.operations for part in reversed(parts) if part.operations), ""),
    )


def program_run(
    run: str, events: Sequence[RunEvent], part: EventLineage, facts: Sequence[EventRunFacts]
) -> ProgramRun:
    """The run that the events tell of, given in order, each with its facts."""
    start_ms, state = start_and_state(events)
    parent = next((said.parent for said in reversed(facts) if said.parent), None)
    program = next((said.program for said in reversed(facts) if said.program), None)
    namespace, application, version, type_, name = program or (
        part.namespace,
        _application(part, parent),
        "",
        part.type or DEFAULT_RUN_TYPE,
        part.job,
    )
    facts_of_run = encode_details(parent=parent[2] if parent else "")
    return ProgramRun(namespace, application, version, type_, name, run, start_ms, state, facts_of_run)


def start_and_state(events: Sequence[RunEvent]) -> tuple[int, State]:
    """When a run started and how it ended.

    It starts at its first START, or where none came at its first event. An end holds whatever comes after
    it, and a failure holds over any other end.
    """
    starts = [event.time_ms for event in events if event.type is EventType.START]
    kinds = {event.type for event in events}
    state = next((state for kind, state in _ENDS.items() if kind in kinds), State.RUNNING)
    return min(starts or [event.time_ms for event in events]), state


def _application(part: EventLineage, parent: tuple[str, str, str] | None) -> str:
    """The job that started this one; where its name is not known, what the name of this one begins with."""
    if parent is None:
        return part.job
    return part.job.partition(".")[0] or part.job if parent[1] in ("", UNKNOWN_JOB) else parent[1]


def _parsed(text: bytes, shape: type[Shape]) -> Shape:
    try:
        return msgspec.json.decode(text, type=shape)
    except msgspec.MsgspecError as error:
        raise CorruptRow(f"{text[:200]!r} is not a part of an event: {error}") from error


def _over(before: DatasetMention | None, later: DatasetMention) -> DatasetMention:
    if before is None:
        return later
    says = later if later.columns is not None else before
    return DatasetMention(
        dataset_index=later.dataset_index,
        written=later.written,
        fields=before.fields if later.fields is None else later.fields,
        columns=says.columns,
        dataset_inputs=says.dataset_inputs,
        aliases=tuple(sorted({*before.aliases, *later.aliases})),
        lifecycle=later.lifecycle or before.lifecycle,
        previous=later.previous or before.previous,
        description=later.description or before.description,
    )


def remap_positions(mention: DatasetMention, places: Sequence[int]) -> DatasetMention:
    """The mention with its places counted in another list of end points."""

    def there(takes: Iterable[InputColumn]) -> tuple[InputColumn, ...]:
        return tuple(
            sorted(
                msgspec.structs.replace(taken, dataset_index=places[taken.dataset_index]) for taken in takes
            )
        )

    columns = mention.columns
    if columns is not None:
        columns = tuple(OutputColumn(column.name, there(column.inputs)) for column in columns)
    return msgspec.structs.replace(
        mention,
        dataset_index=places[mention.dataset_index],
        columns=columns,
        whole=there(mention.dataset_inputs),
    )
