"""From messages of DataHub clients to runs, dataset metadata and counts by aspect and outcome.

DataHub stores the last state of an aspect. Here each lineage proposal is a run, so that history is preserved.
A run starts at the newest audit stamp in the aspect, else at `lastObserved`, else now.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from fll_hbase.model import lineage, runs
from fll_hbase.model.checksum import digest
from fll_hbase.model.dataset_spelling import FieldNames
from fll_hbase.model.datasets import Dataset, DatasetField, DatasetMetadata
from fll_hbase.model.run_events import (
    DatasetMention,
    EventLineage,
    EventRunFacts,
    EventType,
    IncomingEvent,
    make_event,
)
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.runtime.errors import FieldError, UnreadableDocument
from fll_hbase.sources.datahub import aspects, urns
from fll_hbase.sources.datahub.aspect_operations import AspectLineage, build_operations, respell
from fll_hbase.sources.datahub.envelopes import PARSED_ASPECT, READERS, MessageFormat
from fll_hbase.sources.datahub.proposal import DELETE, PATCH, Proposal, apply_patch
from fll_hbase.sources.datahub.urns import NOWHERE, read_dataset
from fll_hbase.sources.sql import FieldLookup
from fll_hbase.sources.validation import ID_BYTES_MAX, Part, Validator

TYPE = "DATAHUB"
LOOKED_UP_MAX = 1_000
"""Datasets of a message whose fields are looked up; stated in docs/record/datahub.md."""
_DATASET = "urn:li:dataset:"


@dataclass(frozen=True, slots=True)
class ParsedMessage:
    """A parsed message; `counted` has every proposal that is not refused, and removals in lineage patches.

    `warnings` are about parts that are left out. `refused` lists the errors of refused proposals.
    """

    runs: tuple[RecordedRun | IncomingEvent, ...]
    schemas: tuple[DatasetMetadata, ...]
    counted: Counter[AspectCount]
    warnings: tuple[FieldError, ...]
    refused: tuple[FieldError, ...]


def read(
    document: object, *, form: MessageFormat, now_ms: int, columns: FieldLookup = lambda _: None
) -> ParsedMessage:
    """Parse a message; `now_ms` is the start of runs without a time, in ms since 1970.

    A field whose spelling differs in case from its dataset's schema is that schema's field. The schema comes
    from `columns` or from earlier proposals of the message.

    Unreadable parts of a proposal are left out with a warning. A proposal that is unreadable as a whole is
    refused without affecting others. Raises UnreadableDocument with every error of the envelope, or if all
    proposals are refused, TooLarge, DeadlineExceeded, and the errors of `columns`.
    """
    validator = Validator()
    gathered = _MessageCollector(validator, now_ms, columns)
    for proposal in READERS[form](Part(validator, document)):
        gathered.add(proposal)
    if validator.errors or (validator.refused and not gathered.counted):
        raise UnreadableDocument([*validator.errors, *validator.refused, *validator.warnings])
    return ParsedMessage(
        tuple(gathered.runs.values()),
        tuple(gathered.schemas),
        gathered.counted,
        tuple(validator.warnings),
        tuple(validator.refused),
    )


@dataclass(slots=True)
class _MessageCollector:
    """Collects the runs, metadata and counts of one message, and its errors in `checks`."""

    checks: Validator
    now_ms: int
    columns: FieldLookup
    field_names: dict[Dataset, FieldNames] = field(default_factory=dict)
    runs: dict[str, RecordedRun | IncomingEvent] = field(default_factory=dict)
    schemas: list[DatasetMetadata] = field(default_factory=list)
    counted: Counter[AspectCount] = field(default_factory=Counter)

    def add(self, proposal: Proposal) -> None:
        """Parse and count one proposal, unless it is refused; aspects of other kinds are only counted."""
        errors_before = self.checks.errors.count
        outcome = AspectOutcome.COUNTED
        if proposal.change == DELETE:
            outcome = AspectOutcome.REMOVED
        elif proposal.aspect == JOB_ASPECT or proposal.aspect in _LINEAGE_ASPECTS:
            outcome = self._lineage(proposal)
        elif proposal.aspect in _INSTANCE_ASPECTS:
            outcome = self._process_instance(proposal, _INSTANCE_ASPECTS[proposal.aspect])
        elif proposal.urn.startswith(_DATASET) and proposal.aspect in _DESCRIBING:
            outcome = self._describe(proposal)
        if self.checks.refuse(errors_before=errors_before):
            return
        self.counted[AspectCount(proposal.urn, proposal.aspect, outcome)] += 1

    def _lineage(self, proposal: Proposal) -> AspectOutcome:
        """Record a lineage aspect as a run and count its removals; return RECORDED, or COUNTED without edges.

        Also returns COUNTED after adding errors to `checks`; the caller must then refuse the proposal.
        """
        errors_before, warnings_before = len(self.checks.errors), len(self.checks.warnings)
        aspect, removals = _upserted(proposal)
        if proposal.aspect == JOB_ASPECT:
            program = _job(self.checks, proposal)
            edges = aspects.data_job_input_output(aspect)
        else:
            program = _dataset(self.checks, proposal)
            edges = _LINEAGE_ASPECTS[proposal.aspect](aspect, program.dataset)
        if edges.empty and len(self.checks.warnings) > warnings_before:
            aspect.error("has no part that can be read")
        # The caller leaves out a proposal with errors, so do not build operations from placeholders.
        if len(self.checks.errors) > errors_before:
            return AspectOutcome.COUNTED
        if removals:
            self.counted[AspectCount(proposal.urn, proposal.aspect, AspectOutcome.REMOVED)] += removals
        if edges.empty:
            return AspectOutcome.COUNTED
        edges = respell(edges, self._spelled)
        recorded = self._recorded(proposal, program, edges)
        # Keyed by id, since a proposal that is repeated in a message is one run.
        self.runs[recorded.run.run] = recorded
        self.schemas += aspects.mentioned_fields(edges)
        return AspectOutcome.RECORDED

    def _process_instance(self, proposal: Proposal, name: str) -> AspectOutcome:
        """Add an event with the `input` or `output` (`name`) of a run, which are separate aspects.

        Returns RECORDED, or COUNTED without datasets or, for the caller to refuse, with errors in `checks`.
        """
        errors_before = self.checks.errors.count
        namespace = _dataset(self.checks, proposal).namespace
        datasets = aspects.process_instance_datasets(_upserted(proposal)[0], name)
        if self.checks.errors.count > errors_before or not datasets:
            return AspectOutcome.COUNTED
        names = tuple((dataset.namespace, dataset.name) for dataset in sorted(datasets))
        mentions = tuple(DatasetMention(index, name == "output") for index in range(len(names)))
        event = make_event(
            f"datahub-{digest(proposal.urn.encode())}",
            proposal.observed_ms or self.now_ms,
            EventType.COMPLETE,
            EventLineage(namespace, proposal.urn, TYPE, names, mentions),
            EventRunFacts(),
        )
        self.runs[event.event.lineage_digest] = event
        return AspectOutcome.RECORDED

    def _spelled(self, given: DatasetField) -> DatasetField:
        """Return a field of a dataset with the spelling of its schema."""
        return DatasetField(given.dataset, self._fields_of(given.dataset).find(given.name))

    def _fields_of(self, dataset: Dataset) -> FieldNames:
        """Return the known fields of a dataset, looked up once, or none beyond LOOKED_UP_MAX datasets."""
        if dataset not in self.field_names:
            is_looked_up = len(self.field_names) < LOOKED_UP_MAX
            self.field_names[dataset] = FieldNames((self.columns(dataset) if is_looked_up else None) or ())
        return self.field_names[dataset]

    def _recorded(self, proposal: Proposal, program: _Program, edges: AspectLineage) -> RecordedRun:
        """Return the run of an aspect, whose id is a digest of urn, lineage and start."""
        operations, confidences = build_operations(edges, dataset=program.dataset)
        info = lineage.build_lineage_lenient(operations)
        # DataHub's classes write 0 for a missing stamp.
        start_ms = edges.newest_ms or proposal.observed_ms or self.now_ms
        details = runs.encode_details(
            aspect=proposal.aspect, confidence=confidences, queries=sorted(edges.queries)
        )
        # The id covers urn, lineage and start, so a proposal repeated in any order is a duplicate.
        data = "\n".join((proposal.urn, details, info.checksum, str(start_ms)))
        run = ProgramRun(
            namespace=program.namespace,
            application=program.application,
            version="",
            type=TYPE,
            program=proposal.urn,
            run=f"datahub-{digest(data.encode())}",
            start_ms=start_ms,
            details=details,
        )
        # The id covers the urn, which identifies the program, so no other program can have it.
        return RecordedRun(run, info, replaces_others=True)

    def _describe(self, proposal: Proposal) -> AspectOutcome:
        """Keep the metadata of a describing aspect unless it has errors, and return DESCRIBED."""
        errors_before = self.checks.errors.count
        dataset = _dataset(self.checks, proposal).dataset
        metadata = _DESCRIBING[proposal.aspect](_upserted(proposal)[0], dataset)
        if len(self.checks.errors) == errors_before:
            self.schemas.append(metadata)
            if metadata.fields:
                self._fields_of(dataset).add(item.name for item in metadata.fields)
        return AspectOutcome.DESCRIBED


def _upserted(proposal: Proposal) -> tuple[Part, int]:
    """Return the aspect of a proposal (for a patch, its additions) and the number of its removals."""
    return apply_patch(proposal.value) if proposal.change == PATCH else (proposal.value, 0)


@dataclass(frozen=True, slots=True)
class _Program:
    """The program of an aspect's lineage: a dataset, or a job in its flow."""

    namespace: str
    application: str
    dataset: Dataset = NOWHERE


