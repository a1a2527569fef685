"""Order of operations given as a set: each follows the operations whose outputs it uses."""

from __future__ import annotations

from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter

from fll_hbase.model.datasets import Field
from fll_hbase.recorder.types import FieldOperation
from fll_hbase.runtime.errors import FieldError, UnreadableDocument


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
        for name in {_name(field) for field in operation.outputs}:
            if name in producers:
                raise _unordered(f"several operations output {name!r}")
            producers[name] = operation
    graph = {
        operation: [producers[name] for name in map(_name, operation.inputs) if name in producers]
        for operation in ordered
    }
    try:
        return tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise _unordered("operations use the outputs of each other") from error


def _name(field: object) -> str:
    """Return the name of a field; return a string that names no field for anything else, such as a Source."""
    if isinstance(field, Field):
        return field.name
    return field if isinstance(field, str) else repr(field)


def _unordered(reason: str) -> UnreadableDocument:
    """Return the error, with this reason, of a set of operations that has no unique order."""
    detail = f"a set has no order, but {reason}; give a list in the order in which they apply"
    return UnreadableDocument([FieldError("operations", detail)])
