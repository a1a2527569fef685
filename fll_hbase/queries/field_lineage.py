"""Field lineage: the operations that produced a field, or those that used it, at one hop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeAlias, cast

import msgspec

from fll_hbase.model import operation_graph
from fll_hbase.model.masking import is_hidden_operation
from fll_hbase.model.operation_graph import NodeId, OperationGraph
from fll_hbase.model.operations import dataset_of, type_of
from fll_hbase.model.window import Direction
from fll_hbase.queries import name_json
from fll_hbase.queries.names import DatasetName, Influence, dataset_name
from fll_hbase.queries.parameters import About, FlowDirection
from fll_hbase.queries.query import (
    INDIRECT_HELP,
    Answer,
    Body,
    Failed,
    FieldQuery,
    FirstReads,
    Required,
    WindowBody,
    WindowedWithFailed,
)
from fll_hbase.queries.tables import Row, TableShape
from fll_hbase.runtime.json_types import Json

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore
    from fll_hbase.store.results import FieldLineageResult

OperationType: TypeAlias = Literal["READ", "TRANSFORM", "WRITE"]


class Node(Body, frozen=True, kw_only=True):
    """A field as the output of one operation; `id` consists of the names of both.

    A hidden dataset is one node, with a number in place of the operation. If several WRITEs use a node,
    `destination_end_points` lists all of their datasets, the first one included.
    """

    id: str
    label: str
    hidden: int = 0
    origin: Annotated[str, Required, msgspec.Meta(description="Name of the operation")] = ""
    failed: Annotated[bool, Failed] = False
    type: str = ""
    source_end_point: DatasetName | None = None
    destination_end_point: DatasetName | None = None
    destination_end_points: tuple[DatasetName, ...] = ()

    def destinations(self) -> tuple[DatasetName, ...]:
        """Return the datasets that the field is written to."""
        if self.destination_end_point is None:
            return ()
        return self.destination_end_points or (self.destination_end_point,)


class Operation(Body, frozen=True, kw_only=True):
    """An operation of a graph; `end_point` is the dataset of a READ or WRITE."""

    name: str
    description: str
    type: OperationType
    failed: Annotated[bool, Failed] = False
    end_point: DatasetName | None = None


class Connection(Body, frozen=True, kw_only=True):
    """A dependency between two nodes, through one operation or, in the simple view, several."""

    source: str = msgspec.field(name="from")
    destination: str = msgspec.field(name="to")
    operation: str
    operations: tuple[str, ...] | None = None
    failed: Annotated[bool, Failed] = False
    influence: Influence = "direct"


class FieldLineageAnswer(WindowBody, frozen=True, kw_only=True):
    """The operation graph of a field; `checksums` identify its contents, the newest run first."""

    nodes: tuple[Node, ...]
    operations: tuple[Operation, ...]
    connections: tuple[Connection, ...]
    checksums: tuple[str, ...]
    truncated: bool
    truncated_by: tuple[str, ...] = ()


def _rows(body: Json) -> list[Row]:
    """Return a row for each connection of an answer's JSON, with `direct` as the default influence."""
    return [{"influence": "direct", **connection} for connection in body["connections"]]


@dataclass(frozen=True, kw_only=True)
class FieldLineage(WindowedWithFailed, FieldQuery[FieldLineageAnswer]):
    """Return the operations that produced a field, or those that use it: one hop.

    Nodes are fields, connections are dependencies between them, merged from all runs of the window. With
    `direction=backward` the graph begins at the fields that were read, with `forward` at the field itself.
    `view=simple` leaves out the fields between READs and WRITEs: each connection lists its operations.
    Without `indirect`, filters, joins and the like are left out. `failed` includes failed and aborted runs,
    and marks what only they have. FLL_CONNECTIONS_MAX bounds the connections.

    >>> answer = client.field_lineage("myns", "mytableds", "id", view="simple")
    >>> [row["operation"] for row in answer]
    ['parse, concat, create']
    """

    path: ClassVar[str] = "/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/lineage"
    result: ClassVar[str] = "Nodes by id, operations by name"
    table: ClassVar[TableShape] = TableShape(("from", "to", "operation", "influence"), _rows)

    direction: FlowDirection = "backward"
    view: Literal["detailed", "simple"] = "detailed"
    indirect: Annotated[bool, About(INDIRECT_HELP)] = True

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[FieldLineageAnswer]:
        """Return the graph. Raises InvalidQuery, NotFound for an unknown field, and errors of the store."""
        window = self.window(now_ms)
        retained_from_ms = store.retained_from_ms(self.dataset, window)
        result = store.field_lineage(
            self.dataset_field,
            window,
            direction=Direction(self.direction),
            simple=self.view == "simple",
            indirect=self.indirect,
        )
        return Answer(field_lineage(result), window, retained_from_ms, result.truncated_by)

    def first_reads(self, *, now_ms: int) -> FirstReads:
        """Return the window of the dataset in the direction of the query."""
        return FirstReads(contents=self.window_queries(self.dataset, self.direction, now_ms=now_ms))


