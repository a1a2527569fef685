"""Lineage of an entity as OpenMetadata's API gives it."""

from __future__ import annotations

import json
from typing import Any

TIME_MS = 1_772_359_200_000


def node(name: str, *, kind: str = "table") -> dict[str, Any]:
    return {"id": f"id of {name}", "type": kind, "name": name.rpartition(".")[2], "fullyQualifiedName": name}


def edge(source: str, target: str, *columns: tuple[str, str, str], **details: Any) -> dict[str, Any]:
    """An edge with pairs of columns and functions; `details` of None is left out."""
    pairs = [
        {"fromColumns": [f"{source}.{given}"], "toColumn": f"{target}.{written}"}
        | ({"function": function} if function else {})
        for given, written, function in columns
    ]
    members = {"source": "QueryLineage", "updatedAt": TIME_MS, "columnsLineage": pairs} | details
    present = {name: value for name, value in members.items() if value is not None}
    return {"fromEntity": f"id of {source}", "toEntity": f"id of {target}", "lineageDetails": present}


def lineage(entity: str, *edges: dict[str, Any], nodes: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    return {"entity": node(entity), "nodes": list(nodes), "upstreamEdges": list(edges), "downstreamEdges": []}


def shop() -> dict[str, Any]:
    """A table that two pipelines write from two databases, one of them by a query."""
    orders, rates, target = "pg.shop.public.orders", "my.default.ref.rates", "pg.shop.mart.daily"
    nightly = {"id": "p", "type": "pipeline", "fullyQualifiedName": "airflow.nightly"}
    query = "INSERT INTO mart.daily (total) SELECT o.amount * 2 FROM public.orders o WHERE o.paid"
    return lineage(
        target,
        edge(orders, target, ("amount", "total", "SUM"), ("id", "id", ""), pipeline=nightly),
        edge(rates, target, ('"rate.eur"', "total", ""), pipeline=nightly, updatedAt=TIME_MS + 5),
        edge(orders, target, sqlQuery=query),
        edge(rates, "airflow.nightly"),
        nodes=(node(orders), node(rates), node("airflow.nightly", kind="pipeline")),
    )


def line(document: Any) -> bytes:
    return json.dumps(document).encode() + b"\n"
