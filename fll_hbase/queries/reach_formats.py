"""Field reach in formats of other tools: CSV, GraphML and Mermaid."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from xml.etree import ElementTree

import msgspec

from fll_hbase.queries import name_json
from fll_hbase.queries.query import Body
from fll_hbase.queries.tables import CSV, Row, TableShape
from fll_hbase.runtime import escape
from fll_hbase.runtime.json_types import Json

GRAPHML, MERMAID = "application/graphml+xml", "text/vnd.mermaid"
"""Media types."""

CSV_COLUMNS = (
    "fromNamespace",
    "fromName",
    "fromField",
    "toNamespace",
    "toName",
    "toField",
    "influence",
    "runs",
    "firstStart",
    "lastStart",
    "inOrder",
    "direction",
)
_ENDS = ("namespace", "name", "field")
_COUNTS = {"runs": "long", "firstStart": "long", "lastStart": "long"}
_ORDER_AND_DIRECTION = {"inOrder": "boolean", "direction": "string"}

_NOT_IN_ORDER = "not in order"

_MERMAID_CLASSES = {
    "backward": "stroke:#1f6feb",
    "forward": "stroke:#bf8700",
    "both": "stroke-width:3px",
}

_NO_XML = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

# Node ids are numbers, and labels are in quotes, so only these characters must be escaped.
_ESCAPES = str.maketrans({'"': "#quot;", "#": "#35;", "<": "#lt;", ">": "#gt;", "\n": " ", "\r": " "})


def _rows(body: Json) -> list[Row]:
    """Return a row for each edge of an answer's JSON, with the names of its ends as columns."""
    ends = [(end, name) for end in ("from", "to") for name in _ENDS]
    return [edge | {f"{end}{name.title()}": edge[end][name] for end, name in ends} for edge in body["edges"]]


TABLE = TableShape(CSV_COLUMNS, _rows, times=("firstStart", "lastStart"))


def to_csv(body: Body) -> str:
    """Return a line for each edge, after a line of the column names; times are in milliseconds since 1970."""
    rows = ([_cell(cell) for cell in row.values()] for row in TABLE.rows(body))
    return escape.to_csv(CSV_COLUMNS, rows)


def _cell(value: object) -> object:
    """Return a value for CSV: a boolean as `true` or `false`, anything else as it is."""
    return _text(value) if isinstance(value, bool) else value


def to_graphml(answer: Body) -> str:
    """Return the fields and edges as a directed graph in GraphML, with their members as data."""
    body = msgspec.to_builtins(answer)
    root = ElementTree.Element("graphml", xmlns="http://graphml.graphdrawing.org/xmlns")
    node_types = dict.fromkeys(_ENDS, "string") | {"hops": "int", "type": "string"} | _ORDER_AND_DIRECTION
    edge_types = {"influence": "string"} | _COUNTS | _ORDER_AND_DIRECTION
    for domain, types in (("node", node_types), ("edge", edge_types)):
        for name, kind in types.items():
            attributes = {"id": f"{domain}-{name}", "for": domain, "attr.name": name, "attr.type": kind}
            ElementTree.SubElement(root, "key", attributes)
    graph = ElementTree.SubElement(root, "graph", id="reach", edgedefault="directed")
    ids = _node_ids(body)
    for node in body["nodes"]:
        element = ElementTree.SubElement(graph, "node", id=ids[_name(node)])
        names = dict(zip(_ENDS, _name(node), strict=True))
        _add_data(element, "node", names | {name: node[name] for name in node_types if name in node})
    for edge in body["edges"]:
        ends = {"source": ids[_name(edge["from"])], "target": ids[_name(edge["to"])]}
        element = ElementTree.SubElement(graph, "edge", ends)
        _add_data(element, "edge", {name: edge[name] for name in edge_types if name in edge})
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def to_mermaid(answer: Body) -> str:
    """Return a flow chart from left to right; indirect edges are dotted, directions are classes of nodes.

    Labels mark the nodes and edges that are not in order.
    """
    body = msgspec.to_builtins(answer)
    labels = {
        _name(node): name_json.text(node) + ("" if node.get("inOrder", True) else f" ({_NOT_IN_ORDER})")
        for node in body["nodes"]
    }
    classes = {_name(node): node["direction"] for node in body["nodes"] if "direction" in node}
    # An edge of both directions is drawn once, and is in order if either direction allows it.
    drawn: dict[Edge, bool] = {}
    for edge in body["edges"]:
        arrow = Edge(_name(edge["from"]), _name(edge["to"]), edge["influence"] != "direct")
        drawn[arrow] = drawn.get(arrow, False) or edge.get("inOrder", True)
    edges = (arrow if in_order else arrow._replace(note=_NOT_IN_ORDER) for arrow, in_order in drawn.items())
    lines = [*flowchart(labels, edges, classes=classes)]
    if classes:
        lines += [f"  classDef {name} {style}" for name, style in _MERMAID_CLASSES.items()]
    return "\n".join(lines) + "\n"


def _node_ids(body: Json) -> dict[tuple[str, ...], str]:
    """Return an id, `n0` and so on, for each node of an answer's JSON by its names."""
    return {_name(node): f"n{number}" for number, node in enumerate(body["nodes"])}


def _name(end: Mapping[str, Any]) -> tuple[str, ...]:
    """Return namespace, dataset and field of a node or of an end of an edge, such as `hidden 1`."""
    return tuple(name_json.names(end, _ENDS))


def _add_data(element: ElementTree.Element, domain: str, values: Mapping[str, Any]) -> None:
    """Add a data element for each value to a GraphML element; `domain` is `node` or `edge`."""
    for name, value in values.items():
        ElementTree.SubElement(element, "data", key=f"{domain}-{name}").text = _xml_text(_text(value))


def _text(value: object) -> str:
    """Return a value as text, a boolean as `true` or `false`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _xml_text(text: str) -> str:
    """Return a text in which U+FFFD replaces the characters that XML 1.0 cannot represent."""
    return _NO_XML.sub("\ufffd", text)


FORMATS: Mapping[str, Callable[[Any], str]] = {
    CSV: to_csv,
    GRAPHML: to_graphml,
    MERMAID: to_mermaid,
}
"""Writers by media type."""


class Edge(NamedTuple):
    """An arrow between the nodes of two keys; `note` is its label, which is not escaped."""

    source: Hashable
    destination: Hashable
    is_indirect: bool = False
    note: str = ""


def flowchart(
    labels: Mapping[Any, str], edges: Iterable[Edge], *, classes: Mapping[Any, str] | None = None
) -> Iterator[str]:
    """Yield the lines of a Mermaid chart, left to right: nodes by key and class, then edges between keys."""
    ids = {key: f"n{number}" for number, key in enumerate(labels)}
    yield "flowchart LR"
    for key, label in labels.items():
        suffix = f":::{classes[key]}" if classes and key in classes else ""
        yield f"  {ids[key]}[{quoted(label)}]{suffix}"
    for edge in edges:
        arrow = "-.->" if edge.is_indirect else "-->"
        note = f"|{edge.note}|" if edge.note else ""
        yield f"  {ids[edge.source]} {arrow}{note} {ids[edge.destination]}"


def quoted(text: str) -> str:
    """Return a text in quotes for Mermaid, with line ends as blanks and special characters escaped."""
    return f'"{text.translate(_ESCAPES)}"'
