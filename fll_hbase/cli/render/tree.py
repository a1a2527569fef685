"""The graph of one field as a tree: each operation once in full, afterwards by its name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.segment import Segment
from rich.text import Text

from fll_hbase.cli.render.result_tables import empty_message
from fll_hbase.cli.render.screen import Block, Detail, Screen, wrap
from fll_hbase.cli.render.table_layout import Prose
from fll_hbase.cli.render.time_text import describe_window
from fll_hbase.queries.field_lineage import Connection, FieldLineage, FieldLineageAnswer, Node, Operation
from fll_hbase.queries.names import DatasetName
from fll_hbase.queries.time_window import WindowText
from fll_hbase.runtime.escape import escape_control

_WIDTH_MIN = 24
_NAMES = re.compile(r"^.*?(?:: |, )")
"""Names before a description or a list of operations, which must not be broken."""


class _Node(NamedTuple):
    """A node next to an operation, with its influence: indirect or not."""

    id: str
    indirect: bool = False


class _Step(NamedTuple):
    """An operation next to a node, and the nodes beyond it."""

    operation: str
    nodes: tuple[_Node, ...] = ()


_Item: TypeAlias = _Node | _Step


def field_tree(
    body: FieldLineageAnswer, query: FieldLineage, window: WindowText, note: str = ""
) -> RenderableType:
    """Render the answer to a field query as a tree below the name of the field.

    The view `simple` shows a line for each field at the other end, and `detailed` shows the operations. A
    forward answer also has a line for each operation that drops the field or only filters by it. For an
    answer without operations, the result is a message with the window.
    """
    if not body.operations:
        return empty_message(window, note)
    graph = _FieldGraph(body)
    backward = query.direction == "backward"
    name = escape_control(f"{query.dataset}.{query.field}")
    title = f"Where {name} comes from" if backward else f"What is made of {name}"
    tree = _TextTree(name)
    if query.view == "simple":
        for line in _simple_backward(graph) if backward else _simple_forward(graph):
            tree.add(line)
    else:
        _TreeBuilder(graph, backward=backward).add(tree, _roots(graph, backward=backward))
    for line in () if backward else graph.terminal_uses():
        tree.add(line)
    contents = Detail(Text(f"Contents, newest first: {', '.join(body.checksums)}", style="dim"))
    return Group(Text(f"{title}, {describe_window(window)}", style="bold"), tree, contents)


def _roots(graph: _FieldGraph, *, backward: bool) -> list[_Item]:
    """Return the WRITEs, then the nodes they write (backward), or the READs with their nodes (forward)."""
    if backward:
        writes: list[_Item] = [_Step(name) for name in graph.names_of_type("WRITE")]
        return [*writes, *(_Node(node) for node in graph.written_nodes())]
    return [_Step(name, graph.read_by(name)) for name in graph.names_of_type("READ")]


class _TreeBuilder:
    """Adds operations and nodes to a tree, each operation with its children only the first time."""

    def __init__(self, graph: _FieldGraph, *, backward: bool) -> None:
        self._graph = graph
        self._backward = backward
        self._described: set[str] = set()

    def add(self, tree: _TextTree, items: Sequence[_Item]) -> None:
        """Add items below `tree`, each with everything beyond it, in order."""
        # A stack, because chains of operations may exceed Python's recursion limit. It is reversed, because
        # the last item of a stack comes next.
        pending = [(tree, item) for item in reversed(items)]
        while pending:
            parent, item = pending.pop()
            line, children = self._step(item) if isinstance(item, _Step) else self._node(item)
            branch = parent.add(line)
            pending += [(branch, child) for child in reversed(children)]

    def _step(self, step: _Step) -> tuple[str, Sequence[_Item]]:
        """Return the line of an operation, and its children the first time that it occurs."""
        indirect = not self._backward and any(node.indirect for node in step.nodes)
        # Branches that join and part again form exponentially many ways, so each operation is followed once.
        if step.operation in self._described:
            reference = ", as above" if step.nodes else ""
            return self._graph.describe_operation(step.operation, repeated=True) + reference, []
        self._described.add(step.operation)
        # Forward, the line of the operation has the mark.
        children = step.nodes if self._backward else [_Node(node.id) for node in step.nodes]
        return _mark(self._graph.describe_operation(step.operation), indirect=indirect), children

    def _node(self, node: _Node) -> tuple[str, Sequence[_Item]]:
        """Return the line of a node, and the steps beyond it: its producer (backward) or its consumers."""
        label = self._graph.label(node.id)
        if self._backward:
            return _mark(label, indirect=node.indirect), [self._graph.producer(node.id)]
        destinations = "".join(f" → {dataset}" for dataset in self._graph.destinations(node.id))
        return _mark(label + destinations, indirect=node.indirect), [*self._graph.consumers(node.id)]


def _simple_backward(graph: _FieldGraph) -> Iterator[str]:
    """Yield a line for each field that a written node copies or derives from, indirect ones marked.

    Yields one line for a generated node.
    """
    for node in graph.written_nodes():
        if source := graph.source(node):
            yield f"{source}.{graph.label(node)}, as it is"
        for connection in graph.into[node]:
            field = f"{graph.source(connection.source)}.{graph.label(connection.source)}"
            yield _simple_line(field, connection)
        if not source and not graph.into[node]:
            yield f"{graph.label(node)}, generated"


def _simple_forward(graph: _FieldGraph) -> Iterator[str]:
    """Yield a line for each written field that derives from the field, or is a copy of it."""
    for node in graph.written_nodes():
        for destination in graph.destinations(node):
            field = f"{destination}.{graph.label(node)}"
            if graph.source(node):
                yield f"{field}, as it is"
            for connection in graph.into[node]:
                yield _simple_line(field, connection)


def _simple_line(field: str, connection: Connection) -> str:
    """Return the line of a field at the other end of a connection, with the operations between."""
    operations = escape_control(", ".join(connection.operations or ()))
    return _mark(f"{field}, by {operations}", indirect=connection.influence == "indirect")


def _mark(line: str, *, indirect: bool) -> str:
    """Return a line, marked if the influence is indirect."""
    return f"{line} (indirect)" if indirect else line


class _FieldGraph:
    """The nodes, operations and connections of a field answer, indexed for walking by the ids of nodes."""

    def __init__(self, body: FieldLineageAnswer) -> None:
        self.nodes = {node.id: node for node in body.nodes}
        self.operations = {operation.name: operation for operation in body.operations}
        for node in body.nodes:
            if node.hidden:
                self._add_hidden_operation(node)
        self.into: dict[str, list[Connection]] = defaultdict(list)
        """The connections that end in each node."""
        self.out_of: dict[str, list[Connection]] = defaultdict(list)
        """The connections that begin in each node."""
        self._connecting: set[str] = set()
        for connection in body.connections:
            names = connection.operations
            self._connecting.update([connection.operation] if names is None else names)
            self.into[connection.destination].append(connection)
            self.out_of[connection.source].append(connection)

    def _add_hidden_operation(self, node: Node) -> None:
        """Add the operation that read or wrote the hidden dataset of a node, which the answer leaves out."""
        name = _origin(node.id)
        self.operations[name] = Operation(
            name=name,
            description="",
            type="READ" if node.source_end_point else "WRITE",
            end_point=node.source_end_point or node.destination_end_point,
        )

    def producer(self, node: str) -> _Step:
        """Return the operation that produced a node, with its input nodes."""
        inputs = tuple(_Node(item.source, item.influence == "indirect") for item in self.into[node])
        return _Step(_origin(node), inputs)

    def consumers(self, node: str) -> Iterator[_Step]:
        """Yield the operations that have a node as input, each with its output nodes."""
        outputs: dict[str, list[_Node]] = defaultdict(list)
        for item in self.out_of[node]:
            outputs[item.operation].append(_Node(item.destination, item.influence == "indirect"))
        for operation, nodes in outputs.items():
            yield _Step(operation, tuple(nodes))

    def names_of_type(self, operation_type: str) -> list[str]:
        """Return the names of the operations of a type: READ, TRANSFORM or WRITE."""
        return [name for name, operation in self.operations.items() if operation.type == operation_type]

    def terminal_uses(self) -> list[str]:
        """Describe the operations that used the field of a forward answer without producing a field from it.

        These are transforms that dropped the field, and writes that only filtered, joined or similar by it.
        """
        written = {destination for node in self.written_nodes() for destination in self.destinations(node)}
        drops = [name for name in self.names_of_type("TRANSFORM") if name not in self._connecting]
        shaped = [
            name
            for name in self.names_of_type("WRITE")
            if _name(self.operations[name].end_point) not in written
        ]
        return [
            *(f"{self.describe_operation(name)} (dropped)" for name in drops),
            *(f"{self.describe_operation(name)} (indirect)" for name in shaped),
        ]

    def read_by(self, operation: str) -> tuple[_Node, ...]:
        """Return the nodes that a READ produced."""
        return tuple(_Node(node) for node in self.nodes if _origin(node) == operation)

    def written_nodes(self) -> list[str]:
        """Return the ids of the nodes that are written to a dataset."""
        return [node for node, members in self.nodes.items() if members.destination_end_point]

    def destinations(self, node: str) -> list[str]:
        """Return the datasets that a node is written to, as `namespace/name`."""
        return [_name(dataset) for dataset in self.nodes[node].destinations()]

    def source(self, node: str) -> str:
        """Return the dataset that a node was read from, or "" if an operation produced it."""
        return _name(self.nodes[node].source_end_point)

    def label(self, node: str) -> str:
        """Return the name of a node's field, with its type if known, escaped for a terminal."""
        members = self.nodes[node]
        return escape_control(members.label + (f": {members.type}" if members.type else ""))

    def describe_operation(self, name: str, *, repeated: bool = False) -> str:
        """Return an operation as text with its dataset and, unless `repeated`, its description.

        An operation that is not in the answer has only its name. The text is escaped for a terminal.
        """
        operation = self.operations.get(name)
        if operation is None:
            return escape_control(name)
        verb = {"READ": "reads", "WRITE": "writes"}.get(operation.type, "")
        dataset = f" ({verb} {_name(operation.end_point)})" if operation.end_point else ""
        # In one line, because a SQL statement may have several.
        description = f": {Prose(operation.description)}" if operation.description and not repeated else ""
        return escape_control(f"{name}{dataset}{description}")


