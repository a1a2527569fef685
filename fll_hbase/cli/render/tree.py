"""The graph of one field as a tree to be read: each operation in full once, afterwards by its name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from fll_hbase.cli.render import tables
from fll_hbase.cli.render.escape import shown
from fll_hbase.cli.render.graph_view import FieldGraph, Step
from fll_hbase.client.queries import FieldAsked
from fll_hbase.json_types import Json


class _Node(NamedTuple):
    """A field at its origin, on one branch."""

    id: str
    indirect: bool = False


_Item: TypeAlias = _Node | Step


def field(body: Json, asked: FieldAsked) -> RenderableType:
    """A detailed answer, in either view."""
    if not body["operations"]:
        return tables.nothing(asked.window)
    graph = FieldGraph(body)
    backward = asked.direction == "backward"
    name = shown(f"{asked.field.dataset}.{asked.field.name}")
    title = f"Where {name} comes from" if backward else f"What is made of {name}"
    tree = Tree(Text(name))
    if asked.view == "simple":
        lines = _simple_backward(graph) if backward else _simple_forward(graph)
        for line in lines:
            tree.add(Text(line))
    else:
        _Growing(graph, backward=backward).grow(tree, _starts(graph, backward=backward))
    for sentence in () if backward else graph.ending():
        tree.add(Text(sentence))
    contents = Text(f"Contents, newest first: {', '.join(body['checksums'])}", style="dim")
    return Group(Text(f"{title}, {asked.window}", style="bold"), tree, contents)


def _starts(graph: FieldGraph, *, backward: bool) -> list[_Item]:
    """Backward the Writes and the fields they take; forward the Reads."""
    if backward:
        writes: list[_Item] = [Step(name, ()) for name in graph.of_type("WRITE")]
        return [*writes, *(_Node(node) for node in graph.written())]
    reads = [
        Step(name, tuple((node, False) for node in graph.read_by(name))) for name in graph.of_type("READ")
    ]
    return [*reads]


class _Growing:
    """A tree while it grows, without recursion: chains of operations may be long."""

    def __init__(self, graph: FieldGraph, *, backward: bool) -> None:
        self._graph = graph
        self._backward = backward
        self._told: set[str] = set()

    def grow(self, tree: Tree, items: Sequence[_Item]) -> None:
        pending = [(tree, item) for item in reversed(items)]
        while pending:
            parent, item = pending.pop()
            line, below = self._step(item) if isinstance(item, Step) else self._node(item)
            branch = parent.add(Text(line))
            pending += [(branch, next_item) for next_item in reversed(below)]

    def _step(self, step: Step) -> tuple[str, list[_Item]]:
        """The line of an operation, and what stands below it where it is met first."""
        indirect = not self._backward and any(indirect for _, indirect in step.nodes)
        if step.operation in self._told:
            above = ", as above" if step.nodes else ""
            return self._graph.sentence(step.operation, again=True) + above, []
        self._told.add(step.operation)
        below: list[_Item] = [_Node(node, indirect and self._backward) for node, indirect in step.nodes]
        return _marked(self._graph.sentence(step.operation), indirect=indirect), below

    def _node(self, node: _Node) -> tuple[str, list[_Item]]:
        """The line of a field, and the operations next to it."""
        below = self._graph.before(node.id) if self._backward else self._graph.after(node.id)
        label = self._graph.label(node.id)
        to = "" if self._backward else "".join(f" → {of}" for of in self._graph.destinations(node.id))
        return _marked(label + to, indirect=node.indirect), [*below]


def _simple_backward(graph: FieldGraph) -> Iterator[str]:
    for node in graph.written():
        if source := graph.source(node):
            yield f"{source}.{graph.label(node)}, as it is"
        for said in graph.into(node):
            by = f"{graph.source(said['from'])}.{graph.label(said['from'])}, by {_named(said)}"
            yield _marked(by, indirect="influence" in said)
        if not source and not graph.into(node):
            yield f"{graph.label(node)}, generated"


def _simple_forward(graph: FieldGraph) -> Iterator[str]:
    for node in graph.written():
        for destination in graph.destinations(node):
            name = f"{destination}.{graph.label(node)}"
            if graph.source(node):
                yield f"{name}, as it is"
            for said in graph.into(node):
                yield _marked(f"{name}, by {_named(said)}", indirect="influence" in said)


def _named(connection: Json) -> str:
    return shown(", ".join(connection["operations"]))


def _marked(line: str, *, indirect: bool) -> str:
    return f"{line} (indirect)" if indirect else line
