"""Rows of the tables runs, edges, fields and operations, partition by partition."""

from __future__ import annotations

from collections.abc import Iterator

from cachetools import LRUCache

from fll_hbase.keys import layout, ranges
from fll_hbase.model import field_relations
from fll_hbase.model.checksum import canonical
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.field_map import FieldMap
from fll_hbase.model.field_relations import FieldEdge
from fll_hbase.model.operations import dataset_of, type_of
from fll_hbase.model.window import Direction
from fll_hbase.spark.arrow_batches import Row
from fll_hbase.spark.datasource import run_scan
from fll_hbase.spark.datasource.options import ReadRequest, ScanBounds, TableName
from fll_hbase.spark.datasource.partitions import (
    IdPartition,
    KeyRangePartition,
    Partition,
    ReferencePartition,
)
from fll_hbase.spark.datasource.run_scan import RunHit
from fll_hbase.spark.datasource.schemas import start_columns
from fll_hbase.store.components import StoreComponents
from fll_hbase.store.read.content_cache import ContentMissing

CACHED_EDGES_MAX, CACHED_CONTENT_EDGES_MAX = 200_000, 10_000
"""Edges in the cache of a partition, and those of one content; larger contents are computed each time."""


def read_rows(store: StoreComponents, request: ReadRequest, partition: Partition) -> Iterator[Row]:
    """Read the rows of a partition, in the column order of the table. Raises CorruptRow with the key."""
    match request.table:
        case TableName.RUNS:
            return _runs(store, request.bounds, partition)
        case TableName.EDGES:
            return _edges(store, request.bounds, partition)
        case TableName.FIELDS:
            return _fields(store, partition)
        case TableName.OPERATIONS:
            return _operations(store, partition)


def _runs(store: StoreComponents, bounds: ScanBounds, partition: Partition) -> Iterator[Row]:
    for hit in run_scan.scan_runs(store, partition, bounds):
        run, checksum = hit.run.run, hit.run.checksum
        if bounds.either_end.matches_all or _is_first_hit(
            hit, run_scan.field_map(store, run.run, checksum), bounds
        ):
            yield (
                *(run.run, run.namespace, run.application, run.version, run.type, run.program),
                *start_columns(run.start_ms),
                *(run.state.value, checksum, run.details or None),
            )


def _is_first_hit(hit: RunHit, field_map: FieldMap | None, bounds: ScanBounds) -> bool:
    """Return whether this hit reports the run, which every reference at a matching dataset leads to.

    The first matching destination reports it, else the first matching source.
    """
    # Decided from the content alone, so that tasks agree without a shuffle that removes duplicates.
    if field_map is None:
        return False
    ends = [(Direction.BACKWARD, dataset) for dataset in field_map.destinations]
    ends += [(Direction.FORWARD, dataset) for dataset in field_map.sources]
    first = next((end for end in ends if bounds.either_end.matches(end[1])), None)
    return first is not None and hit.direction in (None, first[0]) and hit.dataset in (None, first[1])


def _edges(store: StoreComponents, bounds: ScanBounds, partition: Partition) -> Iterator[Row]:
    # Nightly runs repeat a few contents: their edges are computed once per partition.
    cache: LRUCache[tuple[str, Dataset | None], list[Row]] = LRUCache(
        CACHED_EDGES_MAX, getsizeof=lambda rows: len(rows) + 1
    )
    single_direction = not isinstance(partition, ReferencePartition) or partition.single_direction
    for hit in run_scan.scan_runs(store, partition, bounds):
        run, checksum = hit.run.run, hit.run.checksum
        run_columns = (run.run, *start_columns(run.start_ms), checksum)
        key = checksum, hit.dataset
        if key in cache:
            yield from ((*run_columns, *columns) for columns in cache[key])
            continue
        field_map = run_scan.field_map(store, run.run, checksum)
        if field_map is None:
            continue
        rows: list[Row] = []
        for edge in _edges_of_hit(hit, field_map):
            if bounds.matches(edge) and (single_direction or not _is_backward_hit(hit, edge, bounds)):
                columns = edge_columns(edge)
                if len(rows) <= CACHED_CONTENT_EDGES_MAX:
                    rows.append(columns)
                yield (*run_columns, *columns)
        if len(rows) <= CACHED_CONTENT_EDGES_MAX:
            cache[key] = rows


def _edges_of_hit(hit: RunHit, field_map: FieldMap) -> Iterator[FieldEdge]:
    """Return the edges at the dataset of the reference; all edges of a run that was read by its own row."""
    if hit.dataset is None:
        return field_relations.iter_edges(field_map)
    if hit.direction is Direction.BACKWARD:
        return field_relations.edges_into(field_map, hit.dataset)
    return field_relations.edges_out_of(field_map, hit.dataset)


def _is_backward_hit(hit: RunHit, edge: FieldEdge, bounds: ScanBounds) -> bool:
    """Return whether the reference of the edge's destination reports this edge, too."""
    return (
        hit.direction is Direction.FORWARD
        and edge.destination is not None
        and bounds.either_end.matches(edge.destination)
    )


def edge_columns(edge: FieldEdge) -> Row:
    """Return source, destination and influence of an edge as seven columns; None where an end is missing."""
    return (
        *_end_columns(edge.source, edge.source_field),
        *_end_columns(edge.destination, edge.destination_field),
        edge.influence.value if edge.influence else None,
    )


def _end_columns(dataset: Dataset | None, field: str | None) -> Row:
    if dataset is None:
        return None, None, field
    return dataset.namespace, dataset.name, field


def _fields(store: StoreComponents, partition: Partition) -> Iterator[Row]:
    """Yield for each dataset a row without a field, with its description, then a row for each field."""
    if not isinstance(partition, KeyRangePartition):
        raise TypeError(f"the catalogue is read by key range, not by {partition!r}")
    for entry, fields in store.catalogue.entries(partition.key_range):
        dataset = entry.dataset
        yield dataset.namespace, dataset.name, None, None, None, None, entry.description or None
        for field in fields:
            names = dataset.namespace, dataset.name, field.name
            yield *names, field.type or None, field.read, field.written, None


def _operations(store: StoreComponents, partition: Partition) -> Iterator[Row]:
    for checksum in _checksums(store, partition):
        try:
            operations = store.contents.content(checksum).operations
        except ContentMissing:
            # Garbage collection may have deleted it since the scan; a row that still exists is corrupt.
            if store.table.get(layout.content_row(checksum)):
                raise
            continue
        for operation in operations:
            dataset = dataset_of(operation)
            names = (dataset.namespace, dataset.name) if dataset else (None, None)
            yield checksum, operation.name, type_of(operation), *names, canonical(operation)


def _checksums(store: StoreComponents, partition: Partition) -> Iterator[str]:
    """Yield the checksums of the contents of a partition. Raises TypeError for one of references."""
    # Only the small version cell is read: operations may be megabytes, and are read one content a call.
    if isinstance(partition, IdPartition):
        keys = [layout.content_row(checksum) for checksum in partition.ids]
        yield from sorted(map(ranges.checksum_of, store.table.rows(keys, columns=(layout.VERSION,))))
    elif isinstance(partition, KeyRangePartition):
        scan = store.table.scan(*partition.key_range, columns=(layout.VERSION,))
        yield from (ranges.checksum_of(key) for key, _ in scan)
    else:
        raise TypeError(f"contents are read by key range or id, not by {partition!r}")
