"""Contents of one document: its operations, errors and warnings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.oracle import readings

Json = dict[str, Any]
DOCUMENT = {"run", "operations", "namespace", "destination"}
RUN = {"application", "version", "type", "program", "startTime", "state"}
OPERATION = {
    "name",
    "description",
    "source",
    "outputs",
    "inputs",
    "origin",
    "influence",
    "kind",
    "fields",
    "field",
}
Node = tuple[str, str]  # (name of the operation that made it, field)


@dataclass(frozen=True, slots=True, order=True)
class EndPoint:
    """A data set by its namespace and name."""

    namespace: str
    name: str

    def json(self) -> Json:
        return {"namespace": self.namespace, "name": self.name}


@dataclass(frozen=True, slots=True, order=True)
class Input:
    """A field that an operation takes, and where from."""

    origin: str
    name: str
    indirect: bool = False
    kind: str = ""

    @property
    def node(self) -> Node:
        return (self.origin, self.name)


@dataclass(frozen=True, slots=True)
class Operation:
    """One READ, TRANSFORM or WRITE with its defaults filled in; `end_point` is empty on a TRANSFORM."""

    type: str
    name: str
    description: str
    end_points: tuple[EndPoint, ...]
    end_point_description: str
    inputs: tuple[Input, ...]
    outputs: tuple[tuple[str, str | None], ...]

    @property
    def end_point(self) -> EndPoint:
        return self.end_points[0]

    @property
    def identity(self) -> tuple[Any, ...]:
        """Return the identity of an operation: type, name, description, dataset, inputs, outputs."""
        lists: tuple[Any, ...] = (self.inputs, self.outputs)
        if readings.IDENTITY_IGNORES_ORDER:
            lists = tuple(frozenset(item) for item in lists)
        return (self.type, self.name, self.description, self.end_points, *lists)


Content = tuple[Operation, ...]


def read_content(document: Json, namespace: str) -> Content:
    """The operations of a document in the operations form; nothing is checked."""
    return tuple(_operation(item, namespace) for item in document["operations"])


def _operation(raw: Json, namespace: str) -> Operation:
    endpoint = raw.get({"READ": "source", "WRITE": "destination"}.get(raw["type"], ""))
    datasets_found = (EndPoint(endpoint.get("namespace", namespace), endpoint["name"]),) if endpoint else ()
    return Operation(
        type=raw["type"],
        name=raw["name"],
        description=raw.get("description", ""),
        end_points=datasets_found,
        end_point_description=(endpoint or {}).get("description", ""),
        inputs=tuple(_input(item) for item in raw.get("inputs", ())),
        outputs=tuple(_output(item) for item in raw.get("outputs", ())),
    )


def _input(raw: Json) -> Input:
    return Input(raw["origin"], raw["name"], raw.get("influence") == "indirect", raw.get("kind", ""))


def _output(raw: str | Json) -> tuple[str, str | None]:
    return (raw, None) if isinstance(raw, str) else (raw["name"], raw.get("type"))


def operations_of_type(content: Content, kind: str) -> list[Operation]:
    """The operations of one type."""
    return [operation for operation in content if operation.type == kind]


def outputs_of(content: Content, operation: Operation) -> set[str]:
    """The fields an operation makes: those it lists, and those that others take from it unlisted."""
    used = {i.name for other in content for i in other.inputs if i.origin == operation.name}
    return used | {name for name, _ in operation.outputs}


def type_of(content: Content, node: Node) -> str | None:
    """The type of the field a node stands for, where its origin says one."""
    for operation in content:
        if operation.name == node[0]:
            return dict(operation.outputs).get(node[1])
    return None


def faults(content: Content) -> list[Json]:
    """Return the reason of a 422: `at` (as precise as the contract) and `fault`."""
    types = {operation.type for operation in content}
    datasets_found = [
        {"at": "operations", "fault": f"no {item}"} for item in ("READ", "WRITE") if item not in types
    ]
    return datasets_found + _repeated(content) + _bad_origins(content) + _cycles(content)


def _repeated(content: Content) -> list[Json]:
    names = [operation.name for operation in content]
    again = [number for number, name in enumerate(names) if name in names[:number]]
    return [{"at": f"operations.{number}", "fault": "repeated name"} for number in again]


def _bad_origins(content: Content) -> list[Json]:
    good = {operation.name for operation in content if operation.type != "WRITE"}
    return [
        {"at": f"operations.{number}.inputs.{index}", "fault": "bad origin"}
        for number, operation in enumerate(content)
        for index, item in enumerate(operation.inputs)
        if item.origin not in good
    ]


def _cycles(content: Content) -> list[Json]:
    """Whether some operation feeds itself, however far round; a WRITE as an origin is another fault."""
    feeds = {(i.origin, o.name) for o in content if o.type != "WRITE" for i in o.inputs}
    while True:
        longer = {(a, d) for a, b in feeds for c, d in feeds if b == c} - feeds
        if not longer:
            cyclic = any(a == b for a, b in feeds)
            return [{"at": "operations", "fault": "cycle"}] if cyclic else []
        feeds |= longer


def warnings(content: Content) -> list[Json]:
    """Inputs that their origin does not list, by their place."""
    listed = {(o.name, name) for o in content for name, _ in o.outputs}
    return [
        {"at": f"operations.{number}.inputs.{index}"}
        for number, operation in enumerate(content)
        for index, item in enumerate(operation.inputs)
        if item.node not in listed
    ]


def unknown_members(value: Any, parent: str = "") -> Iterator[Json]:
    """Members that no shape of the contract has, by their place."""
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for name, item in members:
        path = f"{parent}.{name}".lstrip(".")
        if isinstance(value, dict) and name not in DOCUMENT | RUN | OPERATION:
            yield {"at": path}
        else:
            yield from unknown_members(item, path)
