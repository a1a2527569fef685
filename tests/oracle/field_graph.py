"""Field graphs: the part of one run's operations upstream or downstream of a field."""

from __future__ import annotations

from dataclasses import dataclass

from tests.oracle import readings
from tests.oracle.content import Content, EndPoint, Node, Operation, operations_of_type, outputs_of
from tests.oracle.relations import Step, is_drop, reached, steps_of


@dataclass(frozen=True, slots=True)
class FieldGraph:
    """The nodes, steps and operations of one content that belong to one field of one end point."""

    starts: frozenset[Node]  # the nodes of the field asked for
    ends: frozenset[Node]  # backward: the ultimate sources; forward: what a WRITE takes
    nodes: frozenset[Node]
    steps: frozenset[Step]
    operations: tuple[Operation, ...]


def written_nodes(content: Content, end_point: EndPoint, field: str) -> set[Node]:
    """The nodes that some WRITE to the end point takes as this field."""
    return {
        item.node
        for write in operations_of_type(content, "WRITE")
        for item in write.inputs
        if write.end_point == end_point and item.name == field and not item.indirect
    }


def read_nodes(content: Content, end_point: EndPoint, field: str) -> set[Node]:
    """The nodes that stand for this field of the end point as it was read."""
    reads = [read for read in operations_of_type(content, "READ") if read.end_point == end_point]
    return {(read.name, field) for read in reads if field in outputs_of(content, read)}


def backward(content: Content, end_point: EndPoint, field: str, indirect: bool = True) -> FieldGraph:
    """Everything that leads into a written field."""
    starts = written_nodes(content, end_point, field)
    steps = steps_of(content, indirect)
    nodes = reached([Step(s.stop, s.start, s.operation, s.indirect) for s in steps], starts)
    sources = {read.name for read in operations_of_type(content, "READ")}
    origins = {origin for origin, _ in nodes}
    writes = [w for w in operations_of_type(content, "WRITE") if w.end_point == end_point]
    takers = {w.name for w in writes for i in w.inputs if i.name == field and not i.indirect}
    return FieldGraph(
        starts=frozenset(starts),
        ends=frozenset(node for node in nodes if node[0] in sources),
        nodes=frozenset(nodes),
        steps=frozenset(step for step in steps if step.stop in nodes),
        operations=tuple(o for o in content if o.name in origins | takers),
    )


def forward(content: Content, end_point: EndPoint, field: str, indirect: bool = True) -> FieldGraph:
    """Everything a field that was read leads to, drops and dead ends too."""
    starts = read_nodes(content, end_point, field)
    steps = steps_of(content, indirect)
    nodes = reached(steps, starts)
    takers = {
        o.name
        for o in content
        for i in o.inputs
        if i.node in nodes and (indirect or not i.indirect) and (o.type == "WRITE" or is_drop(content, o))
    }
    origins = {origin for origin, _ in nodes}
    return FieldGraph(
        starts=frozenset(starts),
        ends=frozenset(node for node in nodes if destinations(content, node, indirect)),
        nodes=frozenset(nodes),
        steps=frozenset(step for step in steps if step.start in nodes),
        operations=tuple(o for o in content if o.name in origins | takers),
    )


def destinations(content: Content, node: Node, indirect: bool) -> set[EndPoint]:
    """The end points of the WRITEs that take a node as a field, not only as an influence."""
    influenced = indirect and readings.INFLUENCED_WRITE_IS_DESTINATION
    return {
        write.end_point
        for write in operations_of_type(content, "WRITE")
        for item in write.inputs
        if item.node == node and (not item.indirect or influenced)
    }
