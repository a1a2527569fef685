"""Documents of the REST contract that a recorder sends: a run with operations, or a run of a pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any

from fll_hbase.model import topology
from fll_hbase.model.checksum import operation_to_dict
from fll_hbase.model.datasets import Field
from fll_hbase.model.operations import Operation, Read
from fll_hbase.model.runs import State
from fll_hbase.model.unique_names import candidate_names
from fll_hbase.recorder.types import Destination, FieldOperation, Run, Source
from fll_hbase.runtime.errors import FieldError, UnreadableDocument
from fll_hbase.runtime.json_types import Json
from fll_hbase.sources.native import document


@dataclass(frozen=True, slots=True)
class DestinationOperations:
    """The operations of a run for one destination."""

    destination: Destination
    operations: tuple[FieldOperation, ...]


def run_document(run: Run, parts: Sequence[DestinationOperations], *, namespace: str) -> Json:
    """Return the document of a run that writes one destination or several.

    The name-based form has one destination, so a single part uses it. Several parts are read from that
    form and merged in the native form. Raises UnreadableDocument or InvalidLineage for one of several parts,
    and ValueError for an invalid state of the run.
    """
    head = {"namespace": namespace, "run": _run_to_dict(run)}
    if len(parts) == 1:
        return head | _name_based(parts[0])
    # Names are resolved to origins within each part, so every part is read before all are merged.
    operations = [document.read_operations(_name_based(part), namespace).info.operations for part in parts]
    return head | {"operations": [operation_to_dict(operation) for operation in _merge(operations)]}


def pipeline_document(run: Run, config: Json, arguments: Mapping[str, str], *, namespace: str) -> Json:
    """Return the document of a run of a pipeline; `arguments` are the values of its macros.

    Raises ValueError for an invalid state of the run.
    """
    return {"namespace": namespace, "run": _run_to_dict(run), "config": config, "arguments": dict(arguments)}


def _run_to_dict(run: Run) -> Json:
    """Return the member `run` of a document. Raises ValueError for an invalid state."""
    version = {"version": run.version} if run.version else {}
    return {
        "application": run.application,
        **version,
        "type": run.type,
        "program": run.program,
        "run": run.run,
        "startTime": run.start_ms,
        # An invalid state raises here, where `on_error` applies, and not in the constructor of Run.
        "state": State(run.state).value,
    }


def _name_based(part: DestinationOperations) -> Json:
    """Return the members `destination` and `operations` of the name-based form."""
    destination = _dataset_to_dict(part.destination)
    if part.destination.fields:
        destination["fields"] = [field_to_dict(field) for field in part.destination.fields]
    return {
        "destination": destination,
        "operations": [field_operation_to_dict(item) for item in part.operations],
    }


def field_operation_to_dict(operation: FieldOperation) -> Json:
    """Return an operation as in the name-based form, with inputs that are sources or fields."""
    return {
        "name": operation.name,
        "description": operation.description,
        "inputs": [
            {"source": _dataset_to_dict(item)} if isinstance(item, Source) else {"field": field_to_dict(item)}
            for item in operation.inputs
        ],
        "outputs": [field_to_dict(field) for field in operation.outputs],
    }


def field_to_dict(field: Field | str) -> Any:
    """Return a Field as an object; anything else unchanged, for the reader to accept or refuse."""
    if not isinstance(field, Field):
        return field
    return {"name": field.name, "type": field.type} if field.type else {"name": field.name}


def _dataset_to_dict(dataset: Source | Destination) -> Json:
    """Return a source or destination, without an empty description or fields."""
    members = {"namespace": dataset.namespace, "name": dataset.name}
    return members | {"description": dataset.description} if dataset.description else members


def _merge(parts: Iterable[Sequence[Operation]]) -> list[Operation]:
    """Merge operations: keep equal ones once, and rename different ones of one name: `name`, `name#2`, …"""
    merged: dict[str, Operation] = {}
    for operations in parts:
        names: dict[str, str] = {}
        # In topological order, origins have their final names before operations that use them are compared.
        for operation in topology.sort_operations(operations):
            renamed = _rename_origins(operation, names)
            # The first name that is free or belongs to an equal operation.
            same = (replace(renamed, name=name) for name in candidate_names(operation.name))
            merged_operation = next(item for item in same if merged.get(item.name, item) == item)
            names[operation.name] = merged_operation.name
            merged[merged_operation.name] = merged_operation
    return list(merged.values())


def _rename_origins(operation: Operation, names: Mapping[str, str]) -> Operation:
    """Return an operation with the origins of its inputs replaced by their names after merging."""
    if isinstance(operation, Read):
        return operation
    inputs = tuple(replace(item, origin=names[item.origin]) for item in operation.inputs)
    return replace(operation, inputs=inputs)


def order_operations(operations: Iterable[FieldOperation]) -> tuple[FieldOperation, ...]:
    """Return operations in the order given, or sort a set so that producers precede consumers.

    The order of a set is the same in every process. Raises UnreadableDocument for a set that has a cycle, or
    in which several operations output one field. Without an order, it is ambiguous which output is used.
    """
    if not isinstance(operations, set | frozenset):
        return tuple(operations)
    ordered = sorted(operations, key=repr)
    producers: dict[str, FieldOperation] = {}
    for operation in ordered:
        for name in {_field_name(field) for field in operation.outputs}:
            if name in producers:
                raise _unordered(f"several operations output {name!r}")
            producers[name] = operation
    graph = {
        operation: [producers[name] for name in map(_field_name, operation.inputs) if name in producers]
        for operation in ordered
    }
    try:
        return tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise _unordered("operations use the outputs of each other") from error


def _field_name(field: object) -> str:
    """Return the name of a field; return a string that names no field for anything else, such as a Source."""
    if isinstance(field, Field):
        return field.name
    return field if isinstance(field, str) else repr(field)


def _unordered(reason: str) -> UnreadableDocument:
    """Return the error, with this reason, of a set of operations that has no unique order."""
    detail = f"a set has no order, but {reason}; give a list in the order in which they apply"
    return UnreadableDocument([FieldError("operations", detail)])
