"""Which rows are in a part of the table: runs, edges, fields or operations."""

from __future__ import annotations

from collections.abc import Iterator

from cachetools import LRUCache

from fll_hbase.keys import layout, ranges
from fll_hbase.model import field_edges
from fll_hbase.model.checksum import canonical
from fll_hbase.model.field_edges import FieldEdge
from fll_hbase.model.field_map import FieldMap
from fll_hbase.model.operations import Dataset, dataset_of, type_of
from fll_hbase.model.runs import Direction
from fll_hbase.spark.datasource import run_scan
from fll_hbase.spark.datasource.options import ReadRequest, ScanBounds, TableName
from fll_hbase.spark.datasource.partitions import (
    IdPartition,
    KeyRangePartition,
    Partition,
    ReferencePartition,
)
from fll_hbase.spark.datasource.run_scan import RunHit
from fll_hbase.spark.datasource.schemas import Row, start_columns
from fll_hbase.spark.datasource.worker_store import WorkerStore
from fll_hbase.store.read.content_cache import ContentMissing

KEPT_EDGES_MAX, KEPT_AT_ONCE_MAX = 200_000, 10_000
"""Of contents that many runs have; edges of one that has more are made anew each time."""


def read_rows(held: WorkerStore, asked: ReadRequest, part: Partition) -> Iterator[Row]:
    """The rows of a part in the columns of the table. Raises CorruptRow naming what cannot be read."""
    match asked.table:
        case TableName.RUNS:
            return _runs(held, asked.bounds, part)
        case TableName.EDGES:
            return _edges(held, asked.bounds, part)
        case TableName.FIELDS:
            return _fields(held, part)
        case TableName.OPERATIONS:
            return _operations(held, part)


def _runs(held: WorkerStore, bounds: ScanBounds, part: Partition) -> Iterator[Row]:
    for found in run_scan.scan_runs(held, part, bounds):
        run, checksum = found.run.run, found.run.checksum
        if bounds.either_end.matches_all or _is_first(
            found, run_scan.field_map(held, run.run, checksum), bounds
        ):
            yield (
                *(run.run, run.namespace, run.application, run.version, run.type, run.program),
                *start_columns(run.start_ms),
                *(run.state.value, checksum, run.details or None),
            )


def _is_first(found: RunHit, field_map: FieldMap | None, bounds: ScanBounds) -> bool:
    """Whether the run touched an end point that was asked for, and none of them is to be found earlier."""
    if field_map is None:
        return False
    ends = [(Direction.BACKWARD, end_point) for end_point in field_map.destinations]
    ends += [(Direction.FORWARD, end_point) for end_point in field_map.sources]
    first = next((end for end in ends if bounds.either_end.matches(end[1])), None)
    return first is not None and found.direction in (None, first[0]) and found.dataset in (None, first[1])


def _edges(held: WorkerStore, bounds: ScanBounds, part: Partition) -> Iterator[Row]:
    kept: LRUCache[tuple[str, Dataset | None], list[Row]] = LRUCache(
        KEPT_EDGES_MAX, getsizeof=lambda few: len(few) + 1
    )
    alone = not isinstance(part, ReferencePartition) or part.single_direction
    for found in run_scan.scan_runs(held, part, bounds):
        run, checksum = found.run.run, found.run.checksum
        head = (run.run, *start_columns(run.start_ms), checksum)
        key = checksum, found.dataset
        if key in kept:
            yield from ((*head, *ends) for ends in kept[key])
            continue
        few: list[Row] = []
        field_map = run_scan.field_map(held, run.run, checksum)
        if field_map is None:
            continue
        for edge in _edges_at(found, field_map):
            if bounds.matches(edge) and (alone or not _told_backward(found, edge, bounds)):
                ends = edge_columns(edge)
                if len(few) <= KEPT_AT_ONCE_MAX:
                    few.append(ends)
                yield (*head, *ends)
        if len(few) <= KEPT_AT_ONCE_MAX:
            kept[key] = few


def _edges_at(found: RunHit, field_map: FieldMap) -> Iterator[FieldEdge]:
    """Those at the end point by which the run was found; all of a run that was found by itself."""
    if found.dataset is None:
        return field_edges.iter_edges(field_map)
    backward = found.direction is Direction.BACKWARD
    return (
        field_edges.edges_into(field_map, found.dataset)
        if backward
        else field_edges.edges_out_of(field_map, found.dataset)
    )


def _told_backward(found: RunHit, edge: FieldEdge, bounds: ScanBounds) -> bool:
    """Whether the edge is told where its destination is read, too."""
    return (
        found.direction is Direction.FORWARD
        and edge.destination is not None
        and bounds.either_end.matches(edge.destination)
    )


def edge_columns(edge: FieldEdge) -> Row:
    """Source, destination and influence of an edge, as columns."""
    return (
        *_named(edge.source, edge.source_field),
        *_named(edge.destination, edge.destination_field),
        edge.influence.value if edge.influence else None,
    )


def _named(end_point: Dataset | None, field: str | None) -> Row:
    if end_point is None:
        return None, None, field
    return end_point.namespace, end_point.name, field


def _fields(held: WorkerStore, part: Partition) -> Iterator[Row]:
    """Of each end point first itself, without a field, then its fields."""
    if not isinstance(part, KeyRangePartition):
        raise TypeError(f"the catalogue is read by its keys, not by {part!r}")
    for described, fields in held.catalogue.entries(part.key_range):
        end_point = described.dataset
        yield end_point.namespace, end_point.name, None, None, None, None, described.description or None
        for field in fields:
            of = end_point.namespace, end_point.name, field.name
            yield *of, field.type or None, field.read, field.written, None


def _operations(held: WorkerStore, part: Partition) -> Iterator[Row]:
    for checksum in _checksums(held, part):
        try:
            operations = held.contents.content(checksum).operations
        except ContentMissing:
            if held.table.get(layout.data_row(checksum)):
                raise
            continue
        for operation in operations:
            end_point = dataset_of(operation)
            ends = (end_point.namespace, end_point.name) if end_point else (None, None)
            yield checksum, operation.name, type_of(operation), *ends, canonical(operation)


def _checksums(held: WorkerStore, part: Partition) -> Iterator[str]:
    """The contents of a part, by their light cells: operations are read one content a call."""
    if isinstance(part, IdPartition):
        known = held.table.rows([layout.data_row(name) for name in part.ids], columns=(layout.VERSION,))
        yield from sorted(map(ranges.content_in, known))
    elif isinstance(part, KeyRangePartition):
        scanned = held.table.scan(*part.key_range, columns=(layout.VERSION,))
        yield from (ranges.content_in(key) for key, _ in scanned)
    else:
        raise TypeError(f"contents are read by their keys, not by {part!r}")
