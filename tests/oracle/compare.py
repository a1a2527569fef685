"""Comparison of two answers, as far as the contract determines them."""

from __future__ import annotations

import json
from typing import Any

from tests.oracle.content import Json
from tests.oracle.oracle import Oracle
from tests.oracle.questions import Ask


def differences(oracle: Oracle, ask: Ask, status: int, body: Any, truncated: bool) -> str:
    """Describe the difference between the server's answer and the oracle's; empty if equal."""
    due_status, due_body, due_truncated = ask.expected(oracle)
    if status != due_status:
        return f"status {status}, due {due_status}"
    if status != 200:
        return ""
    if truncated != due_truncated:
        return f"truncated {truncated}, due {due_truncated}"
    wrong = _order_faults(oracle, ask, body)
    if wrong:
        return wrong
    if ask.kind == "fields":
        due_body = {"fields": [_choose(entry, body["fields"]) for entry in due_body["fields"]]}
    actual, due = normal(ask.kind, body), normal(ask.kind, due_body)
    return "" if actual == due else f"actual {_text(actual)}\n due {_text(due)}"


def _text(body: Any) -> str:
    return json.dumps(body, ensure_ascii=False, sort_keys=True)


def normal(kind: str, body: Any) -> Any:
    """An answer without the members that the server added, and without orders the contract leaves open."""
    # tests/api/routes/test_lineage_failed.py has an oracle of its own for `failed`.
    if kind == "detailed":
        return {**body, "operations": [_without(o, {"endPoint", "failed"}) for o in body["operations"]]} | {
            "nodes": [_without(node, {"failed"}) for node in body["nodes"]],
            "connections": [_without(_any_order(item), {"failed"}) for item in body["connections"]],
        }
    if kind == "high":
        return [
            {**entry, "fieldmap": [_without(pair, {"failed"}) for pair in entry["fieldmap"]]}
            for entry in body
        ]
    if kind == "first":
        return {**_without(body, {"truncated"}), "paths": [_path(path) for path in body["paths"]]}
    if kind == "runs":
        return [_without(run, {"version"}) for run in body["runs"]]
    if kind == "endpoints":
        return [_without(entry, {"description"}) for entry in body["endpoints"]]
    return body


def _choose(due: Json, actual: list[Json]) -> Json:
    """A field with the type that the server says, where that is one of those that may stand there."""
    types = [entry.get("type") for entry in actual if entry["name"] == due["name"]]
    return {**due, "type": types[0]} if types and types[0] in due.get("type", []) else due


def _without(item: Json, members: set[str]) -> Json:
    return {name: value for name, value in item.items() if name not in members}


def _any_order(connection: Json) -> Json:
    if "operations" not in connection:
        return connection
    joined = connection["operation"] == ", ".join(connection["operations"])
    return {**connection, "operation": joined, "operations": sorted(connection["operations"])}


def _path(path: Json) -> Json:
    types = [
        {**o, "inputs": sorted(set(o["inputs"])), "outputs": sorted(o["outputs"])} for o in path["operations"]
    ]
    return {**path, "operations": sorted(types, key=lambda operation: operation["name"])}


def _order_faults(oracle: Oracle, ask: Ask, body: Any) -> str:
    """Where operations stand in an order that could not have run."""
    if ask.kind == "detailed" and ("view", "simple") in ask.options:
        options = {**dict(ask.options), "view": "detailed"}
        complete = Ask(**{**_members(ask), "options": tuple(options.items())}).expected(oracle)[1]
        feeds = _feeds(complete["connections"])
        orders = [connection["operations"] for connection in body["connections"]]
    elif ask.kind == "first":
        feeds, orders = set(), []
        for path in body["paths"]:
            order = [operation["name"] for operation in path["operations"]]
            # Runs of several namespaces may have this id.
            runs = [run for (_, name), run in oracle.history.runs.items() if name == path["runs"][0]]
            faults = [
                _backwards(order, {(i.origin, o.name) for o in run.content for i in o.inputs}) for run in runs
            ]
            if all(faults):
                return faults[0]
    else:
        return ""
    return next((wrong for order in orders if (wrong := _backwards(order, feeds))), "")


def _members(ask: Ask) -> Json:
    return {name: getattr(ask, name) for name in Ask.__dataclass_fields__}


def _feeds(connections: list[Json]) -> set[tuple[str, str]]:
    return {
        (link["operation"], two["operation"])
        for link in connections
        for two in connections
        if link["to"] == two["from"]
    }


def _backwards(order: list[str], feeds: set[tuple[str, str]]) -> str:
    for position, name in enumerate(order):
        for earlier in order[:position]:
            if (name, earlier) in feeds:
                return f"{earlier!r} stands before {name!r}, which feeds it, in {order}"
    return ""
