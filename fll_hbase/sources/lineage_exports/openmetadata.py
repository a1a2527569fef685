"""Lineage of one entity as OpenMetadata's API gives it, converted to OpenLineage job events.

OpenMetadata stores edges and not runs. The edges into one entity by one pipeline become one event, at the
time of the latest change of these edges.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from fll_hbase.runtime.errors import UnreadableDocument
from fll_hbase.sources import strict_json
from fll_hbase.sources.dialect_names import scheme_of
from fll_hbase.sources.sql.names.dataset_naming import name_in
from fll_hbase.sources.validation import Part, Validator

PRODUCER = "https://github.com/fll-hbase/fll_hbase/openmetadata"
TIME_LIMIT_MS = 253_402_300_800_000
"""The year 10000, which ISO 8601 times do not have."""

NO_DATABASE = frozenset(["clickhouse", "hive", "mysql"])
"""Schemes of engines without databases above schemas, for which OpenMetadata writes `default`."""

_PART = re.compile(r'"((?:[^"]|"")*)"(?:\.|$)|([^."]+)(?:\.|$)')

Names = tuple[str, ...]
Reference = dict[str, str]


@dataclass(frozen=True, slots=True)
class ExportSettings:
    """The namespace of jobs, the namespaces of datasets by service, and the time of edges without one."""

    namespace: str
    services: Mapping[str, str]
    default_ms: int | None = None


class _Edge(NamedTuple):
    source: Names
    target: Names
    pipeline: str
    query: str
    columns: list[tuple[str, str, str]]
    time_ms: int


def read_lineage(raw: bytes, settings: ExportSettings) -> Iterator[bytes]:
    """Yield an event for each entity and pipeline among the edges, without edges of pipelines themselves.

    Raises TooLarge, and UnreadableDocument with every error and warning, before the first event.
    """
    validator = Validator()
    top = Part(validator, strict_json.parse(raw)).as_object()
    nodes = {item.text("id"): item.members for item in top.optional_items("nodes")}
    entity = top.optional_object("entity")
    nodes[entity.text("id")] = entity.members
    if "upstreamEdges" not in top and "downstreamEdges" not in top:
        top.error("missing", "upstreamEdges")
    groups: dict[tuple[Names, str], list[_Edge]] = {}
    for part in (*_edge_parts(top, "upstreamEdges"), *_edge_parts(top, "downstreamEdges")):
        edge = _edge(part, nodes, settings)
        if edge is not None:
            groups.setdefault((edge.target, edge.pipeline), []).append(edge)
    if validator.errors or validator.warnings:
        raise UnreadableDocument([*validator.errors, *validator.warnings])
    for edges in groups.values():
        yield msgspec.json.encode(_event(edges, settings))


def split_name(name: str) -> Names:
    """Return the parts of a fully qualified name, each maybe in double quotes; () if invalid."""
    parts, end = [], 0
    while end < len(name):
        match = _PART.match(name, end)
        if match is None:
            return ()
        parts.append(match[1].replace('""', '"') if match[2] is None else match[2])
        end = match.end()
    return tuple(parts)


def _edge_parts(top: Part, name: str) -> Iterator[Part]:
    """Yield the edges of a list, or of an object that has them by id, as newer versions do."""
    if isinstance(top.get(name), dict):
        yield from (part for _, part in top.member(name).member_parts())
    else:
        yield from top.optional_items(name)


def _edge(part: Part, nodes: Mapping[str, Any], settings: ExportSettings) -> _Edge | None:
    """Read an edge, with errors for invalid parts, or return None if one of its ends is a pipeline."""
    part.as_object()
    ends = [_reference(part, name, nodes) for name in ("fromEntity", "toEntity")]
    if any(end.get("type") == "pipeline" for end in ends):
        return None
    source, target = (split_name(str(end.get("fullyQualifiedName", ""))) for end in ends)
    for name, parts in (("fromEntity", source), ("toEntity", target)):
        if len(parts) < 2:
            part.error("has no fully qualified name among the nodes", name)
        elif parts[0] not in settings.services:
            part.error(f"service {parts[0]!r} has no namespace: give --service {parts[0]}=NAMESPACE", name)
    details = part.optional_object("lineageDetails") if "lineageDetails" in part else part
    stamps = [name for name in ("updatedAt", "createdAt") if details.get(name) is not None]
    times = [details.integer(name, below=TIME_LIMIT_MS) for name in stamps]
    if not times and settings.default_ms is None:
        details.error("missing: record a file, whose time of modification is used instead", "updatedAt")
    pipeline = details.optional_object("pipeline")
    columns = list(_columns(details, source, target))
    name = pipeline.text("fullyQualifiedName") or pipeline.text("name")
    time_ms = max(times, default=settings.default_ms or 0)
    return _Edge(source, target, name, details.text("sqlQuery"), columns, time_ms)


def _reference(part: Part, name: str, nodes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the members of an end of an edge: of a node by its id, or of an object; {} if unknown."""
    value = part.get(name)
    if isinstance(value, dict):
        return value if "fullyQualifiedName" in value else nodes.get(str(value.get("id")), value)
    return nodes.get(value, {}) if isinstance(value, str) else {}


