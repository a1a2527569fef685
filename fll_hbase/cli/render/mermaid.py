"""Answers as Mermaid flowcharts, for Markdown pages: an arrow for each pair, dotted where it is indirect."""

from __future__ import annotations

from collections.abc import Iterator

from fll_hbase import name_json
from fll_hbase.client.shapes import FieldLineage, LineageEntry

_HEADER = "flowchart LR"


class _Nodes:
    """Identifiers of the nodes of a flowchart, in the order of first use."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def node(self, key: str, label: str) -> str:
        """Return a node, with its label at the first use."""
        if key in self._ids:
            return self._ids[key]
        self._ids[key] = f"n{len(self._ids)}"
        return f'{self._ids[key]}["{_escape(label)}"]'


def lineage_lines(entries: list[LineageEntry]) -> Iterator[str]:
    """Yield the lines of a flowchart of the field pairs between datasets, each pair once."""
    nodes, seen = _Nodes(), set[tuple[str, str, bool]]()
    yield _HEADER
    for entry in entries:
        for source, destination, indirect in _pairs(entry):
            if (source, destination, indirect) not in seen:
                seen.add((source, destination, indirect))
                yield _edge(
                    nodes.node(source, source), nodes.node(destination, destination), indirect=indirect
                )


def field_lines(body: FieldLineage) -> Iterator[str]:
    """Yield the lines of a flowchart of the fields and operations that lead to a field, or from it."""
    nodes = _Nodes()
    labels = {}
    yield _HEADER
    for node in body["nodes"]:
        dataset = node.get("sourceEndPoint") or node.get("destinationEndPoint")
        labels[node["id"]] = f"{name_json.text(dataset)}.{node['label']}" if dataset else node["label"]
        yield f"  {nodes.node(node['id'], labels[node['id']])}"
    for connection in body["connections"]:
        source, destination = (nodes.node(connection[end], "") for end in ("from", "to"))
        label = _escape(connection["operation"])
        yield _edge(source, destination, indirect="influence" in connection, label=label)


def _pairs(entry: LineageEntry) -> Iterator[tuple[str, str, bool]]:
    source = name_json.text(entry["source"]) if entry["source"] else "(generated)"
    destination = name_json.text(entry["destination"]) if entry["destination"] else "(dropped)"
    if entry.get("unknown"):
        yield source, destination, False
    for pair in entry["fieldmap"]:
        start = f"{source}.{pair['from']}" if pair["from"] is not None else source
        end = f"{destination}.{pair['to']}" if pair["to"] is not None else destination
        yield start, end, "influence" in pair


def _edge(source: str, destination: str, *, indirect: bool, label: str = "") -> str:
    arrow = "-.->" if indirect else "-->"
    return f"  {source} {arrow}" + (f'|"{label}"|' if label else "") + f" {destination}"


def _escape(text: str) -> str:
    """Return a text as entity codes where a character could end a label or be markup."""
    return "".join(
        character if character.isalnum() or character in " /._-:()@+,=" else f"#{ord(character)};"
        for character in text
    )
