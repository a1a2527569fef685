"""What does one event say: its run, job and datasets, in our own words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from fll_hbase.errors import FieldError, UnreadableDocument
from fll_hbase.model import event_operations, run_events
from fll_hbase.model.checksum import digest
from fll_hbase.model.datasets import DatasetMetadata
from fll_hbase.model.run_events import EventLineage, EventRunFacts, EventType, IncomingEvent
from fll_hbase.model.window import START_LIMIT_MS
from fll_hbase.sources.name_rules import NameRules
from fll_hbase.sources.openlineage import facets
from fll_hbase.sources.openlineage.datasets import Datasets
from fll_hbase.sources.openlineage.json_access import members, text
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Validator, inside

KINDS = {kind.value for kind in EventType}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Reading:
    """What an event says: of a run, where it tells of one, and of end points whatever runs did to them."""

    event: IncomingEvent | None
    schemas: tuple[DatasetMetadata, ...]


def parse(raw: bytes) -> Any:
    """The JSON of an event. Raises UnreadableDocument."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableDocument([FieldError("", f"not JSON: {error}")]) from error


def read(document: object, *, rules: NameRules | None = None) -> Reading:
    """What an event says. Raises UnreadableDocument with every fault.

    A job event or a dataset event with lineage is a run of its own, at the time of the event.
    """
    checks = Validator()
    said = members(checks, document, "")
    if checks.errors:
        raise UnreadableDocument(checks.errors)
    time_ms = _time_ms(checks, said)
    producer = text(checks, said, "producer", "")
    datasets = Datasets(checks, rules or NameRules(), producer=producer)
    found: tuple[EventLineage, IncomingEvent | None] | None = None
    if "run" in said:
        found = _run_event(checks, said, datasets, time_ms)
    elif "dataset" in said:
        found = _dataset_event(said, datasets, time_ms)
    elif "job" in said:
        found = _job_event(checks, said, datasets, time_ms)
    else:
        checks.error("", "none of run, job and dataset: an event tells of one of them")
    if checks.errors or found is None:
        raise UnreadableDocument(checks.errors)
    part, event = found
    return Reading(event, tuple(event_operations.dataset_metadata(part)))


def _run_event(
    checks: Validator, said: dict[str, Any], datasets: Datasets, time_ms: int
) -> tuple[EventLineage, IncomingEvent]:
    kind = EventType(checks.choice(said, "eventType", "", KINDS, EventType.OTHER.value))
    about = members(checks, said.get("run"), "run")
    run = checks.required(about, "runId", "run", bytes_max=ID_BYTES_MAX)
    of_run = members(checks, about.get("facets"), "run.facets", optional=True)
    own = facets.own_operations(checks, of_run)
    part = _part(checks, said, datasets, own.operations if own else "")
    facts = facets.facts(checks, of_run, datasets.physical)
    if own:
        run, time_ms, facts = own.run.run, own.run.start_ms, own.facts(facts)
    return part, run_events.make_event(run, time_ms, kind, part, facts)


def _job_event(
    checks: Validator, said: dict[str, Any], datasets: Datasets, time_ms: int
) -> tuple[EventLineage, IncomingEvent | None]:
    part = _part(checks, said, datasets, "")
    return part, _observed(part, time_ms, datasets) if part.mentions else None


def _dataset_event(said: dict[str, Any], datasets: Datasets, time_ms: int) -> tuple[EventLineage, IncomingEvent | None]:
    """Static lineage of one dataset is told as though a job of its name had written it."""
    datasets.add(said["dataset"], "dataset", written=True)
    (namespace, name), mentions = datasets.first, datasets.mentions()
    part = EventLineage(namespace, name, "DATASET", datasets.end_points(), mentions)
    known = any(mention.columns is not None or mention.lifecycle for mention in mentions)
    return part, _observed(part, time_ms, datasets) if known else None


def _part(checks: Validator, said: dict[str, Any], datasets: Datasets, operations: str) -> EventLineage:
    job = members(checks, said.get("job"), "job")
    namespace = checks.required(job, "namespace", "job", bytes_max=ID_BYTES_MAX)
    name = checks.required(job, "name", "job", bytes_max=NAME_BYTES_MAX)
    of_job = members(checks, job.get("facets"), "job.facets", optional=True)
    for list_name, written in (("inputs", False), ("outputs", True)):
        for number, item in enumerate(_listed(checks, said, list_name)):
            datasets.add(item, inside(list_name, number), written=written)
    for entry, at in facets.entries(checks, of_job):
        datasets.add_entry(entry, at)
    type_ = facets.integration(checks, of_job)
    mentions = datasets.mentions()
    return EventLineage(
        namespace, name, type_, datasets.end_points(), mentions, facets.sql(checks, of_job), operations
    )


def _listed(checks: Validator, said: dict[str, Any], name: str) -> list[Any]:
    return [] if said.get(name) is None else checks.items(said, name, "")


def _observed(part: EventLineage, time_ms: int, datasets: Datasets) -> IncomingEvent:
    """What is told without a run: each time it is told is a run that is complete."""
    facts = EventRunFacts(physical_names=tuple(sorted(datasets.physical)))
    event = run_events.make_event("", time_ms, EventType.COMPLETE, part, facts)
    name = digest(f"{part.namespace}\n{part.job}\n{event.event.lineage_digest}".encode())
    return IncomingEvent(
        f"{(part.type or run_events.DEFAULT_RUN_TYPE).lower()}-{name}-{time_ms}", event.event, event.bodies
    )


def _time_ms(checks: Validator, said: dict[str, Any]) -> int:
    """Milliseconds since 1970, rounded down; a time without a zone is UTC."""
    given = text(checks, said, "eventTime", "", required=True)
    if "eventTime" not in said or not isinstance(said["eventTime"], str):
        return 0
    try:
        time = datetime.fromisoformat(given)
        time = time if time.tzinfo else time.replace(tzinfo=UTC)
        elapsed = time - _EPOCH
    except (ValueError, OverflowError):
        if said["eventTime"]:
            checks.error("eventTime", f"{given[:100]!r} is not a time such as 2026-01-31T09:30:00.000Z")
        return 0
    time_ms = (elapsed.days * 86_400 + elapsed.seconds) * 1_000 + elapsed.microseconds // 1_000
    if not 0 <= time_ms < START_LIMIT_MS:
        checks.error("eventTime", f"{given[:100]!r} is before 1970")
    return max(time_ms, 0)
