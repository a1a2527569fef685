"""The test cases of the ancestor as data, with its operations as ours.

`ancestor.json` is transcribed from the public CDAP tests; its `about` explains the notation. Fields are
written `<namespace>.<end point>.<field>`, `~` is an end point without a namespace, and `~DROPPED~` no end
point at all.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write
from fll_hbase.model.runs import ProgramRun

NO_NAMESPACE = "~"
DROPPED = "~DROPPED~"

ALL: list[dict[str, Any]] = json.loads(Path(__file__).with_name("ancestor.json").read_text(encoding="utf-8"))[
    "cases"
]


def cases(kind: str) -> list[dict[str, Any]]:
    """All cases of one kind."""
    return [case for case in ALL if case["kind"] == kind]


def case_id(case: dict[str, Any]) -> str:
    return str(case["id"])


def operations_of(document: Sequence[dict[str, Any]]) -> list[Operation]:
    return [_operation(item) for item in document]


def end_point_of(document: dict[str, Any]) -> Dataset:
    return Dataset(NO_NAMESPACE if document["ns"] is None else document["ns"], document["name"])


def run_of(document: dict[str, Any]) -> ProgramRun:
    program = document["program"]
    return ProgramRun(
        namespace=program["namespace"],
        application=program["application"],
        version="",
        type=program["type"],
        program=program["program"],
        run=document["run"],
        start_ms=document["start_ms"],
    )


def generated(generator: dict[str, Any]) -> list[Operation]:
    """Operations described by a rule: identities of every field, then all to all, round by round."""
    numbers = range(generator["fields"]["from"], generator["fields"]["to"] + 1)
    names = [f"{generator['fields']['prefix']}{number}" for number in numbers]
    fields = tuple(map(Field, names))
    read, write = generator["read"], generator["write"]
    built: list[Operation] = [
        Read(read["name"], read["description"], end_point_of(read["source"]), "", fields)
    ]
    last = read["name"]
    for step in generator["rounds"]:
        prefix, origin, last = step["identity_prefix"], step["identity_origin"], step["all_to_all"]
        identities = [f"{prefix}{number}" for number in numbers]
        built += [
            Transform(identity, "identity transform", (InputField(origin, name),), (Field(name),))
            for identity, name in zip(identities, names, strict=True)
        ]
        input_fields = tuple(map(InputField, identities, names))
        built.append(Transform(last, "all to all transform", input_fields, fields))
    input_fields = tuple(InputField(last, name) for name in names)
    built.append(
        Write(write["name"], write["description"], end_point_of(write["destination"]), "", input_fields)
    )
    return built


def _operation(document: dict[str, Any]) -> Operation:
    name, description = document["name"], document["description"]
    inputs = tuple(
        InputField(input_fields["origin"], input_fields["name"])
        for input_fields in document.get("inputs", ())
    )
    outputs = tuple(map(Field, document.get("outputs", ())))
    match document["type"]:
        case "READ":
            return Read(name, description, end_point_of(document["source"]), "", outputs)
        case "TRANSFORM":
            return Transform(name, description, inputs, outputs)
        case "WRITE":
            return Write(name, description, end_point_of(document["destination"]), "", inputs)
    raise ValueError(f"operation type {document['type']!r}")


DECIDED_OTHERWISE = {
    "http-field-no-direction": 200,
    "http-direction-case": 400,
    "http-missing-end": 200,
    "http-unknown-dataset": 404,
}
"""Every parameter has a default, values are case-sensitive, and what was never seen is 404."""
