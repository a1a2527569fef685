"""Fields that operations read and write, and the nodes of a graph at its ends."""

from __future__ import annotations

from collections.abc import Iterable

from fll_hbase.model.datasets import DatasetField
from fll_hbase.model.operation_graph import NodeId
from fll_hbase.model.operations import Operation, Read, Write
from tests.support import naive_lineage as naive


def written_fields(operations: Iterable[Operation]) -> set[DatasetField]:
    return {
        DatasetField(operation.destination, input_field.name)
        for operation in operations
        if isinstance(operation, Write)
        for input_field in operation.inputs
        if naive.is_direct(input_field)
    }


def read_fields(operations: tuple[Operation, ...]) -> set[DatasetField]:
    return {
        DatasetField(operation.source, name)
        for operation in operations
        if isinstance(operation, Read)
        for name in naive.outputs_of_operation(operations, operation)
    }


def start_writes(operations: tuple[Operation, ...], target: DatasetField) -> dict[NodeId, list[Write]]:
    """The nodes that Writes take as the destination field, each with those Writes."""
    writes_by_node: dict[NodeId, list[Write]] = {}
    for operation in operations:
        if isinstance(operation, Write) and operation.destination == target.dataset:
            for input_field in operation.inputs:
                if input_field.name == target.name and naive.is_direct(input_field):
                    writes_by_node.setdefault(naive.node_of(input_field), []).append(operation)
    return writes_by_node


def start_nodes(operations: tuple[Operation, ...], origin: DatasetField) -> list[NodeId]:
    """The nodes of a source field."""
    return [
        (operation.name, origin.name)
        for operation in operations
        if isinstance(operation, Read)
        and operation.source == origin.dataset
        and origin.name in naive.outputs_of_operation(operations, operation)
    ]
