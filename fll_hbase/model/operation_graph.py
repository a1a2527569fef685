"""How was one field made, or what became of it: operation graphs, walked, merged and simplified."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.operations import (
    Influence,
    InputField,
    Operation,
    Read,
    Transform,
    Write,
    dataset_of,
    inputs_of,
    outputs_of,
)

NodeId: TypeAlias = tuple[str, str]
"""The origin of a field, an operation's name, and the field's name."""


@dataclass(frozen=True, slots=True)
class Node:
    """A field at its origin; `source` where a Read made it, `destinations` where Writes take it."""

    id: NodeId
    type: str = ""
    source: Dataset | None = None
    destinations: frozenset[Dataset] = frozenset()


@dataclass(frozen=True, slots=True)
class OperationPath:
    """All transforms between an ultimate source and a field, or a field and an ultimate destination.

    Names are in an order that could have run.
    """

    operations: tuple[str, ...]
    influence: Influence

    def rename(self, names: dict[str, str]) -> OperationPath:
        return OperationPath(tuple(names[name] for name in self.operations), self.influence)

    def merge(self, older: OperationPath) -> OperationPath:
        """Both ways as one; the older one's own transforms stand before those they were followed by."""
        union = list(self.operations)
        place = len(union)
        for name in reversed(older.operations):
            if name in union:
                place = union.index(name)
            else:
                union.insert(place, name)
        both = {self.influence, older.influence}
        return OperationPath(
            tuple(union), Influence.DIRECT if Influence.DIRECT in both else Influence.INDIRECT
        )


@dataclass(frozen=True, slots=True)
class OperationGraph:
    """What leads into one field (backward) or is made of it (forward), in one set of operations.

    `connections` holds the influence of each (from, to, operation); a simple view has `ways` instead, by
    (from, to). `truncated` where there were more connections than allowed.
    """

    operations: dict[str, Operation]
    nodes: dict[NodeId, Node]
    connections: dict[tuple[NodeId, NodeId, str], Influence]
    paths: dict[tuple[NodeId, NodeId], OperationPath] = field(default_factory=dict)
    truncated: bool = False


def upstream_graph(
    operations: Iterable[Operation],
    target: DatasetField,
    *,
    indirect: bool = True,
    connections_max: int | None = None,
) -> OperationGraph:
    """The graph that leads into a destination field; empty where no Write takes such a field."""
    walk = _Walk(operations, indirect=indirect, connections_max=connections_max)
    for operation in walk.operations.values():
        if isinstance(operation, Write) and operation.destination == target.dataset:
            for taken in operation.inputs:
                if taken.name == target.name and taken.influence is Influence.DIRECT:
                    walk.reach_operation(operation)
                    walk.ask((taken.origin, taken.name), operation.destination)
    return walk.run(walk.step_backward)


def downstream_graph(
    operations: Iterable[Operation],
    origin: DatasetField,
    *,
    indirect: bool = True,
    connections_max: int | None = None,
) -> OperationGraph:
    """The graph of all that is made of a source field, drops and dead ends too."""
    walk = _Walk(operations, indirect=indirect, connections_max=connections_max)
    for operation in walk.operations.values():
        if (
            isinstance(operation, Read)
            and operation.source == origin.dataset
            and origin.name in walk.outputs(operation)
        ):
            walk.ask((operation.name, origin.name))
    return walk.run(walk.step_forward)


def merge(graphs: Sequence[tuple[str, OperationGraph]]) -> OperationGraph:
    """Union of graphs given newest first, each with its checksum.

    Where one name means different operations, the newest keeps it and the older are called
    `<name>@<first 8 hex of the checksum>`.
    """
    names = _Names()
    union = OperationGraph({}, {}, {})
    for checksum, graph in graphs:
        union = _union(union, _renamed(graph, names.of(checksum, graph)))
    return union


