"""Execution plans and events of Spline, as its producer API has them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

PLAN_ID = "6c1f1e2a-0000-5000-8000-000000000001"
TIME_MS = 1_772_359_200_000


def attribute(identity: str, name: str, *children: dict[str, str], type_: str = "t1") -> dict[str, Any]:
    return {"id": identity, "name": name, "dataType": type_, "childRefs": list(children)}


def function(identity: str, kind: str, *children: dict[str, str], name: str = "") -> dict[str, Any]:
    extra = {"simpleClassName": kind} if kind else {"synthetic": True}
    return {"id": identity, "name": name or kind.lower(), "childRefs": list(children), "extra": extra}


def attr(identity: str) -> dict[str, str]:
    return {"__attrId": identity}


def expr(identity: str) -> dict[str, str]:
    return {"__exprId": identity}


def read(identity: str, output: Sequence[str], *sources: str, **params: Any) -> dict[str, Any]:
    return {
        "id": identity,
        "name": "LogicalRelation",
        "inputSources": list(sources),
        "output": list(output),
    } | {"params": params}


def other(
    identity: str, name: str, children: Sequence[str], output: Sequence[str], **params: Any
) -> dict[str, Any]:
    return {
        "id": identity,
        "name": name,
        "childIds": list(children),
        "output": list(output),
        "params": params,
    }


def plan(
    *,
    reads: Sequence[dict[str, Any]],
    others: Sequence[dict[str, Any]] = (),
    attributes: Sequence[dict[str, Any]] = (),
    functions: Sequence[dict[str, Any]] = (),
    constants: Sequence[dict[str, Any]] = (),
    child: str = "top",
    output: str = "s3a://lake/out/day=1",
    write: str = "InsertIntoHadoopFsRelationCommand",
) -> dict[str, Any]:
    return {
        "id": PLAN_ID,
        "name": "nightly",
        "operations": {
            "write": {"id": "w", "name": write, "outputSource": output, "append": False, "childIds": [child]},
            "reads": list(reads),
            "other": list(others),
        },
        "attributes": list(attributes),
        "expressions": {"functions": list(functions), "constants": list(constants)},
        "systemInfo": {"name": "spark", "version": "3.5.1"},
        "agentInfo": {"name": "spline", "version": "2.2.0"},
        "extraInfo": {"appName": "nightly", "dataTypes": [{"id": "t1", "name": "string"}]},
    }


def execution(time_ms: int = TIME_MS, **members: Any) -> dict[str, Any]:
    return {
        "planId": PLAN_ID,
        "timestamp": time_ms,
        "durationNs": 5_000_000_000,
        "extra": {"appId": "application_1"},
    } | members


def line(plan: dict[str, Any], *executions: dict[str, Any]) -> bytes:
    """A line of the export: a plan with its executions."""
    return json.dumps({"executionPlan": plan, "executionEvents": list(executions)}).encode() + b"\n"


def join() -> dict[str, Any]:
    """A plan with a join, a filter, an aggregate, a window, conditions, a union, a hash and a constant."""
    return plan(
        reads=[
            read("r1", ["o1", "o2", "o3"], "s3a://lake/orders/day=1", "s3a://lake/orders/day=2"),
            read("r2", ["c1", "c2"], "jdbc:postgresql://db/shop:public.customers"),
            read("r3", ["k1"], "kafka:clicks", **{"kafka.bootstrap.servers": "k:9092,l:9092"}),
        ],
        others=[
            other("f", "Filter", ["r1"], ["o1", "o2", "o3"], condition=expr("e_filter")),
            other("j", "Join", ["f", "r2"], ["o1", "o2", "o3", "c1", "c2"], condition=expr("e_join")),
            other("g", "Aggregate", ["j"], ["a1", "a2"], groupingExpressions=[attr("c2")]),
            other("s", "Sort", ["g"], ["a1", "a2"], order=[{"expression": attr("o3"), "direction": "ASC"}]),
            other("top", "Project", ["s", "r3"], ["p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8"]),
        ],
        attributes=[
            *(attribute(name, column) for name, column in (("o1", "id"), ("o2", "amount"), ("o3", "at"))),
            *(attribute(name, column) for name, column in (("c1", "id"), ("c2", "mail"), ("k1", "value"))),
            attribute("a1", "total", expr("e_total")),
            attribute("p1", "total", expr("e_alias")),
            attribute("p2", "mail", attr("c2")),
            attribute("p3", "hashed", expr("e_hash")),
            attribute("p4", "chosen", expr("e_case")),
            attribute("p5", "rank", expr("e_window")),
            attribute("p6", "both", expr("e_union")),
            attribute("p7", "fixed", expr("e_constant")),
            attribute("p8", "of an rdd", attr("x1")),
        ],
        functions=[
            function("e_filter", "GreaterThan", attr("o2"), expr("e_constant")),
            function("e_join", "EqualTo", attr("o1"), attr("c1")),
            function("e_sum", "Sum", attr("o2")),
            function("e_total", "AggregateExpression", expr("e_sum")),
            function("e_alias", "Alias", attr("a1")),
            function("e_hash", "Sha2", attr("c2"), expr("e_constant")),
            function("e_case", "CaseWhen", expr("e_filter"), attr("c2"), attr("k1")),
            function("e_rank", "Rank", attr("o3")),
            function("e_spec", "WindowSpecDefinition", attr("c1"), attr("o3")),
            function("e_window", "WindowExpression", expr("e_rank"), expr("e_spec")),
            function("e_union", "", attr("o1"), attr("c1"), name="union"),
        ],
        constants=[{"id": "e_constant", "value": "secret"}],
    )
