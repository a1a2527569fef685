"""Simple views, from ultimate sources to ultimate destinations of a field.

All outputs of a transform share its inputs, so paths are followed from operation to operation, never from
field to field. The work for a path grows with its operations and their connections. All paths together are
bounded: in a chain in which every operation is written, they would name as many operations as the square
of its length.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from fll_hbase.model import topology
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.operation_graph import Node, NodeId, OperationGraph, OperationPath
from fll_hbase.model.operations import Influence, Operation, Read, Transform, Write, inputs_of, outputs_of

_Influences: TypeAlias = dict[str, Influence]
"""Influence by the name of an operation."""


def upstream_simple_view(
    operations: Iterable[Operation],
    target: DatasetField,
    *,
    indirect: bool = True,
    connections_max: int | None = None,
    steps_max: int | None = None,
) -> OperationGraph:
    """Return the ultimate sources of a destination field with the transforms on any path from each.

    The paths name at most `connections_max` transforms in all, except that one path is always included. About
    `steps_max` connections are followed. `truncated_by` names the limit if there are more. A Write's own
    indirect inputs are not followed. The result is empty if no Write writes the field.
    """
    steps = Steps(operations, indirect=indirect)
    view = _View(steps, connections_max=connections_max, steps_max=steps_max)
    for write, origin in steps.writes_of(target):
        if view.is_cut():
            break
        end = origin, target.name
        reachable = steps.reachable_operations({origin: Influence.DIRECT}, steps.origins)
        view.add_operations([write.name, *reachable])
        view.add_node(end, write.destination)
        for source, (influence, consumers) in steps.source_inputs(reachable).items():
            # A field that a Write takes unchanged from a READ has no transform on its way, and so no path.
            if source != end:
                # A path consists of what both ends reach; listing each path could take exponential time.
                between = steps.reachable_within(reachable, consumers, steps.consumers)
                if not view.add_path((source, end), between, influence):
                    break
                view.add_node(source)
    return view.graph()


def downstream_simple_view(
    operations: Iterable[Operation],
    origin: DatasetField,
    *,
    indirect: bool = True,
    connections_max: int | None = None,
    steps_max: int | None = None,
) -> OperationGraph:
    """Return the ultimate destinations of a source field with the transforms on any path to each.

    The paths name at most `connections_max` transforms in all, except that one path is always included. About
    `steps_max` connections are followed. `truncated_by` names the limit if there are more. A Write that the
    field only influences is an operation, but no destination. The result is empty if no Read reads the field.
    """
    steps = Steps(operations, indirect=indirect)
    view = _View(steps, connections_max=connections_max, steps_max=steps_max)
    for read in steps.reads_of(origin):
        if view.is_cut():
            break
        start = read.name, origin.name
        reachable = steps.reachable_operations(steps.consumers_of(start), steps.consumers)
        view.add_operations([read.name, *reachable])
        view.add_node(start)
        for end, writes in steps.writes_reached(start, reachable):
            is_written = Influence.DIRECT in writes.values()
            if is_written and end != start:
                between = steps.reachable_within(reachable, [end[0]], steps.origins)
                if not view.add_path((start, end), between, reachable[end[0]]):
                    break
            view.add_writes(end, writes)
    return view.graph()


def input_influences(operation: Operation) -> dict[NodeId, Influence]:
    """Return the influence of each input by origin and field; direct if the input is both."""
    influences: dict[NodeId, Influence] = {}
    for field in inputs_of(operation):
        node = field.origin, field.name
        if influences.get(node) is not Influence.DIRECT:
            influences[node] = field.influence
    return influences


class Steps:
    """The inputs and consumers of each operation, with their influences.

    `inputs` are fields; an input that is both is direct. `origins` and `consumers` leave out Writes. Without
    `indirect`, indirect inputs are left out everywhere.
    """

    def __init__(self, operations: Iterable[Operation], *, indirect: bool) -> None:
        """Index the operations of a content, or of some of its fields, without following any."""
        self.operations = {operation.name: operation for operation in operations}
        self.origins: dict[str, _Influences] = {name: {} for name in self.operations}
        self.consumers: dict[str, _Influences] = {name: {} for name in self.operations}
        self.inputs: dict[str, dict[NodeId, Influence]] = {}
        self._consumers_of: dict[NodeId, _Influences] = {}
        self._used: set[NodeId] = set()
        self._types: dict[str, dict[str, str]] = {}
        # The number of connections followed so far, as a measure of the work.
        self.followed = 0
        for operation in self.operations.values():
            inputs = input_influences(operation)
            # Done before indirect inputs are left out, since a field used only indirectly is also a source
            # field.
            self._used.update(inputs)
            if not indirect:
                inputs = {node: kind for node, kind in inputs.items() if kind is Influence.DIRECT}
            self.inputs[operation.name] = inputs
            for node, influence in inputs.items():
                # The operations of one field may lack origins that do not lead to it.
                if node[0] in self.operations:
                    self._consumers_of.setdefault(node, {})[operation.name] = influence
                    if isinstance(operation, Transform):
                        _strengthen(self.origins[operation.name], node[0], influence)
                        _strengthen(self.consumers[node[0]], operation.name, influence)

    def writes_of(self, target: DatasetField) -> Iterator[tuple[Write, str]]:
        """Yield each Write of a destination field with the name of each origin of the field there."""
        for operation in self.operations.values():
            if isinstance(operation, Write) and operation.destination == target.dataset:
                for (origin, name), influence in self.inputs[operation.name].items():
                    if name == target.name and influence is Influence.DIRECT:
                        yield operation, origin

    def reads_of(self, origin: DatasetField) -> Iterator[Read]:
        """Yield the Reads of a source field, including unlisted outputs that consumers use."""
        for operation in self.operations.values():
            if isinstance(operation, Read) and operation.source == origin.dataset:
                listed = origin.name in {output.name for output in operation.outputs}
                if listed or (operation.name, origin.name) in self._used:
                    yield operation

    def consumers_of(self, node: NodeId) -> _Influences:
        """Return the transforms that have a field as input, with its influence on each."""
        consumers = self._consumers_of.get(node, {})
        return {
            name: kind for name, kind in consumers.items() if isinstance(self.operations[name], Transform)
        }

    def consumers_within(self, node: NodeId, names: Mapping[str, Influence]) -> list[str]:
        """Return the transforms of `names`, which has no Writes, that read a field.

        The work grows with the smaller of `names` and the field's consumers.
        """
        consumers = self._consumers_of.get(node, {})
        if len(names) < len(consumers):
            return [name for name in names if node in self.inputs[name]]
        return [name for name in consumers if name in names and isinstance(self.operations[name], Transform)]

    def reachable_operations(
        self, starts: Mapping[str, Influence], steps: Mapping[str, Mapping[str, Influence]]
    ) -> _Influences:
        """Return `starts` and all operations that `steps` reach from them, and count the steps in `followed`.

        An operation is direct if a path from a direct start to it has only direct steps.
        """
        # Follow direct steps first: an operation with a direct path stays direct, even if indirect ones
        # follow.
        reached: _Influences = {name: kind for name, kind in starts.items() if kind is Influence.DIRECT}
        _spread(reached, steps, through=Influence.DIRECT)
        for name in starts:
            reached.setdefault(name, Influence.INDIRECT)
        _spread(reached, steps, through=Influence.INDIRECT)
        self.followed += sum(len(steps[name]) for name in reached)
        return reached

    def reachable_within(
        self, names: Container[str], starts: Iterable[str], steps: Mapping[str, Mapping[str, Influence]]
    ) -> set[str]:
        """Return the operations of `names` reachable from `starts`, which are among `names`.

        If all of `names` lead to one operation, the results do too, and the work grows with the size of the
        result.
        """
        reached = set(starts)
        pending = list(reached)
        while pending:
            following = steps[pending.pop()]
            self.followed += len(following)
            for name in following:
                if name in names and name not in reached:
                    reached.add(name)
                    pending.append(name)
        return reached

    def source_inputs(
        self, reachable: Mapping[str, Influence]
    ) -> dict[NodeId, tuple[Influence, _Influences]]:
        """Return the source fields that are inputs of `reachable` operations.

        Each has its strongest influence over a whole path, and its consumers with the influence on each.
        """
        inputs: dict[NodeId, tuple[Influence, _Influences]] = {}
        for name, path_influence in reachable.items():
            self.followed += len(self.inputs[name])
            for node, influence in self.inputs[name].items():
                if isinstance(self.operations[node[0]], Read):
                    combined = influence if path_influence is Influence.DIRECT else path_influence
                    strongest, consumers = inputs.get(node, (combined, {}))
                    inputs[node] = combined if strongest is not Influence.DIRECT else strongest, consumers
                    consumers[name] = influence
        return inputs

    def writes_reached(
        self, start: NodeId, reachable: Mapping[str, Influence]
    ) -> Iterator[tuple[NodeId, _Influences]]:
        """Yield each field, of the start or the reachable operations, that Writes take, with these Writes."""
        self.followed += len(self._consumers_of)
        for node, consumers in self._consumers_of.items():
            if node == start or node[0] in reachable:
                writes = {
                    name: kind for name, kind in consumers.items() if isinstance(self.operations[name], Write)
                }
                if writes:
                    yield node, writes

    def type_of(self, node: NodeId) -> str:
        """Return the type of a field, or "" if its operation does not list it."""
        types = self._types.get(node[0])
        if types is None:
            # If two outputs share a name, the last one is valid, as in `operation_graph`.
            types = {output.name: output.type for output in outputs_of(self.operations[node[0]])}
            self._types[node[0]] = types
        return types.get(node[1], "")


def _spread(
    reached: _Influences, steps: Mapping[str, Mapping[str, Influence]], *, through: Influence
) -> None:
    """Add to `reached`, as `through`, all that direct steps reach, or any steps if `through` is indirect."""
    # A list instead of recursion: chains of operations can exceed Python's recursion limit.
    pending = list(reached)
    while pending:
        for name, influence in steps[pending.pop()].items():
            if name not in reached and (through is Influence.INDIRECT or influence is Influence.DIRECT):
                reached[name] = through
                pending.append(name)


def _strengthen(influences: _Influences, name: str, influence: Influence) -> None:
    """Set the influence of a name, unless it is already direct."""
    if influences.get(name) is not Influence.DIRECT:
        influences[name] = influence


class _View:
    """A simple view under construction, and the limits that cut it."""

    def __init__(self, steps: Steps, *, connections_max: int | None, steps_max: int | None) -> None:
        self._steps = steps
        self._connections_max = connections_max
        self._steps_max = steps_max
        self._truncated_by: set[str] = set()
        # Counts the names in all paths, in which an operation may occur many times.
        self._names = 0
        self._nodes: dict[NodeId, Node] = {}
        self._paths: dict[tuple[NodeId, NodeId], OperationPath] = {}
        self._operations: dict[str, Operation] = {}
        # Sort once: otherwise each path would again sort the inputs of its operations, which may be many.
        ordered = topology.sort_operations(list(steps.operations.values()))
        self._ranks = {operation.name: rank for rank, operation in enumerate(ordered)}

    def add_operations(self, names: Iterable[str]) -> None:
        """Add the named operations to the view."""
        for name in names:
            self._operations[name] = self._steps.operations[name]

    def add_node(self, node: NodeId, *destinations: Dataset) -> None:
        """Add a field with its operation, and add `destinations` to its destinations in the view."""
        self.add_operations([node[0]])
        producer = self._steps.operations[node[0]]
        source = producer.source if isinstance(producer, Read) else None
        previous = self._nodes.get(node, Node(node, self._steps.type_of(node), source))
        self._nodes[node] = replace(previous, destinations=previous.destinations.union(destinations))

    def add_writes(self, node: NodeId, influences: _Influences) -> None:
        """Add Writes of a field, and the field if its influence on one is direct."""
        self.add_operations(influences)
        direct = [self._operations[name] for name, kind in influences.items() if kind is Influence.DIRECT]
        destinations = [write.destination for write in direct if isinstance(write, Write)]
        if destinations:
            self.add_node(node, *destinations)

    def add_path(self, ends: tuple[NodeId, NodeId], between: Iterable[str], influence: Influence) -> bool:
        """Add a path and return True, or return False beyond a limit. The first path is always added."""
        ordered = sorted(between, key=self._ranks.__getitem__)
        self._names += len(ordered)
        if self._paths:
            if self._connections_max is not None and self._names > self._connections_max:
                self._truncated_by.add(f"connections_max={self._connections_max}")
            if self.is_cut():
                return False
        self._paths[ends] = OperationPath(tuple(ordered), influence)
        return True

    def is_cut(self) -> bool:
        """Return whether a path was left out, or the limit of steps was exceeded, and note that limit."""
        if self._steps_max is not None and self._steps.followed > self._steps_max:
            self._truncated_by.add(f"steps_max={self._steps_max}")
        return bool(self._truncated_by)

    def graph(self) -> OperationGraph:
        """Return the view as a graph without connections."""
        return OperationGraph(
            self._operations, self._nodes, {}, self._paths, truncated_by=frozenset(self._truncated_by)
        )
