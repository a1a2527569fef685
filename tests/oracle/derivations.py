"""Derivations of a field."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.oracle import readings
from tests.oracle.content import Content, EndPoint, Json, Operation, outputs_of
from tests.oracle.field_graph import FieldGraph, backward
from tests.oracle.history import Run


def paths_of(runs: list[Run], end_point: EndPoint, field: str) -> list[Json]:
    """One path per distinct way, newest first; the runs are given newest first."""
    ways: dict[Any, tuple[FieldGraph, list[Run]]] = {}
    for run in runs:
        graph = backward(run.content, end_point, field)
        if graph.starts:
            ways.setdefault(_way(graph), (graph, []))[1].append(run)
    return [_path(graph, used) for graph, used in ways.values()]


def _way(graph: FieldGraph) -> Any:
    """Operations by name, type, description and end point, the nodes, and the connections."""
    signature = frozenset((o.name, o.type, o.description, o.end_points) for o in graph.operations)
    return signature, graph.nodes, graph.steps


def _path(graph: FieldGraph, runs: list[Run]) -> Json:
    return {
        "operations": [_operation_json(runs[0].content, o) for o in in_order(graph.operations)],
        "runs": [str(run.member("run")) for run in runs],
        "runCount": len(runs),
        "firstStart": runs[-1].start_ms,
        "lastStart": runs[0].start_ms,
    }


def _operation_json(content: Content, operation: Operation) -> Json:
    inputs: Iterable[str] = {input_field.name for input_field in operation.inputs}
    if operation.type == "READ":
        inputs = [operation.end_point.name]
    shown = readings.PATHS_SHOW_UNLISTED
    outputs = sorted(outputs_of(content, operation) if shown else (name for name, _ in operation.outputs))
    signature = {"inputs": sorted(inputs), "outputs": outputs}
    return {**signature, "name": operation.name, "description": operation.description}


def in_order(operations: Iterable[Operation]) -> list[Operation]:
    """An order that could have run: each after what it takes from; ties by name."""
    left, order = sorted(operations, key=lambda o: o.name), []
    while left:
        waiting = {operation.name for operation in left}
        ready = next(o for o in left if not any(input_field.origin in waiting for input_field in o.inputs))
        order.append(ready)
        left.remove(ready)
    return order
