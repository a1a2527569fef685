"""What does the body of a detailed answer say: its nodes, operations and connections, to be walked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fll_hbase.cli.render.escape import shown
from fll_hbase.json_types import Json


class Step(NamedTuple):
    """One operation next to a node, the nodes beyond it, and whether it takes or gives them indirectly."""

    operation: str
    nodes: tuple[tuple[str, bool], ...]


class FieldGraph:
    """A body in the words of a reader; ids are those of the body."""

    def __init__(self, body: Json) -> None:
        self.nodes: dict[str, Json] = {node["id"]: node for node in body["nodes"]}
        self.operations: dict[str, Json] = {said["name"]: said for said in body["operations"]}
        self._into: dict[str, list[Json]] = {}
        self._out_of: dict[str, list[Json]] = {}
        self._connecting: set[str] = set()
        for connection in body["connections"]:
            self._connecting.update(connection.get("operations", [connection["operation"]]))
            self._into.setdefault(connection["to"], []).append(connection)
            self._out_of.setdefault(connection["from"], []).append(connection)

    def into(self, node: str) -> list[Json]:
        """The connections that lead into a node."""
        return self._into.get(node, [])

    def out_of(self, node: str) -> list[Json]:
        """The connections that lead on from a node."""
        return self._out_of.get(node, [])

    def before(self, node: str) -> Iterator[Step]:
        """The operation that made a node, with what it took."""
        taken = tuple((said["from"], "influence" in said) for said in self.into(node))
        yield Step(_origin(node), taken)

    def after(self, node: str) -> Iterator[Step]:
        """The operations that took a node, with what they made."""
        made: dict[str, list[tuple[str, bool]]] = {}
        for said in self.out_of(node):
            made.setdefault(said["operation"], []).append((said["to"], "influence" in said))
        for operation, nodes in made.items():
            yield Step(operation, tuple(nodes))

    def of_type(self, kind: str) -> list[str]:
        """The operations of a type: READ, TRANSFORM or WRITE."""
        return [name for name, said in self.operations.items() if said["type"] == kind]

    def ending(self) -> list[str]:
        """Sentences on what took the field, asked forward, and made no field of it: drops, filters, joins."""
        written = {destination for node in self.written() for destination in self.destinations(node)}
        drops = [name for name in self.of_type("TRANSFORM") if name not in self._connecting]
        shaped = [
            name
            for name in self.of_type("WRITE")
            if end_point(self.operations[name]["endPoint"]) not in written
        ]
        return [
            *(f"{self.sentence(name)} (dropped)" for name in drops),
            *(f"{self.sentence(name)} (indirect)" for name in shaped),
        ]

    def read_by(self, operation: str) -> list[str]:
        """The nodes that a Read made."""
        return [node for node in self.nodes if _origin(node) == operation]

    def written(self) -> list[str]:
        """The nodes that are written somewhere."""
        return [node for node, said in self.nodes.items() if "destinationEndPoint" in said]

    def destinations(self, node: str) -> list[str]:
        """Where a node is written."""
        said = self.nodes[node]
        several = said.get("destinationEndPoints", [said.get("destinationEndPoint")])
        return [end_point(destination) for destination in several if destination]

    def source(self, node: str) -> str:
        """Where a node was read; empty where an operation made it."""
        said = self.nodes[node].get("sourceEndPoint")
        return end_point(said) if said else ""

    def label(self, node: str) -> str:
        """The name of a field, with its type where that is known."""
        said = self.nodes[node]
        return shown(f"{said['label']}: {said['type']}" if said.get("type") else said["label"])

    def sentence(self, operation: str, *, again: bool = False) -> str:
        """An operation with all that is known of it; without its description where it is told `again`."""
        said = self.operations.get(operation)
        if said is None:
            return shown(operation)
        verb = {"READ": "reads", "WRITE": "writes"}.get(said["type"], "")
        where = f" ({verb} {end_point(said['endPoint'])})" if said.get("endPoint") else ""
        what = f": {said['description']}" if said["description"] and not again else ""
        return shown(f"{operation}{where}{what}")


def _origin(node: str) -> str:
    """The operation in an id `<origin>.<field>`, in whose field `.` is escaped."""
    return node.rpartition(".")[0]


def end_point(said: Json) -> str:
    """An end point in one word."""
    return shown(f"{said['namespace']}/{said['name']}")