def field_lineage(result: FieldLineageResult) -> FieldLineageAnswer:
    """Return the detailed or simple graph of a field as an answer, with nodes and connections sorted.

    A hidden dataset is one node, without the operations that read or write it.
    """
    graph = result.graph
    names = (name for name in sorted(graph.operations) if not is_hidden_operation(name))
    connections = sorted(_distinct(_connections(graph)), key=attrgetter("source", "destination", "operation"))
    return FieldLineageAnswer(
        nodes=tuple(sorted(_nodes(graph), key=attrgetter("id"))),
        operations=tuple(_operation(name, graph) for name in names),
        connections=tuple(connections),
        checksums=tuple(result.checksums),
        truncated=bool(result.truncated_by),
        truncated_by=result.truncated_by,
    )


def node_id(node: NodeId) -> str:
    """Return the id of a node in answers: `operation.field`, or `hidden-1` for a hidden dataset.

    Dots and `%` in the field are percent-encoded, those in the name of the operation are not.
    """
    origin, name = node
    if is_hidden_operation(origin):
        # Every other id contains a dot, so this one must not.
        return f"hidden-{name_json.hidden_number(origin)}"
    # The dot separates origin and field, so it is escaped in the field, after the escape character itself.
    return f"{origin}.{name.replace('%', '%25').replace('.', '%2E')}"


def parse_node_id(text: str) -> NodeId:
    """Return the origin and the field of a `node_id`: for a hidden node, "" and `hidden` with its number."""
    origin, dot, name = text.rpartition(".")
    if not dot:
        return "", name.replace("-", " ")
    return origin, name.replace("%2E", ".").replace("%25", "%")


def operation_name(name: str) -> str:
    """Return the name of an operation in connections: for a hidden dataset, `hidden` and a number."""
    return f"hidden {name_json.hidden_number(name)}" if is_hidden_operation(name) else name


def _nodes(graph: OperationGraph) -> Iterator[Node]:
    """Yield the visible nodes of a graph, then one merged node for each hidden dataset."""
    hidden: dict[str, Node] = {}
    for stored in graph.nodes.values():
        node = _node(stored, graph)
        if not node.hidden:
            yield node
            continue
        # A hidden dataset that is read and written becomes one node, marked as failed only if both parts are.
        earlier = hidden.get(node.id, node)
        hidden[node.id] = msgspec.structs.replace(
            node,
            failed=node.failed and earlier.failed,
            type=node.type or earlier.type,
            source_end_point=node.source_end_point or earlier.source_end_point,
            destination_end_point=node.destination_end_point or earlier.destination_end_point,
            destination_end_points=node.destination_end_points or earlier.destination_end_points,
        )
    yield from hidden.values()


def _node(node: operation_graph.Node, graph: OperationGraph) -> Node:
    """Return a node of a graph in the form of an answer; `failed` is true if only failed runs have it."""
    origin, name = node.id
    number = name_json.hidden_number(origin) if is_hidden_operation(origin) else 0
    destinations = tuple(map(dataset_name, sorted(node.destinations)))
    return Node(
        id=node_id(node.id),
        label=f"hidden {number}" if number else name,
        hidden=number,
        origin="" if number else origin,
        failed=node.id in graph.failed,
        type=node.type,
        source_end_point=None if node.source is None else dataset_name(node.source),
        destination_end_point=destinations[0] if destinations else None,
        destination_end_points=destinations if len(destinations) > 1 else (),
    )


def _operation(name: str, graph: OperationGraph) -> Operation:
    """Return the named operation of a graph in the form of an answer. Raises KeyError."""
    operation = graph.operations[name]
    dataset = dataset_of(operation)
    return Operation(
        name=name,
        description=operation.description,
        type=cast(OperationType, type_of(operation)),
        failed=name in graph.failed,
        end_point=None if dataset is None else dataset_name(dataset),
    )


def _connections(graph: OperationGraph) -> Iterator[Connection]:
    """Yield the connections of a graph, then its paths, each with its visible operations."""
    for key, influence in graph.connections.items():
        yield Connection(
            source=node_id(key[0]),
            destination=node_id(key[1]),
            operation=operation_name(key[2]),
            failed=key in graph.failed,
            influence=influence.value,
        )
    # Only the simple view has paths, each through one or more operations.
    for ends, path in graph.paths.items():
        shown = tuple(name for name in path.operations if not is_hidden_operation(name))
        yield Connection(
            source=node_id(ends[0]),
            destination=node_id(ends[1]),
            operation=", ".join(shown),
            operations=shown,
            failed=ends in graph.failed,
            influence=path.influence.value,
        )


def _distinct(connections: Iterable[Connection]) -> Iterator[Connection]:
    """Yield connections, merge equal ones of hidden nodes, and drop those inside one hidden node."""
    hidden: dict[tuple[str, str, str], Connection] = {}
    for item in connections:
        if not _is_hidden(item.source) and not _is_hidden(item.destination):
            yield item
        elif item.source != item.destination:
            key = (item.source, item.destination, item.operation)
            other = hidden.setdefault(key, item)
            # The merged connection is direct if any part is, and failed only if all parts are.
            hidden[key] = msgspec.structs.replace(
                other,
                failed=other.failed and item.failed,
                influence="direct" if item.influence == "direct" else other.influence,
            )
    yield from hidden.values()


def _is_hidden(identifier: str) -> bool:
    """Return whether a node is a hidden dataset, the only kind whose id contains no dot."""
    return "." not in identifier
