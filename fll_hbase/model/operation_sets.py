"""Operations by field: the set of operations in the graph of each field, as stored with a content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from fll_hbase.model import topology
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.operations import Influence, Operation, Read, Write, inputs_of, outputs_of

OPERATIONS_MAX = 10_000
"""With more operations, the graph of a field is computed per query and not stored."""
BITS_MAX = 2**28
"""Maximum product of the numbers of operations and of field uses. With more, no graphs are stored either.

The maximum is 32 MiB of bits."""

SetsByField: TypeAlias = dict[Dataset, dict[str, int]]
"""By dataset and field, a set of operations as bits: bit n is operation n in the order of names."""


class OperationSets(NamedTuple):
    """The operations upstream of each destination field, and those downstream of each source field."""

    backward: SetsByField
    forward: SetsByField


def operations_by_field(operations: Sequence[Operation]) -> OperationSets:
    """Return the operations in the graph of each field, for operations sorted by name.

    Both results are empty if there are more than OPERATIONS_MAX operations or BITS_MAX bits.
    """
    reads = {
        operation.name: len(operation.outputs) for operation in operations if isinstance(operation, Read)
    }
    used = sum(field.origin in reads for operation in operations for field in inputs_of(operation))
    writes = sum(len(operation.inputs) for operation in operations if isinstance(operation, Write))
    fields = sum(reads.values()) + used + writes
    if len(operations) > OPERATIONS_MAX or len(operations) * fields > BITS_MAX:
        return OperationSets({}, {})
    bit = {operation.name: 1 << number for number, operation in enumerate(operations)}
    ordered = topology.sort_operations(operations)
    return OperationSets(_upstream_sets(ordered, bit), _downstream_sets(ordered, bit))


def _upstream_sets(ordered: Sequence[Operation], bit: dict[str, int]) -> SetsByField:
    """Return for each written field the bits of the operations that produce it, its WRITE included."""
    upstream: dict[str, int] = {}
    by_field: SetsByField = {}
    for operation in ordered:
        if not isinstance(operation, Write):
            bits = bit[operation.name]
            for origin in {field.origin for field in inputs_of(operation)}:
                bits |= upstream[origin]
            upstream[operation.name] = bits
            continue
        targets = by_field.setdefault(operation.destination, {})
        for field in operation.inputs:
            if field.influence is Influence.DIRECT:
                bits = bit[operation.name] | upstream[field.origin]
                targets[field.name] = targets.get(field.name, 0) | bits
    return by_field


def _downstream_sets(ordered: Sequence[Operation], bit: dict[str, int]) -> SetsByField:
    """Return for each read field the bits of the operations that use it, its READ included."""
    downstream = dict(bit)
    # An unused output also has a graph, which is only its READ.
    by_output: dict[str, dict[str, int]] = {
        operation.name: {output.name: 0 for output in outputs_of(operation)}
        for operation in ordered
        if isinstance(operation, Read)
    }
    for operation in reversed(ordered):
        bits = downstream[operation.name]
        for field in inputs_of(operation):
            downstream[field.origin] |= bits
            outputs = by_output.get(field.origin)
            if outputs is not None:
                outputs[field.name] = outputs.get(field.name, 0) | bits
    by_field: SetsByField = {}
    for operation in ordered:
        if isinstance(operation, Read):
            sources = by_field.setdefault(operation.source, {})
            for name, bits in by_output[operation.name].items():
                sources[name] = sources.get(name, 0) | bit[operation.name] | bits
    return by_field
