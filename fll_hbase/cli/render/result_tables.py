"""Answers rendered as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.segment import Segment
from rich.text import Text

from fll_hbase.cli.render.screen import Block, Screen, Title
from fll_hbase.cli.render.table_layout import CellText, Column, Heading, lay_out
from fll_hbase.cli.render.time_text import ANOTHER_WINDOW, UTC_NAME, Moment, describe_window
from fll_hbase.model.datasets import Dataset
from fll_hbase.queries.lineage import LineageEntry
from fll_hbase.queries.reach import Reach, ReachAnswer, ReachEdge
from fll_hbase.queries.tables import Row
from fll_hbase.queries.time_window import WindowText
from fll_hbase.runtime.escape import escape_control

_TITLES = {"backward": "Where {dataset} comes from", "forward": "What is made of {dataset}"}
_PAIR_COLUMNS = (
    Column("level", grouped=True),
    Column("source", grouped=True),
    Column("field"),
    Column("destination", grouped=True),
    Column("field"),
    Column("influence"),
)
_RUN_COLUMNS = (
    Column("state"),
    Column("direction", spare=3),
    Column("namespace", spare=2),
    Column("application", spare=1),
    Column("program"),
    Column("run"),
)
_PROGRAM_COLUMNS = (
    Column("runs"),
    Column("failed"),
    Column("direction"),
    Column("namespace", spare=2),
    Column("application", spare=1),
    Column("program"),
)
_GAP = "   "

_ReachRow: TypeAlias = tuple[int, str, str, str, str, CellText]

_REACH_COLUMNS = (
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
_REACH_TITLES = {"backward": "What leads to {field}", "forward": "What {field} leads to"}


@dataclass(frozen=True, slots=True)
class TextTable:
    """Rows of names with control characters escaped. A row without cells is an empty line.

    A terminal gets the columns that fit, a pipe all columns in aligned lines of any length. `heading` makes
    the heading of rows with equal grouped columns. A summary is only cut if the page has nothing else to cut.
    """

    columns: Sequence[str | Column]
    rows: Sequence[Sequence[CellText]]
    heading: Heading | None = None
    is_summary: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines for a pipe."""
        # A rich table takes a millisecond a row, and an answer may have a quarter of a million rows.
        yield from (Segment(f"{line}\n") for line in self._lines())

    def fit(self, screen: Screen) -> Block:
        """Return the table for a terminal."""
        columns = [Column(column) if isinstance(column, str) else column for column in self.columns]
        block = lay_out(columns, self.rows, screen, self.heading, is_summary=self.is_summary)
        if not self.is_summary:
            return block
        return Block(head=[*block.head, *((line, "") for item in block.items for line in item), *block.tail])

    def _lines(self) -> Iterator[str]:
        """Yield the header, a rule and the rows in columns of equal width."""
        titles = [column if isinstance(column, str) else column.title for column in self.columns]
        rows = [[escape_control(str(cell)) for cell in row] for row in self.rows]
        # Widths are in cells: CJK characters are two cells wide, and combining characters have no width.
        full = [titles, *(row for row in rows if row)]
        widths = [max(map(cell_len, cells)) for cells in zip(*full, strict=True)]
        yield _align(titles, widths)
        yield "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
        for row in rows:
            yield _align(row, widths)


Cell: TypeAlias = Callable[[Row], CellText]
"""A function that returns the text or the time of one column of a row."""


def member(name: str) -> Cell:
    """Return a function from a row to one of its members as text, or "" for a row without the member."""
    return lambda row: "" if row.get(name) is None else str(row[name])


def time_of(name: str, zone: str = UTC_NAME, *, to_minute: bool = False) -> Cell:
    """Return a function that shows a time of a row (epoch milliseconds), or "" for a row without it."""
    return lambda row: "" if row.get(name) is None else Moment(row[name], zone, to_minute)


def time_column(title: str, zone: str, *, spare: int = 0) -> Column:
    """Return a column of times below a title that includes their zone."""
    return Column(f"{title} ({zone})", spare=spare, short=title)


def rows_table(rows: Iterable[Row], columns: Mapping[str | Column, Cell]) -> TextTable:
    """Return a table of rows; `columns` maps each title to the function that shows its cell."""
    return TextTable(list(columns), [[cell(row) for cell in columns.values()] for row in rows])


