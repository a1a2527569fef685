"""Lineage of one set of operations: validated, with its checksum and field map, and unknown relations."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fll_hbase.model import topology
from fll_hbase.model.checksum import checksum
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.field_map import FieldMap, build_field_map
from fll_hbase.model.operations import Operation, Read, Write, inputs_of, outputs_of, used_outputs
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import ErrorList, FieldError, InvalidLineage


@dataclass(frozen=True, slots=True)
class FieldLineageInfo:
    """The lineage of one distinct set of operations, sorted by name; equal checksums mean equal contents."""

    operations: tuple[Operation, ...]
    checksum: str
    sources: tuple[Dataset, ...]
    destinations: tuple[Dataset, ...]
    field_map: FieldMap


def build_lineage(operations: Sequence[Operation]) -> FieldLineageInfo:
    """Build the lineage of operations given in any order.

    Raises InvalidLineage with all errors, whose paths number the operations in the order given. While a
    document is read, also raises DeadlineExceeded or TooLarge, as `deadline.check` does.
    """
    return _build(operations, find_errors(operations))


def build_lineage_lenient(operations: Sequence[Operation]) -> FieldLineageInfo:
    """Build the lineage of operations of other systems, which may lack a READ or a WRITE.

    Raises InvalidLineage with all other errors that `build_lineage` finds, and the errors of deadlines.
    """
    return _build(operations, _graph_errors(operations))


def _build(operations: Sequence[Operation], found_errors: Iterator[FieldError]) -> FieldLineageInfo:
    """Return the lineage of operations. Raises InvalidLineage if there is any of `found_errors`."""
    # Report all errors before building anything: sorting and sets require existing origins and no cycles.
    if errors := ErrorList(found_errors):
        raise InvalidLineage(errors)
    # Graph cells contain positions in the sorted operation names (docs/reference/row-keys.md, column `o:n`).
    deadline.check_reading()
    ordered = tuple(sorted(operations, key=lambda operation: operation.name))
    field_map = build_field_map(ordered)
    return FieldLineageInfo(
        operations=ordered,
        checksum=checksum(ordered),
        sources=field_map.sources,
        destinations=field_map.destinations,
        field_map=field_map,
    )


def find_errors(operations: Sequence[Operation]) -> Iterator[FieldError]:
    """Yield every reason why the operations are not valid lineage."""
    if not any(isinstance(operation, Read) for operation in operations):
        yield FieldError("operations", "no READ: lineage starts at a source")
    if not any(isinstance(operation, Write) for operation in operations):
        yield FieldError("operations", "no WRITE: lineage ends at a destination")
    yield from _graph_errors(operations)


def unknown_origin(path: str, origin: str) -> FieldError:
    """Return the error for an input at a path whose origin is not an operation of its run."""
    return FieldError(path, f"origin {origin!r} is not an operation of this run")


def undeclared_inputs(operations: Sequence[Operation]) -> Iterator[FieldError]:
    """Yield a warning for each input that its origin does not list as output, but which counts as listed."""
    listed = {operation.name: {field.name for field in outputs_of(operation)} for operation in operations}
    for number, operation in enumerate(operations):
        for index, field in enumerate(inputs_of(operation)):
            # An unknown origin passes here: `_invalid_origins` reports it as an error.
            if field.name not in listed.get(field.origin, {field.name}):
                detail = f"{field.origin!r} does not list {field.name!r}; treated as though it did"
                yield FieldError(f"operations.{number}.inputs.{index}", detail)


def declare_missing_outputs(operations: Sequence[Operation]) -> dict[str, Operation]:
    """Return all operations of one content by name, adding outputs that are used but not listed."""
    used = used_outputs(operations)
    return {
        operation.name: _add_outputs(operation, used.get(operation.name, set())) for operation in operations
    }


def _add_outputs(operation: Operation, names: set[str]) -> Operation:
    """Return the operation with missing `names` added to its outputs; a Write unchanged."""
    missing = sorted(names - {field.name for field in outputs_of(operation)})
    if isinstance(operation, Write) or not missing:
        return operation
    # Only for answers: stored operations stay as recorded, since the checksum is computed from them.
    return replace(operation, outputs=(*operation.outputs, *map(Field, missing)))


def _graph_errors(operations: Sequence[Operation]) -> Iterator[FieldError]:
    """Yield the errors in names, origins and cycles."""
    yield from _repeated_names(operations)
    yield from _invalid_origins(operations)
    yield from _invalid_unknown_origins(operations)
    yield from _cycles(operations)


def _repeated_names(operations: Sequence[Operation]) -> Iterator[FieldError]:
    """Yield an error for each operation whose name an earlier operation has."""
    numbers: dict[str, int] = {}
    for number, operation in enumerate(deadline.watched(operations)):
        first = numbers.setdefault(operation.name, number)
        if first != number:
            detail = f"{operation.name!r} is also the name of operations.{first}; names are unique in a run"
            yield FieldError(f"operations.{number}.name", detail)


def _invalid_origins(operations: Sequence[Operation]) -> Iterator[FieldError]:
    """Yield an error for each input whose origin is unknown or a Write."""
    is_write = {operation.name: isinstance(operation, Write) for operation in operations}
    for number, operation in enumerate(deadline.watched(operations)):
        for index, field in enumerate(inputs_of(operation)):
            path = f"operations.{number}.inputs.{index}"
            if field.origin not in is_write:
                yield unknown_origin(path, field.origin)
            elif is_write[field.origin]:
                yield FieldError(path, f"origin {field.origin!r} is a WRITE, which has no outputs")


def _invalid_unknown_origins(operations: Sequence[Operation]) -> Iterator[FieldError]:
    """Yield an error for each unknown origin of a WRITE that is not a READ of the run."""
    reads = {operation.name for operation in operations if isinstance(operation, Read)}
    for number, operation in enumerate(operations):
        origins = operation.unknown_origins or () if isinstance(operation, Write) else ()
        for index, origin in enumerate(origins):
            if origin not in reads:
                path = f"operations.{number}.unknownOrigins.{index}"
                yield FieldError(path, f"{origin!r} is not a READ of this run")


def _cycles(operations: Sequence[Operation]) -> Iterator[FieldError]:
    """Yield an error for each cycle, at the first of its operations in the order given."""
    # Reversed, so that the first of several operations with the same name counts. Equal names are a separate
    # error.
    numbers = {operation.name: number for number, operation in reversed(list(enumerate(operations)))}
    for names in topology.cycles(topology.operation_origins(operations)):
        path = f"operations.{min(numbers[name] for name in names)}"
        if len(names) == 1:
            yield FieldError(path, f"{names[0]!r} feeds itself")
        else:
            yield FieldError(path, f"a cycle: {', '.join(map(repr, names))} feed one another")


def limit_unknown(
    operations: Sequence[Operation],
    connected: Mapping[str, Collection[str]],
    *,
    open_writes: Collection[str] = (),
) -> list[Operation]:
    """Return operations whose WRITEs state their unknown origins if the defaults are wrong for any WRITE.

    A READ without fields and a WRITE without inputs are related to all of their run, unless WRITEs state
    their unknown origins. `connected` maps the name of each WRITE to the names of the READs from which
    anything may reach it. `open_writes` are the WRITEs that are also related to all these READs in an unknown
    way. A WRITE without unknown origins states nothing, or () if no WRITE has any. The operations are
    returned unchanged if the default relations are right, as for a single statement.
    """
    used = {item.origin for operation in operations for item in inputs_of(operation)}
    reads = [operation for operation in operations if isinstance(operation, Read)]
    all_names = {read.name for read in reads}
    without_fields = {read.name for read in reads if not read.outputs} - used
    origins: dict[str, set[str]] = {}
    is_stated = False
    for write in operations:
        if isinstance(write, Write):
            implied = without_fields if write.inputs else all_names
            related = all_names if write.name in open_writes else implied
            origins[write.name] = related.intersection(connected[write.name])
            is_stated |= origins[write.name] != implied
    if not is_stated:
        return list(operations)
    # At least one WRITE must state its origins, or else all READs and WRITEs are related again.
    is_none_related = not any(origins.values())
    return [
        replace(operation, unknown_origins=tuple(sorted(origins[operation.name])))
        if isinstance(operation, Write) and (is_none_related or origins[operation.name])
        else operation
        for operation in operations
    ]