def _columns(details: Part, source: Names, target: Names) -> Iterator[tuple[str, str, str]]:
    """Yield source column, target column and function of each pair; add an error for columns of others."""
    name = "columnsLineage" if "columnsLineage" in details else "columns"
    for item in details.optional_items(name):
        written = _column(item.as_object().member("toColumn"), target)
        for given in item.optional_items("fromColumns"):
            yield _column(given, source), written, item.text("function")


def _column(part: Part, table: Names) -> str:
    """Return the name of a column, nested ones as `a.b`; add an error unless it is a column of the table."""
    parts = split_name(part.name())
    if len(parts) <= len(table) or parts[: len(table)] != table:
        part.error("is not a column of this end of the edge")
    return ".".join(parts[len(table) :])


def _dataset(names: Names, settings: ExportSettings) -> Reference:
    """Return the namespace and name of an entity as live clients of OpenLineage write them."""
    namespace, parts = settings.services[names[0]], names[1:]
    if len(parts) > 2 and parts[0] == "default" and scheme_of(namespace) in NO_DATABASE:
        parts = parts[1:]
    return {"namespace": namespace, "name": name_in(namespace, parts)}


def _event(edges: list[_Edge], settings: ExportSettings) -> dict[str, Any]:
    """Return the job event of the edges into one entity by one pipeline, with their query if all have it."""
    fields: dict[str, dict[str, list[Any]]] = {}
    for edge in edges:
        for column, written, function in edge.columns:
            kind = {"type": "DIRECT", "subtype": "TRANSFORMATION", "description": function}
            used = {**_dataset(edge.source, settings), "field": column}
            inputs = fields.setdefault(written, {"inputFields": []})["inputFields"]
            inputs.append(used | ({"transformations": [kind]} if function else {}))
    first = edges[0]
    output: dict[str, Any] = {**_dataset(first.target, settings)}
    if fields:
        output["facets"] = {"columnLineage": {"fields": fields}}
    facets: dict[str, Any] = {"jobType": {"integration": "OPENMETADATA", "processingType": "BATCH"}}
    queries = {edge.query for edge in edges}
    # Several queries would be read as one, which none of the edges has.
    if len(queries) == 1 and first.query:
        facets["sql"] = {"query": first.query}
    job = {
        "namespace": settings.namespace,
        "name": first.pipeline or ".".join(first.target),
        "facets": facets,
    }
    time = datetime.fromtimestamp(max(edge.time_ms for edge in edges) / 1_000, UTC)
    inputs = list({edge.source: _dataset(edge.source, settings) for edge in edges}.values())
    return {
        "eventTime": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "producer": PRODUCER,
        "job": job,
        "inputs": inputs,
        "outputs": [output],
    }
