"""Canonical JSON of operations and its 128-bit xxh3 checksum.

The order in which operations are given does not change the checksum; any other difference does. Content rows
store the same text of each operation, so a checksum can be computed again from the row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

import xxhash

from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.operations import Influence, InputField, Operation, Read, Transform, Write, type_of
from fll_hbase.runtime import deadline
from fll_hbase.runtime.json_types import Json

VERSION = "1"
"""Version of the canonical form, which is part of every checksum."""


def checksum(operations: Iterable[Operation]) -> str:
    """Return 32 hex digits that identify the set of operations."""
    return checksum_of_texts({item.name: canonical(item) for item in deadline.watched(operations)})


def checksum_of_texts(texts: dict[str, str]) -> str:
    """Return the checksum of operations given as canonical texts by operation name."""
    # This is the input of the checksum in docs/reference/row-keys.md, row `c`: in name order, not as given.
    lines = "\n".join(texts[name] for name in sorted(texts))
    return digest(f"{VERSION}\n{lines}".encode())


def digest(content: bytes) -> str:
    """Return the 128-bit xxh3 of bytes as 32 hex digits."""
    # Not cryptographic: commits compare stored operations, and raise ChecksumConflict where they differ.
    return xxhash.xxh3_128_hexdigest(content)


def canonical(operation: Operation) -> str:
    """Encode an operation as one line of JSON, with defaults filled in and members in a fixed order."""
    # Do not use sort_keys: the order in which `operation_to_dict` adds members is part of the canonical form.
    body = operation_to_dict(operation)
    if isinstance(operation, Read) and operation.is_unconfirmed:
        body["source"]["unconfirmed"] = True
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def operation_to_dict(operation: Operation) -> Json:
    """Return the operation as JSON of the REST contract, with defaults filled in.

    An empty `type` or `kind`, unknown origins that are None, and confirmation are left out.
    """
    head: Json = {"type": type_of(operation), "name": operation.name, "description": operation.description}
    match operation:
        case Read():
            head["source"] = _dataset(operation.source, operation.source_description)
            head["outputs"] = [_output(field) for field in operation.outputs]
        case Transform():
            head["inputs"] = [_input(field) for field in operation.inputs]
            head["outputs"] = [_output(field) for field in operation.outputs]
        case Write():
            head["destination"] = _dataset(operation.destination, operation.destination_description)
            head["inputs"] = [_input(field) for field in operation.inputs]
            # Omitted if absent, so that runs recorded by earlier releases keep their checksums.
            if operation.unknown_origins is not None:
                head["unknownOrigins"] = list(operation.unknown_origins)
    return head


def operation_from_json(text: str | bytes) -> Operation:
    """Parse the text of `canonical`. Types of names and descriptions are not checked.

    Raises ValueError, KeyError, TypeError or RecursionError for text of another form.
    """
    head = json.loads(text)
    # The canonical form always has these members, so do not use `get`: a missing one means a corrupt cell.
    name, description = head["name"], head["description"]
    match head["type"]:
        case "READ":
            # Parsed first, because it raises one of the errors above for a source that is not an object.
            dataset = _parse_dataset(head["source"])
            is_unconfirmed = head["source"].get("unconfirmed", False)
            return Read(name, description, *dataset, _parse_outputs(head), is_unconfirmed)
        case "TRANSFORM":
            return Transform(name, description, _parse_inputs(head), _parse_outputs(head))
        case "WRITE":
            dataset = _parse_dataset(head["destination"])
            stated = head.get("unknownOrigins")
            origins = None if stated is None else tuple(map(str, stated))
            return Write(name, description, *dataset, _parse_inputs(head), origins)
    raise ValueError(f"operation type {head['type']!r}")


def _dataset(dataset: Dataset, description: str) -> dict[str, str]:
    """Return a dataset and its description as the JSON of a `source` or `destination`."""
    return {"namespace": dataset.namespace, "name": dataset.name, "description": description}


def _output(field: Field) -> dict[str, str]:
    """Return an output as JSON, without `type` if that is unknown."""
    # An unknown type is omitted, so that an absent and an empty `type` have the same checksum.
    return {"name": field.name, "type": field.type} if field.type else {"name": field.name}


def _input(field: InputField) -> dict[str, str]:
    """Return an input as JSON, without `kind` if that is empty."""
    member = {"origin": field.origin, "name": field.name, "influence": field.influence.value}
    return member | {"kind": field.kind} if field.kind else member


def _parse_dataset(member: dict[str, str]) -> tuple[Dataset, str]:
    """Return the dataset and the description of a `source` or `destination`. Raises KeyError."""
    return Dataset(member["namespace"], member["name"]), member["description"]


def _parse_outputs(head: Json) -> tuple[Field, ...]:
    """Return the outputs of an operation's JSON; an absent type is "". Raises KeyError."""
    return tuple(Field(member["name"], member.get("type", "")) for member in head["outputs"])


def _parse_inputs(head: Json) -> tuple[InputField, ...]:
    """Return the inputs of an operation's JSON; an absent kind is "". Raises KeyError, ValueError."""
    return tuple(
        InputField(member["origin"], member["name"], Influence(member["influence"]), member.get("kind", ""))
        for member in head["inputs"]
    )
