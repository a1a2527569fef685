"""Answers with graphs of any shape, as clients return them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fll_hbase.client.answers import TableAnswer
from fll_hbase.model.window import Window
from fll_hbase.queries import Reach
from fll_hbase.queries.names import FieldName
from fll_hbase.queries.reach import ReachAnswer, ReachEdge, ReachNode

Name = tuple[str, str]
"""A dataset and a field of it."""

WINDOW = Window(1_790_899_200_000, 1_793_491_200_000)
"""October 2026."""

HOSTILE_NAMES = (
    "</svg><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\x00\x07\x1b[31m\r\n\t\x7f\x85\u2028",
    "\udcff and \ud800",
    "\u202egnp.exe\u2066",
    "שלום",
    "👩‍👩‍👧 漢字",
    "]]>&amp;<!-- %s {0}",
    "\ufffe\uffff",
    '\'" onload=alert(1) x="',
    "x" * 10_000,
)


def reach_answer(
    edges: Iterable[tuple[Name, Name]], *, start: Name = ("a", "x"), **more: Any
) -> TableAnswer[ReachAnswer]:
    """Return what `reach` answers about a start with these edges."""
    listed = [*edges]
    names = dict.fromkeys([start, *(name for edge in listed for name in edge)])
    body = ReachAnswer(
        nodes=tuple(
            ReachNode(namespace="ns", name=dataset, field=field, hops=int((dataset, field) != start))
            for dataset, field in names
        ),
        edges=tuple(
            ReachEdge(
                source=_field(source),
                destination=_field(target),
                influence="direct",
            )
            for source, target in listed
        ),
        truncated=False,
    )
    return TableAnswer(body, window=WINDOW, shape=Reach.table, query=Reach("ns", *start), **more)


def _field(name: Name) -> FieldName:
    dataset, field = name
    return FieldName(namespace="ns", name=dataset, field=field)
