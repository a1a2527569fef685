"""Answers as graphs to draw: boxes of datasets or operations, rows of fields, and links between rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, pairwise
from typing import Any, NamedTuple

from fll_hbase.client.answers import TableAnswer
from fll_hbase.queries import Consumption, FieldLineage, Lineage, Provenance, Reach
from fll_hbase.queries.field_lineage import FieldLineageAnswer, Node, Operation
from fll_hbase.queries.lineage import LineageEntry
from fll_hbase.queries.names import DatasetName, FieldName
from fll_hbase.queries.reach import ReachAnswer, UnknownRelation
from fll_hbase.queries.reports.field_report import ConsumptionAnswer, ProvenanceAnswer
from fll_hbase.queries.reports.reached_fields import ReachedField
from fll_hbase.runtime.errors import FieldError, InvalidQuery

FIELDS_MAX = 300
"""Maximum number of fields, and boxes without fields, in a picture: those nearest to the query's subject."""

LINKS_MAX = 1_500
_NAMES_MAX = 5
_GRAPHS = "lineage, field_lineage, reach, consumption and provenance"

VALUE, SHAPE, UNKNOWN = "value", "shape", "unknown"
"""Kinds of links: the value is passed on, the value only decides about rows, or the fields are unknown."""


class Box(NamedTuple):
    """A dataset or an operation; the subtitle of a dataset is its namespace."""

    title: str
    subtitle: str = ""
    is_operation: bool = False


class End(NamedTuple):
    """A field in a box, or the box itself if `field` is ""."""

    box: Box
    field: str = ""


class Link(NamedTuple):
    """A kind of link: `failed` if only failed runs have it, `late` if it is not in the order of the runs."""

    kind: str = VALUE
    failed: bool = False
    late: bool = False


class DrawnGraph:
    """Ends with notes such as `dropped`, and links between them; `starts` is the subject of the query."""

    def __init__(self, boxes: str = "dataset") -> None:
        self.boxes = boxes
        self.starts: dict[End, None] = {}
        self.ends: dict[End, list[str]] = {}
        self.links: dict[tuple[End, End], Link] = {}
        self.notes: list[str] = []

    def add(self, end: End, *notes: str) -> End:
        """Add an end with notes, or notes to an end; return the end."""
        listed = self.ends.setdefault(end, [])
        listed += [note for note in notes if note not in listed]
        return end

    def link(self, source: End, target: End, link: Link) -> None:
        """Add a link; links between the same ends become one: a value, complete, in order if any is."""
        other = self.links.get((self.add(source), self.add(target)), link)
        # A relation with unknown fields is between boxes, so it never shares its ends with another kind.
        kind = link.kind if other.kind == link.kind else VALUE
        self.links[source, target] = Link(kind, link.failed and other.failed, link.late and other.late)

    def cut(self, fields_max: int = FIELDS_MAX, links_max: int = LINKS_MAX) -> DrawnGraph:
        """Return the part nearest to the starts, up to these numbers, with notes of how many are left out."""
        parents = self._walk()
        order = {end: number for number, end in enumerate(parents)}
        drawn = DrawnGraph(self.boxes)
        drawn.starts, drawn.notes = self.starts, [*self.notes]
        drawn.ends = {end: self.ends[end] for end in [*parents][:fields_max]}
        # The links that first reached an end come first, so that every end is drawn with a link.
        first = {parents[end] for end in drawn.ends}
        inside = [ends for ends in self.links if ends[0] in drawn.ends and ends[1] in drawn.ends]
        inside.sort(key=lambda ends: (ends not in first, max(map(order.__getitem__, ends))))
        drawn.links = {ends: self.links[ends] for ends in inside[:links_max]}
        for noun, number, left in (
            ("fields", len(self.ends), len(self.ends) - len(drawn.ends)),
            ("links", len(self.links), len(self.links) - len(drawn.links)),
        ):
            if left:
                drawn.notes.append(f"Not drawn: {left:,} of {number:,} {noun}; those shown are the nearest.")
        return drawn

    def _walk(self) -> dict[End, tuple[End, End] | None]:
        """Return all ends, nearest to the starts first, each with the link that reached it, or None.

        Ends that no start reaches come last.
        """
        beside: dict[End, list[tuple[End, tuple[End, End]]]] = defaultdict(list)
        for ends in self.links:
            beside[ends[0]].append((ends[1], ends))
            beside[ends[1]].append((ends[0], ends))
        parents: dict[End, tuple[End, End] | None] = {}
        for root in chain([start for start in self.starts if start in self.ends], self.ends):
            queue = [] if root in parents else [root]
            parents.setdefault(root, None)
            # The queue grows while it is read.
            for end in queue:
                for other, ends in beside[end]:
                    if other not in parents:
                        parents[other] = ends
                        queue.append(other)
        return parents


