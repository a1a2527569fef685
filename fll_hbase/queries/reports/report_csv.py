"""The parts of a report as CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fll_hbase.queries import name_json
from fll_hbase.queries.programs import program_rows
from fll_hbase.queries.tables import Row, TableShape
from fll_hbase.queries.time_window import iso_text
from fll_hbase.runtime import escape
from fll_hbase.runtime.json_types import Json

_RUNS_COLUMNS = ("runs", "firstStart", "lastStart", "lastRun")
_PROGRAM_COLUMNS = ("namespace", "application", "program", "type", "failed", *_RUNS_COLUMNS, "columns")
_DAY_COLUMNS = (
    *("namespace", "application", "program", "type", "day", "runs", "failed"),
    *("firstStart", "lastStart", "failedRuns"),
)
_RUN_COLUMNS = ("startTime", "namespace", "application", "program", "run", "state", "checksum")
_STRETCH_COLUMNS = ("firstStart", "lastStart", "runs", "firstRun", "lastRun", "checksum")
_TIMES = {"firstStart", "lastStart", "startTime"}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a report: its columns, and a function that returns the cells of an item."""

    columns: tuple[str, ...]
    cells: Callable[[Json], Mapping[str, Any]] = dict

    def rows(self, items: Iterator[Json]) -> Iterator[list[str]]:
        """Yield a row of texts for each item, "" for a missing cell; times are ISO 8601 in UTC."""
        for item in items:
            cells = self.cells(item)
            if "hidden" in cells:
                cells = dict(zip(self.columns, name_json.names(cells, self.columns), strict=True)) | {
                    name: cells[name] for name in self.columns if name in cells
                }
            yield [_text(column, cells.get(column, "")) for column in self.columns]


def _reached(item: Json) -> Mapping[str, Any]:
    """Return the cells of a field within reach: path and tags as text, `inOrder` only if it is false."""
    in_order = {"inOrder": "false"} if "inOrder" in item else {}
    path, tags = " > ".join(map(name_json.text, item["path"])), tags_text(item)
    return {**item, **in_order, "path": path, "tags": tags}


def _days(body: Json) -> Iterator[Json]:
    """Yield the days of all programs, each with the names of its program."""
    for program in body.get("programs", ()):
        for day in program.get("days", ()):
            yield {**program, **day, "failedRuns": " ".join(day["failedRuns"])}


_REACHED = ("namespace", "name", "field", "hops", "influence", *_RUNS_COLUMNS, "dropped")
_ENDS = ("path", "operation", "value", "tags")
_FIELDS = Part((*_REACHED, *_ENDS), _reached)
_UNORDERED_FIELDS = Part((*_REACHED, "inOrder", *_ENDS), _reached)
_PARTS = {
    **dict.fromkeys(("derived", "sources", "upstream"), _FIELDS),
    "programs": Part(_PROGRAM_COLUMNS),
    "days": Part(_DAY_COLUMNS),
    "runs": Part(_RUN_COLUMNS),
    "stretches": Part(_STRETCH_COLUMNS),
}

_ITEMS: Mapping[str, Callable[[Json], Iterable[Any]]] = {"days": _days, "programs": program_rows}
"""Functions that return the items of parts which are not members of the report as they are."""


def field_table(*members: str) -> TableShape:
    """Return the shape of a table with the fields of all these members of a report."""

    def build(body: Json) -> list[Row]:
        items = [item for member in members for item in body.get(member, ())]
        return [{"dropped": False, **_reached(item), "inOrder": item.get("inOrder", True)} for item in items]

    return TableShape(_UNORDERED_FIELDS.columns, build, times=("firstStart", "lastStart"))


def to_csv(body: Json, member: str, *, causal: bool) -> str:
    """Return a part of a report as CSV, with a line for each row below the column names.

    Without `causal`, the tables of fields have a column `inOrder`.
    """
    part = _PARTS[member]
    if part is _FIELDS and not causal:
        part = _UNORDERED_FIELDS
    items = _ITEMS[member](body) if member in _ITEMS else body.get(member, ())
    return escape.to_csv(part.columns, part.rows(iter(items)))


def tags_text(item: Json) -> str:
    """Return the tags of a field as one cell, joined by `;`, which a name may contain, too."""
    return ";".join(item.get("tags", ()))


def _text(column: str, value: object) -> str:
    """Return a value as the text of a cell: True as `true`, False as "", times as ISO 8601."""
    if isinstance(value, bool):
        return "true" if value else ""
    return iso_text(value) if column in _TIMES and isinstance(value, int) else str(value)
