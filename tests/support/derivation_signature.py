"""Signatures of derivations, whole values to compare: what digests of derivations have to agree with."""

from __future__ import annotations

from collections.abc import Iterable

from fll_hbase.model.datasets import DatasetField
from fll_hbase.model.operations import Operation, dataset_of, type_of
from fll_hbase.model.simple_view import Steps


def derivation_signature(
    operations: Iterable[Operation], target: DatasetField, *, indirect: bool = True
) -> frozenset[object]:
    """Return a value that is equal for two sets of operations that derive a field in the same way.

    It contains name, type, description, dataset and connections of each operation upstream of the field.
    Other columns of the destination do not change it, nor, without `indirect`, do indirect inputs.
    """
    steps = Steps(operations, indirect=indirect)
    writes = list(steps.writes_of(target))
    outputs_used: dict[str, set[str]] = {}
    # Only outputs on the way to the field are part of it: a column added beside them changes nothing.
    pending = [(origin, target.name) for _, origin in writes]
    while pending:
        name, output = pending.pop()
        is_new = name not in outputs_used
        outputs_used.setdefault(name, set()).add(output)
        # Once per operation: all its outputs have the same inputs (decision 0003).
        if is_new:
            pending.extend(steps.inputs[name])
    members: set[object] = {
        (write.name, write.description, write.destination, origin) for write, origin in writes
    }
    for name, outputs in outputs_used.items():
        operation = steps.operations[name]
        head = name, type_of(operation), operation.description, dataset_of(operation)
        members.add((*head, frozenset(outputs), frozenset(steps.inputs[name].items())))
    return frozenset(members)
