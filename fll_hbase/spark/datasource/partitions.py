"""Partition planning: the ranges of keys, or the ids, that each Spark task reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from fll_hbase.keys import layout, ranges
from fll_hbase.keys.layout import Range
from fll_hbase.model.window import Direction
from fll_hbase.spark.datasource.reader_options import ALWAYS, DatasetFilter, ReadRequest, TableName
from fll_hbase.tables import Table

PARTITION_IDS = 2_000
"""Maximum number of ids of an IdPartition."""


@dataclass(frozen=True, slots=True)
class KeyRangePartition:
    """All rows of one range of keys."""

    key_range: Range


@dataclass(frozen=True, slots=True)
class IdPartition:
    """Rows with these ids: run ids, or for operations the checksums of contents."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReferencePartition:
    """Runs by a range of references. With `single_direction`, the other direction is not read."""

    direction: Direction
    key_range: Range
    single_direction: bool


Partition: TypeAlias = KeyRangePartition | IdPartition | ReferencePartition

_ROW_PREFIXES = {
    TableName.RUNS: layout.RUNS,
    TableName.EDGES: layout.RUNS,
    TableName.FIELDS: layout.DATASETS,
    TableName.OPERATIONS: layout.CONTENTS,
}


def plan_partitions(
    request: ReadRequest, table: Table, *, latest_horizon_ms: int | None = None
) -> list[Partition]:
    """Return partitions that cover the bounds, by the cheapest access path, or none if nothing can match.

    Their number is about what the request demands, or the number of the engine's regions. Unless the latest
    horizon of the filtered datasets is given, it is read from the catalogue, row by row. Raises CorruptRow
    and StoreUnavailable.
    """
    bounds = request.bounds
    if bounds.ids is not None and request.table is not TableName.FIELDS:
        ids = sorted(bounds.ids)
        starts = range(0, len(ids), PARTITION_IDS)
        return [IdPartition(tuple(ids[start : start + PARTITION_IDS])) for start in starts]
    if request.table is TableName.FIELDS and not bounds.either_end.matches_all:
        return [KeyRangePartition(catalogue_range(bounds.either_end))]
    directions = _reference_directions(request)
    # A purge deletes references of runs that stay for other datasets (docs/reference/row-keys.md, "Purge"),
    # so only run rows are complete before a horizon.
    if directions and latest_horizon_ms is None:
        latest_horizon_ms = latest_horizon_in(table, {catalogue_range(dataset) for _, dataset in directions})
    if directions and (latest_horizon_ms or 0) <= bounds.window.start_ms:
        return [
            ReferencePartition(direction, key_range, single_direction=len(directions) == 1)
            for direction, dataset_filter in directions
            for key_range in _reference_ranges(table, direction, dataset_filter, request)
        ]
    rows = ranges.prefix_range(_ROW_PREFIXES[request.table])
    split_points = table.splits(*rows, parts=request.partitions)
    return [KeyRangePartition(key_range) for key_range in ranges.split_range(rows, split_points)]


def _reference_directions(request: ReadRequest) -> list[tuple[Direction, DatasetFilter]]:
    """Return the directions and datasets of the references to read, empty to read the run rows instead."""
    # Keys of run rows contain no time, so only references narrow a window. Runs without datasets have no
    # references, so all runs are read by their rows.
    bounds = request.bounds
    both = [(Direction.BACKWARD, bounds.either_end), (Direction.FORWARD, bounds.either_end)]
    if request.table is TableName.RUNS:
        return [] if bounds.either_end.matches_all else both
    if request.table is not TableName.EDGES:
        return []
    # One destination is the narrowest range. A filter on one end needs only references of one direction.
    if bounds.destinations.dataset or (bounds.sources.matches_all and not bounds.destinations.matches_all):
        return [(Direction.BACKWARD, bounds.destinations)]
    if not bounds.sources.matches_all:
        return [(Direction.FORWARD, bounds.sources)]
    return [] if bounds.either_end.matches_all and bounds.window == ALWAYS else both


def latest_horizon_in(table: Table, key_ranges: Iterable[Range]) -> int:
    """Return the latest horizon, in ms since 1970, of catalogue rows in the ranges, or 0 if there is none.

    Retention has deleted references of runs that started before the horizon. Raises CorruptRow.
    """
    horizons = (
        layout.latest_horizon_ms(row)
        for key_range in key_ranges
        for _, row in table.scan(*key_range, columns=(layout.LIGHT,))
    )
    return max(horizons, default=0)


def _reference_ranges(
    table: Table, direction: Direction, dataset_filter: DatasetFilter, request: ReadRequest
) -> Iterator[Range]:
    """Yield ranges of references. For a namespace, the reader still has to apply the window."""
    dataset = dataset_filter.dataset
    if dataset is not None:
        rows = layout.window_range(direction, dataset, request.bounds.window)
    else:
        rows = ranges.prefix_range(layout.direction_prefix(direction, dataset_filter.namespace))
    if rows[0] < rows[1]:
        # A partition is read as a window in milliseconds, so a split must not separate runs of the same one.
        cuts = [ranges.split_point(key) for key in table.splits(*rows, parts=request.partitions)]
        yield from ranges.split_range(rows, [cut for cut in cuts if cut is not None])


def catalogue_range(dataset_filter: DatasetFilter) -> Range:
    """Return the range of the catalogue rows of the datasets that a filter matches."""
    if dataset_filter.dataset is None:
        namespace = dataset_filter.namespace
        return ranges.prefix_range(layout.dataset_prefix(namespace) if namespace else layout.DATASETS)
    row = layout.dataset_row(dataset_filter.dataset)
    return row, row + b"\x00"
