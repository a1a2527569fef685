"""What one set of operations means: checked whole, then frozen with its checksum, field map and graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fll_hbase.errors import FieldError, InvalidLineage
from fll_hbase.model import operation_sets, topology
from fll_hbase.model.checksum import checksum
from fll_hbase.model.datasets import Dataset, DatasetField, Field
from fll_hbase.model.field_map import FieldMap, build_field_map
from fll_hbase.model.operations import Operation, Read, Write, inputs_of, outputs_of


@dataclass(frozen=True, slots=True)
class FieldLineageInfo:
    """The seven things one distinct set of operations says; equal checksums are equal contents.

    `backward` and `forward` tell, per destination and per source field, the operations on its way: bit n is
    `operations[n]`, sorted by name. Both are empty beyond operation_sets.GRAPHED_OPERATIONS_MAX operations.
    """

    operations: tuple[Operation, ...]
    checksum: str
    sources: tuple[Dataset, ...]
    destinations: tuple[Dataset, ...]
    field_map: FieldMap
    backward: dict[DatasetField, int]
    forward: dict[DatasetField, int]


def build_lineage(operations: Sequence[Operation]) -> FieldLineageInfo:
    """The lineage that `operations` mean, in any order.

    Raises InvalidLineage with every fault, each at its place in the order given.
    """
    return _checked(operations, find_errors(operations))


def build_lineage_lenient(operations: Sequence[Operation]) -> FieldLineageInfo:
    """As `of`, of operations that another system told: a missing READ or WRITE is no fault there."""
    return _checked(operations, _broken_ways(operations))


def _checked(operations: Sequence[Operation], found: Iterator[FieldError]) -> FieldLineageInfo:
    faults = tuple(found)
    if faults:
        raise InvalidLineage(faults)
    ordered = tuple(sorted(operations, key=lambda operation: operation.name))
    field_map = build_field_map(ordered)
    backward, forward = operation_sets.operations_by_field(ordered)
    return FieldLineageInfo(
        operations=ordered,
        checksum=checksum(ordered),
        sources=field_map.sources,
        destinations=field_map.destinations,
        field_map=field_map,
        backward=backward,
        forward=forward,
    )


def find_errors(operations: Sequence[Operation]) -> Iterator[FieldError]:
    """Every reason why the operations make no lineage."""
    if not any(isinstance(operation, Read) for operation in operations):
        yield FieldError("operations", "no READ: lineage starts at a source")
    if not any(isinstance(operation, Write) for operation in operations):
        yield FieldError("operations", "no WRITE: lineage ends at a destination")
    yield from _broken_ways(operations)


def _broken_ways(operations: Sequence[Operation]) -> Iterator[FieldError]:
    yield from _repeated_names(operations)
    yield from _unknown_origins(operations)
    yield from _cycles(operations)


def undeclared_inputs(operations: Sequence[Operation]) -> Iterator[FieldError]:
    """Inputs that their origin does not list as outputs: told, and treated as though listed."""
    listed = {operation.name: {field.name for field in outputs_of(operation)} for operation in operations}
    for number, operation in enumerate(operations):
        for place, field in enumerate(inputs_of(operation)):
            if field.name not in listed.get(field.origin, {field.name}):
                at = f"operations.{number}.inputs.{place}"
                yield FieldError(
                    at, f"{field.origin!r} does not list {field.name!r}; treated as though it did"
                )


def declare_missing_outputs(operations: Sequence[Operation]) -> dict[str, Operation]:
    """All operations of one content by name, each listing also what others take of it unlisted."""
    taken: dict[str, set[str]] = {}
    for operation in operations:
        for field in inputs_of(operation):
            taken.setdefault(field.origin, set()).add(field.name)
    return {operation.name: _listing(operation, taken.get(operation.name, set())) for operation in operations}


def _listing(operation: Operation, taken: set[str]) -> Operation:
    unlisted = sorted(taken - {field.name for field in outputs_of(operation)})
    if isinstance(operation, Write) or not unlisted:
        return operation
    return replace(operation, outputs=(*operation.outputs, *map(Field, unlisted)))


def _repeated_names(operations: Sequence[Operation]) -> Iterator[FieldError]:
    seen: dict[str, int] = {}
    for number, operation in enumerate(operations):
        first = seen.setdefault(operation.name, number)
        if first != number:
            detail = f"{operation.name!r} is also the name of operations.{first}; names are unique in a run"
            yield FieldError(f"operations.{number}.name", detail)


def _unknown_origins(operations: Sequence[Operation]) -> Iterator[FieldError]:
    writes = {operation.name: isinstance(operation, Write) for operation in operations}
    for number, operation in enumerate(operations):
        for place, field in enumerate(inputs_of(operation)):
            at = f"operations.{number}.inputs.{place}"
            if field.origin not in writes:
                yield FieldError(at, f"origin {field.origin!r} is no operation of this run")
            elif writes[field.origin]:
                yield FieldError(at, f"origin {field.origin!r} is a WRITE, which gives no fields")


def _cycles(operations: Sequence[Operation]) -> Iterator[FieldError]:
    numbers = {operation.name: number for number, operation in reversed(list(enumerate(operations)))}
    for names in topology.cycles(topology.operation_origins(operations)):
        first = min(numbers[name] for name in names)
        if len(names) == 1:
            yield FieldError(f"operations.{first}", f"{names[0]!r} feeds itself")
        else:
            said = ", ".join(repr(name) for name in names)
            yield FieldError(f"operations.{first}", f"a cycle: {said} feed one another")