def _origin(node: str) -> str:
    """Return the operation of a node id `<operation>.<field>`, or the text `hidden 1` for `hidden-1`."""
    # The last dot separates, since names of operations may contain dots, but dots in a field are escaped as
    # %2E. The node of a hidden dataset, `hidden-1`, has no dot.
    return node.rpartition(".")[0] if "." in node else node.replace("-", " ")


def _name(dataset: DatasetName | None) -> str:
    """Return a dataset as escaped text `namespace/name`, or "" for None."""
    return escape_control(str(dataset or ""))


@dataclass(slots=True)
class _TextTree:
    """A line, and the trees below it. Characters that move the cursor must be escaped already."""

    line: str
    branches: list[_TextTree] = field(default_factory=list)

    def add(self, line: str) -> _TextTree:
        """Add a branch with a line; return it."""
        self.branches.append(_TextTree(line))
        return self.branches[-1]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines for a pipe."""
        yield from (Segment(f"{guide}{line}\n") for guide, _, line in self._lines())

    def fit(self, screen: Screen) -> Block:
        """Return the tree for a terminal."""
        items = [
            [
                f"{following if index else guide}{part}"
                for index, part in enumerate(_wrapped(line, screen.width - len(following)))
            ]
            for guide, following, line in self._lines()
        ]
        return Block(items=items, unit="lines")

    def _lines(self) -> Iterator[tuple[str, str, str]]:
        """Yield each line with the guide before it, and the guides before its further lines."""
        # A stack instead of recursion: chains of operations may exceed Python's recursion limit.
        pending = [(self, "", "")]
        while pending:
            tree, guide, following = pending.pop()
            yield guide, following + ("│ " if tree.branches else "  "), tree.line
            last = len(tree.branches) - 1
            pending += [
                (
                    branch,
                    following + ("└── " if number == last else "├── "),
                    following + ("    " if number == last else "│   "),
                )
                for number, branch in reversed([*enumerate(tree.branches)])
            ]


def _wrapped(line: str, width: int) -> list[str]:
    """Return a line as several: its names stay whole, and the text after them is broken at spaces."""
    names = _NAMES.match(line)
    if names is None:
        return [line]
    return wrap(line[names.end() :], max(width, _WIDTH_MIN), prefix=names[0].rstrip())
