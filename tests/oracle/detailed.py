"""Field answers over several contents: nodes, operations, connections, both views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.oracle import readings
from tests.oracle.content import Content, EndPoint, Json, Node, Operation, outputs_of, type_of
from tests.oracle.field_graph import FieldGraph, backward, destinations, forward
from tests.oracle.relations import Step, reached


@dataclass(frozen=True, slots=True)
class Part:
    """One checksum's part of the answer, and the names its operations go by there."""

    checksum: str
    content: Content
    graph: FieldGraph
    direct: FieldGraph
    names: dict[str, str]


@dataclass(frozen=True, slots=True)
class Question:
    """A field of an end point, which way, and whether indirect influence counts."""

    end_point: EndPoint
    field: str
    direction: str = "backward"
    indirect: bool = True

    def graph(self, content: Content, indirect: bool) -> FieldGraph:
        walk = backward if self.direction == "backward" else forward
        return walk(content, self.end_point, self.field, indirect)


def parts_of(question: Question, contents: Sequence[tuple[str, Content]]) -> list[Part]:
    """Each content that touches the field, newest first, with older namesakes renamed."""
    parts: list[Part] = []
    seen: dict[str, dict[Any, str]] = {}
    for checksum, content in contents:
        graph = question.graph(content, question.indirect)
        if graph.starts:
            names = {o.name: _name(seen, o, content, checksum) for o in graph.operations}
            parts.append(Part(checksum, content, graph, question.graph(content, False), names))
    return parts


def _name(seen: dict[str, dict[Any, str]], operation: Operation, content: Content, checksum: str) -> str:
    """Plain for the newest thing of that name, else with the checksum it was newest seen in."""
    names = seen.setdefault(operation.name, {})
    unlisted = frozenset(outputs_of(content, operation) if readings.IDENTITY_HOLDS_UNLISTED else ())
    plain = operation.name if not names else f"{operation.name}@{checksum[:8]}"
    return names.setdefault((operation.identity, unlisted), plain)


def node_id(part: Part, node: Node) -> str:
    """`<origin>.<field>`, the field's own dots and percent signs escaped."""
    return part.names[node[0]] + "." + node[1].replace("%", "%25").replace(".", "%2E")


def detailed_view(question: Question, parts: list[Part]) -> Json:
    """Every node, operation and connection."""
    connections = [_connection(part, step) for part in parts for step in part.graph.steps]
    return {
        "nodes": _nodes(question, parts, lambda part: part.graph.nodes),
        "operations": _operations(parts),
        "connections": _sorted_once(connections, ("from", "to", "operation", "influence")),
        "checksums": [part.checksum for part in parts],
        "truncated": False,
    }


def simple_view(question: Question, parts: list[Part]) -> Json:
    """Only the ultimate ends and the field asked for, joined by what ran between."""
    return {
        **detailed_view(question, parts),
        "nodes": _nodes(question, parts, lambda part: part.graph.starts | part.graph.ends),
        "connections": _simple_connections(question, parts),
    }


def _connection(part: Part, step: Step) -> Json:
    ends = {"from": node_id(part, step.start), "to": node_id(part, step.stop)}
    influence = {"influence": "indirect"} if step.indirect else {}
    return {**ends, "operation": part.names[step.operation], **influence}


def _operations(parts: list[Part]) -> list[Json]:
    matches = [
        {"name": part.names[o.name], "description": o.description, "type": o.type}
        for part in parts
        for o in part.graph.operations
    ]
    return _sorted_once(matches, ("name",))


def _sorted_once(items: list[Json], members: Sequence[str]) -> list[Json]:
    once = {tuple(sorted(item.items())): item for item in items}
    return sorted(once.values(), key=lambda item: [item.get(member, "") for member in members])


def _nodes(question: Question, parts: list[Part], chosen: Any) -> list[Json]:
    matches: dict[str, Json] = {}
    written: dict[str, set[EndPoint]] = {}
    for part in parts:
        for node in chosen(part):
            name = node_id(part, node)
            matches.setdefault(name, _node(part, node, name))
            written.setdefault(name, set()).update(_written(question, part, node))
    return [{**matches[name], **_destinations(sorted(written[name]))} for name in sorted(matches)]


def _node(part: Part, node: Node, name: str) -> Json:
    answer: Json = {"id": name, "label": node[1], "origin": name.rpartition(".")[0]}
    kind = type_of(part.content, node)
    if kind is not None:
        answer["type"] = kind
    for operation in part.content:
        if operation.name == node[0] and operation.type == "READ":
            answer["sourceEndPoint"] = operation.end_point.json()
    return answer


def _written(question: Question, part: Part, node: Node) -> set[EndPoint]:
    if question.direction == "forward":
        return destinations(part.content, node, question.indirect)
    return {question.end_point} if node in part.graph.starts else set()


def _destinations(end_points: list[EndPoint]) -> Json:
    if not end_points:
        return {}
    answer: Json = {"destinationEndPoint": end_points[0].json()}
    if len(end_points) > 1:
        answer["destinationEndPoints"] = [entry.json() for entry in end_points]
    return answer


def _simple_connections(question: Question, parts: list[Part]) -> list[Json]:
    between: dict[tuple[str, str], set[str]] = {}
    direct: set[tuple[str, str]] = set()
    for part in parts:
        for low, high in _ends(question, part.graph):
            key = (node_id(part, low), node_id(part, high))
            names = {part.names[name] for name in _between(part.graph.steps, low, high)}
            between.setdefault(key, set()).update(names)
            if high in reached(part.direct.steps, [low]):
                direct.add(key)
    order = _order(parts)
    return [
        {"from": low, "to": high, **_ran(sorted(between[low, high], key=order.index))}
        | ({} if (low, high) in direct else {"influence": "indirect"})
        for low, high in sorted(between)
    ]


def _ends(question: Question, graph: FieldGraph) -> list[tuple[Node, Node]]:
    """(source, field asked for) backward, (field asked for, destination) forward, where a way joins them."""
    lows, highs = graph.ends, graph.starts
    if question.direction == "forward":
        lows, highs = graph.starts, graph.ends
    joined = {low: reached(graph.steps, [low]) for low in lows}
    return [(low, high) for low in lows for high in highs if low != high and high in joined[low]]


def _between(steps: frozenset[Step], low: Node, high: Node) -> set[str]:
    """The transforms on any way from one node to the other."""
    downstream = reached(steps, [low])
    return {s.operation for s in steps if s.start in downstream and high in reached(steps, [s.stop])}


def _ran(names: list[str]) -> Json:
    return {"operation": ", ".join(names), "operations": names}


def _order(parts: list[Part]) -> list[str]:
    """All operations in an order that could have run (as far as the contents agree on one)."""
    feeds = {
        (part.names[step.start[0]], part.names[step.operation]) for part in parts for step in part.graph.steps
    }
    left = sorted({name for part in parts for name in part.names.values()})
    order: list[str] = []
    while left:
        ready = [name for name in left if not any((other, name) in feeds for other in left)] or left
        order.append(ready[0])
        left.remove(ready[0])
    return order
