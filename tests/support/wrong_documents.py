"""Documents with one wrong place, and the path of its error."""

from __future__ import annotations

import copy
from typing import Any

from tests.support.lineage_documents import START_LIMIT_MS, Json

ABSENT: Any = object()

WRONG: list[tuple[str, Any]] = [
    ("run", ABSENT),
    *((f"run.{name}", ABSENT) for name in ("application", "type", "program", "run", "startTime")),
    *((f"run.{name}", "") for name in ("application", "type", "program", "run")),
    *((f"run.{name}", 5) for name in ("application", "version", "type", "program", "run", "state")),
    *((f"run.{name}", None) for name in ("application", "version", "startTime", "state")),
    *(("run.startTime", value) for value in (-1, START_LIMIT_MS, 2**64, 1.5, 1.0, "5", True, [5])),
    *(("run.state", value) for value in ("DONE", "complete", "", " FAIL", ["FAIL"])),
    ("operations", ABSENT),
    ("operations", None),
    ("operations", {}),
    ("operations", "read"),
    ("operations.0", None),
    ("operations.0", "read"),
    ("operations.0", ["READ"]),
    *(("operations.0.type", value) for value in (ABSENT, None, 5, "", "read", "SPLIT", ["READ"], {})),
    *(("operations.0.name", value) for value in (ABSENT, None, 5, "", ["read"])),
    *(("operations.0.description", value) for value in (None, 5, [], {})),
    *(("operations.0.source", value) for value in (ABSENT, None, "user_data", [])),
    *(("operations.0.source.name", value) for value in (ABSENT, None, 5, "", [])),
    *(("operations.0.source.namespace", value) for value in (None, 5, "", [])),
    *(("operations.0.source.description", value) for value in (None, 5, [])),
    *(("operations.0.outputs", value) for value in (None, "body", {}, 5)),
    *(("operations.0.outputs.1", value) for value in (None, 5, "", ["body"], True)),
    *(("operations.1.inputs", value) for value in (None, "body", {}, 5)),
    *(("operations.1.inputs.0", value) for value in (None, "body", ["body"], 5)),
    *(("operations.1.inputs.0.origin", value) for value in (ABSENT, None, 5, "")),
    *(("operations.1.inputs.0.name", value) for value in (ABSENT, None, 5, "")),
    *(("operations.1.inputs.0.influence", value) for value in (None, 5, "", "Direct", "maybe", ["direct"])),
    ("operations.1.inputs.0.kind", "filter"),
    ("operations.3.destination", ABSENT),
    ("operations.3.destination", "people"),
    ("operations.3.destination.name", ABSENT),
    ("operations.3.destination.namespace", ""),
    ("operations.3.inputs.1", None),
    ("operations.3.inputs.1.name", ""),
]
"""Places of the contract's example, and what is wrong there."""

WRONG_FIRST_DESIGN: list[tuple[str, Any]] = [
    ("run", ABSENT),
    ("run.startTime", "5"),
    ("operations", ABSENT),
    ("operations", {}),
    *(("destination", value) for value in (None, "people", [])),
    *(("destination.name", value) for value in (ABSENT, "", 5)),
    *(("destination.namespace", value) for value in ("", 5)),
    ("destination.description", 5),
    ("destination.fields", "name"),
    ("operations.0", "read"),
    *(("operations.1.name", value) for value in (ABSENT, "", 5)),
    ("operations.1.description", None),
    ("operations.1.inputs", "body"),
    *(("operations.1.inputs.0", value) for value in ("body", None, {}, {"fields": "body"})),
    *(("operations.1.inputs.0.field", value) for value in (None, 5, "")),
    *(("operations.1.inputs.0.field.name", value) for value in (ABSENT, "", 5)),
    ("operations.1.inputs.0.field.type", 5),
    ("operations.1.outputs", "name"),
    ("operations.1.outputs.0", 5),
    ("operations.1.outputs.1.name", ABSENT),
    ("operations.1.outputs.1.type", 5),
    ("operations.0.inputs.0.source", None),
    ("operations.0.inputs.0.source.name", ABSENT),
    ("operations.0.inputs.0.source.namespace", ""),
    ("operations.0.inputs.0.source.description", 5),
]


def stated(wrong: object) -> str:
    """One wrong place in the name of a test."""
    return "absent" if wrong is ABSENT else repr(wrong)


def with_wrong(document: Json, position: str, value: Any) -> Json:
    """A copy of a document with another value at a place, or none."""
    document = copy.deepcopy(document)
    *steps, last = [int(step) if step.isdigit() else step for step in position.split(".")]
    holder: Any = document
    for step in steps:
        holder = holder[step]
    if value is ABSENT:
        del holder[last]
    else:
        holder[last] = value
    return document
