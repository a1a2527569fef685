"""The provenance report: sources of a field, its operations, and how long they stayed the same."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from fll_hbase.model.datasets import WHOLE_DATASET, DatasetField
from fll_hbase.model.window import Direction, Window
from fll_hbase.queries.derivations import Path, derivation_path
from fll_hbase.queries.field_lineage import Connection, Node, Operation, field_lineage
from fll_hbase.queries.history import Stretch, stretch
from fll_hbase.queries.names import FieldName, field_name
from fll_hbase.queries.parameters import About
from fll_hbase.queries.query import Answer, Body, FirstReads
from fll_hbase.queries.reach import UnknownRelation
from fll_hbase.queries.reports.field_report import PART_HELP, FieldReport, ReachedField
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.results import FieldLineageResult, Reach


class Graph(Body, frozen=True, kw_only=True):
    """The operations of a field as a graph, as the query of its operations has them."""

    nodes: tuple[Node, ...]
    operations: tuple[Operation, ...]
    connections: tuple[Connection, ...]
    checksums: tuple[str, ...]


class ProvenanceAnswer(Body, frozen=True, kw_only=True):
    """The sources of a field, its operations in order, and the stretches of runs with the same ones."""

    report: Literal["provenance"]
    field: FieldName
    sources: tuple[ReachedField, ...]
    upstream: tuple[ReachedField, ...]
    unknown: tuple[UnknownRelation, ...]
    derivations: tuple[Path, ...]
    detailed: Graph
    simple: Graph
    stretches: tuple[Stretch, ...]
    retained_from: int | None = None
    truncated: bool
    truncated_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Provenance(FieldReport[ProvenanceAnswer]):
    """Return the sources of a field, its operations in order, and the stretches of runs with the same ones.

    By `Accept` the answer is JSON, `text/csv` (one `part` of it) or `text/html`, a page to print.

    >>> body = client.provenance("bank", "RiskScores", "risk_band").body
    >>> sorted(str(source) for source in body.sources)[:2]
    ['bank/Customers.UID', 'bank/Customers.status']
    """

    path: ClassVar[str] = "/v3/reports/provenance"
    result: ClassVar[str] = "Derivations and stretches newest first"

    part: Annotated[Literal["sources", "upstream", "stretches"], About(PART_HELP)] = dataclasses.field(
        default="sources", kw_only=True
    )

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[ProvenanceAnswer]:
        """Return the report. Raises NotFound for a field that was never recorded."""
        field, window, failed = self.dataset_field, self.window(now_ms), self.failed
        reached = self.reached(store, window, Direction.BACKWARD)
        detailed = store.field_lineage(field, window, failed=failed)
        simple = store.field_lineage(field, window, simple=True, failed=failed)
        derivations = store.field_derivations(field, window, failed=failed)
        history = store.history(field, window, failed=failed)
        retained_from_ms = store.retained_from_ms(self.dataset, window)
        upstream = reached.reach.paths.keys() - {field}
        sources = _ultimate_sources(reached.reach, upstream)
        parts = (detailed, simple, derivations, history)
        truncated_by = tuple(sorted(reached.truncated_by.union(*(part.truncated_by for part in parts))))
        body = ProvenanceAnswer(
            report="provenance",
            field=field_name(field),
            sources=reached.listed(sources),
            upstream=reached.listed(upstream - sources),
            unknown=reached.unknown,
            derivations=tuple(map(derivation_path, derivations.derivations)),
            detailed=_graph(detailed),
            simple=_graph(simple),
            stretches=tuple(map(stretch, history.stretches)),
            retained_from=retained_from_ms,
            truncated=bool(truncated_by),
            truncated_by=truncated_by,
        )
        return Answer(body, window, retained_from_ms, truncated_by)

    def first_reads(self, *, now_ms: int) -> FirstReads:
        """Return the times of the contents that wrote the dataset."""
        return FirstReads(times=self.window_queries(self.dataset, "backward", now_ms=now_ms))

    def to_text(self, media_type: str, body: Any, window: Window | None, *, now_ms: int) -> str:
        """Return the report as a page to print, or the `part` of it as CSV."""
        return self.part_text(self.part, media_type, body, window or self.window(now_ms), now_ms=now_ms)


def _ultimate_sources(reach: Reach, upstream: set[DatasetField]) -> set[DatasetField]:
    """Return the fields that nothing within reach leads to, nor to their dataset as a whole."""
    written = {edge.destination for edge in reach.edges}
    return {
        field
        for field in upstream
        if field not in written and DatasetField(field.dataset, WHOLE_DATASET) not in written
    }


def _graph(result: FieldLineageResult) -> Graph:
    """Return the graph of a field without what the report says for all of its parts."""
    body = field_lineage(result)
    return Graph(
        nodes=body.nodes,
        operations=body.operations,
        connections=body.connections,
        checksums=body.checksums,
    )
