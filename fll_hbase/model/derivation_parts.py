"""Derivations of a field in a form that can be compared: digests, and operations, edges and sources."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fll_hbase.model import checksum, simple_view, topology
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.operation_graph import NodeId
from fll_hbase.model.operations import Influence, Operation, Read, Write, dataset_of, type_of


class OperationIdentity(NamedTuple):
    """An operation without its inputs and outputs; equal members mean the same operation."""

    name: str
    type: str
    description: str
    dataset: Dataset | None


class Edge(NamedTuple):
    """A connection of the graph of a field, or a Write of a field: then `end` is (Write, field)."""

    start: NodeId
    end: NodeId
    operation: str
    influence: Influence


@dataclass(frozen=True, slots=True)
class DerivationParts:
    """The parts of one derivation of a field, or of several."""

    operations: frozenset[OperationIdentity] = frozenset()
    edges: frozenset[Edge] = frozenset()
    sources: frozenset[DatasetField] = frozenset()

    def without(self, other: DerivationParts) -> DerivationParts:
        """Return the parts that the other does not have."""
        return DerivationParts(
            self.operations - other.operations, self.edges - other.edges, self.sources - other.sources
        )

    def count_common(self, other: DerivationParts) -> int:
        """Return how many operations and edges are in both."""
        return len(self.operations & other.operations) + len(self.edges & other.edges)


class ContentDerivations:
    """Derivations of the fields that the operations of a content write, with a shared index.

    The work for each derivation grows with its own graph, not with the content. Without `indirect`, indirect
    inputs are left out. `size` is the number of inputs in the index.
    """

    def __init__(self, operations: Iterable[Operation], *, indirect: bool) -> None:
        """Index the operations of a content, or of some of its fields, by their inputs and their Writes."""
        self._operations = {operation.name: operation for operation in operations}
        self._inputs: dict[str, dict[NodeId, Influence]] = {}
        self._writes: dict[DatasetField, list[tuple[Write, NodeId]]] = {}
        for operation in self._operations.values():
            inputs = simple_view.input_influences(operation)
            if isinstance(operation, Write):
                for node, influence in inputs.items():
                    # Indirect inputs of a Write influence rows of the whole dataset, not a value.
                    if influence is Influence.DIRECT:
                        field = DatasetField(operation.destination, node[1])
                        self._writes.setdefault(field, []).append((operation, node))
            elif not indirect:
                inputs = {node: kind for node, kind in inputs.items() if kind is Influence.DIRECT}
            self._inputs[operation.name] = inputs
        self.size = sum(map(len, self._inputs.values()))

    def parts(self, field: DatasetField, *, connections_max: int) -> tuple[DerivationParts, bool]:
        """Return the parts of the derivation of a field, and whether `connections_max` cut them.

        They are empty if no Write writes the field; edges into Writes do not count as connections. The search
        is breadth first, so a truncated result has the parts nearest to the field. Two complete derivations
        have equal parts if, and only if, their digests are equal (see `derivation_digests`). Raises KeyError
        if an operation that leads into the field was not given.
        """
        edges: dict[tuple[NodeId, NodeId, str], Influence] = {}
        operations: set[OperationIdentity] = set()
        writes: list[Edge] = []
        nodes: dict[NodeId, None] = {}
        # The graph of an answer has no connection into a Write. Without this part, a field written as it was
        # read would have no parts, and a change of its origin would go unnoticed.
        for write, node in self._writes.get(field, ()):
            operations.add(_identity(write))
            writes.append(Edge(node, (write.name, field.name), write.name, Influence.DIRECT))
            nodes[node] = None
        queue, truncated = deque(nodes), False
        while queue and not truncated:
            node = queue.popleft()
            producer = self._operations[node[0]]
            operations.add(_identity(producer))
            for start, influence in self._inputs[producer.name].items():
                # Each node is visited once, so each connection is added once.
                if len(edges) == connections_max:
                    truncated = True
                    break
                edges[start, node, producer.name] = influence
                if start not in nodes:
                    nodes[start] = None
                    queue.append(start)
        sources = {
            DatasetField(read.source, node[1])
            for node in nodes
            if isinstance(read := self._operations[node[0]], Read)
        }
        connections = (Edge(*edge, influence) for edge, influence in edges.items())
        parts = DerivationParts(frozenset(operations), frozenset([*connections, *writes]), frozenset(sources))
        return parts, truncated


def _identity(operation: Operation) -> OperationIdentity:
    """Return an operation without its inputs and outputs, to compare it with others."""
    return OperationIdentity(operation.name, type_of(operation), operation.description, dataset_of(operation))


def derivation_digests(
    operations: Sequence[Operation], dataset: Dataset, *, indirect: bool, shown: Callable[[str], str] = str
) -> dict[str, str]:
    """Return a digest of 32 hex digits for each field that the operations of a content write to the dataset.

    Two contents have equal digests of a field if, and only if, all operations that lead into the field have
    equal names, types, descriptions, datasets and connections. Other outputs of these operations do not
    change the digests, nor do indirect inputs without `indirect`. The work grows with the operations and
    their inputs, not the fields. `shown` replaces names and descriptions: published digests must not depend
    on labels of hidden names.
    """
    # Names identify the operations of a content, so the digest of an operation covers all that leads into it.
    digests: dict[str, str] = {}
    ways: dict[str, set[tuple[str, ...]]] = {}
    for operation in topology.sort_operations(operations):
        inputs = simple_view.input_influences(operation)
        if isinstance(operation, Write):
            if operation.destination == dataset:
                for (origin, name), influence in inputs.items():
                    # The operations of one field may lack the origins of others.
                    if influence is Influence.DIRECT and origin in digests:
                        head = shown(operation.name), shown(operation.description)
                        way = *head, shown(origin), digests[origin]
                        ways.setdefault(name, set()).add(way)
            continue
        members = sorted(
            (shown(origin), name, influence.value, digests[origin])
            for (origin, name), influence in inputs.items()
            if indirect or influence is Influence.DIRECT
        )
        source = dataset_of(operation)
        read = source and Dataset(source.namespace, shown(source.name))
        identity = shown(operation.name), type_of(operation), shown(operation.description), read
        digests[operation.name] = _digest((identity, members))
    return {name: _digest((dataset, sorted(members))) for name, members in ways.items()}


def field_digest(
    operations: Sequence[Operation], field: DatasetField, *, indirect: bool, shown: Callable[[str], str] = str
) -> str:
    """Return the digest that `derivation_digests` has for one field, or "" if no operation writes it.

    `operations` must include all operations of the content that lead into the field.
    """
    return derivation_digests(operations, field.dataset, indirect=indirect, shown=shown).get(field.name, "")


def _digest(value: object) -> str:
    """Return 32 hex digits that are equal only for values with equal `repr`."""
    # `repr` quotes every text, so only equal values have equal bytes.
    return checksum.digest(repr(value).encode())
