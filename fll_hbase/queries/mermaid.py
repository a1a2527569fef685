"""Mermaid flowcharts, for Markdown pages: an arrow for each edge, dotted where it is indirect."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

# Node ids are numbers, so a label needs no characters but these to be escaped in quotes.
_ESCAPES = str.maketrans({'"': "#quot;", "#": "#35;", "<": "#lt;", ">": "#gt;", "\n": " ", "\r": " "})


class Edge(NamedTuple):
    """An arrow between the nodes of two keys; `note` is written on it as it is."""

    source: Hashable
    destination: Hashable
    is_indirect: bool = False
    note: str = ""


def flowchart(
    labels: Mapping[Any, str], edges: Iterable[Edge], *, classes: Mapping[Any, str] | None = None
) -> Iterator[str]:
    """Yield the lines of a chart from left to right of nodes, by their keys, and the edges between them."""
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
    """Return a text in quotes, in which no character ends it or is markup."""
    return f'"{text.translate(_ESCAPES)}"'
