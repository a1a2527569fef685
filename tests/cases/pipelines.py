"""The ancestor's stages and pipelines: its cases as our documents, and what they come to as its words."""

from __future__ import annotations

from typing import Any

from fll_hbase.sources.cdap.stage_operations import StageOperation, read_operations
from fll_hbase.sources.validation import Validator

from .ancestor import NO_NAMESPACE

RUN = {"application": "etl", "type": "spark", "program": "pipeline", "run": "r1", "startTime": 0}


def declared(said: list[dict[str, Any]]) -> tuple[StageOperation, ...]:
    """The operations of one stage."""
    checks = Validator()
    found = read_operations(checks, {"operations": [_operation(one) for one in said]}, "", NO_NAMESPACE)
    assert not checks.errors
    assert not checks.warnings
    return found


def document(case: dict[str, Any]) -> dict[str, Any]:
    """A pipeline's document. The first stages are its sources, the last its sinks."""
    targets = {target for _, target in case["connections"]}
    origins = {origin for origin, _ in case["connections"]}
    stages = []
    for name, operations in case["stages"].items():
        ends = "batchsource" if name not in targets else "batchsink" if name not in origins else "transform"
        kind = "batchjoiner" if name in case["no_merge"] else ends
        stage = {
            "name": name,
            "plugin": {"type": kind},
            "operations": [_operation(one) for one in operations],
        }
        if name in case.get("stage_output_schemas", {}):
            stage["outputSchema"] = _schema(case["stage_output_schemas"][name])
        stages.append(stage)
    connections = [{"from": origin, "to": target} for origin, target in case["connections"]]
    return {"run": RUN, "config": {"stages": stages, "connections": connections}}


def _operation(said: dict[str, Any]) -> dict[str, Any]:
    """As its own, with end points in our words."""
    told = {name: value for name, value in said.items() if name not in ("source", "destination")}
    for member in {"source", "destination"} & said.keys():
        end_point = said[member]
        told[member] = {"namespace": end_point["ns"] or NO_NAMESPACE, "name": end_point["name"]}
    return told


def _schema(names: list[str]) -> dict[str, Any]:
    """The cases tell names alone; a type is needed all the same, and none is the least said."""
    return {"type": "record", "name": "s", "fields": [{"name": name, "type": ""} for name in names]}
