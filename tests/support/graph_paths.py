"""Paths through the connections of a graph of operations, by brute force."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fll_hbase.model.operation_graph import NodeId, OperationGraph
from fll_hbase.model.operations import Influence, Operation, inputs_of


def paths(graph: OperationGraph, start: NodeId, end: NodeId) -> Iterator[list[tuple[str, Influence]]]:
    """Every path through the connections of a full graph, as operations and influences."""
    if start == end:
        yield []
    for (left, other, operation), influence in graph.connections.items():
        if left == start:
            for rest in paths(graph, other, end):
                yield [(operation, influence), *rest]


def could_have_run(operations: Mapping[str, Operation], names: tuple[str, ...]) -> bool:
    ran: set[str] = set()
    for name in names:
        ran.add(name)
        if any(
            input_field.origin in names and input_field.origin not in ran
            for input_field in inputs_of(operations[name])
        ):
            return False
    return True