class _Walk:
    """Breadth first through one set of operations, from the nodes asked about."""

    def __init__(
        self, operations: Iterable[Operation], *, indirect: bool, connections_max: int | None
    ) -> None:
        self.operations = {operation.name: operation for operation in operations}
        self._indirect = indirect
        self._connections_max = connections_max
        self._outputs = {name: dict(_listed(operation)) for name, operation in self.operations.items()}
        self._consumers: dict[NodeId, list[tuple[Operation, InputField]]] = {}
        for operation in self.operations.values():
            for taken in inputs_of(operation):
                self._outputs.get(taken.origin, {}).setdefault(taken.name, "")
                self._consumers.setdefault((taken.origin, taken.name), []).append((operation, taken))
        self._reached: dict[str, Operation] = {}
        self._nodes: dict[NodeId, Node] = {}
        self._connections: dict[tuple[NodeId, NodeId, str], Influence] = {}
        self._next: deque[NodeId] = deque()
        self._truncated = False

    def outputs(self, operation: Operation) -> dict[str, str]:
        """Name to type of all an operation makes, what others take as though listed too."""
        return self._outputs[operation.name]

    def reach_operation(self, operation: Operation) -> None:
        self._reached[operation.name] = operation

    def ask(self, node: NodeId, destination: Dataset | None = None) -> None:
        self._reach(node)
        if destination is not None:
            self._written(node, destination)

    def run(self, step: Callable[[NodeId], None]) -> OperationGraph:
        while self._next and not self._truncated:
            step(self._next.popleft())
        return OperationGraph(self._reached, self._nodes, self._connections, truncated=self._truncated)

    def step_backward(self, node: NodeId) -> None:
        maker = self.operations[node[0]]
        self.reach_operation(maker)
        for taken in inputs_of(maker):
            start = taken.origin, taken.name
            if self._allows(taken) and self._connect((start, node, maker.name), taken.influence):
                self._reach(start)

    def step_forward(self, node: NodeId) -> None:
        self.reach_operation(self.operations[node[0]])
        for operation, taken in self._consumers.get(node, ()):
            if not self._allows(taken):
                continue
            self.reach_operation(operation)
            if isinstance(operation, Transform):
                for name in self.outputs(operation):
                    end = operation.name, name
                    if self._connect((node, end, operation.name), taken.influence):
                        self._reach(end)
            elif isinstance(operation, Write) and taken.influence is Influence.DIRECT:
                self._written(node, operation.destination)

    def _allows(self, taken: InputField) -> bool:
        return self._indirect or taken.influence is Influence.DIRECT

    def _connect(self, connection: tuple[NodeId, NodeId, str], influence: Influence) -> bool:
        """Whether the connection stands; direct wins where one input is both."""
        if connection not in self._connections:
            if len(self._connections) == self._connections_max:
                self._truncated = True
                return False
            self._connections[connection] = influence
        elif influence is Influence.DIRECT:
            self._connections[connection] = influence
        return True

    def _reach(self, node: NodeId) -> None:
        if node not in self._nodes:
            maker = self.operations[node[0]]
            source = maker.source if isinstance(maker, Read) else None
            self._nodes[node] = Node(node, self.outputs(maker)[node[1]], source)
            self._next.append(node)

    def _written(self, node: NodeId, destination: Dataset) -> None:
        known = self._nodes[node]
        self._nodes[node] = replace(known, destinations=known.destinations | {destination})


@dataclass(slots=True)
class _Names:
    """Which name each distinct operation goes by in a merged graph."""

    _given: dict[str, dict[object, str]] = field(default_factory=dict)

    def of(self, checksum: str, graph: OperationGraph) -> dict[str, str]:
        names = {}
        for name, operation in graph.operations.items():
            variants = self._given.setdefault(name, {})
            name_of_variant = f"{name}@{checksum[:8]}" if variants else name
            names[name] = variants.setdefault(_identity(operation), name_of_variant)
        return names


def _identity(operation: Operation) -> object:
    """What makes two operations of one name the same."""
    return (
        type(operation).__name__,
        operation.description,
        dataset_of(operation),
        inputs_of(operation),
        outputs_of(operation),
    )


def _renamed(graph: OperationGraph, names: dict[str, str]) -> OperationGraph:
    if all(name == new for name, new in names.items()):
        return graph

    def moved(node: NodeId) -> NodeId:
        return names[node[0]], node[1]

    return OperationGraph(
        {names[name]: operation for name, operation in graph.operations.items()},
        {moved(node.id): replace(node, id=moved(node.id)) for node in graph.nodes.values()},
        {(moved(a), moved(b), names[name]): how for (a, b, name), how in graph.connections.items()},
        {(moved(a), moved(b)): way.rename(names) for (a, b), way in graph.paths.items()},
        graph.truncated,
    )


def _union(newer: OperationGraph, older: OperationGraph) -> OperationGraph:
    nodes = dict(newer.nodes)
    for node_id, node in older.nodes.items():
        known = nodes.get(node_id, node)
        nodes[node_id] = replace(known, destinations=known.destinations | node.destinations)
    ways = dict(newer.paths)
    for ends, way in older.paths.items():
        ways[ends] = ways[ends].merge(way) if ends in ways else way
    return OperationGraph(
        {**older.operations, **newer.operations},
        nodes,
        {**older.connections, **newer.connections},
        ways,
        newer.truncated or older.truncated,
    )


def _listed(operation: Operation) -> Iterator[tuple[str, str]]:
    for output in outputs_of(operation):
        yield output.name, output.type
