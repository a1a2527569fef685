"""What does a message of DataHub's clients come to: runs, schemas, and a count of all else.

A proposal of lineage is a run: DataHub keeps the last state of an aspect, this store keeps what was so when.
Its start is the newest audit stamp in the aspect, else when the client observed it, else now; its id is a
digest of the urn, of what was said and of that start, so that a resend is recognised.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from fll_hbase.errors import UnreadableDocument
from fll_hbase.model import lineage, runs
from fll_hbase.model.checksum import digest
from fll_hbase.model.datasets import Dataset, DatasetMetadata
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.sources.datahub import metadata_aspects, query_parser, urns
from fll_hbase.sources.datahub.aspect_counters import Counted, Outcome
from fll_hbase.sources.datahub.envelopes import Form, proposals
from fll_hbase.sources.datahub.json_patch import patched
from fll_hbase.sources.datahub.lineage_aspects import (
    data_job_input_output,
    fine_grain_upstream_lineage,
    upstream_lineage,
)
from fll_hbase.sources.datahub.lineage_edges import Edges
from fll_hbase.sources.datahub.operations import operations_of
from fll_hbase.sources.datahub.proposal import DELETE, PATCH, Proposal
from fll_hbase.sources.datahub.urn_lookup import NOWHERE, read_end_point
from fll_hbase.sources.validation import ID_BYTES_MAX, Validator

TYPE = "DATAHUB"
_DATASET = "urn:li:dataset:"


@dataclass(frozen=True, slots=True)
class Ingested:
    """What one message comes to; `counted` has every proposal, those that come to nothing here too."""

    runs: tuple[RecordedRun, ...]
    schemas: tuple[DatasetMetadata, ...]
    counted: Counter[Counted]


def read(document: object, *, form: Form, now_ms: int) -> Ingested:
    """The runs and schemas that a message proposes; `now_ms` is the start of runs that say none.

    Raises UnreadableDocument with every fault of the whole message: of a faulty one nothing is to be stored.
    """
    checks = Validator()
    gathered = _Gathered(checks, now_ms)
    for proposal in proposals(checks, document, form):
        gathered.add(proposal)
    if checks.errors:
        raise UnreadableDocument(checks.errors)
    return gathered.ingested()


@dataclass(slots=True)
class _Gathered:
    """Proposals of one message so far."""

    checks: Validator
    now_ms: int
    told: dict[str, RecordedRun] = field(default_factory=dict)
    schemas: list[DatasetMetadata] = field(default_factory=list)
    counted: Counter[Counted] = field(default_factory=Counter)

    def add(self, proposal: Proposal) -> None:
        """Take one proposal for what it is."""
        outcome = Outcome.COUNTED
        if proposal.change == DELETE:
            outcome = Outcome.REMOVED
        elif proposal.aspect == JOB_ASPECT or proposal.aspect in _OF_DATASETS:
            outcome = self._lineage(proposal)
        elif proposal.urn.startswith(_DATASET) and proposal.aspect in _DESCRIBING:
            outcome = self._describe(proposal)
        self.counted[Counted(proposal.urn, proposal.aspect, outcome)] += 1

    def ingested(self) -> Ingested:
        """All of it."""
        return Ingested(tuple(self.told.values()), tuple(self.schemas), self.counted)

    def _lineage(self, proposal: Proposal) -> Outcome:
        value, removals = self._upserted(proposal)
        if proposal.aspect == JOB_ASPECT:
            program = _job(self.checks, proposal)
            edges = data_job_input_output(self.checks, value, proposal.at)
        else:
            program = _dataset(self.checks, proposal)
            edges = _OF_DATASETS[proposal.aspect](self.checks, value, proposal.at, program.of)
        if removals:
            self.counted[Counted(proposal.urn, proposal.aspect, Outcome.REMOVED)] += removals
        if edges.empty or self.checks.errors:
            return Outcome.COUNTED
        recorded = self._recorded(proposal, program, edges)
        self.told[recorded.run.run] = recorded
        self.schemas += metadata_aspects.named(edges)
        return Outcome.RECORDED

    def _recorded(self, proposal: Proposal, program: _Program, edges: Edges) -> RecordedRun:
        told = operations_of(edges, dataset=program.of)
        info = lineage.build_lineage_lenient(told.operations)
        start_ms = edges.newest_ms or proposal.observed_ms or self.now_ms
        details = runs.encode_details(
            aspect=proposal.aspect, confidence=told.confidences, queries=sorted(edges.queries)
        )
        said = "\n".join((proposal.urn, details, info.checksum, str(start_ms)))
        run = ProgramRun(
            namespace=program.namespace,
            application=program.application,
            version="",
            type=TYPE,
            program=proposal.urn,
            run=f"datahub-{digest(said.encode())}",
            start_ms=start_ms,
            details=details,
        )
        return RecordedRun(run, info)

    def _describe(self, proposal: Proposal) -> Outcome:
        of = _dataset(self.checks, proposal).of
        value, _ = self._upserted(proposal)
        self.schemas.append(_DESCRIBING[proposal.aspect](self.checks, value, proposal.at, of))
        return Outcome.DESCRIBED

    def _upserted(self, proposal: Proposal) -> tuple[object, int]:
        """What the proposal adds, as an aspect, and how much it takes away."""
        if proposal.change != PATCH:
            return proposal.value, 0
        found = patched(self.checks, proposal.value, proposal.at)
        return found.aspect, found.removals


@dataclass(frozen=True, slots=True)
class _Program:
    """Whose lineage an aspect tells: a dataset's, `of`, or that of a job in its flow."""

    namespace: str
    application: str
    of: Dataset = NOWHERE


def _dataset(checks: Validator, proposal: Proposal) -> _Program:
    of = read_end_point(checks, proposal.urn, proposal.urn_at)
    return _Program(of.namespace, urns.parts(of.namespace)[0], of)


def _job(checks: Validator, proposal: Proposal) -> _Program:
    try:
        job = urns.job(proposal.urn)
    except ValueError as error:
        checks.error(proposal.urn_at, str(error))
        return _Program("?", "?")
    checks.name(job.namespace, proposal.urn_at, bytes_max=ID_BYTES_MAX)
    return _Program(job.namespace, job.flow)


def _known(checks: Validator, value: object, at: str, of: Dataset) -> DatasetMetadata:
    return DatasetMetadata(of)


JOB_ASPECT = "dataJobInputOutput"
_OF_DATASETS: dict[str, Callable[[Validator, object, str, Dataset], Edges]] = {
    "upstreamLineage": upstream_lineage,
    query_parser.ASPECT: fine_grain_upstream_lineage,
    "finegrainUpstreamLineage": fine_grain_upstream_lineage,
}
_DESCRIBING: dict[str, Callable[[Validator, object, str, Dataset], DatasetMetadata]] = {
    "schemaMetadata": metadata_aspects.schema,
    "datasetProperties": metadata_aspects.described,
    "datasetKey": _known,
}
