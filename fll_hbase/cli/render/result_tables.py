"""Answers rendered as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import TypeAlias
from zoneinfo import ZoneInfo

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from fll_hbase.cli.render.console import format_time
from fll_hbase.cli.render.time_text import describe_window
from fll_hbase.client.lineage_client import WindowText
from fll_hbase.model.datasets import Dataset
from fll_hbase.queries.lineage import LineageEntry
from fll_hbase.queries.tables import Row
from fll_hbase.runtime.escape import escape_control

_TITLES = {"backward": "Where {dataset} comes from", "forward": "What is made of {dataset}"}
_PAIR_COLUMNS = ("level", "source", "field", "destination", "field", "influence")
_RUN_MEMBERS = ("state", "direction", "namespace", "application", "program", "run")
_PROGRAM_COLUMNS = ("runs", "failed", "direction", "namespace", "application", "program")
_GAP = "   "


@dataclass(frozen=True, slots=True)
class TextTable:
    """Rows of names, control characters escaped; a row without cells is an empty line.

    A terminal gets a table folded to its width, a pipe aligned lines of any length.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield a rich table on a terminal, else lines of text, which are much faster to make."""
        rows = [[escape_control(cell) for cell in row] for row in self.rows]
        if console.is_terminal:
            yield self._table(rows)
        else:
            # A rich table takes a millisecond a row; an answer may have a quarter of a million.
            yield from (Segment(f"{line}\n") for line in self._lines(rows))

    def _table(self, rows: Sequence[Sequence[str]]) -> Table:
        """Return the rich table of rows that are already escaped."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for column in self.columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))
        return table

    def _lines(self, rows: Sequence[Sequence[str]]) -> Iterator[str]:
        """Yield the header, a rule and the rows, which are already escaped, in columns of equal width."""
        # Widths in cells, not characters: CJK characters are two cells wide, combining ones none.
        full = [self.columns, *(row for row in rows if row)]
        widths = [max(map(cell_len, cells)) for cells in zip(*full, strict=True)]
        yield _align(self.columns, widths)
        yield "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
        for row in rows:
            yield _align(row, widths)


Cell: TypeAlias = Callable[[Row], str]
"""Returns the text of one column of a row."""


def member(name: str) -> Cell:
    """Return a function from a row to one of its members as text; empty for a row without it."""
    return lambda row: "" if row.get(name) is None else str(row[name])


def time_of(name: str, zone: tzinfo = UTC) -> Cell:
    """Return what shows a time of a row in milliseconds since 1970; "" for a row without it."""
    return lambda row: "" if row.get(name) is None else format_time(row[name], zone)


def rows_table(rows: Iterable[Row], columns: Mapping[str, Cell]) -> TextTable:
    """Return a table of rows; `columns` has for each title the function that shows it."""
    return TextTable(list(columns), [[cell(row) for cell in columns.values()] for row in rows])


def _align(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return cells padded to widths, as one line without blanks at its end; empty for a row without cells."""
    # Not strict: a row without cells is an empty line.
    padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=False))
    return _GAP.join(padded).rstrip()


def lineage_tables(
    entries: Sequence[LineageEntry], dataset: Dataset, window: WindowText, note: str = ""
) -> RenderableType:
    """Render entries of dataset lineage: a table for each direction, a row for each pair of fields."""
    if not entries:
        return empty_message(window, note)
    parts: list[RenderableType] = []
    for direction, title in _TITLES.items():
        matches = [entry for entry in entries if entry.direction == direction]
        if matches:
            parts += [Text()] if parts else []
            heading = title.format(dataset=escape_control(str(dataset)))
            parts += [Text(f"{heading}, {describe_window(window)}", style="bold"), _pair_table(matches)]
    return Group(*parts)


def runs_table(runs: Sequence[Row], window: WindowText, note: str = "") -> RenderableType:
    """Render runs in the order of the answer, newest first."""
    if not runs:
        return empty_message(window, note)
    # Of the runs of a namespace there is no direction: they are those of no dataset.
    has_direction = runs[0]["direction"] is not None
    shown = {name: member(name) for name in _RUN_MEMBERS if has_direction or name != "direction"}
    started = {f"started ({window.zone})": time_of("startTime", ZoneInfo(window.zone))}
    return rows_table(runs, started | shown)


def programs_table(programs: Sequence[Row], window: WindowText, note: str = "") -> RenderableType:
    """Render programs in the order of the answer; without programs a message with the `note`."""
    if not programs:
        return empty_message(window, note)
    last_run = {f"last run ({window.zone})": time_of("lastStart", ZoneInfo(window.zone))}
    return rows_table(programs, last_run | {name: member(name) for name in _PROGRAM_COLUMNS})


def search_table(hits: Sequence[Row], text: str) -> RenderableType:
    """Render search results; without any a message with the `text` that was searched."""
    if not hits:
        return Text(f"No dataset or field has {escape_control(text)!r} in its name.")
    return rows_table(hits, {name: member(name) for name in ("namespace", "name", "field")})


def empty_message(window: WindowText, note: str = "") -> Text:
    """Return the message for a window without lineage; a `note`, if not empty, is part of it."""
    return Text(
        f"Nothing from {describe_window(window)}; {note}{note and '; '}--start and --end ask another window."
    )


def _pair_table(entries: Sequence[LineageEntry]) -> TextTable:
    """Return a table with a row for each pair of fields; the first row of an entry names its datasets."""
    rows: list[list[str]] = []
    for entry in entries:
        rows += [[]] if rows else []
        level, (source, destination) = str(entry.level), entry.ends()
        for source_field, destination_field, influence in _field_pairs(entry):
            rows.append([level, source, source_field, destination, destination_field, influence])
            level = source = destination = ""
    # Without an indirect influence the last column is empty, and terminals are narrow.
    if any(row and row[-1] for row in rows):
        return TextTable(_PAIR_COLUMNS, rows)
    return TextTable(_PAIR_COLUMNS[:-1], [row[:-1] for row in rows])


def _field_pairs(entry: LineageEntry) -> Iterator[tuple[str, str, str]]:
    """Yield source field, destination field and the influence, which is empty for a direct dependency."""
    if entry.has_no_fields:
        yield "?", "?", "fields not known"
    for pair in entry.fieldmap:
        influence = "" if pair.influence == "direct" else pair.influence
        yield pair.source or "", pair.destination or "", influence + (", on every row" if pair.scope else "")
