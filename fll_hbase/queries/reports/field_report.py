"""Reports about a field: their common parameters, the fields within reach, and formats."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import msgspec

from fll_hbase.model.datasets import DatasetField
from fll_hbase.model.window import Direction, Window
from fll_hbase.queries.names import FieldName, Influence, field_name
from fll_hbase.queries.parameters import About
from fll_hbase.queries.query import BodyT, FieldQuery, WindowedWithFailed
from fll_hbase.queries.reach import UnknownRelation, span_members, unknown_relations
from fll_hbase.queries.reports import html_report, report_csv
from fll_hbase.queries.tables import CSV
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.read.reach_walk import ReachQuery
from fll_hbase.store.results import Reach, RunSpan

PART_HELP = "The part of the report that is returned as CSV"


class ReachedField(FieldName, frozen=True, kw_only=True):
    """A field within reach, with a path that explains it, and the runs of the edge that ran last to it."""

    hops: int
    influence: Influence
    in_order: Annotated[
        bool,
        msgspec.Meta(
            description="With `causal=false` alone: false if the order of the runs in the window does not"
            " allow the field"
        ),
    ] = True
    runs: int | None = None
    first_start: int | None = None
    last_start: int | None = None
    last_run: str | None = None
    failed: bool = False
    dropped: Annotated[bool, msgspec.Meta(description="Some run read it and did not use it")] = False
    path: tuple[FieldName, ...]


@dataclass(frozen=True)
class FieldReport(FieldQuery[BodyT], WindowedWithFailed):
    """A report about a field; without `causal`, runs count whatever their order is."""

    limits_in_headers: ClassVar[bool] = True
    formats: ClassVar[Mapping[str, Callable[..., str]]] = {
        CSV: report_csv.to_csv,
        html_report.HTML: html_report.to_html,
    }

    namespace: Annotated[str, About("Namespace of the dataset", minimum=1)]
    name: Annotated[str, About("Name of the dataset", name="endpoint", minimum=1)]
    field: Annotated[str, About("Name of the field", minimum=1)]
    causal: Annotated[
        bool, About("Only what a value can have taken, by the starts of the runs on its way")
    ] = dataclasses.field(default=True, kw_only=True)

    def part_text(self, part: str, media_type: str, body: Any, window: Window, *, now_ms: int) -> str:
        """Return the report as a page to print, or a part of it as CSV."""
        report = msgspec.to_builtins(body)
        if media_type == CSV:
            return report_csv.to_csv(report, part, causal=self.causal)
        times = {"start_ms": window.start_ms, "stop_ms": window.stop_ms, "now_ms": now_ms}
        return html_report.to_html(report, causal=self.causal, **times)

    def reached(self, store: LineageStore, window: Window, direction: Direction) -> ReachedFields:
        """Return the fields within reach. Raises NotFound for a field that was never recorded."""
        walks = (
            ReachQuery(
                self.dataset_field,
                window,
                direction,
                causal=self.causal,
                indirect=indirect,
                failed=self.failed,
                # The paths over direct edges alone only say which fields are derived directly.
                counts=indirect,
            )
            for indirect in (True, False)
        )
        reach, direct = map(store.reach, walks)
        return ReachedFields(reach, direct, direction)


class ReachedFields:
    """Fields within reach, over all edges and over direct edges alone."""

    def __init__(self, reach: Reach, direct: Reach, direction: Direction) -> None:
        self.reach = reach
        self._direct = direct
        self._spans = _spans(reach, direction)

    @property
    def truncated_by(self) -> set[str]:
        """The limits that cut either."""
        return {*self.reach.truncated_by, *self._direct.truncated_by}

    @property
    def unknown(self) -> tuple[UnknownRelation, ...]:
        """The pairs of datasets that are related without known fields."""
        return tuple(unknown_relations(self.reach))

    def listed(self, fields: Iterable[DatasetField]) -> tuple[ReachedField, ...]:
        """Return fields by hops and name, each with its path and its runs."""
        ordered = sorted(fields, key=lambda field: (self.reach.hops[field], field))
        return tuple(map(self._field, ordered))

    def _field(self, field: DatasetField) -> ReachedField:
        is_direct = field in self._direct.paths
        path = (self._direct if is_direct else self.reach).paths[field]
        reached = ReachedField(
            hops=self.reach.hops[field],
            influence="direct" if is_direct else "indirect",
            in_order=self.reach.in_order is None or field in self.reach.in_order,
            dropped=field in self.reach.dropped,
            path=tuple(map(field_name, path.fields())),
        )
        name = field_name(field)
        names = {member: getattr(name, member) for member in name.__struct_fields__}
        return msgspec.structs.replace(reached, **names, **span_members(self._spans.get(field)))


def _spans(reach: Reach, direction: Direction) -> Mapping[DatasetField, RunSpan]:
    """Return by field the runs of the edges that reached it; of several edges the last to run."""
    spans: dict[DatasetField, RunSpan] = {}
    for edge in reach.edges:
        far = edge.source if direction is Direction.BACKWARD else edge.destination
        if edge.span is not None:
            # A run may have several edges to one field, so numbers of runs do not add up.
            spans[far] = max(
                edge.span, spans.get(far, edge.span), key=lambda span: (span.last_start_ms, span.runs)
            )
    return spans
