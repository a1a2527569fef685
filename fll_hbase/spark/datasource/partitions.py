"""Which part of the table does each task read: ranges of keys, as narrow as the bounds allow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from fll_hbase.keys import layout, ranges
from fll_hbase.keys.layout import Range
from fll_hbase.model.runs import Direction
from fll_hbase.spark.datasource.options import ALWAYS, Among, Asked, TableName
from fll_hbase.tables import Table

NAMES_A_PART = 2_000


@dataclass(frozen=True, slots=True)
class Keys:
    """Rows by ranges of their keys."""

    keys: Range


@dataclass(frozen=True, slots=True)
class Named:
    """Rows by their names: of runs, or of contents."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class References:
    """Runs by references; `alone` where those of the other direction are not read."""

    direction: Direction
    keys: Range
    alone: bool


Part: TypeAlias = Keys | Named | References

_ROWS = {
    TableName.RUNS: layout.RUNS,
    TableName.EDGES: layout.RUNS,
    TableName.FIELDS: layout.END_POINTS,
    TableName.OPERATIONS: layout.CONTENTS,
}


def parts(asked: Asked, table: Table) -> list[Part]:
    """What there is to read, in about as many parts as were asked for, or as the engine has regions."""
    bounds = asked.bounds
    if bounds.names is not None and asked.table is not TableName.FIELDS:
        return _named(sorted(bounds.names))
    if asked.table is TableName.FIELDS and not bounds.touched.all:
        return [Keys(_catalogued(bounds.touched))]
    directions = _directions(asked)
    if directions and not _cut(table, [among for _, among in directions], asked.bounds.window.start_ms):
        return [
            References(direction, keys, alone=len(directions) == 1)
            for direction, among in directions
            for keys in _referenced(table, direction, among, asked)
        ]
    whole = ranges.under(_ROWS[asked.table])
    return [Keys(keys) for keys in ranges.parted(whole, table.splits(*whole, parts=asked.parts))]


def _directions(asked: Asked) -> list[tuple[Direction, Among]]:
    """Which references could be read, of which end points; none where run rows tell all as cheaply.

    A window alone narrows no run rows, whose keys know no time, and a run without end points has no others.
    """
    bounds = asked.bounds
    both = [(Direction.BACKWARD, bounds.touched), (Direction.FORWARD, bounds.touched)]
    if asked.table is TableName.RUNS:
        return [] if bounds.touched.all else both
    if asked.table is not TableName.EDGES:
        return []
    if bounds.destinations.one or (bounds.sources.all and not bounds.destinations.all):
        return [(Direction.BACKWARD, bounds.destinations)]
    if not bounds.sources.all:
        return [(Direction.FORWARD, bounds.sources)]
    return [] if bounds.touched.all and bounds.window == ALWAYS else both


def _cut(table: Table, end_points: list[Among], start_ms: int) -> bool:
    """Whether a purge took references of those end points in the window: run rows alone tell all then."""
    rows = (
        row
        for among in set(end_points)
        for _, row in table.scan(*_catalogued(among), columns=(layout.LIGHT,))
    )
    return any(
        column > layout.horizon_column(start_ms)
        for row in rows
        for column in row
        if column.startswith(layout.HORIZON)
    )


def _referenced(table: Table, direction: Direction, among: Among, asked: Asked) -> Iterator[Range]:
    """The references of those end points; in a namespace each is looked for within the window later."""
    one = among.one
    if one is not None:
        whole = layout.window(direction, one, asked.bounds.window)
    else:
        whole = ranges.under(layout.all_references(direction, among.namespace))
    if whole[0] < whole[1]:
        cuts = [ranges.cut(key) for key in table.splits(*whole, parts=asked.parts)]
        yield from ranges.parted(whole, [cut for cut in cuts if cut is not None])


def _catalogued(among: Among) -> Range:
    if among.one is None:
        return ranges.under(layout.end_points(among.namespace) if among.namespace else layout.END_POINTS)
    row = layout.end_point_row(among.one)
    return row, row + b"\x00"


def _named(names: list[str]) -> list[Part]:
    return [Named(tuple(names[at : at + NAMES_A_PART])) for at in range(0, len(names), NAMES_A_PART)]
