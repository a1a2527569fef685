"""Operations by field: for each field of a content the set of operations in its graph, as stored with it."""

from __future__ import annotations

from collections.abc import Sequence

from fll_hbase.model import topology
from fll_hbase.model.datasets import DatasetField
from fll_hbase.model.operations import Influence, Operation, Read, Write, inputs_of, outputs_of

GRAPHED_OPERATIONS_MAX = 10_000
"""With more operations the graph of a field is computed per query and not stored."""


def operations_by_field(
    operations: Sequence[Operation],
) -> tuple[dict[DatasetField, int], dict[DatasetField, int]]:
    """Return the operations upstream of each destination field, and those downstream of each source field.

    Operations are sorted by name; bit n of a set is operation n. Both results are empty if there are more
    than GRAPHED_OPERATIONS_MAX operations.
    """
    # The sets of n operations have up to n^2 bits in each direction: 12.5 MB at the maximum.
    if len(operations) > GRAPHED_OPERATIONS_MAX:
        return {}, {}
    bit = {operation.name: 1 << number for number, operation in enumerate(operations)}
    ordered = topology.sort_operations(operations)
    return _upstream_sets(ordered, bit), _downstream_sets(ordered, bit)


def _upstream_sets(ordered: Sequence[Operation], bit: dict[str, int]) -> dict[DatasetField, int]:
    upstream: dict[str, int] = {}
    by_field: dict[DatasetField, int] = {}
    for operation in ordered:
        if not isinstance(operation, Write):
            upstream[operation.name] = bit[operation.name]
            for field in inputs_of(operation):
                upstream[operation.name] |= upstream[field.origin]
            continue
        for field in operation.inputs:
            if field.influence is Influence.DIRECT:
                target = DatasetField(operation.destination, field.name)
                by_field[target] = by_field.get(target, 0) | bit[operation.name] | upstream[field.origin]
    return by_field


def _downstream_sets(ordered: Sequence[Operation], bit: dict[str, int]) -> dict[DatasetField, int]:
    downstream = dict(bit)
    # Outputs that nothing uses have a graph too: their READ alone.
    by_output = {
        (operation.name, output.name): 0 for operation in ordered for output in outputs_of(operation)
    }
    for operation in reversed(ordered):
        for field in inputs_of(operation):
            downstream[field.origin] |= downstream[operation.name]
            output = field.origin, field.name
            by_output[output] = by_output.get(output, 0) | downstream[operation.name]
    sources = {operation.name: operation.source for operation in ordered if isinstance(operation, Read)}
    by_field: dict[DatasetField, int] = {}
    for (origin, name), bits in by_output.items():
        if origin in sources:
            source_field = DatasetField(sources[origin], name)
            by_field[source_field] = by_field.get(source_field, 0) | bit[origin] | bits
    return by_field
