"""Names of datasets, fields and programs as JSON of the REST contract; hidden things have numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fll_hbase.model.checksum import operation_to_dict
from fll_hbase.model.datasets import WHOLE_DATASET, Dataset, DatasetField
from fll_hbase.model.masking import HIDDEN_NAMESPACE, MARK, MARK_END, is_hidden, is_hidden_operation
from fll_hbase.model.operations import InputField, Operation, inputs_of
from fll_hbase.model.runs import ProgramRun
from fll_hbase.runtime.json_types import Json

_NUMBERED = re.compile(rf"(?:{MARK})?hidden ([0-9]+)(?:{MARK_END}.*)?", re.DOTALL)


def dataset(name: Dataset) -> Json:
    """Return a dataset as JSON: `namespace` and `name`, or `hidden` with its number."""
    if is_hidden(name):
        return {"hidden": hidden_number(name.name)}
    return {"namespace": name.namespace, "name": name.name}


def field(name: DatasetField) -> Json:
    """Return a field as JSON: `namespace`, `name` and `field`, or `hidden` with the number of its dataset."""
    if is_hidden(name.dataset):
        return dataset(name.dataset)
    # Does not call `dataset`: an answer has thousands of fields.
    return {"namespace": name.dataset.namespace, "name": name.dataset.name, "field": name.name}


_HIDDEN_MEMBERS: dict[str, str | None] = {
    "namespace": HIDDEN_NAMESPACE,
    "name": None,
    "field": WHOLE_DATASET,
    "application": "",
    "program": None,
    "type": "",
    "version": "",
    "origin": None,
}
"""Members of names, with the values that hidden things get: None means `hidden` with the number."""

HIDDEN_MEMBER = b'"hidden":'
"""Occurs in the JSON of every answer in which something is hidden."""

PROGRAM = ("namespace", "application", "program", "type")
"""The members of a program without its version."""

PROGRAM_WITH_VERSION = ("namespace", "application", "version", "type", "program")


def program(run: ProgramRun, members: Iterable[str] = PROGRAM) -> Json:
    """Return `members` of the program of a run, or `hidden` with its number."""
    if run.namespace == HIDDEN_NAMESPACE:
        return {"hidden": hidden_number(run.program)}
    return {member: getattr(run, member) for member in members}


def names(body: Mapping[str, Any], members: Iterable[str]) -> list[str]:
    """Return members of a dataset, field or program for a table, in the order of `members`.

    A hidden one has `hidden 1` as name or program, `*` as field, and "" as any other member.
    """
    if "hidden" not in body:
        return [body[member] for member in members]
    number = text(body)
    hidden = {"name": number, "program": number, "field": WHOLE_DATASET}
    return [hidden.get(member, "") for member in members]


def text(body: Mapping[str, Any]) -> str:
    """Return a dataset as `namespace/name`, a field as `namespace/name.field`, hidden names as `hidden 1`."""
    if "hidden" in body:
        return f"hidden {body['hidden']}"
    name = f"{body['namespace']}/{body['name']}"
    return f"{name}.{body['field']}" if "field" in body else name


def add_hidden_names(body: Any) -> None:
    """Add members with names to each hidden thing in an answer, in place, for tables and graphs.

    Entries of lineage with a hidden end and no pairs get `unknown`.
    """
    if isinstance(body, dict):
        if "hidden" in body:
            name = text(body)
            for member, value in _HIDDEN_MEMBERS.items():
                body.setdefault(member, name if value is None else value)
        if _is_hidden_edge(body):
            # Marked as unknown, because the entry would otherwise have no row in a table.
            body["unknown"] = True
        for value in body.values():
            add_hidden_names(value)
    elif isinstance(body, list | tuple):
        for item in body:
            add_hidden_names(item)


def remove_hidden_names(body: Any) -> Any:
    """Return a copy of an answer without the members that `add_hidden_names` added."""
    if isinstance(body, dict):
        added = {"unknown"} if _is_hidden_edge(body) else set()
        if "hidden" in body and body.get("namespace") == HIDDEN_NAMESPACE:
            # Hidden inputs of operations have names, which `add_hidden_names` did not add.
            added = _HIDDEN_MEMBERS.keys() - ({"name"} if _is_input(body) else set())
        return {name: remove_hidden_names(value) for name, value in body.items() if name not in added}
    return [remove_hidden_names(item) for item in body] if isinstance(body, list | tuple) else body


def _is_input(body: Mapping[str, Any]) -> bool:
    """Return whether a body is an input of an operation; fields of a reach, unlike inputs, have `hops`."""
    return "influence" in body and "hops" not in body


def _is_hidden_edge(body: Mapping[str, Any]) -> bool:
    """Return whether an object is an entry of lineage without pairs and with a hidden end."""
    ends = (body.get("source"), body.get("destination"))
    # A list in JSON of a server, a tuple in a typed body.
    return body.get("fieldmap") in ([], ()) and any(isinstance(end, dict) and "hidden" in end for end in ends)


def operations(listed: Iterable[Operation]) -> Iterator[Json]:
    """Yield operations as JSON, without READs and WRITEs of hidden datasets.

    Inputs from hidden datasets have numbers and follow the others.
    """
    for operation in listed:
        if is_hidden_operation(operation.name):
            continue
        body = operation_to_dict(operation)
        if any(is_hidden_operation(item.origin) for item in inputs_of(operation)):
            inputs = map(_input, inputs_of(operation), body["inputs"])
            body["inputs"] = sorted(inputs, key=lambda item: item.get("hidden", 0))
        yield body


def hidden_number(name: str) -> int:
    """Return the number in a name of a hidden dataset, program or operation.

    Raises ValueError for a label without a number, which means that the answer was not numbered.
    """
    match = _NUMBERED.fullmatch(name)
    if match is None:
        raise ValueError("a hidden name has no number in this answer")
    return int(match[1])


def _input(field: InputField, body: Json) -> Json:
    """Return `body`, the JSON of an input, with a number in place of a hidden origin."""
    if not is_hidden_operation(field.origin):
        return body
    # The name may be shown: `*`, or the name of the visible field that the input is written to.
    return {"hidden": hidden_number(field.origin), **{name: body[name] for name in body if name != "origin"}}
