"""What does the ancestor's own test suite expect: its cases as data, its operations as ours.

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


def operations_of(said: Sequence[dict[str, Any]]) -> list[Operation]:
    return [_operation(one) for one in said]


def end_point_of(said: dict[str, Any]) -> Dataset:
    return Dataset(NO_NAMESPACE if said["ns"] is None else said["ns"], said["name"])


def run_of(said: dict[str, Any]) -> ProgramRun:
    program = said["program"]
    return ProgramRun(
        namespace=program["namespace"],
        application=program["application"],
        version="",
        type=program["type"],
        program=program["program"],
        run=said["run"],
        start_ms=said["start_ms"],
    )


def generated(generator: dict[str, Any]) -> list[Operation]:
    """Operations described by a rule: identities of every field, then all to all, round by round."""
    numbers = range(generator["fields"]["from"], generator["fields"]["to"] + 1)
    names = [f"{generator['fields']['prefix']}{number}" for number in numbers]
    every = tuple(map(Field, names))
    read, write = generator["read"], generator["write"]
    made: list[Operation] = [Read(read["name"], read["description"], end_point_of(read["source"]), "", every)]
    last = read["name"]
    for step in generator["rounds"]:
        prefix, origin, last = step["identity_prefix"], step["identity_origin"], step["all_to_all"]
        identities = [f"{prefix}{number}" for number in numbers]
        made += [
            Transform(identity, "identity transform", (InputField(origin, name),), (Field(name),))
            for identity, name in zip(identities, names, strict=True)
        ]
        taken = tuple(map(InputField, identities, names))
        made.append(Transform(last, "all to all transform", taken, every))
    taken = tuple(InputField(last, name) for name in names)
    made.append(Write(write["name"], write["description"], end_point_of(write["destination"]), "", taken))
    return made


def _operation(said: dict[str, Any]) -> Operation:
    name, description = said["name"], said["description"]
    inputs = tuple(InputField(taken["origin"], taken["name"]) for taken in said.get("inputs", ()))
    outputs = tuple(map(Field, said.get("outputs", ())))
    match said["type"]:
        case "READ":
            return Read(name, description, end_point_of(said["source"]), "", outputs)
        case "TRANSFORM":
            return Transform(name, description, inputs, outputs)
        case "WRITE":
            return Write(name, description, end_point_of(said["destination"]), "", inputs)
    raise ValueError(f"operation type {said['type']!r}")
