"""Simple views, from ultimate sources to ultimate destinations of a field, and derivation signatures.

All outputs of a transform share its inputs, so paths are followed from operation to operation, never from
field to field: the cost of a dense graph is that of its operations and their inputs.
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

_Influences: TypeAlias = dict[str, Influence]
"""Influence by the name of an operation."""


def upstream_simple_view(
    operations: Iterable[Operation], target: DatasetField, *, indirect: bool = True
) -> OperationGraph:
    """Return the ultimate sources of a destination field with the transforms on any path from each."""
    steps = _Steps(operations, indirect=indirect)
    view = _View(steps)
    for write, origin in steps.writes_of(target):
        end = origin, target.name
        reachable = steps.reachable_operations({origin: Influence.DIRECT}, steps.origins)
        view.add_operations([write.name, *reachable])
        view.add_node(end, write.destination)
        for source, (influence, consumers) in steps.source_inputs(reachable).items():
            # A field that a Write takes from a READ unchanged has no transform on its way, so no path.
            if source != end:
                view.add_node(source)
                # On a path is what both ends reach; listing each path could take exponential time.
                downstream = steps.reachable_operations(consumers, steps.consumers)
                view.add_path((source, end), downstream.keys() & reachable.keys(), influence)
    return view.graph()


def downstream_simple_view(
    operations: Iterable[Operation], origin: DatasetField, *, indirect: bool = True
) -> OperationGraph:
    """Return the ultimate destinations of a source field with the transforms on any path to each."""
    steps = _Steps(operations, indirect=indirect)
    view = _View(steps)
    for read in steps.reads_of(origin):
        start = read.name, origin.name
        reachable = steps.reachable_operations(steps.consumers_of(start), steps.consumers)
        view.add_operations([read.name, *reachable])
        view.add_node(start)
        for end, write, influence in steps.writes_reached(start, reachable):
            view.add_operations([write.name])
            if influence is Influence.DIRECT:
                view.add_node(end, write.destination)
                if end != start:
                    upstream = steps.reachable_operations({end[0]: Influence.DIRECT}, steps.origins)
                    view.add_path((start, end), upstream.keys() & reachable.keys(), reachable[end[0]])
    return view.graph()


def derivation_signature(operations: Iterable[Operation], target: DatasetField) -> DerivationSignature:
    """Return a value that is equal for two sets of operations that derive a field in the same way.

    It contains name, type, description, dataset and connections of each operation upstream of the field.
    Other columns of the destination do not change it.
    """
    steps = _Steps(operations, indirect=True)
    writes = list(steps.writes_of(target))
    outputs_used: dict[str, set[str]] = {}
    # Only outputs on the way to the field are part of it: a column added beside them changes nothing.
    pending = [(origin, target.name) for _, origin in writes]
    while pending:
        name, output = pending.pop()
        is_new = name not in outputs_used
        outputs_used.setdefault(name, set()).add(output)
        # Once per operation: all its outputs have the same inputs (docs/decisions/0003).
        if is_new:
            pending.extend((field.origin, field.name) for field in inputs_of(steps.operations[name]))
    members: set[object] = {
        (write.name, write.description, write.destination, origin) for write, origin in writes
    }
    for name, outputs in outputs_used.items():
        operation = steps.operations[name]
        head = name, type_of(operation), operation.description, dataset_of(operation)
        members.add((*head, frozenset(outputs), frozenset(_input_influences(operation).items())))
    return frozenset(members)


def _input_influences(operation: Operation) -> dict[NodeId, Influence]:
    """Return the influence of each input; direct if one is both."""
    influences: dict[NodeId, Influence] = {}
    for field in inputs_of(operation):
        node = field.origin, field.name
        if influences.get(node) is not Influence.DIRECT:
            influences[node] = field.influence
    return influences


class _Steps:
    """The inputs and consumers of each operation, with their influences.

    `origins` and `consumers` connect transforms alone; without `indirect`, indirect inputs are left out.
    """

    def __init__(self, operations: Iterable[Operation], *, indirect: bool) -> None:
        self.operations = {operation.name: operation for operation in operations}
        self.origins: dict[str, _Influences] = {name: {} for name in self.operations}
        self.consumers: dict[str, _Influences] = {name: {} for name in self.operations}
        self._inputs: dict[str, dict[NodeId, Influence]] = {}
        self._consumers_of: dict[NodeId, _Influences] = {}
        self._used: set[NodeId] = set()
        for operation in self.operations.values():
            inputs = _input_influences(operation)
            # Before indirect inputs are left out: a field that is only used indirectly is a source field too.
            self._used.update(inputs)
            if not indirect:
                inputs = {node: kind for node, kind in inputs.items() if kind is Influence.DIRECT}
            self._inputs[operation.name] = inputs
            for node, influence in inputs.items():
                # The operations of one field may lack origins that do not lead to it.
                if node[0] in self.operations:
                    self._consumers_of.setdefault(node, {})[operation.name] = influence
                    if isinstance(operation, Transform):
                        _strengthen(self.origins[operation.name], node[0], influence)
                        _strengthen(self.consumers[node[0]], operation.name, influence)

    def writes_of(self, target: DatasetField) -> Iterator[tuple[Write, str]]:
        """Yield the Writes of a destination field, each with an origin that the field comes from."""
        for operation in self.operations.values():
            if isinstance(operation, Write) and operation.destination == target.dataset:
                for (origin, name), influence in self._inputs[operation.name].items():
                    if name == target.name and influence is Influence.DIRECT:
                        yield operation, origin

    def reads_of(self, origin: DatasetField) -> Iterator[Read]:
        """Yield the Reads of a source field, also those that do not list it but whose consumers use it."""
        for operation in self.operations.values():
            if isinstance(operation, Read) and operation.source == origin.dataset:
                listed = origin.name in {output.name for output in operation.outputs}
                if listed or (operation.name, origin.name) in self._used:
                    yield operation

    def consumers_of(self, node: NodeId) -> _Influences:
        """Return the transforms that have one field as input."""
        consumers = self._consumers_of.get(node, {})
        return {
            name: kind for name, kind in consumers.items() if isinstance(self.operations[name], Transform)
        }

    def reachable_operations(
        self, starts: Mapping[str, Influence], steps: Mapping[str, Mapping[str, Influence]]
    ) -> _Influences:
        """Return every operation reachable from `starts`; direct if one path to it has direct steps alone."""
        # Direct steps first: an operation with a direct path stays direct, however many indirect ones follow.
        reached: _Influences = {name: kind for name, kind in starts.items() if kind is Influence.DIRECT}
        _spread(reached, steps, through=Influence.DIRECT)
        for name in starts:
            reached.setdefault(name, Influence.INDIRECT)
        _spread(reached, steps, through=Influence.INDIRECT)
        return reached

    def source_inputs(
        self, reachable: Mapping[str, Influence]
    ) -> dict[NodeId, tuple[Influence, _Influences]]:
        """Return the source fields that are inputs of operations: their influence, and their consumers."""
        inputs: dict[NodeId, tuple[Influence, _Influences]] = {}
        for name, path_influence in reachable.items():
            for node, influence in self._inputs[name].items():
                if isinstance(self.operations[node[0]], Read):
                    combined = influence if path_influence is Influence.DIRECT else path_influence
                    strongest, consumers = inputs.get(node, (combined, {}))
                    inputs[node] = combined if strongest is not Influence.DIRECT else strongest, consumers
                    consumers[name] = influence
        return inputs

    def writes_reached(
        self, start: NodeId, reachable: Mapping[str, Influence]
    ) -> Iterator[tuple[NodeId, Write, Influence]]:
        """Yield the Writes of the start field and of any field of the reachable operations."""
        for node, consumers in self._consumers_of.items():
            if node == start or node[0] in reachable:
                for name, influence in consumers.items():
                    write = self.operations[name]
                    if isinstance(write, Write):
                        yield node, write, influence

    def type_of(self, node: NodeId) -> str:
        """Return the type of a field, or "" if its operation does not list it."""
        outputs = outputs_of(self.operations[node[0]])
        # Reversed: of two outputs with one name the last is valid, as in `operation_graph`.
        return next((output.type for output in reversed(outputs) if output.name == node[1]), "")


def _spread(
    reached: _Influences, steps: Mapping[str, Mapping[str, Influence]], *, through: Influence
) -> None:
    """Add all operations reachable by steps that are direct, or by any if `through` is indirect."""
    # A list instead of recursion: chains of operations can exceed Python's recursion limit.
    pending = list(reached)
    while pending:
        for name, influence in steps[pending.pop()].items():
            if name not in reached and (through is Influence.INDIRECT or influence is Influence.DIRECT):
                reached[name] = through
                pending.append(name)


def _strengthen(influences: _Influences, name: str, influence: Influence) -> None:
    if influences.get(name) is not Influence.DIRECT:
        influences[name] = influence


class _View:
    """A simple view under construction."""

    def __init__(self, steps: _Steps) -> None:
        self._steps = steps
        self._nodes: dict[NodeId, Node] = {}
        self._paths: dict[tuple[NodeId, NodeId], OperationPath] = {}
        self._operations: dict[str, Operation] = {}

    def add_operations(self, names: Iterable[str]) -> None:
        for name in names:
            self._operations[name] = self._steps.operations[name]

    def add_node(self, node: NodeId, destination: Dataset | None = None) -> None:
        self.add_operations([node[0]])
        producer = self._steps.operations[node[0]]
        source = producer.source if isinstance(producer, Read) else None
        previous = self._nodes.get(node, Node(node, self._steps.type_of(node), source))
        added = frozenset() if destination is None else frozenset([destination])
        self._nodes[node] = Node(node, previous.type, source, previous.destinations | added)

    def add_path(self, ends: tuple[NodeId, NodeId], between: Iterable[str], influence: Influence) -> None:
        ordered = topology.sort_operations([self._steps.operations[name] for name in between])
        self._paths[ends] = OperationPath(tuple(operation.name for operation in ordered), influence)

    def graph(self) -> OperationGraph:
        return OperationGraph(self._operations, self._nodes, {}, self._paths)
