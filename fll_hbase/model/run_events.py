"""Stored OpenLineage events of a run, and their merge: events arrive late, repeatedly and in any order.

An event is stored as its time and type, the digest of its lineage, and the digest of its facts about the run.
The lineage is usually the same in every run of a daily job. The latest facet of each kind is valid; a later
event without it removes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

import msgspec

from fll_hbase.model.checksum import digest
from fll_hbase.model.runs import ProgramRun, State, encode_details, is_uuid
from fll_hbase.runtime import deadline, typed_json
from fll_hbase.runtime.errors import CorruptRow

Shape = TypeVar("Shape")

UNKNOWN_JOB = "unknown"
"""The job name that agents send until they know the real one."""

DEFAULT_RUN_TYPE = "OPENLINEAGE"
"""The type of a run whose events have none."""

_NUMBER = re.compile(r"_\d+")

_NONE_UNCONFIRMED = b",[]]"
"""The end of an encoded lineage without unconfirmed sources."""

DERIVED = "derived from SQL: "
"""Begins the transformation of an input that was derived from the SQL of a job."""


class EventType(Enum):
    """The state of a run at an event; events of equal time are sorted in this order."""

    START = "START"
    RUNNING = "RUNNING"
    OTHER = "OTHER"
    COMPLETE = "COMPLETE"
    ABORT = "ABORT"
    FAIL = "FAIL"


# In order of priority, because the Spark agent sends a COMPLETE 9 ms after a FAIL (decision 0012).
_END_STATES = {EventType.FAIL: State.FAIL, EventType.ABORT: State.ABORT, EventType.COMPLETE: State.COMPLETE}
_RANKS = {event_type: rank for rank, event_type in enumerate(EventType)}


# The structs below are stored as arrays, so the order of their members is part of the row format. Add a new
# member at the end, with a default: msgspec uses it for the shorter arrays of older rows.


class InputColumn(msgspec.Struct, frozen=True, array_like=True, order=True):
    """A source field; `dataset_index` is a position in `EventLineage.datasets`.

    `kind` is set for indirect inputs; `transformation` describes how the field was used.
    """

    dataset_index: int
    field: str
    direct: bool
    kind: str
    transformation: str


class OutputColumn(msgspec.Struct, frozen=True, array_like=True, order=True):
    """A field of an output and the fields that it was derived from, none if it was generated."""

    name: str
    inputs: tuple[InputColumn, ...]


class DatasetMention(msgspec.Struct, frozen=True, array_like=True, order=True):
    """The facets of one dataset in an event. None means an absent facet, not an empty one."""

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
    """The lineage of an event: its job and every dataset it mentions, in canonical order.

    `type` is the type of the run, and `sql` the statement of the job. `operations` has one operation in JSON
    per line, if the event is an export of another store. `unconfirmed` are sources of unconfirmed READs.
    """

    namespace: str
    job: str
    type: str
    datasets: tuple[tuple[str, str], ...]
    mentions: tuple[DatasetMention, ...]
    sql: str = ""
    operations: str = ""
    unconfirmed: tuple[tuple[str, str], ...] = ()


class _Job(msgspec.Struct, frozen=True, array_like=True):
    """The first members of an `EventLineage`."""

    namespace: str
    job: str


class EventRunFacts(msgspec.Struct, frozen=True, array_like=True):
    """The facts of an event about its run only.

    `parent` and `root` are namespace, job and run id. `program` is namespace, application, version, type and
    program of an exported run. `physical_names` are triples of namespace, name and physical name, for
    datasets that a name rule renamed.
    """

    parent: tuple[str, str, str] | None = None
    root: tuple[str, str, str] | None = None
    nominal_start: str = ""
    nominal_end: str = ""
    error: str = ""
    physical_names: tuple[tuple[str, str, str], ...] = ()
    program: tuple[str, str, str, str, str] | None = None


@dataclass(frozen=True, slots=True)
class RunEvent:
    """One event as stored in the row of its run."""

    time_ms: int
    type: EventType
    lineage_digest: str
    facts_digest: str


@dataclass(frozen=True, slots=True)
class IncomingEvent:
    """An event to record: its run and program, and the encoded bodies by their digests."""

    run: str
    event: RunEvent
    bodies: dict[str, bytes]
    namespace: str = ""
    program: str = ""


def standard_run_id(run: str) -> str:
    """Return a run id as stored with events: a UUID in lower case, any other text unchanged."""
    return run.lower() if is_uuid(run) else run


def make_event(
    run: str, time_ms: int, event_type: EventType, lineage: EventLineage, facts: EventRunFacts
) -> IncomingEvent:
    """Return an event of a run with two bodies by digest: its lineage and its facts.

    Its namespace and program are those of `facts.program` if it is set, else the job of the lineage.
    """
    # Two bodies: equal lineage of every night is stored once, while facts differ in each run (decision 0012).
    texts = [_encode_lineage(lineage), msgspec.json.encode(facts)]
    digests = [digest(text) for text in texts]
    event = RunEvent(time_ms, event_type, *digests)
    bodies = dict(zip(digests, texts, strict=True))
    if facts.program is not None:
        return IncomingEvent(run, event, bodies, facts.program[0], facts.program[4])
    return IncomingEvent(run, event, bodies, lineage.namespace, lineage.job)


def _encode_lineage(lineage: EventLineage) -> bytes:
    """Return the body of a lineage, without its last member if that is empty."""
    # Bodies of earlier releases, without this member, keep their digests.
    text = msgspec.json.encode(lineage)
    return text if lineage.unconfirmed else text.removesuffix(_NONE_UNCONFIRMED) + b"]"


def decode_lineage(text: bytes) -> EventLineage:
    """Return the lineage of a stored event body. Raises CorruptRow for any other body."""
    lineage = _decode(text, EventLineage)
    for mention in lineage.mentions:
        columns = mention.columns or ()
        inputs = (item for group in (mention.dataset_inputs, *(c.inputs for c in columns)) for item in group)
        # A merge with other bodies would take such an index for the index of another dataset.
        for index in (mention.dataset_index, *(item.dataset_index for item in inputs)):
            if not 0 <= index < len(lineage.datasets):
                raise CorruptRow(f"{text[:200]!r} is not an event body: no dataset has index {index}")
    return lineage


def decode_run_facts(text: bytes) -> EventRunFacts:
    """Return the facts of a stored event body. Raises CorruptRow for any other body."""
    return _decode(text, EventRunFacts)


def sort_events(events: Iterable[RunEvent]) -> list[RunEvent]:
    """Return events sorted by time, type and digests: the order in which they are merged."""
    return sorted(
        events,
        # Digests last, so that every writer merges events of equal time and type in the same order.
        key=lambda event: (event.time_ms, _RANKS[event.type], event.lineage_digest, event.facts_digest),
    )


def merge_lineage(lineages: Sequence[EventLineage]) -> EventLineage:
    """Merge the lineages of a run's events, at least one, given oldest first: the latest facets take effect.

    A known job takes precedence over a later `unknown`, and columns over later columns that are worse
    (`_goes_before`). A source is unconfirmed only if every event with this dataset says so.
    """
    # The Spark agent sends `unknown` until it knows the job, so prefer any other name, even if older.
    with_job = [lineage for lineage in lineages if lineage.job != UNKNOWN_JOB] or lineages
    datasets = sorted({dataset for lineage in lineages for dataset in lineage.datasets})
    index_of = {dataset: index for index, dataset in enumerate(datasets)}
    mentions: dict[tuple[int, bool], DatasetMention] = {}
    for lineage in lineages:
        # Each body numbers datasets in its own list, so positions are comparable only after remapping.
        positions = [index_of[dataset] for dataset in lineage.datasets]
        for later in remap_all(lineage.mentions, positions):
            key = later.dataset_index, later.written
            mentions[key] = _merge_mentions(mentions[key], later) if key in mentions else later
    newest_first = lineages[::-1]
    # An event with the right to record in a source's namespace confirms the source for the whole run.
    confirmed = {name for lineage in lineages for name in lineage.datasets if name not in lineage.unconfirmed}
    unconfirmed = {name for lineage in lineages for name in lineage.unconfirmed}
    return EventLineage(
        namespace=with_job[-1].namespace,
        job=with_job[-1].job,
        type=next((lineage.type for lineage in newest_first if lineage.type), ""),
        datasets=tuple(datasets),
        mentions=tuple(mentions[key] for key in sorted(mentions)),
        sql=next((lineage.sql for lineage in newest_first if lineage.sql), ""),
        operations=next((lineage.operations for lineage in newest_first if lineage.operations), ""),
        unconfirmed=tuple(sorted(unconfirmed - confirmed)),
    )


def program_run(
    run: str, events: Sequence[RunEvent], lineage: EventLineage, facts: Sequence[EventRunFacts]
) -> ProgramRun:
    """Return the run of sorted events, at least one, given the facts of each and the merged lineage.

    The program is the latest one that facts have, else the job; the details have the latest parent's run id.
    """
    start_ms, state = start_and_state(events)
    parent = next((item.parent for item in reversed(facts) if item.parent), None)
    program = next((item.program for item in reversed(facts) if item.program), None)
    namespace, application, version, run_type, name = program or (
        lineage.namespace,
        _application(lineage, parent),
        "",
        lineage.type or DEFAULT_RUN_TYPE,
        lineage.job,
    )
    details = encode_details(parent=parent[2] if parent else "")
    return ProgramRun(namespace, application, version, run_type, name, run, start_ms, state, details)


def namespace_of_program(bodies: Sequence[tuple[bytes, bytes]]) -> str:
    """Return the namespace that `program_run` gives a run.

    `bodies` are the lineage and facts of each of its sorted events. A lineage may be large, so only its job
    is decoded. Raises CorruptRow.
    """
    facts = [decode_run_facts(body) for _, body in bodies]
    program = next((item.program for item in reversed(facts) if item.program), None)
    if program is not None:
        return program[0]
    jobs = [_decode(body, _Job) for body, _ in bodies]
    known_jobs = [job for job in jobs if job.job != UNKNOWN_JOB] or jobs
    return known_jobs[-1].namespace


def start_and_state(events: Sequence[RunEvent]) -> tuple[int, State]:
    """Return the start of a run, in milliseconds since 1970, and its state. At least one event is given.

    A run starts at its first START, or at its first event without one. FAIL has priority over ABORT, and
    ABORT over COMPLETE, in any position. Without any of them the run is RUNNING.
    """
    starts = [event.time_ms for event in events if event.type is EventType.START]
    types = [event.type for event in events]
    state = next((state for end, state in _END_STATES.items() if end in types), State.RUNNING)
    return min(starts or [event.time_ms for event in events]), state


def remap_all(mentions: Iterable[DatasetMention], positions: Sequence[int]) -> Iterable[DatasetMention]:
    """Return mentions as `remap_positions` does, or as they are if no index changes.

    `positions` maps old indexes to new ones.
    """
    if positions == list(range(len(positions))):
        return mentions
    return [remap_positions(mention, positions) for mention in deadline.watched(mentions)]


def remap_positions(mention: DatasetMention, positions: Sequence[int]) -> DatasetMention:
    """Return the mention with sorted inputs, and dataset indexes `positions[old]` of another list."""

    def remap(inputs: Iterable[InputColumn]) -> tuple[InputColumn, ...]:
        """Return the inputs with new dataset indexes, sorted."""
        # Takes half the time of msgspec.structs.replace: an event may have a hundred thousand inputs.
        return tuple(
            sorted(
                InputColumn(
                    positions[column.dataset_index],
                    column.field,
                    column.direct,
                    column.kind,
                    column.transformation,
                )
                for column in inputs
            )
        )

    columns = mention.columns
    if columns is not None:
        columns = tuple(OutputColumn(column.name, remap(column.inputs)) for column in columns)
    return msgspec.structs.replace(
        mention,
        dataset_index=positions[mention.dataset_index],
        columns=columns,
        dataset_inputs=remap(mention.dataset_inputs),
    )


def _application(lineage: EventLineage, parent: tuple[str, str, str] | None) -> str:
    """Return the name of the application: the parent job's name, or the job's own without a parent.

    If the parent's name is unknown, return the job's own name up to the first dot.
    """
    if parent is None:
        return lineage.job
    # Spark names jobs "<application>.<action>.<dataset>".
    return lineage.job.partition(".")[0] or lineage.job if parent[1] in ("", UNKNOWN_JOB) else parent[1]


def _decode(text: bytes, shape: type[Shape]) -> Shape:
    """Return the struct that JSON encodes. Raises CorruptRow if it is not JSON of this shape."""
    try:
        return typed_json.decode(text, shape)
    except msgspec.DecodeError as error:
        raise CorruptRow(f"{text[:200]!r} is not an event body: {error}") from error


def _merge_mentions(earlier: DatasetMention, later: DatasetMention) -> DatasetMention:
    """Merge two mentions of a dataset: the later one wins, but columns may be kept, and aliases unite."""
    fields = earlier.fields if later.fields is None else later.fields
    # Columns and inputs of the whole dataset come from one facet, so they are replaced together.
    has_priority = later.columns is not None and (
        earlier.columns is None or _goes_before(later, earlier, fields)
    )
    column_lineage = later if has_priority else earlier
    return DatasetMention(
        dataset_index=later.dataset_index,
        written=later.written,
        fields=fields,
        columns=column_lineage.columns,
        dataset_inputs=column_lineage.dataset_inputs,
        aliases=tuple(sorted({*earlier.aliases, *later.aliases})),
        lifecycle=later.lifecycle or earlier.lifecycle,
        previous=later.previous or earlier.previous,
        description=later.description or earlier.description,
    )


def has_numbered_columns(mention: DatasetMention) -> bool:
    """Return whether any output column has a number for its name, such as `_0`."""
    return any(_NUMBER.fullmatch(column.name) for column in mention.columns or ())


def has_misnamed_columns(mention: DatasetMention) -> bool:
    """Return whether an output column is missing from its schema, ignoring case.

    Returns False without a schema. Clients that parse the SQL of an INSERT name columns as the query does,
    although values are written by position.
    """
    return _are_misnamed(mention.columns, mention.fields)


def _are_misnamed(
    columns: tuple[OutputColumn, ...] | None, fields: tuple[tuple[str, str], ...] | None
) -> bool:
    """Return whether a column is missing from the known fields of its dataset, ignoring case."""
    if not columns or not fields:
        return False
    names = {name.casefold() for name, _ in fields}
    return any(column.name.casefold() not in names for column in columns)


def _goes_before(
    later: DatasetMention, earlier: DatasetMention, fields: tuple[tuple[str, str], ...] | None
) -> bool:
    """Return whether the columns of the later mention replace the earlier ones.

    Columns given by an event win over columns derived from SQL, unless only the latter are `fields` of the
    dataset. Numbered columns lose to both. Among equals the later mention wins.
    """
    if _is_derived(later) is not _is_derived(earlier):
        derived, given = (later, earlier) if _is_derived(later) else (earlier, later)
        is_better = has_numbered_columns(given) or (
            _are_misnamed(given.columns, fields) and not _are_misnamed(derived.columns, fields)
        )
        return (later is derived) is is_better
    return has_numbered_columns(earlier) or not has_numbered_columns(later)


def _is_derived(mention: DatasetMention) -> bool:
    """Return whether columns are derived from SQL, which every input of such columns says."""
    inputs = (item for column in mention.columns or () for item in column.inputs)
    return next((item.transformation.startswith(DERIVED) for item in inputs), False)
