"""Parses one event into an incoming run event and dataset metadata."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from fll_hbase.model import event_operations, run_events
from fll_hbase.model.checksum import digest
from fll_hbase.model.datasets import DatasetMetadata
from fll_hbase.model.run_events import EventLineage, EventRunFacts, EventType, IncomingEvent
from fll_hbase.runtime.errors import FieldError, UnreadableDocument
from fll_hbase.sources import strict_json
from fll_hbase.sources.name_rules import NameRules
from fll_hbase.sources.openlineage import facets
from fll_hbase.sources.openlineage.event_datasets import DatasetCollector
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Part, Validator

KINDS = {kind.value for kind in EventType}
DATASET = "DATASET"
"""The type of a run that represents a statement about a dataset, not a known run."""


@dataclass(frozen=True, slots=True)
class ParsedEvent:
    """A parsed event: its run event with lineage, if there is one, and metadata of its datasets.

    `later` is metadata to record after the run: tags, and metadata from the catalogue of an exporting store.
    `statements` are events of further runs, for the lineage of inputs that the event states.
    """

    event: IncomingEvent | None
    lineage: EventLineage
    tags: tuple[DatasetMetadata, ...]
    warnings: tuple[FieldError, ...]
    statements: tuple[IncomingEvent, ...]
    later: tuple[DatasetMetadata, ...]

    @property
    def schemas(self) -> tuple[DatasetMetadata, ...]:
        """Return the metadata of the event's datasets, with the tags of their fields."""
        return (*event_operations.dataset_metadata(self.lineage), *self.tags)


def parse(raw: bytes) -> Any:
    """Decode an event, with lone surrogates. Raises UnreadableDocument if not JSON in UTF-8, TooLarge."""
    strict_json.check_containers(raw)
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        # Python writes lone surrogates for file names that are not UTF-8: only their part is unreadable.
        if strict_json.has_surrogate_escape(raw):
            return strict_json.parse_with_halves(raw)
        raise UnreadableDocument([FieldError("", f"not JSON: {error}")]) from error


def read(document: object, *, rules: NameRules | None = None) -> ParsedEvent:
    """Parse a decoded event; `rules` map physical dataset names to logical ones.

    A job event that names datasets, or a dataset event with lineage, becomes a completed run that starts at
    `eventTime`. A dataset, column or facet that cannot be read is left out with a warning. Raises
    UnreadableDocument with every error that makes the run, job or dataset itself unreadable, TooLarge, and
    DeadlineExceeded.
    """
    validator = Validator()
    top = Part(validator, document).as_object()
    validator.check()
    time_ms = top.time_ms("eventTime")
    producer = top.text("producer")
    datasets = DatasetCollector(rules or NameRules(), producer=producer, namespace=_job_namespace(top))
    parsed: tuple[EventLineage, IncomingEvent | None] | None = None
    # Run events have a job, too, so look for `run` first.
    if "run" in top:
        parsed = _run_event(top, datasets, time_ms)
    elif "dataset" in top:
        parsed = _dataset_event(top, datasets, time_ms)
    elif "job" in top:
        part = _event_lineage(top, datasets, "")
        # Without datasets the event describes only the job, and there is nothing to record.
        parsed = part, _static_event(part, time_ms, datasets) if part.mentions else None
    else:
        top.error("missing: an event needs `run`, `job` or `dataset`")
    if validator.errors or parsed is None:
        raise UnreadableDocument(validator.errors)
    part, event = parsed
    tags = tuple(datasets.field_tags())
    # An exported run's statements are exported separately, each as its own run.
    statements: tuple[IncomingEvent, ...] = ()
    if event is not None and not part.operations:
        statements = tuple(_input_statements(datasets, part, event.run, time_ms))
    later = (*datasets.catalogue_metadata(), *tags)
    return ParsedEvent(event, part, tags, tuple(validator.warnings), statements, later)


def _job_namespace(top: Part) -> str:
    """Return the namespace of the job if it can be read, else ""."""
    # A separate validator, because errors of the job are reported where the job is read.
    job = Part(Validator(), top.get("job"))
    namespace = job.required("namespace", bytes_max=ID_BYTES_MAX)
    return "" if job.validator.errors else namespace


