"""Stores as the release before calendars left them, made of stores of this release."""

from __future__ import annotations

from contextlib import closing

from fll_hbase.keys import calendars, layout, ranges
from fll_hbase.tables import CellKey, Put, Table, open_table
from tests.support.table_cells import LATER_MS

_INDEX_ROWS = (
    (b"i|b|bank|CustomerAccounts|fffb2c54|" + b"0" * 32, b"d:w", b"7ffffe742af43bff|r1"),
    (b"j|b|bank|CustomerAccounts|7ffd962|" + b"0" * 32, b"d:w", b"7ffffe742af43bff|r1"),
    (layout.PROPERTIES + b"period-index", b"d:v", b""),
)
"""A row of each kind that the earlier release had and this one ignores."""


def make_earlier(table: Table) -> None:
    """Remove ways, calendars and their mark, and put rows of the indexes that were there instead."""
    removed = [calendars.MARK_ROW]
    for prefix in (layout.WAYS, layout.CALENDARS):
        removed += [key for key, _ in table.scan(*ranges.prefix_range(prefix))]
    cells = [CellKey(key, column) for key, row in table.rows(removed).items() for column in row]
    table.delete(cells, until_ms=LATER_MS)
    table.write([[Put(*cell) for cell in _INDEX_ROWS]])


def make_earlier_store(url: str) -> None:
    """Make the store of a URL one of the earlier release."""
    with closing(open_table(url)) as table:
        make_earlier(table)
