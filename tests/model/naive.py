"""What would a walk by hand say: every path from field to field, one by one, straight from the contract.

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
class Said:
    """What a set of operations says of fields, pair by pair; a pair may be in several sets."""

    direct: set[FieldPair] = field(default_factory=set)
    indirect: set[FieldPair] = field(default_factory=set)
    whole: set[tuple[DatasetField, Dataset]] = field(default_factory=set)
    written: set[DatasetField] = field(default_factory=set)
    dropped_direct: set[DatasetField] = field(default_factory=set)
    dropped_indirect: set[DatasetField] = field(default_factory=set)

    @property
    def generated(self) -> set[DatasetField]:
        return self.written - {target for _, target in self.direct}


def node_of(taken: InputField) -> NodeId:
    return taken.origin, taken.name


def is_direct(taken: InputField) -> bool:
    return taken.influence is Influence.DIRECT


def made_by(operations: Sequence[Operation], operation: Operation) -> set[str]:
    """The fields an operation lists, and those that others take from it all the same."""
    listed = {output.name for output in outputs_of(operation)}
    return listed | {
        taken.name for other in operations for taken in inputs_of(other) if taken.origin == operation.name
    }


def paths_into(operations: Sequence[Operation], node: NodeId) -> Iterator[Path]:
    """Every path that ends in the node, the empty one too."""
    yield ()
    maker = next(operation for operation in operations if operation.name == node[0])
    for taken in inputs_of(maker):
        step = Step(node_of(taken), node, maker.name, is_direct(taken))
        for before in paths_into(operations, step.start):
            yield (*before, step)


def paths_from(operations: Sequence[Operation], node: NodeId) -> Iterator[Path]:
    """Every path that begins at the node, the empty one too."""
    yield ()
    for operation in operations:
        for taken in inputs_of(operation):
            if isinstance(operation, Transform) and node_of(taken) == node:
                for name in sorted(made_by(operations, operation)):
                    step = Step(node, (operation.name, name), operation.name, is_direct(taken))
                    for after in paths_from(operations, step.end):
                        yield (step, *after)


def said(operations: Sequence[Operation]) -> Said:
    """Pairs by walking back from every input of every WRITE and of every drop."""
    result = Said()
    for operation in operations:
        drops = isinstance(operation, Transform) and not made_by(operations, operation)
        for taken in inputs_of(operation):
            if isinstance(operation, Write):
                _add_write(result, operation, taken, _sources(operations, taken))
            elif drops:
                for source, direct in _sources(operations, taken):
                    _put(source, direct and is_direct(taken), result.dropped_direct, result.dropped_indirect)
    return result


def _add_write(
    result: Said, write: Write, taken: InputField, sources: Iterable[tuple[DatasetField, bool]]
) -> None:
    if not is_direct(taken):
        result.whole.update((source, write.destination) for source, _ in sources)
        return
    target = DatasetField(write.destination, taken.name)
    result.written.add(target)
    for source, direct in sources:
        _put((source, target), direct, result.direct, result.indirect)


def _put(item: object, direct: bool, directs: set, indirects: set) -> None:
    (directs if direct else indirects).add(item)


def _sources(operations: Sequence[Operation], taken: InputField) -> Iterator[tuple[DatasetField, bool]]:
    """Per path into an input that begins at a READ: the field read, and whether every step is direct."""
    reads = {operation.name: operation.source for operation in operations if isinstance(operation, Read)}
    for path in paths_into(operations, node_of(taken)):
        origin, name = path[0].start if path else node_of(taken)
        if origin in reads:
            yield DatasetField(reads[origin], name), all(step.direct for step in path)