def _dataset(validator: Validator, proposal: Proposal) -> _Program:
    """Return the dataset of a proposal's urn as a program of its platform; `?` with an error."""
    dataset = read_dataset(Part(validator, proposal.urn, proposal.urn_path))
    return _Program(dataset.namespace, urns.platform_and_environment(dataset.namespace)[0], dataset)


def _job(validator: Validator, proposal: Proposal) -> _Program:
    """Return the namespace and flow of a job's urn as a program; `?` with an error for any other urn."""
    try:
        job = urns.parse_job(proposal.urn)
    except ValueError as error:
        validator.error(proposal.urn_path, str(error))
        return _Program("?", "?")
    validator.name(job.namespace, proposal.urn_path, bytes_max=ID_BYTES_MAX)
    return _Program(job.namespace, job.flow)


JOB_ASPECT = "dataJobInputOutput"
_INSTANCE_ASPECTS = {"dataProcessInstanceInput": "input", "dataProcessInstanceOutput": "output"}
_LINEAGE_ASPECTS: dict[str, Callable[[Part, Dataset], AspectLineage]] = {
    "upstreamLineage": aspects.upstream_lineage,
    "inputFields": aspects.input_fields,
    PARSED_ASPECT: aspects.fine_grain_upstream_lineage,
    "finegrainUpstreamLineage": aspects.fine_grain_upstream_lineage,
}
_DESCRIBING: dict[str, Callable[[Part, Dataset], DatasetMetadata]] = {
    "schemaMetadata": aspects.schema,
    "editableSchemaMetadata": aspects.edited_schema,
    "datasetProperties": aspects.description,
    # The key repeats the urn, so its only news is that the dataset exists.
    "datasetKey": lambda _, dataset: DatasetMetadata(dataset),
}


class AspectOutcome(Enum):
    """Outcome of a proposal: recorded as a run, stored in the catalogue, only counted, or a removal."""

    RECORDED = "recorded"
    DESCRIBED = "described"
    COUNTED = "counted"
    REMOVED = "removed"


class AspectCount(NamedTuple):
    """Key of a counter; the aspect is empty for a deletion of a whole entity."""

    urn: str
    aspect: str
    outcome: AspectOutcome


class AspectCounters:
    """Counts proposals by aspect and outcome since process start. Threads may share it."""

    def __init__(self) -> None:
        self._totals: Counter[tuple[str, AspectOutcome]] = Counter()
        self._lock = threading.Lock()

    def add(self, counted: Counter[AspectCount]) -> None:
        """Add the counts of one message, without separating urns."""
        with self._lock:
            # `+=` reads and then writes, so two threads without the lock could lose a count.
            for key, number in counted.items():
                self._totals[key.aspect, key.outcome] += number

    def totals(self) -> dict[tuple[str, AspectOutcome], int]:
        """Return a copy of the totals, by aspect and outcome."""
        with self._lock:
            return dict(self._totals)
