"""Answers as tables to be read."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from fll_hbase.cli.options import WindowText
from fll_hbase.cli.render.escape import moment, shown
from fll_hbase.cli.render.text_table import Sheet
from fll_hbase.client.queries import LineageAsked
from fll_hbase.json_types import Json

_TITLES = {"backward": "Where {of} comes from", "forward": "What is made of {of}"}
_PAIRS = ("level", "source", "field", "destination", "field", "influence")
_RUN = ("started (UTC)", "state", "direction", "namespace", "application", "program", "run")


def lineage(entries: list[Json], asked: LineageAsked) -> RenderableType:
    """High-level entries: one table for each direction, one row for each pair of fields."""
    if not entries:
        return nothing(asked.window)
    parts: list[RenderableType] = []
    for direction, title in _TITLES.items():
        some = [entry for entry in entries if entry["direction"] == direction]
        if some:
            parts += [Text()] if parts else []
            heading = title.format(of=shown(str(asked.end_point)))
            parts += [Text(f"{heading}, {asked.window}", style="bold"), _pairs(some)]
    return Group(*parts)


def runs(body: Json, window: WindowText) -> RenderableType:
    """Runs, newest first."""
    if not body["runs"]:
        return nothing(window)
    names = ("state", "direction", "namespace", "application", "program", "run")
    return Sheet(
        _RUN, [[moment(run["startTime"]), *(run.get(name, "") for name in names)] for run in body["runs"]]
    )


def found(body: Json, text: str) -> RenderableType:
    """Search results."""
    if not body["results"]:
        return Text(f"No end point or field has {shown(text)!r} in its name.")
    columns = ("namespace", "name", "field")
    return Sheet(columns, [[result.get(name, "") for name in columns] for result in body["results"]])


def nothing(window: WindowText) -> Text:
    """What to say of a window without an answer."""
    return Text(f"Nothing from {window}; --start and --end ask another window.")


def _pairs(entries: list[Json]) -> Sheet:
    """A row for each pair; what it has in common with the one above is left out."""
    rows: list[list[str]] = []
    for entry in entries:
        rows += [[]] if rows else []
        level, source = str(entry["level"]), _end_point(entry["source"], "(generated)")
        destination = _end_point(entry["destination"], "(dropped)")
        for start, end, influence in _told(entry):
            rows.append([level, source, start, destination, end, influence])
            level = source = destination = ""
    if any(row and row[-1] for row in rows):
        return Sheet(_PAIRS, rows)
    return Sheet(_PAIRS[:-1], [row[:-1] for row in rows])


def _told(entry: Json) -> Iterator[tuple[str, str, str]]:
    """The fields of each pair, and how the one reached the other where that was not directly."""
    if entry.get("unknown"):
        yield "?", "?", "fields not known"
    for pair in entry["fieldmap"]:
        influence = pair.get("influence", "")
        where = ", on every row" if "scope" in pair else ""
        yield pair["from"] or "", pair["to"] or "", influence + where


def _end_point(said: Json | None, otherwise: str) -> str:
    return f"{said['namespace']}/{said['name']}" if said else otherwise
