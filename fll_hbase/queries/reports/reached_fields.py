"""The fields of a report within reach of its subject, with paths, operations and runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated

import msgspec

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.hop_operations import Hop
from fll_hbase.model.masking import is_hidden_operation
from fll_hbase.model.window import Direction
from fll_hbase.queries.names import RUN_NAMESPACE, FieldName, Influence, field_name
from fll_hbase.queries.reach import UnknownRelation, span_members, unknown_relations
from fll_hbase.queries.reports.copied_values import CopiedValues, ValueKind, kinds_of_ways
from fll_hbase.queries.reports.field_tags import FieldWithTags, read_tags
from fll_hbase.store.results import Path, Reach, ReachEdge, RunSpan

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore

COPIED = "copied"

HOW_MAX = 300
"""Maximum number of characters about the ways of one hop; a text that is cut ends with `…`."""


class ReachedField(FieldWithTags, frozen=True, kw_only=True):
    """A field within reach, with a shortest path to it, and the runs of the edge to it that ran last."""

    hops: int
    influence: Influence
    operation: Annotated[
        str | None,
        msgspec.Meta(
            description="The operations of the last hop of `path` in their own words, `copied` without any;"
            " distinct ways are joined by ` | `, the newest first. Left out if it is not known"
        ),
    ] = None
    value: Annotated[
        ValueKind | None,
        msgspec.Meta(
            description="How the value comes here, over all paths: `copied` if each hop of every path copies"
            " it, `mixed` if those of at least one do and others do not or are not known, `operations`"
            " if every path has operations. Left out for an indirect field, or if it is not known"
        ),
    ] = None
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
    last_run_namespace: Annotated[str | None, RUN_NAMESPACE] = None
    failed: bool = False
    dropped: Annotated[
        bool, msgspec.Meta(description="In some run, a transform without outputs takes it")
    ] = False
    path: tuple[FieldName, ...]


class ReachedFields:
    """Fields within `reach`, a walk over all edges; `direct` is the same walk over direct edges only.

    Their operations and tags are read when the object is made. `truncated_by` has the limits that cut both
    walks and these reads.
    """

    def __init__(
        self,
        store: LineageStore,
        start: DatasetField,
        reach: Reach,
        direct: Reach,
        direction: Direction,
    ) -> None:
        self.reach = reach
        self.truncated_by = {*reach.truncated_by, *direct.truncated_by}
        self._direct = direct
        self._direction = direction
        self._spans = _spans(reach, direction)
        last_hops = {self._hop(field) for field in reach.paths}
        edges = [edge for edge in reach.edges if self._passes_values(edge) or edge[:2] in last_hops]
        # Edges of the nearest fields come first, in case there are too many.
        edges.sort(key=lambda edge: max(reach.hops[edge.source], reach.hops[edge.destination]))
        self._hops = store.hops(edges, self.truncated_by)
        kinds = {
            self._outward(*edge[:2]): kinds_of_ways(edge, self._hops.get(edge[:2], ()))
            for edge in edges
            if self._passes_values(edge)
        }
        self._copied = CopiedValues(start, kinds, is_complete=not self.truncated_by and not direct.unknown)
        self.tags = read_tags(store, reach.paths.keys(), self.truncated_by)

    def _hop(self, field: DatasetField) -> tuple[DatasetField, DatasetField]:
        """Return the ends of the last hop of the path to a field, in the direction of the data."""
        path = self._path(field)
        return self._outward(path.previous.field if path.previous else field, field)

    def _outward(self, first: DatasetField, second: DatasetField) -> tuple[DatasetField, DatasetField]:
        """Return two fields, swapped if the walk is backward.

        This turns the order of the walk into the order of the data, and vice versa.
        """
        return (first, second) if self._direction is Direction.FORWARD else (second, first)

    def _passes_values(self, edge: ReachEdge) -> bool:
        """Return whether an edge is direct and continues a path of direct edges."""
        near, _ = self._outward(edge.source, edge.destination)
        return edge.direct and near in self._direct.paths

    def _path(self, field: DatasetField) -> Path:
        """Return the path to a field, over direct edges if there is one."""
        return self._direct.paths.get(field) or self.reach.paths[field]

    @property
    def datasets(self) -> Iterable[Dataset]:
        """The datasets of the fields."""
        return {field.dataset for field in self.reach.hops}

    @property
    def unknown(self) -> tuple[UnknownRelation, ...]:
        """The pairs of datasets that are related without known fields."""
        return tuple(unknown_relations(self.reach.unknown))

    def listed(self, fields: Iterable[DatasetField]) -> tuple[ReachedField, ...]:
        """Return fields by hops and name, each with its path and its runs."""
        ordered = sorted(fields, key=lambda field: (self.reach.hops[field], field))
        return tuple(map(self._field, ordered))

    def _field(self, field: DatasetField) -> ReachedField:
        """Return a field in the form of an answer, with the runs of the edge to it that ran last."""
        hops = self._hops.get(self._hop(field))
        reached = ReachedField(
            hops=self.reach.hops[field],
            influence="direct" if field in self._direct.paths else "indirect",
            operation=hop_text(hops) if hops else None,
            value=self._copied.kind(field) if field in self._direct.paths else None,
            in_order=self.reach.in_order is None or field in self.reach.in_order,
            dropped=field in self.reach.dropped,
            tags=self.tags.get(field, ()),
            path=tuple(map(field_name, self._path(field).fields())),
        )
        name = field_name(field)
        names = {member: getattr(name, member) for member in name.__struct_fields__}
        return msgspec.structs.replace(reached, **names, **span_members(self._spans.get(field)))


def _spans(reach: Reach, direction: Direction) -> Mapping[DatasetField, RunSpan]:
    """Return by field the runs of the edge that reached it, of several edges the one that ran last."""
    spans: dict[DatasetField, RunSpan] = {}
    for edge in reach.edges:
        far = edge.source if direction is Direction.BACKWARD else edge.destination
        if edge.span is not None:
            # A run may have several edges to one field, so the runs of edges cannot be added.
            spans[far] = max(
                edge.span, spans.get(far, edge.span), key=lambda span: (span.last_start_ms, span.runs)
            )
    return spans


def hop_text(hops: Iterable[Hop]) -> str:
    """Return the descriptions of the operations of each way, or their names; `copied` for no operations.

    Distinct ways are joined by ` | `, the newest first: one way may hash a value that another way copies. The
    text is cut to HOW_MAX characters.
    """
    text = " | ".join(dict.fromkeys(map(_way_text, hops)))
    return text if len(text) <= HOW_MAX else f"{text[: HOW_MAX - 1]}…"


def _way_text(hop: Hop) -> str:
    """Return the descriptions of the operations of one way, or their names; `hidden` if none is shown.

    `copied` comes first if the way copies the value.
    """
    shown = (item for item in hop.operations if not is_hidden_operation(item.name))
    texts = [" ".join((item.description or item.name).split()) for item in shown]
    return "; ".join(dict.fromkeys([COPIED, *texts] if hop.is_copied else texts)) or "hidden"