def draw(answer: TableAnswer[Any]) -> DrawnGraph:
    """Return the graph of an answer. Raises InvalidQuery for an answer without a graph."""
    query, build = answer.query, _BUILDERS.get(type(answer.query))
    if query is None or build is None:
        kind = type(query).__name__
        raise InvalidQuery([FieldError("query", f"{kind} has no graph: {_GRAPHS} have one")])
    return build(query, answer.body)


def _box(dataset: DatasetName) -> Box:
    """Return the box of a dataset, titled with its name, or `hidden 1`."""
    return Box(str(dataset)) if dataset.hidden else Box(dataset.name, dataset.namespace)


def _end(field: FieldName) -> End:
    return End(_box(field), field.field)


def _add_unknown(graph: DrawnGraph, relations: Iterable[UnknownRelation]) -> None:
    for relation in relations:
        graph.link(End(_box(relation.source)), End(_box(relation.destination)), Link(UNKNOWN))


def _reach(_: Reach, body: ReachAnswer) -> DrawnGraph:
    """Return the graph of nodes, edges and relations with unknown fields; nodes of hop 0 are starts."""
    graph = DrawnGraph()
    for node in body.nodes:
        notes = {"dropped": node.dropped, "not in order": node.in_order is False}
        end = graph.add(_end(node), *(note for note, is_so in notes.items() if is_so))
        if node.hops == 0:
            graph.starts[end] = None
    for edge in body.edges:
        kind = VALUE if edge.influence == "direct" else SHAPE
        link = Link(kind, edge.failed, edge.in_order is False)
        graph.link(_end(edge.source), _end(edge.destination), link)
    _add_unknown(graph, body.unknown)
    return graph


def _lineage(query: Lineage, body: tuple[LineageEntry, ...]) -> DrawnGraph:
    """Return the graph of pairs of fields; a field without another end is noted `dropped` or `generated`."""
    graph = DrawnGraph()
    start = End(Box(query.name, query.namespace))
    graph.starts[graph.add(start)] = None
    for entry in body:
        source, target = (end and _box(end) for end in (entry.source, entry.destination))
        if source and target and entry.has_no_fields:
            graph.link(End(source), End(target), Link(UNKNOWN))
        for pair in entry.fieldmap:
            near = End(source, pair.source) if source and pair.source else None
            far = End(target, pair.destination) if target and pair.destination else None
            if near and far:
                graph.link(near, far, Link(VALUE if pair.influence == "direct" else SHAPE, pair.failed))
            elif near:
                graph.add(near, "dropped")
            elif far:
                graph.add(far, "generated")
    return graph


def _field_lineage(query: FieldLineage, body: FieldLineageAnswer) -> DrawnGraph:
    """Return the graph of nodes in boxes of their operations, or of the field alone without nodes."""
    graph = DrawnGraph("box")
    operations = {operation.name: operation for operation in body.operations}
    nodes = {node.id: node for node in body.nodes}
    # In the simple view, a node is drawn once for each sequence of operations that leads to it.
    drawn: dict[str, dict[End, None]] = defaultdict(dict)
    for item in body.connections:
        drawn[item.destination][_node_end(nodes[item.destination], item.operation, operations)] = None
    for node in body.nodes:
        ends = drawn[node.id] or {_node_end(node, node.origin, operations): None}
        drawn[node.id] = ends
        _add_node(graph, query, node, ends, operations)
    for item in body.connections:
        target = _node_end(nodes[item.destination], item.operation, operations)
        kind = VALUE if item.influence == "direct" else SHAPE
        for source in drawn[item.source]:
            graph.link(source, target, Link(kind, item.failed))
    if not body.nodes:
        graph.add(End(Box(query.name, query.namespace), query.field))
    graph.notes += _unlinked(body)
    return graph


