"""Stages and pipelines of the ancestor's cases as documents."""

from __future__ import annotations

from typing import Any

from fll_hbase.sources.cdap.stage_operations import StageOperation, read_operations
from fll_hbase.sources.validation import Part, Validator
from tests.cases.ancestor import NO_NAMESPACE

RUN = {"application": "etl", "type": "spark", "program": "pipeline", "run": "r1", "startTime": 10**12}


def stage_operations_of(items: list[dict[str, Any]]) -> tuple[StageOperation, ...]:
    """Read the operations of one stage."""
    validator = Validator()
    stage = {"operations": [_operation(item) for item in items]}
    operations = read_operations(Part(validator, stage), NO_NAMESPACE)
    assert not validator.errors
    assert not validator.warnings
    return operations


def document(case: dict[str, Any]) -> dict[str, Any]:
    """Return the document of a pipeline; its first stages are sources, its last ones sinks."""
    targets = {target for _, target in case["connections"]}
    origins = {origin for origin, _ in case["connections"]}
    stages = []
    for name, operations in case["stages"].items():
        plugin = "batchsource" if name not in targets else "batchsink" if name not in origins else "transform"
        kind = "batchjoiner" if name in case["no_merge"] else plugin
        stage = {
            "name": name,
            "plugin": {"type": kind},
            "operations": [_operation(operation) for operation in operations],
        }
        if name in case.get("stage_output_schemas", {}):
            stage["outputSchema"] = _schema(case["stage_output_schemas"][name])
        stages.append(stage)
    connections = [{"from": origin, "to": target} for origin, target in case["connections"]]
    return {"run": RUN, "config": {"stages": stages, "connections": connections}}


def _operation(case: dict[str, Any]) -> dict[str, Any]:
    """Return an operation with its datasets in the form of documents."""
    operation = {name: value for name, value in case.items() if name not in ("source", "destination")}
    for member in {"source", "destination"} & case.keys():
        dataset = case[member]
        operation[member] = {"namespace": dataset["ns"] or NO_NAMESPACE, "name": dataset["name"]}
    return operation


def _schema(names: list[str]) -> dict[str, Any]:
    """Return a schema of names; the cases have no types, so that each is empty."""
    return {"type": "record", "name": "s", "fields": [{"name": name, "type": ""} for name in names]}
