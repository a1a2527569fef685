"""Parts of derivations of a field that can be compared: operations, edges and ultimate sources."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.operation_graph import NodeId, OperationGraph
from fll_hbase.model.operations import Influence, Write, dataset_of, type_of


class OperationIdentity(NamedTuple):
    """An operation without its inputs and outputs: two with equal members are the same one."""

    name: str
    type: str
    description: str
    dataset: Dataset | None


class Edge(NamedTuple):
    """A connection of the graph of a field, or a Write that takes a field: then `end` is (Write, field)."""

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
        """Return the parts that the other has not."""
        return DerivationParts(
            self.operations - other.operations, self.edges - other.edges, self.sources - other.sources
        )

    def count_common(self, other: DerivationParts) -> int:
        """Return how many operations and edges are in both."""
        return len(self.operations & other.operations) + len(self.edges & other.edges)


def derivation_parts(graph: OperationGraph, field: str) -> DerivationParts:
    """Return the parts of the upstream graph of a destination field.

    Two complete graphs have equal parts if, and only if, their operations have equal signatures, see
    `simple_view.derivation_signature`.
    """
    return DerivationParts(
        frozenset(
            OperationIdentity(name, type_of(operation), operation.description, dataset_of(operation))
            for name, operation in graph.operations.items()
        ),
        frozenset(_edges(graph, field)),
        frozenset(DatasetField(node.source, node.id[1]) for node in graph.nodes.values() if node.source),
    )


def _edges(graph: OperationGraph, field: str) -> Iterator[Edge]:
    for (start, end, name), influence in graph.connections.items():
        yield Edge(start, end, name, influence)
    # The graph of an answer has no connection into a Write. Without one, a field that is written as it was
    # read has none at all, and another origin of the field would be no difference.
    for name, operation in graph.operations.items():
        if isinstance(operation, Write):
            for item in operation.inputs:
                if item.name == field and item.influence is Influence.DIRECT:
                    yield Edge((item.origin, item.name), (name, field), name, Influence.DIRECT)
