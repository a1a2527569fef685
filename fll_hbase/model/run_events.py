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
from fll_hbase.model.runs import ProgramRun, State, details

Shape = TypeVar("Shape")

UNNAMED = "unknown"
"""What an agent calls a job until it knows its name."""

UNTYPED = "OPENLINEAGE"
"""The type of a run that no event told the type of."""


class Kind(Enum):
    """How far a run was when an event told of it; in this order where times are equal."""

    START = "START"
    RUNNING = "RUNNING"
    OTHER = "OTHER"
    COMPLETE = "COMPLETE"
    ABORT = "ABORT"
    FAIL = "FAIL"


_ENDS = {Kind.FAIL: State.FAIL, Kind.ABORT: State.ABORT, Kind.COMPLETE: State.COMPLETE}
_RANKS = {kind: rank for rank, kind in enumerate(Kind)}


class Taken(msgspec.Struct, frozen=True, array_like=True, order=True):
    """A source field; `place` counts in the part's end points, `how` is what was done with it in words."""

    place: int
    field: str
    direct: bool
    kind: str
    how: str


class Column(msgspec.Struct, frozen=True, array_like=True, order=True):
    """A field of an output and what it was made from; nothing at all says that it was generated."""

    name: str
    takes: tuple[Taken, ...]


class Mention(msgspec.Struct, frozen=True, array_like=True, order=True):
    """What an event says of one end point. None is not said, which is not the same as nothing."""

    place: int
    written: bool
    fields: tuple[tuple[str, str], ...] | None = None
    columns: tuple[Column, ...] | None = None
    whole: tuple[Taken, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    lifecycle: str = ""
    previous: tuple[str, str] | None = None
    description: str = ""


class Part(msgspec.Struct, frozen=True, array_like=True):
    """What an event says of lineage: the job, and every end point it mentions, all in canonical order."""

    namespace: str
    job: str
    type: str
    end_points: tuple[tuple[str, str], ...]
    mentions: tuple[Mention, ...]
    sql: str = ""
    operations: str = ""


class Facts(msgspec.Struct, frozen=True, array_like=True):
    """What an event says of its run alone. `names` are physical names where a name rule gave another."""

    parent: tuple[str, str, str] | None = None
    root: tuple[str, str, str] | None = None
    nominal_start: str = ""
    nominal_end: str = ""
    error: str = ""
    names: tuple[tuple[str, str, str], ...] = ()
    program: tuple[str, str, str, str, str] | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One event as stored; `part` and `facts` are digests."""

    time_ms: int
    kind: Kind
    part: str
    facts: str


@dataclass(frozen=True, slots=True)
class ToldEvent:
    """An event on its way in: its run, and the texts behind its digests."""

    run: str
    event: Event
    texts: dict[str, bytes]


def told(run: str, time_ms: int, kind: Kind, part: Part, facts: Facts) -> ToldEvent:
    """The event that says this of a run."""
    texts = [msgspec.json.encode(part), msgspec.json.encode(facts)]
    digests = [digest(text) for text in texts]
    return ToldEvent(run, Event(time_ms, kind, *digests), dict(zip(digests, texts, strict=True)))


def parsed_part(text: bytes) -> Part:
    """The part of a stored text. Raises CorruptRow."""
    return _parsed(text, Part)


def parsed_facts(text: bytes) -> Facts:
    """The facts of a stored text. Raises CorruptRow."""
    return _parsed(text, Facts)


def in_order(events: Iterable[Event]) -> list[Event]:
    """As they happened, whenever they came."""
    return sorted(events, key=lambda one: (one.time_ms, _RANKS[one.kind], one.part, one.facts))


def merged(parts: Sequence[Part]) -> Part:
    """All parts of a run as one, the latest last: what it says of each end point is the latest said."""
    named = [part for part in parts if part.job != UNNAMED] or parts
    found: dict[tuple[tuple[str, str], bool], Mention] = {}
    places = {
        end_point: place
        for place, end_point in enumerate(sorted({each for part in parts for each in part.end_points}))
    }
    for part in parts:
        to = [places[end_point] for end_point in part.end_points]
        for mention in part.mentions:
            key = part.end_points[mention.place], mention.written
            found[key] = _over(found.get(key), moved(mention, to))
    return Part(
        namespace=named[-1].namespace,
        job=named[-1].job,
        type=next((part.type for part in reversed(parts) if part.type), ""),
        end_points=tuple(places),
        mentions=tuple(sorted(found.values(), key=lambda one: (one.place, one.written))),
        sql=next((part.sql for part in reversed(parts) if part.sql), ""),
        operations=next((part.operations for part in reversed(parts) if part.operations), ""),
    )


def program_run(run: str, events: Sequence[Event], part: Part, facts: Sequence[Facts]) -> ProgramRun:
    """The run that the events tell of, given in order, each with its facts."""
    start_ms, state = course(events)
    parent = next((said.parent for said in reversed(facts) if said.parent), None)
    program = next((said.program for said in reversed(facts) if said.program), None)
    namespace, application, version, type_, name = program or (
        part.namespace,
        _application(part, parent),
        "",
        part.type or UNTYPED,
        part.job,
    )
    facts_of_run = details(parent=parent[2] if parent else "")
    return ProgramRun(namespace, application, version, type_, name, run, start_ms, state, facts_of_run)


def course(events: Sequence[Event]) -> tuple[int, State]:
    """When a run started and how it ended.

    It starts at its first START, or where none came at its first event. An end holds whatever comes after
    it, and a failure holds over any other end.
    """
    starts = [event.time_ms for event in events if event.kind is Kind.START]
    kinds = {event.kind for event in events}
    state = next((state for kind, state in _ENDS.items() if kind in kinds), State.RUNNING)
    return min(starts or [event.time_ms for event in events]), state


def _application(part: Part, parent: tuple[str, str, str] | None) -> str:
    """The job that started this one; where its name is not known, what the name of this one begins with."""
    if parent is None:
        return part.job
    return part.job.partition(".")[0] or part.job if parent[1] in ("", UNNAMED) else parent[1]


def _parsed(text: bytes, shape: type[Shape]) -> Shape:
    try:
        return msgspec.json.decode(text, type=shape)
    except msgspec.MsgspecError as error:
        raise CorruptRow(f"{text[:200]!r} is not a part of an event: {error}") from error


def _over(before: Mention | None, later: Mention) -> Mention:
    if before is None:
        return later
    says = later if later.columns is not None else before
    return Mention(
        place=later.place,
        written=later.written,
        fields=before.fields if later.fields is None else later.fields,
        columns=says.columns,
        whole=says.whole,
        aliases=tuple(sorted({*before.aliases, *later.aliases})),
        lifecycle=later.lifecycle or before.lifecycle,
        previous=later.previous or before.previous,
        description=later.description or before.description,
    )


def moved(mention: Mention, places: Sequence[int]) -> Mention:
    """The mention with its places counted in another list of end points."""

    def there(takes: Iterable[Taken]) -> tuple[Taken, ...]:
        return tuple(sorted(msgspec.structs.replace(taken, place=places[taken.place]) for taken in takes))

    columns = mention.columns
    if columns is not None:
        columns = tuple(Column(column.name, there(column.takes)) for column in columns)
    return msgspec.structs.replace(
        mention, place=places[mention.place], columns=columns, whole=there(mention.whole)
    )
