"""Answers of the API about outputs of captured events, and the same of the events themselves."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from flask.testing import FlaskClient

Edges = set[tuple[str, str, str]]
"""Source, field and target field."""


def answered_edges(client: FlaskClient, output: dict[str, Any]) -> Edges:
    """Source, field and target of what the API answers."""
    namespace, name = (quote(output[member], safe="") for member in ("namespace", "name"))
    path = f"/v3/namespaces/{namespace}/endpoints/{name}/fields/lineage"
    answer = client.get(f"{path}?direction=backward&start=0&end=now%2B1d")
    assert answer.status_code == 200, answer.text
    return {
        (entry["source"]["name"], pair["from"], pair["to"])
        for entry in answer.get_json()
        if entry.get("source")
        for pair in entry["fieldmap"]
    }


def captured_edges(output: dict[str, Any]) -> Edges:
    """Those of an output of an event."""
    lineage = output["facets"]["columnLineage"]
    inputs = {name: item["inputFields"] for name, item in lineage["fields"].items()}
    inputs["*"] = lineage["dataset"]
    return {(item["name"], item["field"], name) for name, items in inputs.items() for item in items}


def indirect_kinds(client: FlaskClient, run: str) -> dict[str, set[tuple[str, str]]]:
    """Fields and kinds of the indirect inputs of a recorded run, by target field."""
    answer = client.get(f"/v3/runs/{run}")
    assert answer.status_code == 200, answer.text
    kinds: dict[str, set[tuple[str, str]]] = {}
    for operation in answer.get_json()["operations"]:
        targets = ["*"] if operation["type"] == "WRITE" else [item["name"] for item in operation["outputs"]]
        influences = {
            (item["name"], item["kind"].upper())
            for item in operation.get("inputs", ())
            if item["influence"] == "indirect"
        }
        for target in targets if influences else ():
            kinds.setdefault(target, set()).update(influences)
    return kinds


def captured_kinds(output: dict[str, Any]) -> dict[str, set[tuple[str, str]]]:
    """Those of an output of an event."""
    lineage = output["facets"]["columnLineage"]
    inputs = {name: item["inputFields"] for name, item in lineage["fields"].items()}
    inputs["*"] = lineage["dataset"]
    kinds = {
        target: {
            (item["field"], kind["subtype"])
            for item in items
            for kind in item["transformations"]
            if kind["type"] == "INDIRECT"
        }
        for target, items in inputs.items()
    }
    return {target: influences for target, influences in kinds.items() if influences}
