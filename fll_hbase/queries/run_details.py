"""One run, with its recorded datasets, operations and events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec

from fll_hbase.model.run_events import EventRunFacts, standard_run_id
from fll_hbase.model.runs import ProgramRun
from fll_hbase.queries.contents import DatasetOfContent, RecordedOperation, datasets_of, recorded_operations
from fll_hbase.queries.query import Answer, Body, Query
from fll_hbase.queries.runs import RunHead, head_members, run_facts
from fll_hbase.runtime import typed_json
from fll_hbase.runtime.errors import NotFound

if TYPE_CHECKING:
    from fll_hbase.store import results
    from fll_hbase.store.lineage_store import LineageStore
    from fll_hbase.store.read.content_cache import Content


class JobReference(Body, frozen=True, kw_only=True):
    """A job and one run of it."""

    namespace: str
    name: str
    run: str


class PhysicalName(Body, frozen=True, kw_only=True):
    """The physical name of a dataset."""

    namespace: str
    name: str
    physical_name: str


class EventOfRun(Body, frozen=True, kw_only=True):
    """An event of a run, in milliseconds since 1970."""

    event_time: int
    event_type: str


class RunDetails(RunHead, frozen=True, kw_only=True):
    """One run with all that is recorded about it. Facts that its source does not report are left out."""

    schema_name: ClassVar[str] = "RunTold"

    aspect: str | None = None
    command: str | None = None
    confidence: dict[str, float] | None = None
    dbt_version: str | None = None
    error: str | None = None
    materialization: str | None = None
    queries: tuple[str, ...] | None = None
    checksum: str
    sql: str | None = None
    parent_job: JobReference | None = None
    root: JobReference | None = None
    nominal_start_time: str | None = None
    nominal_end_time: str | None = None
    error_message: str | None = None
    physical_names: tuple[PhysicalName, ...] = ()
    events: Annotated[tuple[EventOfRun, ...] | None, msgspec.Meta(description="In order of time")] = None
    datasets: tuple[DatasetOfContent, ...] = msgspec.field(name="endpoints")
    operations: Annotated[
        tuple[RecordedOperation, ...],
        msgspec.Meta(description="As the content of its checksum has them"),
    ]


_MEMBERS = {item.encode_name: item for item in msgspec.structs.fields(RunDetails)}


@dataclass(frozen=True)
class Run(Query[RunDetails]):
    """Return one run by its id: its program and state, the datasets and operations, and facts of its events.

    If programs of several namespaces have a run of this id, the answer is 409 (`AmbiguousName` in Python):
    use the query that also has the namespace. A UUID belongs to one run only.

    >>> newest = client.runs("bank", "RiskScores", limit=1).body.runs[0]
    >>> body = client.run(newest.run).body
    >>> body.program, body.state, len(body.datasets)
    ('report', 'COMPLETE', 3)
    """

    path: ClassVar[str] = "/v3/runs/{run}"
    result: ClassVar[str] = "Includes the run's OpenLineage events, if any"
    statuses: ClassVar[tuple[int, ...]] = (400, 404, 409, 503)
    concerns_runs: ClassVar[bool] = True

    run: str

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[RunDetails]:
        """Return the run. Raises NotFound for an unknown run, AmbiguousName, and errors of the store."""
        return _answer(*_run_with_content(store, self.run), now_ms=now_ms)


@dataclass(frozen=True)
class RunOfNamespace(Query[RunDetails]):
    """Return one run of a program of a namespace: as the query by id alone, but never ambiguous.

    The namespace is the one of the program, whatever datasets the run read and wrote.

    >>> newest = client.runs("bank", "RiskScores", limit=1).body.runs[0]
    >>> client.namespace_run(newest.namespace, newest.run).body.program
    'report'
    """

    path: ClassVar[str] = "/v3/namespaces/{namespace}/runs/{run}"
    result: ClassVar[str] = Run.result
    concerns_runs: ClassVar[bool] = True

    namespace: str
    run: str

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[RunDetails]:
        """Return the run. Raises NotFound if no program of the namespace has it, and errors of the store."""
        return _answer(*_run_with_content(store, self.run, self.namespace), now_ms=now_ms)


def _answer(details: results.RunDetails, content: Content, *, now_ms: int) -> Answer[RunDetails]:
    """Return a run with its content as an answer."""
    members = {
        **_document_facts(details.committed.run),
        **_event_facts(details),
        **head_members(details.committed.run, now_ms=now_ms),
    }
    return Answer(
        RunDetails(
            checksum=details.committed.checksum,
            datasets=datasets_of(content.operations),
            operations=recorded_operations(content.operations),
            **members,
        )
    )


def _run_with_content(
    store: LineageStore, run: str, namespace: str = ""
) -> tuple[results.RunDetails, Content]:
    """Return a run by its id; a UUID of events may be in any case. Raises NotFound and AmbiguousName."""
    try:
        return store.run_with_content(run, namespace)
    except NotFound:
        standard = standard_run_id(run)
        if standard == run:
            raise
        return store.run_with_content(standard, namespace)


def _document_facts(run: ProgramRun) -> dict[str, Any]:
    """Return the facts that a document recorded with a run, by attribute."""
    facts = ((_MEMBERS[name], fact) for name, fact in run_facts(run).items() if name in _MEMBERS)
    return {member.name: typed_json.convert(fact, member.type) for member, fact in facts}


def _event_facts(details: results.RunDetails) -> dict[str, Any]:
    """Return the latest facts of the events of a run, by attribute, or {} if a document recorded it."""
    if details.part is None:
        return {}
    members: dict[str, Any] = {"sql": details.part.sql} if details.part.sql else {}
    # In the order of the events: a later fact replaces an earlier fact, and an absent fact removes nothing.
    for facts in details.facts:
        members |= {name: fact for name, fact in _facts(facts) if fact}
    names = sorted({name for facts in details.facts for name in facts.physical_names})
    members["physical_names"] = tuple(
        PhysicalName(namespace=namespace, name=name, physical_name=physical)
        for namespace, name, physical in names
    )
    members["events"] = tuple(
        EventOfRun(event_time=event.time_ms, event_type=event.type.value) for event in details.events
    )
    return members


def _facts(facts: EventRunFacts) -> Iterator[tuple[str, JobReference | str | None]]:
    """Yield the facts of one event by attribute; absent ones are None or ""."""
    yield "parent_job", _job(facts.parent)
    yield "root", _job(facts.root)
    yield "nominal_start_time", facts.nominal_start
    yield "nominal_end_time", facts.nominal_end
    yield "error_message", facts.error


def _job(reference: tuple[str, str, str] | None) -> JobReference | None:
    """Return a triple of namespace, name and run as a reference, or None for None."""
    if reference is None:
        return None
    namespace, name, run = reference
    return JobReference(namespace=namespace, name=name, run=run)
