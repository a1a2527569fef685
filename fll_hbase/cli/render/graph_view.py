"""View model of a field graph: the nodes, operations and connections of an answer, indexed for walking."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fll_hbase.cli.render.table_layout import Prose
from fll_hbase.queries.field_lineage import Connection, FieldLineageAnswer, Node, Operation
from fll_hbase.queries.names import DatasetName
from fll_hbase.runtime.escape import escape_control


class Step(NamedTuple):
    """An operation next to a node, and the nodes beyond it, each with its influence: indirect or not."""

    operation: str
    nodes: tuple[tuple[str, bool], ...]


class FieldGraph:
    """The body of a field answer, with the same node ids."""

    def __init__(self, body: FieldLineageAnswer) -> None:
        self.nodes = {node.id: node for node in body.nodes}
        self.operations = {operation.name: operation for operation in body.operations}
        for node in body.nodes:
            if node.hidden:
                self._add_hidden_operation(node)
        self._into: dict[str, list[Connection]] = {}
        self._out_of: dict[str, list[Connection]] = {}
        self._connecting: set[str] = set()
        for connection in body.connections:
            names = connection.operations
            self._connecting.update([connection.operation] if names is None else names)
            self._into.setdefault(connection.destination, []).append(connection)
            self._out_of.setdefault(connection.source, []).append(connection)

    def _add_hidden_operation(self, node: Node) -> None:
        """Add the operation that read or wrote the hidden dataset of a node, which the answer leaves out."""
        name = _origin(node.id)
        self.operations[name] = Operation(
            name=name,
            description="",
            type="READ" if node.source_end_point else "WRITE",
            end_point=node.source_end_point or node.destination_end_point,
        )

    def into(self, node: str) -> list[Connection]:
        """Return the connections that end in the node with this id."""
        return self._into.get(node, [])

    def out_of(self, node: str) -> list[Connection]:
        """Return the connections that begin in the node with this id."""
        return self._out_of.get(node, [])

    def producers(self, node: str) -> Iterator[Step]:
        """Yield the one operation that produced a node, with its input nodes."""
        inputs = tuple(
            (connection.source, connection.influence == "indirect") for connection in self.into(node)
        )
        yield Step(_origin(node), inputs)

    def consumers(self, node: str) -> Iterator[Step]:
        """Yield the operations that have a node as input, each with its output nodes."""
        outputs: dict[str, list[tuple[str, bool]]] = {}
        for connection in self.out_of(node):
            output = connection.destination, connection.influence == "indirect"
            outputs.setdefault(connection.operation, []).append(output)
        for operation, nodes in outputs.items():
            yield Step(operation, tuple(nodes))

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

    def read_by(self, operation: str) -> list[str]:
        """Return the ids of the nodes that an operation produced; used for READs."""
        return [node for node in self.nodes if _origin(node) == operation]

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
