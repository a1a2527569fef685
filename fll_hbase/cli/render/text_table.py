"""A table to be read: folded to its width on a terminal; in a pipe lines of any length and number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from fll_hbase.cli.render.escape import shown

_GAP = "   "


@dataclass(frozen=True, slots=True)
class Sheet:
    """Rows of names, shown safely; one without cells sets the next ones apart."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rows = [[shown(cell) for cell in row] for row in self.rows]
        if console.is_terminal:
            yield self._table(rows)
        else:
            # A rich table takes a millisecond a row; an answer may have a quarter of a million.
            yield from (Segment(f"{line}\n") for line in self._lines(rows))

    def _table(self, rows: Sequence[Sequence[str]]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for column in self.columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))
        return table

    def _lines(self, rows: Sequence[Sequence[str]]) -> Iterator[str]:
        full = [self.columns, *(row for row in rows if row)]
        widths = [max(map(cell_len, cells)) for cells in zip(*full, strict=True)]
        yield _line(self.columns, widths)
        yield "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
        for row in rows:
            yield _line(row, widths)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=False))
    return _GAP.join(padded).rstrip()
