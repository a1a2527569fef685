"""Answers as Mermaid flowcharts: an arrow for each pair of fields, dotted if the influence is indirect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fll_hbase.queries.field_lineage import FieldLineageAnswer
from fll_hbase.queries.lineage import LineageEntry
from fll_hbase.queries.reach_formats import Edge, flowchart, quoted
from fll_hbase.runtime.escape import escape_control


def lineage_lines(entries: Sequence[LineageEntry]) -> Iterator[str]:
    """Yield the lines of a flowchart of the field pairs between datasets, each pair once."""
    edges = dict.fromkeys(edge for entry in entries for edge in _edges(entry))
    names = dict.fromkeys(str(end) for edge in edges for end in (edge.source, edge.destination))
    return flowchart({name: escape_control(name) for name in names}, edges)


def field_lines(body: FieldLineageAnswer) -> Iterator[str]:
    """Yield the lines of a flowchart of the fields of an answer, connected by their operations."""
    labels = {}
    for node in body.nodes:
        dataset = node.source_end_point or node.destination_end_point
        labels[node.id] = escape_control(f"{dataset}.{node.label}" if dataset else node.label)
    edges = (
        Edge(
            connection.source,
            connection.destination,
            connection.influence == "indirect",
            quoted(escape_control(connection.operation)),
        )
        for connection in body.connections
    )
    return flowchart(labels, edges)


def _edges(entry: LineageEntry) -> Iterator[Edge]:
    """Yield an edge for each pair of fields, or one between the datasets if no field is known."""
    source, destination = entry.ends()
    if entry.has_no_fields:
        yield Edge(source, destination)
    for pair in entry.fieldmap:
        start = source if pair.source is None else f"{source}.{pair.source}"
        end = destination if pair.destination is None else f"{destination}.{pair.destination}"
        yield Edge(start, end, pair.influence == "indirect")
