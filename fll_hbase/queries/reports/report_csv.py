"""The parts of a report as tables, for CSV and for the page to print."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fll_hbase.queries import name_json
from fll_hbase.queries.time_window import iso_text
from fll_hbase.runtime import csv_text
from fll_hbase.runtime.json_types import Json

_RUNS_COLUMNS = ("runs", "firstStart", "lastStart", "lastRun")
_PROGRAM_COLUMNS = ("namespace", "application", "program", "type", "failed", *_RUNS_COLUMNS)
_RUN_COLUMNS = ("startTime", "namespace", "application", "program", "run", "state", "checksum")
_STRETCH_COLUMNS = ("firstStart", "lastStart", "runs", "firstRun", "lastRun", "checksum")
_TIMES = {"firstStart", "lastStart", "startTime", "oldestStart", "newestStart"}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a report: its title, the member of the report with its rows, and its columns."""

    title: str
    member: str
    columns: tuple[str, ...]
    cells: Callable[[Json], Mapping[str, Any]] = dict

    def rows(self, body: Json) -> Iterator[list[str]]:
        """Yield the rows; times are ISO 8601 in UTC."""
        for item in body.get(self.member, ()):
            cells = self.cells(item)
            if "hidden" in cells:
                cells = dict(zip(self.columns, name_json.names(cells, self.columns), strict=True)) | {
                    name: cells[name] for name in self.columns if name in cells
                }
            yield [_text(column, cells.get(column, "")) for column in self.columns]


def _reached(item: Json) -> Mapping[str, Any]:
    """Return the cells of a field within reach: its path as one text, `inOrder` only if it is false."""
    in_order = {"inOrder": "false"} if "inOrder" in item else {}
    return {**item, **in_order, "path": " > ".join(map(name_json.text, item["path"]))}


def _operation(item: Json) -> Mapping[str, Any]:
    """Return the cells of an operation, its inputs and its outputs each as one text."""
    return {**item, "inputs": ", ".join(item["inputs"]), "outputs": ", ".join(item["outputs"])}


_REACHED = ("namespace", "name", "field", "hops", "influence", *_RUNS_COLUMNS, "dropped", "path")
PARTS: Mapping[str, Sequence[Part]] = {
    "consumption": (
        Part("Programs that read it", "programs", _PROGRAM_COLUMNS),
        Part("Fields derived from it", "derived", _REACHED, _reached),
        Part("Runs that read it, the newest first", "runs", _RUN_COLUMNS),
    ),
    "provenance": (
        Part("Sources", "sources", _REACHED, _reached),
        Part("Fields between", "upstream", _REACHED, _reached),
        Part("Stretches of runs that produced it in the same way", "stretches", _STRETCH_COLUMNS),
    ),
}
"""The tables of each report, in their order."""

OPERATIONS = Part("", "operations", ("name", "description", "inputs", "outputs"), _operation)
"""The operations of one derivation, in an order in which they can run."""


def parts(body: Json, *, causal: bool) -> Sequence[Part]:
    """Return the tables of a report in their order; without `causal` fields have a column `inOrder`."""
    listed = PARTS[body["report"]]
    if causal:
        return listed
    return [
        replace(part, columns=(*_REACHED[:-1], "inOrder", _REACHED[-1])) if part.cells is _reached else part
        for part in listed
    ]


def to_csv(body: Json, member: str, *, causal: bool) -> str:
    """Return one of the `parts` of a report as CSV, with a line for each row below the column names."""
    part = next(part for part in parts(body, causal=causal) if part.member == member)
    return csv_text.to_csv(part.columns, part.rows(body))


def _text(column: str, value: object) -> str:
    """Return a value as the text of a cell: True is `true`, False "", times of known columns are ISO 8601."""
    if isinstance(value, bool):
        return "true" if value else ""
    return iso_text(value) if column in _TIMES and isinstance(value, int) else str(value)
