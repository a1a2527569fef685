"""What is sent: a run with its operations, as a document of the REST contract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fll_hbase.json_types import Json
from fll_hbase.model import topology
from fll_hbase.model.checksum import operation_to_dict
from fll_hbase.model.operations import Field, Operation, Read
from fll_hbase.model.runs import State
from fll_hbase.recorder.types import Destination, FieldOperation, Input, Run, Source
from fll_hbase.sources.native import document


@dataclass(frozen=True, slots=True)
class Part:
    """What a run did for one destination."""

    destination: Destination
    operations: tuple[FieldOperation, ...]


def of(run: Run, parts: Sequence[Part], *, namespace: str) -> Json:
    """The document of a run that writes one destination, or several.

    One is said in the first design's form. That form has no place for more: several are said in the other
    form, joined; then an UnreadableDocument or InvalidLineage tells what is wrong with one of them.
    """
    head = {"namespace": namespace, "run": _run(run)}
    if len(parts) == 1:
        return head | _first_design(parts[0])
    each = [document.read_operations(_first_design(part), namespace).info.operations for part in parts]
    return head | {"operations": [operation_to_dict(operation) for operation in _joined(each)]}


def pipeline(run: Run, config: Json, arguments: Mapping[str, str], *, namespace: str) -> Json:
    """The document of a run that is told by a pipeline's config."""
    return {"namespace": namespace, "run": _run(run), "config": config, "arguments": dict(arguments)}


def _run(run: Run) -> Json:
    said = {
        "application": run.application,
        "version": run.version,
        "type": run.type,
        "program": run.program,
        "run": run.run,
        "startTime": run.start_ms,
        "state": State(run.state).value,
    }
    return said if run.version else {name: value for name, value in said.items() if name != "version"}


def _first_design(part: Part) -> Json:
    destination = _end_point(part.destination)
    if part.destination.fields:
        destination["fields"] = [described_field(field) for field in part.destination.fields]
    return {"destination": destination, "operations": [described_operation(item) for item in part.operations]}


def described_operation(operation: FieldOperation) -> Json:
    """An operation in the first design's form."""
    return {
        "name": operation.name,
        "description": operation.description,
        "inputs": [_input(taken) for taken in operation.inputs],
        "outputs": [described_field(field) for field in operation.outputs],
    }


def _input(taken: Input) -> Json:
    return {"source": _end_point(taken)} if isinstance(taken, Source) else {"field": described_field(taken)}


def described_field(field: Field | str) -> Any:
    """A typed field as an object; anything else as it is, for the reader to judge."""
    if not isinstance(field, Field):
        return field
    return {"name": field.name, "type": field.type} if field.type else {"name": field.name}


def _end_point(end_point: Source | Destination) -> Json:
    said = {"namespace": end_point.namespace, "name": end_point.name}
    return said | {"description": end_point.description} if end_point.description else said


def _joined(each: Iterable[Sequence[Operation]]) -> list[Operation]:
    """The operations of all; equal ones once, different ones of one name as `name`, `name#2`, …"""
    joined: dict[str, Operation] = {}
    for operations in each:
        names: dict[str, str] = {}
        for operation in topology.sort_operations(operations):
            moved = _moved(operation, names)
            names[operation.name] = _place(moved, joined)
            joined.setdefault(names[operation.name], replace(moved, name=names[operation.name]))
    return list(joined.values())


def _place(operation: Operation, joined: Mapping[str, Operation]) -> str:
    """The first of the names that is free, or that the very same operation has."""
    name, number = operation.name, 1
    while name in joined and joined[name] != replace(operation, name=name):
        number += 1
        name = f"{operation.name}#{number}"
    return name


def _moved(operation: Operation, names: Mapping[str, str]) -> Operation:
    """The operation, taking its inputs from the names that their origins go by."""
    if isinstance(operation, Read):
        return operation
    inputs = tuple(replace(taken, origin=names[taken.origin]) for taken in operation.inputs)
    return replace(operation, inputs=inputs)
