"""The fields within reach of a report's field, each with a path that explains it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fll_hbase.model.datasets import DatasetField
from fll_hbase.model.window import Direction
from fll_hbase.queries import name_json, reach_json
from fll_hbase.queries.reports.report_query import ReportQuery
from fll_hbase.runtime.json_types import Json
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.results import Reach, RunSpan


class ReachedFields:
    """Fields within reach, over all edges and over direct edges alone."""

    def __init__(self, store: LineageStore, query: ReportQuery, direction: Direction) -> None:
        """Read both. Raises NotFound for a field that was never recorded."""
        self.reach = store.reach(query.reach(direction, indirect=True))
        self._direct = store.reach(query.reach(direction, indirect=False))
        self._spans = _spans(self.reach, direction)

    @property
    def truncated_by(self) -> set[str]:
        """The limits that cut either."""
        return {*self.reach.truncated_by, *self._direct.truncated_by}

    def to_json(self, fields: Iterable[DatasetField]) -> list[Json]:
        """Return fields by hops and name, each with its path and its runs."""
        listed = sorted(fields, key=lambda field: (self.reach.hops[field], field))
        return [self._field(field) for field in listed]

    def _field(self, field: DatasetField) -> Json:
        is_direct = field in self._direct.paths
        path = (self._direct if is_direct else self.reach).paths[field]
        body = name_json.field(field)
        body["hops"] = self.reach.hops[field]
        body["influence"] = "direct" if is_direct else "indirect"
        if self.reach.in_order is not None and field not in self.reach.in_order:
            body["inOrder"] = False
        body |= reach_json.span_members(self._spans.get(field))
        if field in self.reach.dropped:
            body["dropped"] = True
        body["path"] = [name_json.field(step) for step in path.fields()]
        return body


def _spans(reach: Reach, direction: Direction) -> Mapping[DatasetField, RunSpan]:
    """Return the runs of the edges by which each field was reached: those of one edge, the last to run."""
    spans: dict[DatasetField, RunSpan] = {}
    for edge in reach.edges:
        far = edge.source if direction is Direction.BACKWARD else edge.destination
        if edge.span is not None:
            # A run may have several edges to one field, so numbers of runs do not add up.
            spans[far] = max(
                edge.span, spans.get(far, edge.span), key=lambda span: (span.last_start_ms, span.runs)
            )
    return spans
