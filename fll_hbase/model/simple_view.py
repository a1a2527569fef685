"""Between which ends and through which transforms: the simple view, and when two ways are the same.

All outputs of a transform share its inputs, so ways are walked from operation to operation, never from field
to field: a dense graph costs its operations and their inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from fll_hbase.model import topology
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.operation_graph import Node, NodeId, OperationGraph, OperationPath
from fll_hbase.model.operations import (
    Influence,
    Operation,
    Read,
    Transform,
    Write,
    dataset_of,
    inputs_of,
    outputs_of,
    type_of,
)

DerivationSignature: TypeAlias = frozenset[object]


def upstream_simple_view(
    operations: Iterable[Operation], target: DatasetField, *, indirect: bool = True
) -> OperationGraph:
    """The ultimate sources of a destination field, and the transforms on any way from each."""
    steps = _Steps(operations, indirect=indirect)
    view = _View(steps)
    for write, origin in steps.writes_of(target):
        asked = origin, target.name
        reached = steps.reached({origin: Influence.DIRECT}, steps.origins)
        view.add_operations([write.name, *reached])
        view.add_node(asked, write.destination)
        entries = steps.read_entries(reached)
        for source, (influence, consumers) in entries.items():
            if source != asked:
                view.add_node(source)
                between = steps.reached(consumers, steps.consumers).keys() & reached.keys()
                view.add_way((source, asked), between, influence)
    return view.graph()


def downstream_simple_view(
    operations: Iterable[Operation], origin: DatasetField, *, indirect: bool = True
) -> OperationGraph:
    """The ultimate destinations of a source field, and the transforms on any way to each."""
    steps = _Steps(operations, indirect=indirect)
    view = _View(steps)
    for read in steps.reads_of(origin):
        asked = read.name, origin.name
        taken_by = steps.consumers_of(asked)
        reached = steps.reached(taken_by, steps.consumers)
        view.add_operations([read.name, *reached])
        view.add_node(asked)
        for end, write, influence in steps.writes_after(asked, reached):
            view.add_operations([write.name])
            if influence is Influence.DIRECT:
                view.add_node(end, write.destination)
                if end != asked:
                    back = steps.reached({end[0]: Influence.DIRECT}, steps.origins)
                    view.add_way((asked, end), back.keys() & reached.keys(), reached[end[0]])
    return view.graph()


def derivation_signature(operations: Iterable[Operation], target: DatasetField) -> DerivationSignature:
    """Equal for two sets of operations that make the field the same way.

    Operations by name, type, description and end point, and the connections that lead into the field; a
    column added beside it is no change.
    """
    steps = _Steps(operations, indirect=True)
    writes = list(steps.writes_of(target))
    made: dict[str, set[str]] = {}
    following = [(origin, target.name) for _, origin in writes]
    while following:
        name, output = following.pop()
        first = name not in made
        made.setdefault(name, set()).add(output)
        if first:
            following.extend((taken.origin, taken.name) for taken in inputs_of(steps.operations[name]))
    parts: set[object] = {
        (write.name, write.description, write.destination, origin) for write, origin in writes
    }
    for name, outputs in made.items():
        operation = steps.operations[name]
        head = name, type_of(operation), operation.description, dataset_of(operation)
        parts.add((*head, frozenset(outputs), frozenset(_influences(operation).items())))
    return frozenset(parts)


def _influences(operation: Operation) -> dict[NodeId, Influence]:
    """How each field is taken; direct where it is taken both ways."""
    taken_as: dict[NodeId, Influence] = {}
    for taken in inputs_of(operation):
        node = taken.origin, taken.name
        if taken_as.get(node) is not Influence.DIRECT:
            taken_as[node] = taken.influence
    return taken_as


class _Steps:
    """Which operation takes fields from which, and how."""

    def __init__(self, operations: Iterable[Operation], *, indirect: bool) -> None:
        self.operations = {operation.name: operation for operation in operations}
        self._taken: dict[str, dict[NodeId, Influence]] = {}
        self.origins: dict[str, dict[str, Influence]] = {name: {} for name in self.operations}
        self.consumers: dict[str, dict[str, Influence]] = {name: {} for name in self.operations}
        self._consumers_of: dict[NodeId, dict[str, Influence]] = {}
        self._taken_at_all: set[NodeId] = set()
        for operation in self.operations.values():
            taken_as = _influences(operation)
            self._taken_at_all.update(taken_as)
            if not indirect:
                taken_as = {node: how for node, how in taken_as.items() if how is Influence.DIRECT}
            self._taken[operation.name] = taken_as
            for node, influence in taken_as.items():
                if node[0] in self.operations:
                    self._consumers_of.setdefault(node, {})[operation.name] = influence
                    if isinstance(operation, Transform):
                        _strengthen(self.origins[operation.name], node[0], influence)
                        _strengthen(self.consumers[node[0]], operation.name, influence)

    def writes_of(self, target: DatasetField) -> Iterator[tuple[Write, str]]:
        """The Writes of a destination field, each with an origin they take it from."""
        for operation in self.operations.values():
            if isinstance(operation, Write) and operation.destination == target.dataset:
                for (origin, name), influence in self._taken[operation.name].items():
                    if name == target.name and influence is Influence.DIRECT:
                        yield operation, origin

    def reads_of(self, origin: DatasetField) -> Iterator[Read]:
        """The Reads of a source field, listed or taken as though it were."""
        for operation in self.operations.values():
            if isinstance(operation, Read) and operation.source == origin.dataset:
                listed = origin.name in {output.name for output in operation.outputs}
                if listed or (operation.name, origin.name) in self._taken_at_all:
                    yield operation

    def consumers_of(self, node: NodeId) -> dict[str, Influence]:
        """The transforms that take one field."""
        takers = self._consumers_of.get(node, {})
        return {name: how for name, how in takers.items() if isinstance(self.operations[name], Transform)}

    def reached(
        self, starts: Mapping[str, Influence], steps: Mapping[str, Mapping[str, Influence]]
    ) -> dict[str, Influence]:
        """Every operation on from `starts`, direct where one way there has direct steps alone."""
        found = dict(starts)
        weaker = [name for name, how in starts.items() if how is Influence.INDIRECT]
        for name in weaker:
            del found[name]
        _spread(found, steps, through=Influence.DIRECT)
        for name in weaker:
            found.setdefault(name, Influence.INDIRECT)
        _spread(found, steps, through=Influence.INDIRECT)
        return found

    def read_entries(
        self, reached: Mapping[str, Influence]
    ) -> dict[NodeId, tuple[Influence, dict[str, Influence]]]:
        """The source fields that operations reached take: how, and which of them take it."""
        entries: dict[NodeId, tuple[Influence, dict[str, Influence]]] = {}
        for name, so_far in reached.items():
            for node, influence in self._taken[name].items():
                if isinstance(self.operations[node[0]], Read):
                    how = influence if so_far is Influence.DIRECT else so_far
                    best, consumers = entries.get(node, (how, {}))
                    entries[node] = how if best is not Influence.DIRECT else best, consumers
                    consumers[name] = influence
        return entries

    def writes_after(
        self, asked: NodeId, reached: Mapping[str, Influence]
    ) -> Iterator[tuple[NodeId, Write, Influence]]:
        """The Writes that take the field asked about, or any field of the operations reached."""
        for node, takers in self._consumers_of.items():
            if node == asked or node[0] in reached:
                for name, influence in takers.items():
                    write = self.operations[name]
                    if isinstance(write, Write):
                        yield node, write, influence

    def type_of(self, node: NodeId) -> str:
        outputs = outputs_of(self.operations[node[0]])
        return next((output.type for output in reversed(outputs) if output.name == node[1]), "")


def _spread(
    found: dict[str, Influence], steps: Mapping[str, Mapping[str, Influence]], *, through: Influence
) -> None:
    following = list(found)
    while following:
        for name, influence in steps[following.pop()].items():
            if name not in found and (through is Influence.INDIRECT or influence is Influence.DIRECT):
                found[name] = through
                following.append(name)


def _strengthen(influences: dict[str, Influence], name: str, influence: Influence) -> None:
    if influences.get(name) is not Influence.DIRECT:
        influences[name] = influence


class _View:
    """A simple graph while it grows."""

    def __init__(self, steps: _Steps) -> None:
        self._steps = steps
        self._nodes: dict[NodeId, Node] = {}
        self._ways: dict[tuple[NodeId, NodeId], OperationPath] = {}
        self._operations: dict[str, Operation] = {}

    def add_operations(self, names: Iterable[str]) -> None:
        for name in names:
            self._operations[name] = self._steps.operations[name]

    def add_node(self, node: NodeId, destination: Dataset | None = None) -> None:
        self.add_operations([node[0]])
        maker = self._steps.operations[node[0]]
        source = maker.source if isinstance(maker, Read) else None
        known = self._nodes.get(node, Node(node, self._steps.type_of(node), source))
        added = frozenset() if destination is None else frozenset([destination])
        self._nodes[node] = Node(node, known.type, source, known.destinations | added)

    def add_way(self, ends: tuple[NodeId, NodeId], between: Iterable[str], influence: Influence) -> None:
        ordered = topology.sort_operations([self._steps.operations[name] for name in between])
        self._ways[ends] = OperationPath(tuple(operation.name for operation in ordered), influence)

    def graph(self) -> OperationGraph:
        return OperationGraph(self._operations, self._nodes, {}, self._ways)
