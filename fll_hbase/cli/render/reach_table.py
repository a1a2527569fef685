"""Field reach rendered as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from rich.console import Group, RenderableType
from rich.text import Text

from fll_hbase.cli.render.console import format_time
from fll_hbase.cli.render.result_tables import TextTable, empty_message
from fll_hbase.client.base import FieldReachQuery
from fll_hbase.queries import name_json
from fll_hbase.runtime.escape import escape_control
from fll_hbase.runtime.json_types import Json

_Row: TypeAlias = tuple[int, str, str, str, str, str]

_COLUMNS = ("hop", "from", "to", "influence", "runs", "last run (UTC)")
_NOT_IN_ORDER = {
    "backward": "Not in the order of the runs: an upstream run started after the run that read its output",
    "forward": "Not in the order of the runs: a downstream run started before the run that wrote its input",
}
_TITLES = {"backward": "What leads to {field}", "forward": "What {field} leads to"}


def reach_table(body: Json, query: FieldReachQuery) -> RenderableType:
    """Render the edges, those nearest to the field first; below them, apart, those that are not in order."""
    if not body["edges"] and not body.get("unknown"):
        return empty_message(query.window)
    if query.direction != "both":
        return _direction_table(body, query, query.direction)
    return Group(*(_direction_table(_part(body, direction), query, direction) for direction in _TITLES))


def _part(body: Json, direction: str) -> Json:
    """Return the edges and relations of one direction of an answer about both, with all nodes."""
    parts = {
        member: [item for item in body.get(member, ()) if item["direction"] == direction]
        for member in ("edges", "unknown")
    }
    return body | parts


def _direction_table(body: Json, query: FieldReachQuery, direction: str) -> RenderableType:
    hops = {name_json.text(node): node["hops"] for node in body["nodes"]}
    in_order, others = (
        sorted(_row(edge, hops) for edge in body["edges"] if edge.get("inOrder", True) is wanted)
        for wanted in (True, False)
    )
    title = _TITLES[direction].format(field=f"{query.field.dataset}.{query.field.name}")
    parts: list[RenderableType] = [Text(f"{escape_control(title)}, {query.window}", style="bold")]
    if in_order:
        parts.append(_table(in_order))
    if others:
        parts += [Text(), Text(_NOT_IN_ORDER[direction]), _table(others)]
    parts += [_unknown(relation) for relation in body.get("unknown", ())]
    if len(parts) == 1:
        parts.append(Text("nothing"))
    return Group(*parts)


def _table(rows: Sequence[_Row]) -> TextTable:
    return TextTable(_COLUMNS, [[str(row[0]), *row[1:]] for row in rows])


def _row(edge: Json, hops: dict[str, int]) -> _Row:
    ends = name_json.text(edge["from"]), name_json.text(edge["to"])
    influence = "" if edge["influence"] == "direct" else "indirect"
    last = format_time(edge["lastStart"]) if "lastStart" in edge else ""
    return max(hops[end] for end in ends), *ends, influence, str(edge.get("runs", "")), last


def _unknown(relation: Json) -> Text:
    ends = (name_json.text(relation[end]) for end in ("source", "destination"))
    return Text(escape_control("{} leads to {}: fields not known".format(*ends)))
