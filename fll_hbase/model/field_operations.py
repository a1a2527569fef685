"""Operations of one field: those that lead into a destination field, or that a source field leads to."""

from __future__ import annotations

from collections.abc import Sequence

from fll_hbase.model import topology
from fll_hbase.model.datasets import DatasetField
from fll_hbase.model.operations import Influence, Operation, Read, Write, inputs_of, outputs_of


def operations_into(operations: Sequence[Operation], target: DatasetField) -> tuple[Operation, ...]:
    """Return the operations that lead into a destination field, its Writes too, in an order that can run.

    Indirect inputs are followed, too. Empty if no Write writes the field.
    """
    by_name = {operation.name: operation for operation in operations}
    reached = {write.name: _written_origins(write, target) for write in _writes_of(operations, target)}
    pending = [origin for origins in reached.values() for origin in origins]
    while pending:
        name = pending.pop()
        if name not in reached:
            reached[name] = {field.origin for field in inputs_of(by_name[name])}
            pending.extend(reached[name])
    return topology.sort_operations([by_name[name] for name in reached])


def operations_from(operations: Sequence[Operation], source: DatasetField) -> tuple[Operation, ...]:
    """Return the operations that a source field leads to, its Reads too, in an order that can run.

    Indirect inputs are followed, too. Empty if no Read reads the field.
    """
    by_name = {operation.name: operation for operation in operations}
    consumers: dict[str, set[str]] = {}
    field_consumers: dict[str, set[str]] = {}
    for operation in operations:
        for field in inputs_of(operation):
            consumers.setdefault(field.origin, set()).add(operation.name)
            if field.name == source.name:
                field_consumers.setdefault(field.origin, set()).add(operation.name)
    reached = {read.name for read in _reads_of(operations, source, field_consumers)}
    # A Read has other fields, too: of it only the consumers of this field are followed.
    pending = [name for read in reached for name in field_consumers.get(read, ())]
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            pending.extend(consumers.get(name, ()))
    return topology.sort_operations([by_name[name] for name in sorted(reached)])


def _writes_of(operations: Sequence[Operation], target: DatasetField) -> list[Write]:
    return [
        operation
        for operation in operations
        if isinstance(operation, Write) and _written_origins(operation, target)
    ]


def _written_origins(write: Write, target: DatasetField) -> set[str]:
    """Return the operations whose output a Write writes as the field."""
    if write.destination != target.dataset:
        return set()
    # An indirect input of a Write decides on rows of the dataset, not on the value of this field.
    return {
        field.origin
        for field in write.inputs
        if field.name == target.name and field.influence is Influence.DIRECT
    }


def _reads_of(operations: Sequence[Operation], source: DatasetField, used: dict[str, set[str]]) -> list[Read]:
    """Return the Reads that list the field, or whose output of this name is `used`."""
    return [
        operation
        for operation in operations
        if isinstance(operation, Read)
        and operation.source == source.dataset
        and (operation.name in used or source.name in {output.name for output in outputs_of(operation)})
    ]