def _run_event(top: Part, datasets: DatasetCollector, time_ms: int) -> tuple[EventLineage, IncomingEvent]:
    """Return the lineage and the run event of an event of a run; an exported event keeps its original run."""
    errors_before = top.validator.errors.count
    kind = EventType(top.choice("eventType", KINDS, EventType.OTHER.value))
    top.member("eventType").leave_out(errors_before=errors_before)
    about = top.member("run").as_object()
    run = facets.run_id(about)
    run_facets = about.optional_object("facets")
    exported = facets.read_exported_run(run_facets)
    part = _event_lineage(top, datasets, exported.operations if exported else "")
    facts = facets.run_facts(run_facets, datasets.physical_names)
    if exported:
        # An export keeps its run id and start, so that importing it again is a duplicate.
        run, time_ms, facts = exported.run.run, exported.run.start_ms, exported.with_program(facts)
    return part, run_events.make_event(run, time_ms, kind, part, facts)


def _dataset_event(
    top: Part, datasets: DatasetCollector, time_ms: int
) -> tuple[EventLineage, IncomingEvent | None]:
    """Return the lineage of a dataset, as written by a job of the same name, and its event.

    The event is None if it has only metadata. Raises UnreadableDocument for an unreadable name.
    """
    datasets.add(top.member("dataset"), written=True)
    if datasets.first is None:
        raise UnreadableDocument([*top.validator.errors, *top.validator.warnings])
    (namespace, name), mentions = datasets.first, datasets.mentions()
    part = EventLineage(namespace, name, DATASET, datasets.dataset_names(), mentions)
    has_lineage = any(mention.columns is not None or mention.lifecycle for mention in mentions)
    # A schema alone only updates the catalogue, so that a change of a schema does not become a run.
    return part, _static_event(part, time_ms, datasets) if has_lineage else None


def _input_statements(
    datasets: DatasetCollector, stating: EventLineage, run: str, time_ms: int
) -> Iterator[IncomingEvent]:
    """Yield a DATASET run's event for each input whose lineage an event of `run` states, if it has any."""
    for collector in datasets.input_statements():
        mentions, names = collector.mentions(), collector.dataset_names()
        # Without other datasets or inputs, the statement relates the dataset to nothing.
        has_inputs = any(mention.columns or mention.dataset_inputs for mention in mentions)
        if collector.first is None or (len(mentions) == 1 and not has_inputs):
            continue
        namespace, name = collector.first
        part = EventLineage(namespace, name, DATASET, names, mentions)
        facts = EventRunFacts(
            parent=(stating.namespace, stating.job, run),
            physical_names=tuple(sorted(collector.physical_names)),
        )
        # One statement per run that makes it, so that its events merge like the run's.
        statement = digest("\n".join((namespace, name, run)).encode())
        yield run_events.make_event(
            f"{DATASET.lower()}-{statement}", time_ms, EventType.COMPLETE, part, facts
        )


def _event_lineage(top: Part, datasets: DatasetCollector, operations: str) -> EventLineage:
    """Collect the datasets of an event, and return its lineage with columns from its SQL added."""
    job = top.member("job").as_object()
    namespace = job.required("namespace", bytes_max=ID_BYTES_MAX)
    name = job.required("name", bytes_max=NAME_BYTES_MAX)
    job_facets = job.optional_object("facets")
    for list_name, written in (("inputs", False), ("outputs", True)):
        for item in top.optional_items(list_name):
            datasets.add(item, written=written)
    for entry in facets.lineage_entries(job_facets):
        datasets.add_entry(entry)
    type_ = facets.facet(job_facets, "jobType").text("integration")
    mentions, names = datasets.mentions(), datasets.dataset_names()
    statement = facets.facet(job_facets, "sql").text("query")
    if statement and not operations:
        # Imported here, because an export names its facets but reads no SQL.
        from fll_hbase.sources.openlineage import sql_facet

        mentions, fault = sql_facet.with_derived_columns(
            mentions, names, statement, datasets.ordered_fields()
        )
        if fault:
            job_facets.member("sql").warning(fault, "query")
    return EventLineage(namespace, name, type_, names, mentions, statement, operations)


def _static_event(part: EventLineage, time_ms: int, datasets: DatasetCollector) -> IncomingEvent:
    """Make a completed run from an event without a run, identified by content and time."""
    facts = EventRunFacts(physical_names=tuple(sorted(datasets.physical_names)))
    event = run_events.make_event("", time_ms, EventType.COMPLETE, part, facts)
    # Set last, because the id contains the digest of the event's lineage. The time is a part of the id, so
    # that equal lineage at another time is another run with the same checksum.
    name = digest(f"{part.namespace}\n{part.job}\n{event.event.lineage_digest}".encode())
    run = f"{(part.type or run_events.DEFAULT_RUN_TYPE).lower()}-{name}-{time_ms}"
    return replace(event, run=run)
