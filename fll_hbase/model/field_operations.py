"""Operations of one field: those that lead into a destination field, or that a source field leads to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fll_hbase.model import topology
from fll_hbase.model.datasets import DatasetField
from fll_hbase.model.operations import Influence, Operation
from fll_hbase.model.simple_view import Steps


def operations_into(operations: Sequence[Operation], target: DatasetField) -> tuple[Operation, ...]:
    """Return the operations that lead into a destination field, its Writes too, in an order that can run.

    Indirect inputs are followed, too. Empty if no Write writes the field.
    """
    steps = Steps(operations, indirect=True)
    writes = [(write.name, origin) for write, origin in steps.writes_of(target)]
    starts = {origin: Influence.DIRECT for _, origin in writes}
    return _in_order(
        steps, [*(name for name, _ in writes), *steps.reachable_operations(starts, steps.origins)]
    )


def operations_from(operations: Sequence[Operation], source: DatasetField) -> tuple[Operation, ...]:
    """Return the operations that a source field leads to, its Reads too, in an order that can run.

    Indirect inputs are followed, too. Empty if no Read reads the field.
    """
    steps = Steps(operations, indirect=True)
    names: list[str] = []
    for read in steps.reads_of(source):
        # A Read has other fields, too: of it only the consumers of this field are followed.
        start = read.name, source.name
        reachable = steps.reachable_operations(steps.consumers_of(start), steps.consumers)
        names += [read.name, *reachable]
        names += (name for _, writes in steps.writes_reached(start, reachable) for name in writes)
    return _in_order(steps, names)


def _in_order(steps: Steps, names: Iterable[str]) -> tuple[Operation, ...]:
    return topology.sort_operations([steps.operations[name] for name in set(names)])