def _node_end(node: Node, operation: str, operations: Mapping[str, Operation]) -> End:
    """Return the end for a node: a field in the box of its operation, or a box for a hidden node."""
    return End(Box(node.label)) if node.hidden else End(_operation_box(operation, operations), node.label)


def _operation_box(name: str, operations: Mapping[str, Operation]) -> Box:
    """Return the box of an operation with its dataset or description, or of several with only their names."""
    operation = operations.get(name)
    if operation is None:
        return Box(name, is_operation=True)
    dataset = f"reads {operation.end_point}" if operation.type == "READ" and operation.end_point else ""
    return Box(name, dataset or operation.description, is_operation=True)


def _add_node(
    graph: DrawnGraph,
    query: FieldLineage,
    node: Node,
    ends: Iterable[End],
    operations: Mapping[str, Operation],
) -> None:
    """Add a node at its ends, with links to fields it is written to; the field of the query is a start."""
    subject = (query.namespace, query.name, query.field)
    for end in ends:
        graph.add(end)
        source = node.source_end_point
        if source and (source.namespace, source.name, node.label) == subject and query.direction == "forward":
            graph.starts[end] = None
        for dataset in () if node.hidden else node.destinations():
            written = End(_box(dataset), node.label)
            graph.link(end, written, Link(VALUE, node.failed))
            if (dataset.namespace, dataset.name, node.label) == subject and query.direction == "backward":
                graph.starts[written] = None


def _unlinked(body: FieldLineageAnswer) -> list[str]:
    """Return a note with up to five operations without a field or link, or [] if all have one."""
    linked = {name for item in body.connections for name in item.operations or (item.operation,)}
    linked |= {node.origin for node in body.nodes}
    written = {dataset for node in body.nodes for dataset in node.destinations()}
    names = [
        item.name for item in body.operations if item.name not in linked and item.end_point not in written
    ]
    more = f" and {len(names) - _NAMES_MAX:,} more" if len(names) > _NAMES_MAX else ""
    return [f"Also used by {', '.join(names[:_NAMES_MAX])}{more}, without a field."] if names else []


def _report(start: FieldName, fields: Iterable[ReachedField], *, backward: bool) -> DrawnGraph:
    """Return the paths of a report, each from its subject to another field."""
    graph = DrawnGraph()
    graph.notes.append("One path to each field is drawn; the query `reach` has all of them.")
    graph.starts[graph.add(_end(start))] = None
    for field in fields:
        kind = VALUE if field.influence == "direct" else SHAPE
        for near, far in pairwise(map(_end, field.path)):
            ends = (far, near) if backward else (near, far)
            is_last = far == _end(field)
            graph.link(*ends, Link(kind, field.failed and is_last, is_last and not field.in_order))
        notes = {"dropped": field.dropped, "not in order": not field.in_order}
        graph.add(_end(field), *(note for note, is_so in notes.items() if is_so))
    return graph


def _consumption(_: Consumption, body: ConsumptionAnswer) -> DrawnGraph:
    """Return the paths to derived fields; a page after the first has only the field and a note."""
    graph = _report(body.field, body.derived or (), backward=False)
    _add_unknown(graph, body.unknown or ())
    if body.derived is None:
        graph.notes.append("Later pages contain only runs; the first contains the fields.")
    return graph


def _provenance(_: Provenance, body: ProvenanceAnswer) -> DrawnGraph:
    graph = _report(body.field, (*body.sources, *body.upstream), backward=True)
    _add_unknown(graph, body.unknown)
    return graph


_BUILDERS: Mapping[Any, Callable[[Any, Any], DrawnGraph]] = {
    Lineage: _lineage,
    FieldLineage: _field_lineage,
    Reach: _reach,
    Consumption: _consumption,
    Provenance: _provenance,
}
