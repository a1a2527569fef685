"""All cells of a table."""

from __future__ import annotations

from fll_hbase.keys import layout
from fll_hbase.model.window import Window
from fll_hbase.tables import CellKey, Table

LATER_MS = 4_000_000_000_000
ALWAYS = Window(0, LATER_MS)


def cells(table: Table) -> dict[CellKey, bytes]:
    scanned = table.scan(b"", b"\xff")
    return {CellKey(key, column): cell.value for key, row in scanned for column, cell in row.items()}


def comparable_cells(table: Table) -> dict[CellKey, bytes]:
    """Return all cells, without the values of calendars: tokens are random."""
    return {
        cell: b"" if cell.row.startswith(layout.CALENDARS) else value for cell, value in cells(table).items()
    }
