"""Operations between a source field and a destination field of one content: how a hop was made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fll_hbase.model import topology
from fll_hbase.model.datasets import WHOLE_DATASET, Dataset, DatasetField
from fll_hbase.model.operation_graph import NodeId
from fll_hbase.model.operations import Influence, Operation, Read, Write, inputs_of
from fll_hbase.model.simple_view import Steps


class Hop(NamedTuple):
    """How a field leads to another: the transforms on any way, in an order that can run; whether by copy."""

    operations: tuple[Operation, ...]
    is_copied: bool


class HopOperations:
    """Finds the operations between fields of one content, whose fields are indexed once for all hops."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        # Ways over direct inputs alone are looked for first.
        self._steps = [Steps(operations, indirect=indirect) for indirect in (False, True)]
        ordered = topology.sort_operations(operations)
        self._ranks = {operation.name: rank for rank, operation in enumerate(ordered)}
        self._reads: dict[Dataset, list[str]] = defaultdict(list)
        # By destination field, and by `*` those that shape the whole destination.
        self._written: dict[DatasetField, dict[NodeId, list[str]]] = defaultdict(lambda: defaultdict(list))
        for operation in operations:
            if isinstance(operation, Read):
                self._reads[operation.source].append(operation.name)
            elif isinstance(operation, Write):
                # A field may be both: it is written, and decides which rows are.
                for item in inputs_of(operation):
                    name = item.name if item.influence is Influence.DIRECT else WHOLE_DATASET
                    field = DatasetField(operation.destination, name)
                    self._written[field][item.origin, item.name].append(operation.name)

    def between(
        self, sources: Iterable[Dataset], source: str, destinations: Iterable[Dataset], destination: str
    ) -> Hop | None:
        """Return how a source field leads to a destination field; None if the content has no such way.

        Ways over direct inputs alone count if there are any. The datasets of each end are the names of one.
        An influence on a whole destination (`*`) ends with its WRITEs.
        """
        starts = {(read, source) for name in sources for read in self._reads.get(name, ())}
        ends: dict[NodeId, set[str]] = defaultdict(set)
        for name in destinations:
            for node, writes in self._written.get(DatasetField(name, destination), {}).items():
                ends[node].update(writes)
        is_copied = any(start in ends for start in starts)
        names: set[str] = set()
        for steps in self._steps:
            names = _names_between(steps, starts, ends)
            if names or is_copied:
                break
        if not names and not is_copied:
            return None
        if destination == WHOLE_DATASET:
            names = names.union(*ends.values())
            is_copied = False
        operations = self._steps[0].operations
        return Hop(tuple(operations[name] for name in sorted(names, key=self._ranks.__getitem__)), is_copied)


def _names_between(steps: Steps, starts: Iterable[NodeId], ends: Iterable[NodeId]) -> set[str]:
    """Return the names of the transforms on any way from source nodes to nodes that Writes take."""
    reachable = steps.reachable_operations({origin: Influence.DIRECT for origin, _ in ends}, steps.origins)
    first = {name for start in starts for name in steps.consumers_of(start) if name in reachable}
    return steps.reachable_within(reachable, first, steps.consumers)
