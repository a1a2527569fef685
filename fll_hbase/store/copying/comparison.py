"""Differences between a page of rows of a store and the same range of its copy, by pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fll_hbase.keys import calendars, layout
from fll_hbase.tables import Cell, CellKey, Row, StampedPut


@dataclass(frozen=True, slots=True)
class Difference:
    """The cells to put and to delete that make a copy equal to its source.

    `extras` are cells that the source does not have, and `extras_until_ms` the latest time that one of them
    was put.
    """

    puts: tuple[StampedPut, ...] = ()
    extras: tuple[CellKey, ...] = ()
    extras_until_ms: int = 0


def keeps_stamps(key: bytes) -> bool:
    """Return whether the cells of a row have the timestamps of the source in a copy."""
    # Of several types or descriptions that a dataset has under its names, readers use the newest. The cells
    # of all other rows are stamped by the target, so that the grace period protects them (decision 47).
    return key.startswith(layout.DATASETS)


def copied_cells(key: bytes, row: Row) -> Row:
    """Return the cells of a row that a copy has, too; of tokens without the value.

    Seals are left out: they are read at another moment than the run rows that they count. A target has
    tokens of its own, which a copy replaces for each day whose runs it changes.
    """
    if not key.startswith(layout.CALENDARS):
        return row
    return {
        column: Cell(b"", cell.stamp_ms) for column, cell in row.items() if column.startswith(calendars.TOKEN)
    }


def compare_rows(source: Mapping[bytes, Row], target: Mapping[bytes, Row]) -> Difference:
    """Return what makes the rows of `target` equal to `source`; `copied_cells` returns both."""
    puts = tuple(
        StampedPut(key, column, cell.value, cell.stamp_ms)
        for key, row in source.items()
        for column, cell in row.items()
        if not _is_copied(key, cell, target.get(key, {}).get(column))
    )
    extras = {
        CellKey(key, column): cell.stamp_ms
        for key, row in target.items()
        for column, cell in row.items()
        if column not in source.get(key, {})
    }
    return Difference(puts, tuple(extras), max(extras.values(), default=0))


def _is_copied(key: bytes, cell: Cell, copied: Cell | None) -> bool:
    """Return whether a copy has the value of a cell, and a stamp that is as late where stamps are kept."""
    if copied is None or copied.value != cell.value:
        return False
    # A later timestamp stays: HBase shows the latest put, whatever is put with an earlier one.
    return not keeps_stamps(key) or copied.stamp_ms >= cell.stamp_ms