def _align(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return cells padded to widths, as one line without trailing spaces."""
    # Not strict, because a row without cells is an empty line.
    padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=False))
    return _GAP.join(padded).rstrip()


def lineage_tables(
    entries: Sequence[LineageEntry], dataset: Dataset, window: WindowText, note: str = ""
) -> RenderableType:
    """Render a table for each direction, a row for each pair of fields, or a message with the `note`."""
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


def runs_table(
    runs: Sequence[Row], window: WindowText, note: str = "", *, subject: str = ""
) -> RenderableType:
    """Render runs of a `subject` in the order of the answer, newest first, or a message with the `note`."""
    if not runs:
        return empty_message(window, note)
    # Runs of a namespace have no direction, because they are listed without a dataset.
    has_direction = runs[0]["direction"] is not None
    columns: dict[str | Column, Cell] = {
        time_column("started", window.zone): time_of("startTime", window.zone)
    }
    for column in _RUN_COLUMNS:
        if has_direction or column.title != "direction":
            columns[column] = member(column.title)
    return _titled(f"Runs of {subject}" if subject else "Runs", window, rows_table(runs, columns))


def programs_table(
    programs: Sequence[Row], window: WindowText, note: str = "", *, subject: str = ""
) -> RenderableType:
    """Render programs of a `subject` in the order of the answer, or a message with the `note`."""
    if not programs:
        return empty_message(window, note)
    columns: dict[str | Column, Cell] = {
        time_column("last run", window.zone): time_of("lastStart", window.zone)
    }
    columns |= {column: member(column.title) for column in _PROGRAM_COLUMNS}
    if any(program["columns"] for program in programs):
        columns["columns"] = member("columns")
    return _titled(f"Programs of {subject}", window, rows_table(programs, columns))


def _titled(title: str, window: WindowText, table: TextTable) -> RenderableType:
    """Return a table below a title with its window."""
    return Group(Title(f"{escape_control(title)}, {describe_window(window)}"), table)


def search_table(hits: Sequence[Row], text: str) -> RenderableType:
    """Render search results, or a message with the `text` that was searched."""
    if not hits:
        return Text(f"No dataset or field has {escape_control(text)!r} in its name.")
    return rows_table(hits, {name: member(name) for name in ("namespace", "name", "field")})


def empty_message(window: WindowText, note: str = "") -> Text:
    """Return the message for a window without lineage, including the `note` if it is not empty."""
    return Text(f"Nothing from {describe_window(window)}; {note or ANOTHER_WINDOW}.")


def _pair_table(entries: Sequence[LineageEntry]) -> TextTable:
    """Return a table with a row for each pair of fields. The first row of an entry names its datasets."""
    rows: list[list[str]] = []
    for entry in entries:
        rows += [[]] if rows else []
        level, (source, destination) = str(entry.level), entry.ends()
        for source_field, destination_field, influence in _field_pairs(entry):
            rows.append([level, source, source_field, destination, destination_field, influence])
            level = source = destination = ""
    # Without an indirect influence the last column is empty, and left out because terminals are narrow.
    if any(row and row[-1] for row in rows):
        return TextTable(_PAIR_COLUMNS, rows, _pair_heading)
    return TextTable(_PAIR_COLUMNS[:-1], [row[:-1] for row in rows], _pair_heading)


def _pair_heading(cells: Sequence[str]) -> str:
    """Return the heading of the pairs of one entry."""
    level, source, destination = cells
    return f"{level}: {source} → {destination}"


def _field_pairs(entry: LineageEntry) -> Iterator[tuple[str, str, str]]:
    """Yield source field, destination field and the influence, which is empty for a direct dependency."""
    if entry.has_no_fields:
        yield "?", "?", "fields unknown"
    for pair in entry.fieldmap:
        influence = "" if pair.influence == "direct" else pair.influence
        yield pair.source or "", pair.destination or "", influence + (", on every row" if pair.scope else "")


def reach_table(body: ReachAnswer, query: Reach, window: WindowText, note: str = "") -> RenderableType:
    """Render the edges of each direction, nearest to the field first, or a message with the `note`."""
    if not body.edges and not body.unknown:
        return empty_message(window, note)
    words = _REACH_TITLES if query.direction == "both" else (query.direction,)
    return Group(*(_direction_table(body, query, window, word) for word in words))


def _direction_table(body: ReachAnswer, query: Reach, window: WindowText, direction: str) -> RenderableType:
    """Render the edges of one direction by hop: in the order of runs, then others, then unknown ones."""
    hops = {str(node): node.hops for node in body.nodes}
    edges = [edge for edge in body.edges if edge.direction in (None, direction)]
    in_order, others = (
        sorted(
            (_edge_row(edge, hops, window.zone) for edge in edges if (edge.in_order is not False) is wanted),
            key=lambda row: row[:4],
        )
        for wanted in (True, False)
    )
    title = _REACH_TITLES[direction].format(field=f"{query.dataset}.{query.field}")
    parts: list[RenderableType] = [Text(f"{escape_control(title)}, {describe_window(window)}", style="bold")]
    if in_order:
        parts.append(_edges_table(in_order, window.zone))
    if others:
        parts += [Text(), Text(_NOT_IN_ORDER[direction]), _edges_table(others, window.zone)]
    parts += [
        Text(escape_control(f"{relation.source} leads to {relation.destination}: fields unknown"))
        for relation in body.unknown
        if relation.direction in (None, direction)
    ]
    if len(parts) == 1:
        parts.append(Text("nothing"))
    return Group(*parts)


def _edges_table(rows: Sequence[_ReachRow], zone: str) -> TextTable:
    """Return the table of rows of edges."""
    columns = (*_REACH_COLUMNS, time_column("last run", zone, spare=1))
    return TextTable(columns, [[str(row[0]), *row[1:]] for row in rows], _edges_heading)


def _edges_heading(cells: Sequence[str]) -> str:
    """Return the heading of the edges of a hop that begin in one field."""
    hop, start = cells
    return f"{hop}: from {start} to"


def _edge_row(edge: ReachEdge, hops: dict[str, int], zone: str) -> _ReachRow:
    """Return the row of an edge. Its first member, the hops of its farther end, is for sorting."""
    ends = str(edge.source), str(edge.destination)
    influence = "" if edge.influence == "direct" else "indirect"
    runs = "" if edge.runs is None else str(edge.runs)
    last = "" if edge.last_start is None else Moment(edge.last_start, zone)
    return max(hops[end] for end in ends), *ends, influence, runs, last
