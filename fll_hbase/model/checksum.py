"""Are two sets of operations the same: canonical text and its 128-bit xxh3 checksum.

The order in which operations were given does not count; everything else does. The text of an operation is
also what a data row stores, so a checksum can be computed again from the row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import xxhash

from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.operations import Influence, InputField, Operation, Read, Transform, Write, type_of

VERSION = "1"
"""Version of the canonical form; part of every checksum."""


def checksum(operations: Iterable[Operation]) -> str:
    """32 hex digits naming the set of operations."""
    return checksum_of_texts({operation.name: canonical(operation) for operation in operations})


def checksum_of_texts(texts: dict[str, str]) -> str:
    """The checksum of operations given as canonical texts by operation name."""
    lines = "\n".join(texts[name] for name in sorted(texts))
    return digest(f"{VERSION}\n{lines}".encode())


def digest(content: bytes) -> str:
    """xxh3-128 as 32 hex digits."""
    return xxhash.xxh3_128_hexdigest(content)


def canonical(operation: Operation) -> str:
    """One line of JSON that says all of an operation, defaults filled in, members in a fixed order."""
    return json.dumps(operation_to_dict(operation), ensure_ascii=False, separators=(",", ":"))


def operation_to_dict(operation: Operation) -> dict[str, Any]:
    """The operation as the document form of the REST contract, with every default filled in."""
    head: dict[str, Any] = {
        "type": type_of(operation),
        "name": operation.name,
        "description": operation.description,
    }
    match operation:
        case Read():
            head["source"] = _end_point(operation.source, operation.source_description)
            head["outputs"] = [_output(field) for field in operation.outputs]
        case Transform():
            head["inputs"] = [_input(field) for field in operation.inputs]
            head["outputs"] = [_output(field) for field in operation.outputs]
        case Write():
            head["destination"] = _end_point(operation.destination, operation.destination_description)
            head["inputs"] = [_input(field) for field in operation.inputs]
    return head


def operation_from_json(text: str | bytes) -> Operation:
    """The inverse of `canonical`. Raises ValueError, KeyError or TypeError for any other text."""
    head = json.loads(text)
    name, description = head["name"], head["description"]
    match head["type"]:
        case "READ":
            source = head["source"]
            return Read(name, description, *_parsed_end_point(source), _parsed_outputs(head))
        case "TRANSFORM":
            return Transform(name, description, _parsed_inputs(head), _parsed_outputs(head))
        case "WRITE":
            destination = head["destination"]
            return Write(name, description, *_parsed_end_point(destination), _parsed_inputs(head))
    raise ValueError(f"operation type {head['type']!r}")


def _end_point(end_point: Dataset, description: str) -> dict[str, str]:
    return {"namespace": end_point.namespace, "name": end_point.name, "description": description}


def _output(field: Field) -> dict[str, str]:
    return {"name": field.name, "type": field.type} if field.type else {"name": field.name}


def _input(field: InputField) -> dict[str, str]:
    said = {"origin": field.origin, "name": field.name, "influence": field.influence.value}
    return said | {"kind": field.kind} if field.kind else said


def _parsed_end_point(said: dict[str, str]) -> tuple[Dataset, str]:
    return Dataset(said["namespace"], said["name"]), said["description"]


def _parsed_outputs(head: dict[str, Any]) -> tuple[Field, ...]:
    return tuple(Field(said["name"], said.get("type", "")) for said in head["outputs"])


def _parsed_inputs(head: dict[str, Any]) -> tuple[InputField, ...]:
    return tuple(
        InputField(said["origin"], said["name"], Influence(said["influence"]), said.get("kind", ""))
        for said in head["inputs"]
    )
