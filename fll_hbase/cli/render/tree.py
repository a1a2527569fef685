"""The graph of one field as a tree: each operation once in full, afterwards by its name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from rich.console import Group, RenderableType
from rich.text import Text

from fll_hbase.cli.render.graph_view import FieldGraph, Step
from fll_hbase.cli.render.result_tables import empty_message
from fll_hbase.cli.render.screen import Detail
from fll_hbase.cli.render.text_tree import TextTree
from fll_hbase.cli.render.time_text import describe_window
from fll_hbase.queries.field_lineage import Connection, FieldLineage, FieldLineageAnswer
from fll_hbase.queries.time_window import WindowText
from fll_hbase.runtime.escape import escape_control


class _Node(NamedTuple):
    """A node on one branch of the tree."""

    id: str
    indirect: bool = False


_Item: TypeAlias = _Node | Step


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
    graph = FieldGraph(body)
    backward = query.direction == "backward"
    name = escape_control(f"{query.dataset}.{query.field}")
    title = f"Where {name} comes from" if backward else f"What is made of {name}"
    tree = TextTree(name)
    if query.view == "simple":
        for line in _simple_backward(graph) if backward else _simple_forward(graph):
            tree.add(line)
    else:
        _TreeBuilder(graph, backward=backward).add(tree, _roots(graph, backward=backward))
    for line in () if backward else graph.terminal_uses():
        tree.add(line)
    contents = Detail(Text(f"Contents, newest first: {', '.join(body.checksums)}", style="dim"))
    return Group(Text(f"{title}, {describe_window(window)}", style="bold"), tree, contents)


def _roots(graph: FieldGraph, *, backward: bool) -> list[_Item]:
    """Return the WRITEs, then the nodes they write (backward), or the READs with their nodes (forward)."""
    if backward:
        writes: list[_Item] = [Step(name, ()) for name in graph.names_of_type("WRITE")]
        return [*writes, *(_Node(node) for node in graph.written_nodes())]
    return [
        Step(name, tuple((node, False) for node in graph.read_by(name)))
        for name in graph.names_of_type("READ")
    ]


class _TreeBuilder:
    """Adds operations and nodes to a tree, each operation with its children only the first time."""

    def __init__(self, graph: FieldGraph, *, backward: bool) -> None:
        self._graph = graph
        self._backward = backward
        self._described: set[str] = set()

    def add(self, tree: TextTree, items: Sequence[_Item]) -> None:
        """Add items below `tree`, each with everything beyond it, in order."""
        # A stack, because chains of operations may exceed Python's recursion limit. It is reversed, because
        # the last item of a stack comes next.
        pending = [(tree, item) for item in reversed(items)]
        while pending:
            parent, item = pending.pop()
            line, children = self._step(item) if isinstance(item, Step) else self._node(item)
            branch = parent.add(line)
            pending += [(branch, child) for child in reversed(children)]

    def _step(self, step: Step) -> tuple[str, list[_Item]]:
        """Return the line of an operation, and its children the first time that it occurs."""
        indirect = not self._backward and any(indirect for _, indirect in step.nodes)
        # Branches that join and part again form exponentially many ways, so each operation is followed once.
        if step.operation in self._described:
            reference = ", as above" if step.nodes else ""
            return self._graph.describe_operation(step.operation, repeated=True) + reference, []
        self._described.add(step.operation)
        children: list[_Item] = [_Node(node, indirect and self._backward) for node, indirect in step.nodes]
        return _mark(self._graph.describe_operation(step.operation), indirect=indirect), children

    def _node(self, node: _Node) -> tuple[str, list[_Item]]:
        """Return the line of a node, and the steps beyond it: its producer (backward) or its consumers."""
        label = self._graph.label(node.id)
        if self._backward:
            return _mark(label, indirect=node.indirect), [*self._graph.producers(node.id)]
        destinations = "".join(f" → {dataset}" for dataset in self._graph.destinations(node.id))
        return _mark(label + destinations, indirect=node.indirect), [*self._graph.consumers(node.id)]


def _simple_backward(graph: FieldGraph) -> Iterator[str]:
    """Yield a line for each field that a written node copies or derives from, indirect ones marked.

    Yields one line for a generated node.
    """
    for node in graph.written_nodes():
        if source := graph.source(node):
            yield f"{source}.{graph.label(node)}, as it is"
        for connection in graph.into(node):
            field = f"{graph.source(connection.source)}.{graph.label(connection.source)}"
            yield _simple_line(field, connection)
        if not source and not graph.into(node):
            yield f"{graph.label(node)}, generated"


def _simple_forward(graph: FieldGraph) -> Iterator[str]:
    """Yield a line for each written field that derives from the field, or is a copy of it."""
    for node in graph.written_nodes():
        for destination in graph.destinations(node):
            field = f"{destination}.{graph.label(node)}"
            if graph.source(node):
                yield f"{field}, as it is"
            for connection in graph.into(node):
                yield _simple_line(field, connection)


def _simple_line(field: str, connection: Connection) -> str:
    """Return the line of a field at the other end of a connection, with the operations between."""
    operations = escape_control(", ".join(connection.operations or ()))
    return _mark(f"{field}, by {operations}", indirect=connection.influence == "indirect")


def _mark(line: str, *, indirect: bool) -> str:
    """Return a line, marked if the influence is indirect."""
    return f"{line} (indirect)" if indirect else line
