"""Documents to record: the example of the contract, and small ones."""

from __future__ import annotations

import copy
import json
from typing import Any

Json = dict[str, Any]

START_MS = 1_442_863_938_000
"""When the runs of these documents start, if nothing else is said."""

START_LIMIT_MS = 2**63 - 1

WORKED: Json = {
    "run": {
        "application": "shop",
        "version": "1.4",
        "type": "spark",
        "program": "nightly",
        "run": "0b6f…",
        "startTime": START_MS,
    },
    "operations": [
        {
            "type": "READ",
            "name": "read",
            "description": "Reading the file",
            "source": {"namespace": "ns1", "name": "user_data", "description": "…"},
            "outputs": ["offset", "body"],
        },
        {
            "type": "TRANSFORM",
            "name": "parse",
            "description": "…",
            "inputs": [{"origin": "read", "name": "body"}],
            "outputs": ["first_name", "last_name"],
        },
        {
            "type": "TRANSFORM",
            "name": "drop",
            "inputs": [{"origin": "read", "name": "offset"}],
            "outputs": [],
        },
        {
            "type": "WRITE",
            "name": "store",
            "destination": {"namespace": "ns1", "name": "people"},
            "inputs": [{"origin": "parse", "name": "first_name"}, {"origin": "parse", "name": "last_name"}],
        },
    ],
}
"""The example of the contract, letter by letter."""

FIRST_DESIGN: Json = {
    "run": {"application": "shop", "type": "spark", "program": "nightly", "run": "f1", "startTime": START_MS},
    "destination": {"namespace": "ns1", "name": "people", "description": "Everyone"},
    "operations": [
        {
            "name": "read",
            "description": "Reading the data from the file",
            "inputs": [{"source": {"namespace": "ns1", "name": "user_data", "description": "A file"}}],
            "outputs": ["offset", "body"],
        },
        {
            "name": "parse",
            "description": "parsing the input body field",
            "inputs": [{"field": {"name": "body"}}],
            "outputs": ["first_name", {"name": "last_name", "type": "string"}],
        },
        {"name": "drop", "description": "", "inputs": [{"field": {"name": "offset"}}], "outputs": []},
    ],
}
"""The same in the first design's form; there `body` stays alive, and is written too."""


def worked(**run: Any) -> Json:
    """The example of the contract, its own copy; members of `run` may be others."""
    document = copy.deepcopy(WORKED)
    document["run"] |= run
    return document


def first_design(**run: Any) -> Json:
    """The example in the first design's form, likewise."""
    document = copy.deepcopy(FIRST_DESIGN)
    document["run"] |= run
    return document


def run(name: str = "r1", *, start_ms: int = START_MS, **members: Any) -> Json:
    """The members of a run that are required, and others that are given."""
    required = {"application": "shop", "type": "spark", "program": "nightly"}
    return {**required, "run": name, "startTime": start_ms, **members}


def reading(name: str, source: str | Json, *outputs: str | Json) -> Json:
    """A READ; a source may be just its name."""
    owner = {"name": source} if isinstance(source, str) else source
    return {"type": "READ", "name": name, "source": owner, "outputs": list(outputs)}


def transforming(name: str, inputs: list[Json], *outputs: str | Json) -> Json:
    """A TRANSFORM."""
    return {"type": "TRANSFORM", "name": name, "inputs": inputs, "outputs": list(outputs)}


def writing(name: str, destination: str | Json, *inputs: Json) -> Json:
    """A WRITE; a destination may be just its name."""
    to = {"name": destination} if isinstance(destination, str) else destination
    return {"type": "WRITE", "name": name, "destination": to, "inputs": list(inputs)}


def input_fields(origin: str, *names: str, **members: Any) -> list[Json]:
    """Fields taken from one operation."""
    return [{"origin": origin, "name": name, **members} for name in names]


def copying(
    source: str | Json, destination: str | Json, *fields: str, run: Json | None = None, **more: Any
) -> Json:
    """A READ wired straight to a WRITE: each field to itself."""
    operations = [
        reading("read", source, *fields),
        writing("write", destination, *input_fields("read", *fields)),
    ]
    return {"run": run or globals()["run"](), "operations": operations, **more}


def encoded(*documents: Json, ending: bytes = b"\n") -> bytes:
    """NDJSON, one document a line."""
    return b"".join(json.dumps(document).encode() + ending for document in documents)


RUN = {"application": "a", "type": "t", "program": "p", "startTime": 1_442_863_938_000}
