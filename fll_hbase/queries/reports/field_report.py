"""Reports about a field: its readers and the fields made from it, or its sources and operations."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, ParamSpec, TypeVar

import msgspec

from fll_hbase.model.datasets import WHOLE_DATASET, DatasetField
from fll_hbase.model.window import Direction, Window
from fll_hbase.queries import name_json
from fll_hbase.queries.derivations import Path, derivation_path
from fll_hbase.queries.field_lineage import Connection, Node, Operation, field_lineage
from fll_hbase.queries.history import Stretch, stretch
from fll_hbase.queries.pages import Paged, decode_runs_cursor
from fll_hbase.queries.parameters import About
from fll_hbase.queries.programs import UNKNOWN_COLUMNS, Program, ProgramsAnswer, programs_answer
from fll_hbase.queries.query import (
    Answer,
    Body,
    BodyT,
    FieldQuery,
    FirstReads,
    Printed,
    WindowBody,
    WindowedWithFailed,
)
from fll_hbase.queries.reach import UnknownRelation
from fll_hbase.queries.reports import html_report, report_csv
from fll_hbase.queries.reports.consumption_document import consumption_document
from fll_hbase.queries.reports.field_tags import SubjectField, subject_field
from fll_hbase.queries.reports.provenance_document import provenance_document
from fll_hbase.queries.reports.reached_fields import ReachedField, ReachedFields
from fll_hbase.queries.reports.report_document import Document, Stamp
from fll_hbase.queries.reports.verdicts import consumption_verdict, provenance_verdict
from fll_hbase.queries.runs import ListedRun, listed_run, next_cursor
from fll_hbase.queries.tables import CSV, TableShape
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import DeadlineExceeded
from fll_hbase.store.query_parameters import ReachQuery
from fll_hbase.store.results import FieldLineageResult, Reach

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore

P = ParamSpec("P")
T = TypeVar("T")

PART_HELP = "The part of the report that is returned as CSV"

_SHARE = 0.4
"""The share of the time left that reading one part of a report may take; the rest is for the later parts."""


@dataclass(frozen=True)
class FieldReport(FieldQuery[BodyT], WindowedWithFailed, Printed):
    """A report about a field. Without `causal`, the order of the runs does not matter."""

    limits_in_headers: ClassVar[bool] = True
    formats: ClassVar[Mapping[str, Callable[..., str]]] = {
        CSV: report_csv.to_csv,
        html_report.HTML: html_report.to_html,
    }
    write_document: ClassVar[Callable[..., Document]]

    namespace: Annotated[str, About("Namespace of the dataset", minimum=1)]
    name: Annotated[str, About("Name of the dataset", name="endpoint", minimum=1)]
    field: Annotated[str, About("Name of the field", minimum=1)]
    causal: Annotated[bool, About("Follow an edge only if the upstream run started first")] = (
        dataclasses.field(default=True, kw_only=True)
    )

    def part_text(self, part: str, media_type: str, body: Any, window: Window, *, stamp: Stamp) -> str:
        """Return the report as a page to print, or a part of it as CSV."""
        if media_type == CSV:
            return report_csv.to_csv(msgspec.to_builtins(body), part, causal=self.causal)
        return html_report.to_html(self.document(body, window, stamp=stamp))

    def document(self, body: Any, window: Window, *, stamp: Stamp) -> Document:
        """Return the report as a document to print."""
        return self.write_document(msgspec.to_builtins(body), window, stamp)

    def programs(self, store: LineageStore, window: Window, direction: Direction) -> ProgramsAnswer:
        """Return the programs that wrote or read the field, failed runs included; readers by day.

        Raises NotFound for a dataset that was never recorded, and errors of the store.
        """
        listed = store.programs(
            self.dataset,
            dataclasses.replace(window, failed=True),
            field=self.field,
            directions=(direction,),
            daily=direction is Direction.FORWARD,
        )
        return programs_answer(listed)

    def reached(self, store: LineageStore, window: Window, direction: Direction) -> ReachedFields:
        """Return the fields within reach, read in three steps, each within its share of the time left.

        Raises NotFound for a field that was never recorded, and errors of the store.
        """
        walks = (
            ReachQuery(
                self.dataset_field,
                window,
                direction,
                causal=self.causal,
                indirect=indirect,
                # The walk over direct edges only decides which fields are derived directly.
                counts=indirect,
            )
            for indirect in (True, False)
        )
        reach, direct = (_in_its_share(store.reach, walk) for walk in walks)
        return _in_its_share(ReachedFields, store, self.dataset_field, reach, direct, direction)


class ConsumptionAnswer(WindowBody, frozen=True, kw_only=True):
    """Programs and runs that read a field, and fields made from it; later pages have only runs.

    `programs` includes programs with only failed runs, which `failed_only` counts.
    """

    report: Literal["consumption"]
    field: SubjectField
    runs: tuple[ListedRun, ...]
    programs: tuple[Program, ...] | None = None
    programs_with_unknown_columns: Annotated[tuple[Program, ...], UNKNOWN_COLUMNS] = ()
    failed_only: int | None = None
    verdict: str | None = None
    derived: tuple[ReachedField, ...] | None = None
    dropped: bool | None = None
    unknown: tuple[UnknownRelation, ...] | None = None
    truncated: bool
    truncated_by: tuple[str, ...] = ()
    more_runs: bool


@dataclass(frozen=True)
class Consumption(FieldReport[ConsumptionAnswer], Paged):
    """Return the programs and runs that read a field, and every field made from it, each with a path.

    `runs` has failed runs, too. `failed` adds the fields that failed and aborted runs made. By default,
    `causal` follows an edge only if the upstream run started first. `limit` bounds `runs`; later pages have
    only runs. Python reads all pages if there is no `limit`. `Accept` selects JSON, `text/csv` (one `part` of
    the report) or `text/html`, a page to print with times in `timezone`.

    >>> body = client.consumption("bank", "DailyTransactions", "UID").body
    >>> [program.program for program in body.programs if not program.failed_only]
    ['features', 'print', 'build_accounts']
    """

    path: ClassVar[str] = "/v3/reports/consumption"
    result: ClassVar[str] = "Runs and programs newest first"
    table: ClassVar[TableShape] = report_csv.field_table("derived")
    items: ClassVar[str] = "runs"
    reads_all: ClassVar[bool] = True
    write_document: ClassVar[Callable[..., Document]] = staticmethod(consumption_document)

    part: Annotated[Literal["derived", "programs", "days", "runs"], About(PART_HELP)] = dataclasses.field(
        default="derived", kw_only=True
    )

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[ConsumptionAnswer]:
        """Return the report with a page of runs. Raises InvalidQuery, NotFound, and errors of the store.

        NotFound is for a field that was never recorded.
        """
        window = self.window(now_ms)
        page = store.runs(
            self.dataset,
            window,
            limit=self.page_limit(store),
            start_after=decode_runs_cursor(self.cursor),
            field=self.field,
            directions=(Direction.FORWARD,),
        )
        body = ConsumptionAnswer(
            report="consumption",
            field=SubjectField(**name_json.field(self.dataset_field)),
            runs=tuple(listed_run(run, now_ms=now_ms) for run in page.runs),
            truncated=False,
            more_runs=bool(page.next_after),
        )
        retained_from_ms = store.retained_from_ms(self.dataset, window)
        if self.cursor is not None:
            return Answer(body, window, retained_from_ms, cursor=next_cursor(page))
        reached = self.reached(store, window, Direction.FORWARD)
        retained_from_ms = store.retained_with_ms(reached.datasets, window, retained_from_ms)
        readers = _in_its_share(self.programs, store, window, Direction.FORWARD)
        subject = subject_field(store, self.dataset_field, reached.tags, reached.truncated_by)
        truncated_by = tuple(sorted(reached.truncated_by | {*readers.truncated_by}))
        derived = reached.listed(reached.reach.paths.keys() - {self.dataset_field})
        failed_only = self._failed_only(store, window, reached.reach)
        body = msgspec.structs.replace(
            body,
            field=subject,
            verdict=consumption_verdict(readers, derived, reached.unknown, failed_only=failed_only),
            programs=readers.programs,
            programs_with_unknown_columns=readers.programs_with_unknown_columns,
            failed_only=readers.failed_only,
            derived=derived,
            dropped=self.dataset_field in reached.reach.dropped,
            unknown=reached.unknown,
            truncated=bool(truncated_by),
            truncated_by=truncated_by,
        )
        return Answer(body, window, retained_from_ms, truncated_by, next_cursor(page))

    def _failed_only(self, store: LineageStore, window: Window, reach: Reach) -> int | None:
        """Return how many fields failed runs alone made, which `reach` lacks; None if a limit cut either.

        Returns 0 if the report includes failed runs.
        """
        if self.failed:
            return 0
        every_run = dataclasses.replace(window, failed=True)
        query = ReachQuery(self.dataset_field, every_run, Direction.FORWARD, causal=self.causal, counts=False)
        try:
            with_failed = store.reach(query)
        except DeadlineExceeded:
            return None
        if reach.truncated_by or with_failed.truncated_by:
            return None
        return len(with_failed.paths.keys() - reach.paths.keys())

    def first_reads(self, *, now_ms: int) -> FirstReads:
        """Return the windows of the dataset as a source."""
        return FirstReads(times=self.window_queries(self.dataset, "forward", now_ms=now_ms))

    def to_text(self, media_type: str, body: Any, window: Window | None, *, stamp: Stamp) -> str:
        """Return the report as a page to print, or the `part` of it as CSV."""
        return self.part_text(self.part, media_type, body, window or self.window(stamp.now_ms), stamp=stamp)

    def join(self, pages: Sequence[Any], items: Sequence[Any]) -> Any:
        """Return the first page with the runs of all pages, and the limits that cut any of them."""
        report = self._joined(pages[0], pages, items)
        return msgspec.structs.replace(report, more_runs=pages[-1].more_runs)


class Graph(Body, frozen=True, kw_only=True):
    """The operations of a field as a graph, as field lineage has it."""

    nodes: tuple[Node, ...]
    operations: tuple[Operation, ...]
    connections: tuple[Connection, ...]
    checksums: tuple[str, ...]


class ProvenanceAnswer(WindowBody, frozen=True, kw_only=True):
    """The sources of a field, its operations in order, and the stretches of runs with the same ones."""

    report: Literal["provenance"]
    field: SubjectField
    verdict: str
    programs: tuple[Program, ...]
    programs_with_unknown_columns: Annotated[tuple[Program, ...], UNKNOWN_COLUMNS] = ()
    failed_only: int
    sources: tuple[ReachedField, ...]
    upstream: tuple[ReachedField, ...]
    unknown: tuple[UnknownRelation, ...]
    derivations: tuple[Path, ...]
    detailed: Graph
    simple: Graph
    stretches: tuple[Stretch, ...]
    truncated: bool
    truncated_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Provenance(FieldReport[ProvenanceAnswer]):
    """Return the sources of a field, its operations in order, and the stretches of runs with the same ones.

    `sources` are fields to which nothing within reach leads, `upstream` the fields between. By default,
    `causal` follows an edge only if the upstream run started first. `failed` includes the lineage of failed
    and aborted runs. `Accept` selects JSON, `text/csv` (one `part` of the report) or `text/html`, a page to
    print with times in `timezone`.

    >>> body = client.provenance("bank", "RiskScores", "risk_band").body
    >>> sorted(str(source) for source in body.sources)[:2]
    ['bank/Customers.UID', 'bank/Customers.status']
    """

    path: ClassVar[str] = "/v3/reports/provenance"
    result: ClassVar[str] = "Derivations and stretches newest first"
    table: ClassVar[TableShape] = report_csv.field_table("sources", "upstream")
    write_document: ClassVar[Callable[..., Document]] = staticmethod(provenance_document)

    part: Annotated[Literal["sources", "upstream", "programs", "stretches"], About(PART_HELP)] = (
        dataclasses.field(default="sources", kw_only=True)
    )

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[ProvenanceAnswer]:
        """Return the report. Raises InvalidQuery, NotFound for an unknown field, and errors of the store."""
        field, window = self.dataset_field, self.window(now_ms)
        reached = self.reached(store, window, Direction.BACKWARD)
        detailed = _in_its_share(store.field_lineage, field, window)
        simple = _in_its_share(store.field_lineage, field, window, simple=True)
        derivations = _in_its_share(store.field_derivations, field, window)
        writers = _in_its_share(self.programs, store, window, Direction.BACKWARD)
        history = _in_its_share(store.history, field, window)
        retained_from_ms = store.retained_with_ms(
            reached.datasets, window, store.retained_from_ms(self.dataset, window)
        )
        upstream = reached.reach.paths.keys() - {field}
        sources = _ultimate_sources(reached.reach, upstream)
        listed, between = reached.listed(sources), reached.listed(upstream - sources)
        subject = subject_field(store, field, reached.tags, reached.truncated_by)
        parts = (detailed, simple, derivations, writers, history)
        truncated_by = tuple(sorted(reached.truncated_by.union(*(part.truncated_by for part in parts))))
        body = ProvenanceAnswer(
            report="provenance",
            field=subject,
            verdict=provenance_verdict(
                writers,
                listed,
                between,
                reached.unknown,
                ways=len(derivations.derivations),
                runs=sum(item.run_count for item in derivations.derivations),
                cut=bool(truncated_by),
            ),
            programs=writers.programs,
            programs_with_unknown_columns=writers.programs_with_unknown_columns,
            failed_only=writers.failed_only,
            sources=listed,
            upstream=between,
            unknown=reached.unknown,
            derivations=tuple(map(derivation_path, derivations.derivations)),
            detailed=_graph(detailed),
            simple=_graph(simple),
            stretches=tuple(map(stretch, history.stretches)),
            truncated=bool(truncated_by),
            truncated_by=truncated_by,
        )
        return Answer(body, window, retained_from_ms, truncated_by)

    def first_reads(self, *, now_ms: int) -> FirstReads:
        """Return the windows of the dataset as a destination."""
        return FirstReads(times=self.window_queries(self.dataset, "backward", now_ms=now_ms))

    def to_text(self, media_type: str, body: Any, window: Window | None, *, stamp: Stamp) -> str:
        """Return the report as a page to print, or the `part` of it as CSV."""
        return self.part_text(self.part, media_type, body, window or self.window(stamp.now_ms), stamp=stamp)


def _in_its_share(read: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    """Return what `read` returns for a part of a report within its share of the request's time.

    A part that has nothing by then may use all of the time.
    """
    try:
        with deadline.shared(_SHARE):
            return read(*args, **options)
    except DeadlineExceeded:
        deadline.check()
        return read(*args, **options)


def _ultimate_sources(reach: Reach, upstream: set[DatasetField]) -> set[DatasetField]:
    """Return the fields of `upstream` to which, and to whose whole dataset, no edge within reach leads."""
    written = {edge.destination for edge in reach.edges}
    return {
        field
        for field in upstream
        if field not in written and DatasetField(field.dataset, WHOLE_DATASET) not in written
    }


def _graph(result: FieldLineageResult) -> Graph:
    """Return the graph of a field without its limits: the report states the limits of all parts."""
    body = field_lineage(result)
    return Graph(
        nodes=body.nodes,
        operations=body.operations,
        connections=body.connections,
        checksums=body.checksums,
    )
