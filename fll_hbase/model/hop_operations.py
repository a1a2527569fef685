"""Operations between a source field and a destination field of one content: how a hop was made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from fll_hbase.model import topology
from fll_hbase.model.datasets import WHOLE_DATASET, Dataset, DatasetField
from fll_hbase.model.operation_graph import NodeId
from fll_hbase.model.operations import Influence, Operation, Read, Write, inputs_of
from fll_hbase.model.simple_view import Steps


class HopOperations:
    """Finds the operations between fields of one content, whose fields are indexed once for all hops."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._steps = Steps(operations, indirect=True)
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
    ) -> tuple[Operation, ...] | None:
        """Return the transforms on any way between two fields, each after its origins.

        Ways over direct inputs alone count if there are any. The fields may be in any of the datasets, which
        are the names of one. An influence on a whole destination (`*`) ends with its WRITEs. Empty if the
        value is only copied; None if the content has no such way.
        """
        starts = [(read, source) for name in sources for read in self._reads.get(name, ())]
        ends: dict[NodeId, set[str]] = defaultdict(set)
        for name in destinations:
            for node, writes in self._written.get(DatasetField(name, destination), {}).items():
                ends[node].update(writes)
        names = self._names_between(starts, ends)
        if names is None:
            return None
        if destination == WHOLE_DATASET:
            names = names | {write for writes in ends.values() for write in writes}
        return tuple(self._steps.operations[name] for name in sorted(names, key=self._ranks.__getitem__))

    def _names_between(self, starts: Sequence[NodeId], ends: Iterable[NodeId]) -> set[str] | None:
        """Return the names of the transforms between source nodes and nodes that Writes take."""
        if any(start in ends for start in starts):
            return set()
        steps = self._steps
        origins = {origin: Influence.DIRECT for origin, _ in ends}
        reachable = steps.reachable_operations(origins, steps.origins)
        consumers = [item for start in starts for item in steps.consumers_of(start).items()]
        direct = {name: kind for name, kind in reachable.items() if kind is Influence.DIRECT}
        first = [name for name, kind in consumers if kind is Influence.DIRECT and name in direct]
        if first:
            return steps.reachable_within(direct, first, steps.consumers)
        first = [name for name, _ in consumers if name in reachable]
        return steps.reachable_within(reachable, first, steps.consumers) if first else None
