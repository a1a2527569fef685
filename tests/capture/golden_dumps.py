"""Recorded dumps of tests/golden/capture, and the lineage of resolved events in short."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fll_hbase.capture.resolver import Resolver, ResolverSettings

FOLDER = Path(__file__).parents[1] / "golden" / "capture"

Json = dict[str, Any]


def recorded(name: str) -> dict[str, list[bytes]]:
    """Lines by name of the case or job, in the order in which they were recorded."""
    entries = [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]
    return {entry["name"]: [_line(line) for line in entry["lines"]] for entry in entries}


def _line(members: Json) -> bytes:
    return json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode()


def resolver() -> Resolver:
    return Resolver(ResolverSettings("shop"))


def resolve(lines: Iterable[bytes], *, by: Resolver | None = None) -> list[Json]:
    """The events of some lines."""
    resolving = by or resolver()
    return [event for line in lines for event in resolving.events(line)]


def short(event: Json) -> Json:
    """An event without what is the same in all of them."""
    (output,) = event["outputs"]
    facets = output["facets"]
    summary: Json = {"output": _name(output), "inputs": [_name(item) for item in event["inputs"]]}
    if event["eventType"] != "COMPLETE":
        summary["state"] = event["eventType"]
    if "symlinks" in facets:
        summary["table"] = facets["symlinks"]["identifiers"][0]["name"]
    if "lifecycleStateChange" in facets:
        change = facets["lifecycleStateChange"]
        summary["change"] = change["lifecycleStateChange"]
        if "previousIdentifier" in change:
            summary["previous"] = _name(change["previousIdentifier"])
    if "columnLineage" in facets:
        lineage = facets["columnLineage"]
        summary["fields"] = {name: _inputs(item["inputFields"]) for name, item in lineage["fields"].items()}
        summary["rows"] = _inputs(lineage["dataset"])
    return summary


def _name(dataset: Json) -> str:
    return f"{dataset['namespace']} {dataset['name']}"


def _inputs(inputs: list[Json]) -> list[str]:
    return [
        " ".join([item["name"], item["field"], kind["subtype"], kind["description"]]).strip()
        for item in inputs
        for kind in item["transformations"]
    ]
