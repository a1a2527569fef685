"""Field reach as JSON of the REST contract."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from fll_hbase.model.datasets import DatasetField
from fll_hbase.model.window import Direction
from fll_hbase.queries import name_json
from fll_hbase.runtime.json_types import Json
from fll_hbase.store.results import Reach, ReachEdge, RunSpan

ReachByDirection = Mapping[Direction, Reach]
"""What is within reach of one field, by direction."""


def reach(
    results: ReachByDirection,
    *,
    types: Mapping[DatasetField, str] | None = None,
    truncated_by: Collection[str] = (),
) -> Json:
    """Return the fields within reach, sorted by hops and name, and the edges, sorted by their ends.

    Both say whether they are in order, unless the deadline came before that was known.

    Of two directions a field stands once, with the smaller number of hops; an edge once for each.
    """
    limits = {*truncated_by, *(limit for result in results.values() for limit in result.truncated_by)}
    body: Json = {
        "nodes": _nodes(results, types or {}),
        "edges": _edges(results),
        "truncated": bool(limits),
    }
    relations = [
        relation | _direction(results, [direction])
        for direction, result in results.items()
        for relation in unknown(result)
    ]
    if relations:
        body["unknown"] = relations
    if limits:
        body["truncatedBy"] = sorted(limits)
    return body


def _nodes(results: ReachByDirection, types: Mapping[DatasetField, str]) -> list[Json]:
    hops: dict[DatasetField, int] = {}
    for result in results.values():
        hops |= {name: min(count, hops.get(name, count)) for name, count in result.hops.items()}
    names = sorted(hops, key=lambda name: (hops[name], *_names(name)))
    return [_node(results, name, hops[name], types.get(name, "")) for name in names]


def _node(results: ReachByDirection, name: DatasetField, hops: int, type_name: str) -> Json:
    body: Json = {**name_json.field(name), "hops": hops}
    if type_name:
        body["type"] = type_name
    if any(name in result.dropped for result in results.values()):
        body["dropped"] = True
    in_order = [result.in_order for result in results.values() if name in result.hops]
    if None not in in_order:
        # Of two directions, one that allows it is enough.
        body["inOrder"] = any(fields is not None and name in fields for fields in in_order)
    return body | _direction(
        results, [direction for direction, result in results.items() if name in result.hops]
    )


def _direction(results: ReachByDirection, directions: list[Direction]) -> Json:
    """Return the member about the direction; none if the answer has one direction alone."""
    if len(results) == 1:
        return {}
    return {"direction": "both" if len(directions) > 1 else directions[0].value}


def _edges(results: ReachByDirection) -> list[Json]:
    if len(results) == 1:
        return [edge(item) for result in results.values() for item in result.edges]
    items = ((direction, item) for direction, result in results.items() for item in result.edges)
    return [edge(item) | _direction(results, [direction]) for direction, item in sorted(items, key=_edge_key)]


def _edge_key(item: tuple[Direction, ReachEdge]) -> tuple[str, ...]:
    direction, listed = item
    return *_names(listed.source), *_names(listed.destination), direction.value


def _names(name: DatasetField) -> tuple[str, str, str]:
    return name.dataset.namespace, name.dataset.name, name.name


def edge(item: ReachEdge) -> Json:
    """Return one edge; without the members about runs if these were not counted."""
    body: Json = {
        "from": name_json.field(item.source),
        "to": name_json.field(item.destination),
        "influence": "direct" if item.direct else "indirect",
    }
    if item.in_order is not None:
        body["inOrder"] = item.in_order
    body.update(span_members(item.span))
    return body


def span_members(span: RunSpan | None) -> Json:
    """Return the members about runs; none if these were not counted."""
    if span is None:
        return {}
    body: Json = {
        "runs": span.runs,
        "firstStart": span.first_start_ms,
        "lastStart": span.last_start_ms,
        "lastRun": span.last_run,
    }
    if span.failed == span.runs:
        body["failed"] = True
    return body


def unknown(result: Reach) -> list[Json]:
    """Return the pairs of datasets that are related without known fields."""
    return [
        {"source": name_json.dataset(source), "destination": name_json.dataset(destination)}
        for source, destination in result.unknown
    ]
