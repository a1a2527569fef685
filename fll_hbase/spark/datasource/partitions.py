"""Which part of the table does each task read: ranges of keys, as narrow as the bounds allow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from fll_hbase.keys import layout, ranges
from fll_hbase.keys.layout import Range
from fll_hbase.model.runs import Direction
from fll_hbase.spark.datasource.options import ALWAYS, DatasetFilter, ReadRequest, TableName
from fll_hbase.tables import Table

PARTITION_IDS = 2_000


@dataclass(frozen=True, slots=True)
class KeyRangePartition:
    """Rows by ranges of their keys."""

    key_range: Range


@dataclass(frozen=True, slots=True)
class IdPartition:
    """Rows by their names: of runs, or of contents."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReferencePartition:
    """Runs by references; `alone` where those of the other direction are not read."""

    direction: Direction
    key_range: Range
    single_direction: bool


Partition: TypeAlias = KeyRangePartition | IdPartition | ReferencePartition

_ROWS = {
    TableName.RUNS: layout.RUNS,
    TableName.EDGES: layout.RUNS,
    TableName.FIELDS: layout.END_POINTS,
    TableName.OPERATIONS: layout.CONTENTS,
}


def plan_partitions(asked: ReadRequest, table: Table) -> list[Partition]:
    """What there is to read, in about as many parts as were asked for, or as the engine has regions."""
    bounds = asked.bounds
    if bounds.ids is not None and asked.table is not TableName.FIELDS:
        return _named(sorted(bounds.ids))
    if asked.table is TableName.FIELDS and not bounds.either_end.matches_all:
        return [KeyRangePartition(_catalogued(bounds.either_end))]
    directions = _directions(asked)
    if directions and not _cut(table, [among for _, among in directions], asked.bounds.window.start_ms):
        return [
            ReferencePartition(direction, keys, single_direction=len(directions) == 1)
            for direction, among in directions
            for keys in _referenced(table, direction, among, asked)
        ]
    whole = ranges.under(_ROWS[asked.table])
    return [
        KeyRangePartition(keys) for keys in ranges.parted(whole, table.splits(*whole, parts=asked.partitions))
    ]


def _directions(asked: ReadRequest) -> list[tuple[Direction, DatasetFilter]]:
    """Which references could be read, of which end points; none where run rows tell all as cheaply.

    A window alone narrows no run rows, whose keys know no time, and a run without end points has no others.
    """
    bounds = asked.bounds
    both = [(Direction.BACKWARD, bounds.either_end), (Direction.FORWARD, bounds.either_end)]
    if asked.table is TableName.RUNS:
        return [] if bounds.either_end.matches_all else both
    if asked.table is not TableName.EDGES:
        return []
    if bounds.destinations.dataset or (bounds.sources.matches_all and not bounds.destinations.matches_all):
        return [(Direction.BACKWARD, bounds.destinations)]
    if not bounds.sources.matches_all:
        return [(Direction.FORWARD, bounds.sources)]
    return [] if bounds.either_end.matches_all and bounds.window == ALWAYS else both


def _cut(table: Table, end_points: list[DatasetFilter], start_ms: int) -> bool:
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


def _referenced(
    table: Table, direction: Direction, among: DatasetFilter, asked: ReadRequest
) -> Iterator[Range]:
    """The references of those end points; in a namespace each is looked for within the window later."""
    one = among.dataset
    if one is not None:
        whole = layout.window(direction, one, asked.bounds.window)
    else:
        whole = ranges.under(layout.all_references(direction, among.namespace))
    if whole[0] < whole[1]:
        cuts = [ranges.cut(key) for key in table.splits(*whole, parts=asked.partitions)]
        yield from ranges.parted(whole, [cut for cut in cuts if cut is not None])


def _catalogued(among: DatasetFilter) -> Range:
    if among.dataset is None:
        return ranges.under(layout.end_points(among.namespace) if among.namespace else layout.END_POINTS)
    row = layout.end_point_row(among.dataset)
    return row, row + b"\x00"


def _named(names: list[str]) -> list[Partition]:
    return [IdPartition(tuple(names[at : at + PARTITION_IDS])) for at in range(0, len(names), PARTITION_IDS)]
