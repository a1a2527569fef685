"""Recorded dumps of tests/golden/capture, and the lineage of resolved events in short."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fll_hbase.capture.resolver import Resolver

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "tests" / "golden" / "capture"
CASES = ROOT / "tests" / "cases" / "spark_sql.json"

Json = dict[str, Any]


def record(kind: str, target: Path, jars: str = "") -> None:
    """Record dumps in a Spark of their own; other tests may have a session in this process."""
    command = [sys.executable, "-m", "tests.support.capture.spark_jobs", kind, str(target), jars]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-4000:]


def recorded(name: str | Path) -> dict[str, list[bytes]]:
    """Lines by name of the case or job, in the order of their recording; `name` may be a path."""
    entries = [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]
    return {entry["name"]: [_line(line) for line in entry["lines"]] for entry in entries}


def _line(members: Json) -> bytes:
    return json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode()


def resolver() -> Resolver:
    return Resolver("shop")


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
