"""Operation graphs of one field: walked upstream or downstream, merged over contents, stored as sets."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from fll_hbase.model import topology
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
"""The name of an operation, and the name of a field that is one of its outputs."""

GraphKey: TypeAlias = str | NodeId | tuple[NodeId, NodeId] | tuple[NodeId, NodeId, str]
"""The name of an operation, or the key of a node, a path or a connection of a graph."""

OPERATIONS_MAX = 10_000
"""With more operations, the graph of a field is computed per query and not stored."""

BITS_MAX = 2**28
"""Maximum product of the numbers of operations and of uses of fields. With more, no graphs are stored either.

The maximum is 32 MiB of bits."""

SetsByField: TypeAlias = dict[Dataset, dict[str, int]]
"""By dataset and field, a set of operations as bits: bit n is operation n in the order of names."""


@dataclass(frozen=True, slots=True)
class Node:
    """An output field of an operation.

    `source` is the dataset of a Read, otherwise None; `destinations` are the datasets of Writes of the field.
    """

    id: NodeId
    type: str = ""
    source: Dataset | None = None
    destinations: frozenset[Dataset] = frozenset()


@dataclass(frozen=True, slots=True)
class OperationPath:
    """All transforms between an ultimate source and a field, or between a field and an ultimate destination.

    Names are in topological order.
    """

    operations: tuple[str, ...]
    influence: Influence

    def rename(self, names: dict[str, str]) -> OperationPath:
        """Return the path with each operation renamed to `names[operation]`. Raises KeyError."""
        return OperationPath(tuple(names[name] for name in self.operations), self.influence)


@dataclass(frozen=True, slots=True)
class OperationGraph:
    """The operations and fields upstream or downstream of one field.

    `connections` holds the influence of each (from, to, operation); a simple view has `paths` instead, by
    (from, to). `truncated_by` lists the limits, as `limit=value`, that left something out. `failed` lists the
    keys of parts that only failed runs have.
    """

    operations: dict[str, Operation]
    nodes: dict[NodeId, Node]
    connections: dict[tuple[NodeId, NodeId, str], Influence]
    paths: dict[tuple[NodeId, NodeId], OperationPath] = field(default_factory=dict)
    truncated_by: frozenset[str] = frozenset()
    failed: frozenset[GraphKey] = frozenset()

    @property
    def truncated(self) -> bool:
        """True if a limit left something out."""
        return bool(self.truncated_by)


def upstream_graph(
    operations: Iterable[Operation],
    target: DatasetField,
    *,
    indirect: bool = True,
    connections_max: int | None = None,
) -> OperationGraph:
    """Return the graph upstream of a destination field, empty if no Write writes it.

    Without `indirect`, indirect inputs are not followed; indirect inputs of a Write never are.
    At `connections_max` connections (None: no limit) the graph is cut, and `truncated_by` names the limit.
    """
    walk = _Walk(operations, indirect=indirect, connections_max=connections_max)
    for operation in walk.operations.values():
        if isinstance(operation, Write) and operation.destination == target.dataset:
            for input_field in operation.inputs:
                # Indirect inputs of a Write influence rows of the whole dataset, not the value of this field.
                if input_field.name == target.name and input_field.influence is Influence.DIRECT:
                    walk.add_operation(operation)
                    walk.add_write((input_field.origin, input_field.name), operation.destination)
    return walk.run(walk.step_upstream)


def downstream_graph(
    operations: Iterable[Operation],
    origin: DatasetField,
    *,
    indirect: bool = True,
    connections_max: int | None = None,
) -> OperationGraph:
    """Return the graph downstream of a source field, including drops and unused outputs.

    The graph is empty if no Read has the field. Without `indirect`, indirect inputs are not followed. At
    `connections_max` connections (None: no limit) the graph is cut, and `truncated_by` names the limit.
    """
    walk = _Walk(operations, indirect=indirect, connections_max=connections_max)
    for operation in walk.operations.values():
        is_source = isinstance(operation, Read) and operation.source == origin.dataset
        if is_source and origin.name in walk.outputs(operation):
            walk.add_node((operation.name, origin.name))
    return walk.run(walk.step_downstream)


def merge(
    graphs: Iterable[tuple[str, OperationGraph]],
    *,
    connections_max: int | None = None,
    failed: Collection[str] = (),
    public_checksum: Callable[[str], str] = str,
) -> OperationGraph:
    """Return the union of graphs given newest first, each with its checksum.

    If different operations have the same name, the newest keeps it and the older ones are renamed to
    `<name>@<first 8 hex digits of the public checksum>`. The union always contains the whole newest graph. It
    is truncated before the first graph with which its connections and names in paths together would exceed
    `connections_max`. No further graphs are then taken from the iterable. `failed` lists the checksums of
    graphs that only failed runs have.
    """
    names = _OperationNames()
    union = _Union()
    complete: set[GraphKey] = set()
    for checksum, graph in graphs:
        renamed = _rename(graph, names.assign(public_checksum(checksum), graph))
        if connections_max is not None and not union.has_room(renamed, connections_max):
            union.truncated_by.add(f"connections_max={connections_max}")
            break
        union.add(renamed)
        if failed and checksum not in failed:
            complete |= _keys(renamed)
    merged = union.build()
    return replace(merged, failed=frozenset(_keys(merged) - complete)) if failed else merged


def _keys(graph: OperationGraph) -> set[GraphKey]:
    """Return the keys of all operations, nodes, connections and paths of a graph."""
    return {*graph.operations, *graph.nodes, *graph.connections, *graph.paths}


class _Walk:
    """Breadth-first traversal of one set of operations from some of its fields."""

    def __init__(
        self, operations: Iterable[Operation], *, indirect: bool, connections_max: int | None
    ) -> None:
        """Index the outputs and consumers of the operations; the graph is empty. None means no limit."""
        self.operations = {operation.name: operation for operation in operations}
        self._indirect = indirect
        self._connections_max = connections_max
        self._outputs = {
            name: {output.name: output.type for output in outputs_of(operation)}
            for name, operation in self.operations.items()
        }
        self._consumers: dict[NodeId, list[tuple[Operation, InputField]]] = {}
        for operation in self.operations.values():
            for input_field in dict.fromkeys(inputs_of(operation)):
                # Origins may be missing: `operations` can belong to one field only (row-keys.md, Graph
                # cells).
                self._outputs.get(input_field.origin, {}).setdefault(input_field.name, "")
                node = input_field.origin, input_field.name
                self._consumers.setdefault(node, []).append((operation, input_field))
        self._visited: dict[str, Operation] = {}
        self._nodes: dict[NodeId, Node] = {}
        self._connections: dict[tuple[NodeId, NodeId, str], Influence] = {}
        self._queue: deque[NodeId] = deque()
        self._truncated = False

    def outputs(self, operation: Operation) -> dict[str, str]:
        """Return name to type of all outputs, including those that are used but not listed."""
        return self._outputs[operation.name]

    def run(self, step: Callable[[NodeId], None]) -> OperationGraph:
        """Call `step` on each queued node until none is left or the bound is reached; return the graph."""
        # Breadth first: a truncated graph contains the parts nearest to the field (decision 0008).
        while self._queue and not self._truncated:
            step(self._queue.popleft())
        limits = frozenset([f"connections_max={self._connections_max}"] if self._truncated else [])
        return OperationGraph(self._visited, self._nodes, self._connections, truncated_by=limits)

    def step_upstream(self, node: NodeId) -> None:
        """Add the producer of a node, the nodes of its inputs, and the connections from them."""
        producer = self.operations[node[0]]
        self.add_operation(producer)
        for input_field in dict.fromkeys(inputs_of(producer)):
            if self._truncated:
                return
            start = input_field.origin, input_field.name
            if self._follows(input_field) and self._connect(
                (start, node, producer.name), input_field.influence
            ):
                self.add_node(start)

    def step_downstream(self, node: NodeId) -> None:
        """Add the consumers of a node: the outputs of TRANSFORMs as nodes, the datasets of direct WRITEs."""
        self.add_operation(self.operations[node[0]])
        for operation, input_field in self._consumers.get(node, ()):
            if self._truncated:
                return
            if not self._follows(input_field):
                continue
            self.add_operation(operation)
            if isinstance(operation, Transform):
                for name in self.outputs(operation):
                    end = operation.name, name
                    if self._connect((node, end, operation.name), input_field.influence):
                        self.add_node(end)
            # An indirect input shows the Write, but the field is not written to its destination.
            elif isinstance(operation, Write) and input_field.influence is Influence.DIRECT:
                self.add_write(node, operation.destination)

    def add_operation(self, operation: Operation) -> None:
        """Add an operation to the graph."""
        self._visited[operation.name] = operation

    def add_node(self, node: NodeId) -> None:
        """Add a node and queue it, unless it is already there. Its source is the dataset of a Read."""
        if node not in self._nodes:
            producer = self.operations[node[0]]
            source = producer.source if isinstance(producer, Read) else None
            self._nodes[node] = Node(node, self.outputs(producer)[node[1]], source)
            self._queue.append(node)

    def add_write(self, node: NodeId, destination: Dataset) -> None:
        """Add a node, and `destination` to the datasets that it is written to."""
        self.add_node(node)
        previous = self._nodes[node]
        self._nodes[node] = replace(previous, destinations=previous.destinations | {destination})

    def _follows(self, input_field: InputField) -> bool:
        """Return whether the walk follows an input: any input, or without `indirect` only direct inputs."""
        return self._indirect or input_field.influence is Influence.DIRECT

    def _connect(self, connection: tuple[NodeId, NodeId, str], influence: Influence) -> bool:
        """Add a connection, direct if one of its inputs is. At the maximum, truncate and return False."""
        if connection not in self._connections:
            if len(self._connections) == self._connections_max:
                self._truncated = True
                return False
            self._connections[connection] = influence
        elif influence is Influence.DIRECT:
            self._connections[connection] = influence
        return True


@dataclass(slots=True)
class _OperationNames:
    """The name of each distinct operation in a merged graph."""

    _assigned: dict[str, dict[object, str]] = field(default_factory=dict)

    def assign(self, checksum: str, graph: OperationGraph) -> dict[str, str]:
        """Return, by name, the names in the union: `name@` and 8 digits of the checksum if it is taken."""
        names = {}
        for name, operation in graph.operations.items():
            variants = self._assigned.setdefault(name, {})
            # Use the checksum instead of a number, because it identifies the content of the older operation.
            unique = f"{name}@{checksum[:8]}" if variants else name
            names[name] = variants.setdefault(_identity(operation), unique)
        return names


def _identity(operation: Operation) -> object:
    """Return a key that is equal for two operations of one name that do the same."""
    return (
        # Do not use `==`: a new description of a dataset does not make its READ or WRITE a different
        # operation.
        type(operation).__name__,
        operation.description,
        dataset_of(operation),
        inputs_of(operation),
        outputs_of(operation),
    )


def _rename(graph: OperationGraph, names: dict[str, str]) -> OperationGraph:
    """Return a graph with each operation called `names[operation]`, without `failed`; itself if all stay."""
    if all(name == new for name, new in names.items()):
        return graph

    def renamed(node: NodeId) -> NodeId:
        return names[node[0]], node[1]

    return OperationGraph(
        {names[name]: operation for name, operation in graph.operations.items()},
        {renamed(node.id): replace(node, id=renamed(node.id)) for node in graph.nodes.values()},
        {
            (renamed(start), renamed(end), names[name]): influence
            for (start, end, name), influence in graph.connections.items()
        },
        {(renamed(start), renamed(end)): path.rename(names) for (start, end), path in graph.paths.items()},
        graph.truncated_by,
    )


class _PathUnion:
    """Paths between the same two fields under construction, as a linked list of names.

    The work of adding a path grows with its own length, not with the length of the union.
    """

    def __init__(self) -> None:
        self._influence = Influence.INDIRECT
        # None is both the start and the end.
        self._previous: dict[str | None, str | None] = {None: None}
        self._next: dict[str | None, str | None] = {None: None}

    def count_missing(self, path: OperationPath) -> int:
        """Return how many names of a path the union lacks."""
        return sum(name not in self._next for name in path.operations)

    def add(self, older: OperationPath) -> int:
        """Add a path and return how many names it adds; the union is direct if one path is.

        A name that the union lacks is inserted before the name that follows it in the path.
        """
        if older.influence is Influence.DIRECT:
            self._influence = Influence.DIRECT
        successor: str | None = None
        previous_length = len(self._next)
        # Go backwards, so that the successor of a name is in the list when the name is inserted.
        for name in reversed(older.operations):
            if name not in self._next:
                previous = self._previous[successor]
                self._next[previous] = self._previous[successor] = name
                self._previous[name], self._next[name] = previous, successor
            successor = name
        return len(self._next) - previous_length

    def build(self) -> OperationPath:
        """Return the union as a path."""
        names = []
        name = self._next[None]
        while name is not None:
            names.append(name)
            name = self._next[name]
        return OperationPath(tuple(names), self._influence)


@dataclass(slots=True)
class _Union:
    """A graph under construction, to which graphs are added newest first."""

    # Extended in place, not copied, because each of 5,000 contents may add one operation.
    operations: dict[str, Operation] = field(default_factory=dict)
    nodes: dict[NodeId, Node] = field(default_factory=dict)
    connections: dict[tuple[NodeId, NodeId, str], Influence] = field(default_factory=dict)
    paths: dict[tuple[NodeId, NodeId], _PathUnion] = field(default_factory=dict)
    truncated_by: set[str] = field(default_factory=set)
    names_in_paths: int = 0

    def has_room(self, older: OperationGraph, connections_max: int) -> bool:
        """Return whether the union would have at most `connections_max` connections and names in paths.

        Always true for an empty union.
        """
        if not self.operations:
            return True
        size = len(self.connections) + self.names_in_paths
        size += sum(connection not in self.connections for connection in older.connections)
        no_path = _PathUnion()
        size += sum(self.paths.get(ends, no_path).count_missing(path) for ends, path in older.paths.items())
        return size <= connections_max

    def add(self, older: OperationGraph) -> None:
        """Add what the older graph has and this one lacks, and unite the destinations of writes."""
        for name, operation in older.operations.items():
            self.operations.setdefault(name, operation)
        for connection, influence in older.connections.items():
            self.connections.setdefault(connection, influence)
        for node_id, node in older.nodes.items():
            newest = self.nodes.setdefault(node_id, node)
            # Take type and source from the newest content, but destinations from all contents, because they
            # may differ between runs.
            if not node.destinations <= newest.destinations:
                destinations = newest.destinations | node.destinations
                self.nodes[node_id] = replace(newest, destinations=destinations)
        for ends, path in older.paths.items():
            self.names_in_paths += self.paths.setdefault(ends, _PathUnion()).add(path)
        self.truncated_by |= older.truncated_by

    def build(self) -> OperationGraph:
        """Return the union of the graphs added so far."""
        paths = {ends: path.build() for ends, path in self.paths.items()}
        limits = frozenset(self.truncated_by)
        return OperationGraph(self.operations, self.nodes, self.connections, paths, limits)


class OperationSets(NamedTuple):
    """The operations upstream of each destination field, and those downstream of each source field."""

    backward: SetsByField
    forward: SetsByField


def operations_by_field(operations: Sequence[Operation]) -> OperationSets:
    """Return the operations in the graph of each field, for operations sorted by name.

    Both results are empty if there are more than OPERATIONS_MAX operations or BITS_MAX bits.
    """
    reads = {
        operation.name: len(operation.outputs) for operation in operations if isinstance(operation, Read)
    }
    used = sum(item.origin in reads for operation in operations for item in inputs_of(operation))
    writes = sum(len(operation.inputs) for operation in operations if isinstance(operation, Write))
    fields = sum(reads.values()) + used + writes
    if len(operations) > OPERATIONS_MAX or len(operations) * fields > BITS_MAX:
        return OperationSets({}, {})
    bit = {operation.name: 1 << number for number, operation in enumerate(operations)}
    ordered = topology.sort_operations(operations)
    return OperationSets(_upstream_sets(ordered, bit), _downstream_sets(ordered, bit))


def _upstream_sets(ordered: Sequence[Operation], bit: dict[str, int]) -> SetsByField:
    """Return for each written field the bits of the operations that produce it, its WRITE included."""
    upstream: dict[str, int] = {}
    by_field: SetsByField = {}
    for operation in ordered:
        if not isinstance(operation, Write):
            bits = bit[operation.name]
            for origin in {item.origin for item in inputs_of(operation)}:
                bits |= upstream[origin]
            upstream[operation.name] = bits
            continue
        targets = by_field.setdefault(operation.destination, {})
        for item in operation.inputs:
            if item.influence is Influence.DIRECT:
                bits = bit[operation.name] | upstream[item.origin]
                targets[item.name] = targets.get(item.name, 0) | bits
    return by_field


def _downstream_sets(ordered: Sequence[Operation], bit: dict[str, int]) -> SetsByField:
    """Return for each read field the bits of the operations that use it, its READ included."""
    downstream = dict(bit)
    # An unused output also has a graph, which is only its READ.
    by_output: dict[str, dict[str, int]] = {
        operation.name: {output.name: 0 for output in outputs_of(operation)}
        for operation in ordered
        if isinstance(operation, Read)
    }
    for operation in reversed(ordered):
        bits = downstream[operation.name]
        for item in inputs_of(operation):
            downstream[item.origin] |= bits
            outputs = by_output.get(item.origin)
            if outputs is not None:
                outputs[item.name] = outputs.get(item.name, 0) | bits
    by_field: SetsByField = {}
    for operation in ordered:
        if isinstance(operation, Read):
            sources = by_field.setdefault(operation.source, {})
            for name, bits in by_output[operation.name].items():
                sources[name] = sources.get(name, 0) | bit[operation.name] | bits
    return by_field
