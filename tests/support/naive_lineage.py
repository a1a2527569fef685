"""Naive lineage for comparison: every path from field to field, straight from the contract.

Exponential, so for small sets of operations only. Shares no code with the model but its values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.operation_graph import NodeId
from fll_hbase.model.operations import (
    Influence,
    InputField,
    Operation,
    Read,
    Transform,
    Write,
    inputs_of,
    outputs_of,
)

FieldPair: TypeAlias = tuple[DatasetField, DatasetField]


class Step(NamedTuple):
    """From one field to one made of it by an operation."""

    start: NodeId
    end: NodeId
    operation: str
    direct: bool


Path: TypeAlias = tuple[Step, ...]


@dataclass(slots=True)
class NaiveLineage:
    """Return the field pairs of operations one by one; a pair may be in several sets."""

    direct: set[FieldPair] = field(default_factory=set)
    indirect: set[FieldPair] = field(default_factory=set)
    dataset_wide: set[tuple[DatasetField, Dataset]] = field(default_factory=set)
    written: set[DatasetField] = field(default_factory=set)
    dropped_direct: set[DatasetField] = field(default_factory=set)
    dropped_indirect: set[DatasetField] = field(default_factory=set)

    @property
    def generated(self) -> set[DatasetField]:
        return self.written - {target for _, target in self.direct}


def node_of(input_field: InputField) -> NodeId:
    return input_field.origin, input_field.name


def is_direct(input_field: InputField) -> bool:
    return input_field.influence is Influence.DIRECT


def outputs_of_operation(operations: Sequence[Operation], operation: Operation) -> set[str]:
    """The fields an operation lists, and those that others take from it all the same."""
    listed = {output.name for output in outputs_of(operation)}
    return listed | {
        input_field.name
        for other in operations
        for input_field in inputs_of(other)
        if input_field.origin == operation.name
    }


def paths_into(operations: Sequence[Operation], node: NodeId) -> Iterator[Path]:
    """Every path that ends in the node, the empty one too."""
    yield ()
    maker = next(operation for operation in operations if operation.name == node[0])
    for input_field in inputs_of(maker):
        step = Step(node_of(input_field), node, maker.name, is_direct(input_field))
        for head in paths_into(operations, step.start):
            yield (*head, step)


def paths_from(operations: Sequence[Operation], node: NodeId) -> Iterator[Path]:
    """Every path that begins at the node, the empty one too."""
    yield ()
    for operation in operations:
        for input_field in inputs_of(operation):
            if isinstance(operation, Transform) and node_of(input_field) == node:
                for name in sorted(outputs_of_operation(operations, operation)):
                    step = Step(node, (operation.name, name), operation.name, is_direct(input_field))
                    for tail in paths_from(operations, step.end):
                        yield (step, *tail)


def naive_lineage(operations: Sequence[Operation]) -> NaiveLineage:
    """Pairs by walking back from every input of every WRITE and of every drop."""
    result = NaiveLineage()
    for operation in operations:
        drops = isinstance(operation, Transform) and not outputs_of_operation(operations, operation)
        for input_field in inputs_of(operation):
            if isinstance(operation, Write):
                _add_write(result, operation, input_field, _sources(operations, input_field))
            elif drops:
                for source, direct in _sources(operations, input_field):
                    _put(
                        source,
                        direct and is_direct(input_field),
                        result.dropped_direct,
                        result.dropped_indirect,
                    )
    return result


def _add_write(
    result: NaiveLineage, write: Write, input_field: InputField, sources: Iterable[tuple[DatasetField, bool]]
) -> None:
    if not is_direct(input_field):
        result.dataset_wide.update((source, write.destination) for source, _ in sources)
        return
    target = DatasetField(write.destination, input_field.name)
    result.written.add(target)
    for source, direct in sources:
        _put((source, target), direct, result.direct, result.indirect)


def _put(item: object, direct: bool, directs: set, indirects: set) -> None:
    (directs if direct else indirects).add(item)


def _sources(operations: Sequence[Operation], input_field: InputField) -> Iterator[tuple[DatasetField, bool]]:
    """Per path into an input that begins at a READ: the field read, and whether every step is direct."""
    reads = {operation.name: operation.source for operation in operations if isinstance(operation, Read)}
    for path in paths_into(operations, node_of(input_field)):
        origin, name = path[0].start if path else node_of(input_field)
        if origin in reads:
            yield DatasetField(reads[origin], name), all(step.direct for step in path)
