"""The graph of a field query as JSON of the REST contract."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fll_hbase.model.masking import is_hidden_operation
from fll_hbase.model.operation_graph import Node, NodeId, OperationGraph
from fll_hbase.model.operations import Influence, dataset_of, type_of
from fll_hbase.queries import name_json
from fll_hbase.queries.failed_json import failed_member
from fll_hbase.queries.rest_json import truncatable
from fll_hbase.runtime.json_types import Json
from fll_hbase.store.results import FieldLineageResult


def field_lineage(result: FieldLineageResult) -> Json:
    """Return the graph of a field query, detailed or simple, with nodes and connections sorted.

    A hidden dataset is one node, without the operations that read or write it.
    """
    graph = result.graph
    names = [name for name in sorted(graph.operations) if not is_hidden_operation(name)]
    body: Json = {
        "nodes": sorted(_nodes(graph), key=lambda node: node["id"]),
        "operations": [_operation(name, graph) for name in names],
        "connections": sorted(
            _distinct(_connections(graph)), key=lambda item: (item["from"], item["to"], item["operation"])
        ),
        "checksums": list(result.checksums),
    }
    return truncatable(body, result.truncated_by)


def node_id(node: NodeId) -> str:
    """Return the id of a node in answers."""
    origin, name = node
    if is_hidden_operation(origin):
        # Without a dot, which every other id has.
        return f"hidden-{name_json.hidden_number(origin)}"
    # The dot separates origin and field, so it is escaped in the field, after the escape character itself.
    return f"{origin}.{name.replace('%', '%25').replace('.', '%2E')}"


def operation_name(name: str) -> str:
    """Return the name of an operation in connections; that of a hidden one is the dataset's."""
    return f"hidden {name_json.hidden_number(name)}" if is_hidden_operation(name) else name


def _nodes(graph: OperationGraph) -> Iterator[Json]:
    hidden: dict[str, Json] = {}
    for node in graph.nodes.values():
        body = _node(node, graph)
        if not is_hidden_operation(node.id[0]):
            yield body
            continue
        merged = hidden.setdefault(body["id"], body)
        # A hidden dataset that is read and written is one node, failed if nothing else led to it.
        if "failed" not in body:
            merged.pop("failed", None)
        merged |= body
    yield from hidden.values()


def _node(node: Node, graph: OperationGraph) -> Json:
    origin, name = node.id
    if is_hidden_operation(origin):
        number = name_json.hidden_number(origin)
        body: Json = {"id": node_id(node.id), "label": f"hidden {number}", "hidden": number}
    else:
        body = {"id": node_id(node.id), "label": name, "origin": origin}
    body |= failed_member(node.id, graph.failed)
    if node.type:
        body["type"] = node.type
    if node.source is not None:
        body["sourceEndPoint"] = name_json.dataset(node.source)
    destinations = [name_json.dataset(destination) for destination in sorted(node.destinations)]
    if destinations:
        # The contract has one destination per node; a node that several WRITEs use lists all of them as well.
        body["destinationEndPoint"] = destinations[0]
    if len(destinations) > 1:
        body["destinationEndPoints"] = destinations
    return body


def _operation(name: str, graph: OperationGraph) -> Json:
    operation = graph.operations[name]
    body: Json = {"name": name, "description": operation.description, "type": type_of(operation)}
    body |= failed_member(name, graph.failed)
    dataset = dataset_of(operation)
    if dataset is not None:
        body["endPoint"] = name_json.dataset(dataset)
    return body


def _connections(graph: OperationGraph) -> Iterable[Json]:
    for key, influence in graph.connections.items():
        name = operation_name(key[2])
        yield _connection(*key[:2], influence, {"operation": name, **failed_member(key, graph.failed)})
    # Only the simple view has paths: there a connection goes through several operations.
    for (start, end), path in graph.paths.items():
        shown = [name for name in path.operations if not is_hidden_operation(name)]
        names: Json = {"operation": ", ".join(shown), "operations": shown}
        yield _connection(start, end, path.influence, names | failed_member((start, end), graph.failed))


def _connection(start: NodeId, end: NodeId, influence: Influence, members: Json) -> Json:
    body = {"from": node_id(start), "to": node_id(end), **members}
    if influence is Influence.INDIRECT:
        body["influence"] = influence.value
    return body


def _distinct(connections: Iterable[Json]) -> Iterator[Json]:
    """Yield connections, those of hidden nodes once, and none within one of them."""
    hidden: dict[tuple[Any, ...], Json] = {}
    for body in connections:
        if not _is_hidden(body["from"]) and not _is_hidden(body["to"]):
            yield body
        elif body["from"] != body["to"]:
            merged = hidden.setdefault((body["from"], body["to"], body["operation"]), body)
            for member in ("failed", "influence"):
                # Direct, and of complete runs, if one of them is.
                if member not in body:
                    merged.pop(member, None)
    yield from hidden.values()


def _is_hidden(identifier: str) -> bool:
    return "." not in identifier
