"""Field reach rendered as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from rich.console import Group, RenderableType
from rich.text import Text

from fll_hbase.cli.render.result_tables import TextTable, empty_message, time_column
from fll_hbase.cli.render.table_layout import CellText, Column
from fll_hbase.cli.render.time_text import Moment, describe_window
from fll_hbase.queries.reach import Reach, ReachAnswer, ReachEdge, UnknownRelation
from fll_hbase.queries.time_window import WindowText
from fll_hbase.runtime.escape import escape_control

_Row: TypeAlias = tuple[int, str, str, str, str, CellText]

_COLUMNS = (
    Column("hop", grouped=True),
    Column("from", grouped=True),
    Column("to"),
    Column("influence"),
    Column("runs", spare=2),
)
_NOT_IN_ORDER = {
    "backward": "Not in the order of the runs: an upstream run started after the run that read its output",
    "forward": "Not in the order of the runs: a downstream run started before the run that wrote its input",
}
_TITLES = {"backward": "What leads to {field}", "forward": "What {field} leads to"}


def reach_table(body: ReachAnswer, query: Reach, window: WindowText, note: str = "") -> RenderableType:
    """Render the edges, nearest to the field first, and separately below them edges that are not in order."""
    if not body.edges and not body.unknown:
        return empty_message(window, note)
    words = _TITLES if query.direction == "both" else (query.direction,)
    return Group(*(_direction_table(body, query, window, word) for word in words))


def _direction_table(body: ReachAnswer, query: Reach, window: WindowText, direction: str) -> RenderableType:
    """Render the edges of one direction: first edges in the order of runs, then others, then unknown ones."""
    hops = {str(node): node.hops for node in body.nodes}
    edges = [edge for edge in body.edges if edge.direction in (None, direction)]
    in_order, others = (
        sorted(
            (_row(edge, hops, window.zone) for edge in edges if (edge.in_order is not False) is wanted),
            key=lambda row: row[:4],
        )
        for wanted in (True, False)
    )
    title = _TITLES[direction].format(field=f"{query.dataset}.{query.field}")
    parts: list[RenderableType] = [Text(f"{escape_control(title)}, {describe_window(window)}", style="bold")]
    if in_order:
        parts.append(_table(in_order, window.zone))
    if others:
        parts += [Text(), Text(_NOT_IN_ORDER[direction]), _table(others, window.zone)]
    parts += [_unknown(item) for item in body.unknown if item.direction in (None, direction)]
    if len(parts) == 1:
        parts.append(Text("nothing"))
    return Group(*parts)


def _table(rows: Sequence[_Row], zone: str) -> TextTable:
    """Return the table of rows of edges."""
    columns = (*_COLUMNS, time_column("last run", zone, spare=1))
    return TextTable(columns, [[str(row[0]), *row[1:]] for row in rows], _heading)


def _heading(cells: Sequence[str]) -> str:
    """Return the heading of the edges of a hop that begin in one field."""
    hop, start = cells
    return f"{hop}: from {start} to"


def _row(edge: ReachEdge, hops: dict[str, int], zone: str) -> _Row:
    """Return the row of an edge. Its first member, the hops of its farther end, is for sorting."""
    ends = str(edge.source), str(edge.destination)
    influence = "" if edge.influence == "direct" else "indirect"
    runs = "" if edge.runs is None else str(edge.runs)
    last = "" if edge.last_start is None else Moment(edge.last_start, zone)
    return max(hops[end] for end in ends), *ends, influence, runs, last


def _unknown(relation: UnknownRelation) -> Text:
    """Return the line of a relation between datasets whose fields are unknown."""
    return Text(escape_control(f"{relation.source} leads to {relation.destination}: fields unknown"))
