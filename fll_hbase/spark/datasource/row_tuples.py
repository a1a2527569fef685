"""Rows of the tables runs, edges, fields and operations, partition by partition."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from cachetools import LRUCache

from fll_hbase.keys import layout, ranges
from fll_hbase.model import field_relations
from fll_hbase.model.checksum import canonical
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.field_map import FieldMap
from fll_hbase.model.field_relations import FieldEdge
from fll_hbase.model.operations import Read, dataset_of, type_of
from fll_hbase.model.window import Direction
from fll_hbase.spark.datasource import run_scan
from fll_hbase.spark.datasource.partitions import (
    IdPartition,
    KeyRangePartition,
    Partition,
    ReferencePartition,
)
from fll_hbase.spark.datasource.reader_options import DatasetFilter, ReadRequest, ScanBounds, TableName
from fll_hbase.spark.datasource.run_scan import RunHit
from fll_hbase.spark.datasource.schemas import start_columns
from fll_hbase.spark.lines.arrow_batches import Row
from fll_hbase.store.components import StoreComponents
from fll_hbase.store.endpoints import decode_endpoints
from fll_hbase.store.read.content_cache import ContentMissing
from fll_hbase.store.rows.run_rows import CommittedRun
from fll_hbase.tables import Row as Cells
from fll_hbase.tables.base import Columns

CACHED_EDGES_MAX, CACHED_CONTENT_EDGES_MAX = 200_000, 10_000
"""Maximum number of edges in a cache, and of a cached content. Larger contents are computed each time."""


def read_rows(store: StoreComponents, request: ReadRequest, partition: Partition) -> Iterator[Row]:
    """Read the rows of a partition, columns as in the table. Raises CorruptRow and StoreUnavailable."""
    match request.table:
        case TableName.RUNS:
            return _runs(store, request.bounds, partition)
        case TableName.EDGES:
            return _edges(store, request.bounds, partition)
        case TableName.FIELDS:
            return _fields(store, partition)
        case TableName.OPERATIONS:
            return _operations(store, request.bounds.either_end, partition)


def _runs(store: StoreComponents, bounds: ScanBounds, partition: Partition) -> Iterator[Row]:
    """Yield each run, in one partition only, if a dataset of its content matches `either_end`."""
    for hit in run_scan.scan_runs(store, partition, bounds):
        checksum = hit.run.checksum
        if bounds.either_end.matches_all or _is_first_hit(
            hit, run_scan.field_map(store, hit.run.key, checksum), bounds
        ):
            yield run_columns(hit.run)


def run_columns(committed: CommittedRun) -> Row:
    """Return a run as the columns of the table `runs`, with None for empty details."""
    run = committed.run
    return (
        *(run.run, run.namespace, run.application, run.version, run.type, run.program),
        *start_columns(run.start_ms),
        *(run.state.value, committed.checksum, run.details or None),
    )


def _is_first_hit(hit: RunHit, field_map: FieldMap | None, bounds: ScanBounds) -> bool:
    """Return whether this hit reports the run, since every reference at a matching dataset leads to it.

    The first matching destination reports the run, or else the first matching source.
    """
    # Only the content decides, so that tasks agree without a shuffle that removes duplicates.
    if field_map is None:
        return False
    ends = [(Direction.BACKWARD, dataset) for dataset in field_map.destinations]
    ends += [(Direction.FORWARD, dataset) for dataset in field_map.sources]
    first = next((end for end in ends if bounds.either_end.matches(end[1])), None)
    return first is not None and hit.direction in (None, first[0]) and hit.dataset in (None, first[1])


def _edges(store: StoreComponents, bounds: ScanBounds, partition: Partition) -> Iterator[Row]:
    """Yield the edges of the runs of a partition, each once; edges of equal contents are cached."""
    cache = EdgeCache()
    single_direction = not isinstance(partition, ReferencePartition) or partition.single_direction
    for hit in run_scan.scan_runs(store, partition, bounds):
        run, checksum = hit.run.run, hit.run.checksum
        run_columns = (run.run, run.namespace, *start_columns(run.start_ms), checksum)
        compute = partial(_hit_edges, store, hit, bounds, single_direction)
        for columns in cache.rows((checksum, hit.dataset), compute):
            yield (*run_columns, *columns)


def _hit_edges(
    store: StoreComponents, hit: RunHit, bounds: ScanBounds, single_direction: bool
) -> Iterable[Row] | None:
    """Return the matching edges that this hit reports, or None if the run and its content were purged."""
    field_map = run_scan.field_map(store, hit.run.key, hit.run.checksum)
    if field_map is None:
        return None
    return (
        edge_columns(edge)
        for edge in _edges_of_hit(hit, field_map)
        if bounds.matches(edge) and (single_direction or not _is_backward_hit(hit, edge, bounds))
    )


def _edges_of_hit(hit: RunHit, field_map: FieldMap) -> Iterator[FieldEdge]:
    """Return the edges at the dataset of the reference, or all edges if the run was read by its own row."""
    if hit.dataset is None:
        return field_relations.iter_edges(field_map)
    if hit.direction is Direction.BACKWARD:
        return field_relations.edges_into(field_map, hit.dataset)
    return field_relations.edges_out_of(field_map, hit.dataset)


def _is_backward_hit(hit: RunHit, edge: FieldEdge, bounds: ScanBounds) -> bool:
    """Return whether the reference of the edge's destination also reports this edge."""
    return (
        hit.direction is Direction.FORWARD
        and edge.destination is not None
        and bounds.either_end.matches(edge.destination)
    )


def edge_columns(edge: FieldEdge) -> Row:
    """Return source, destination and influence of an edge as seven columns, with None for a missing end."""
    return (
        *_end_columns(edge.source, edge.source_field),
        *_end_columns(edge.destination, edge.destination_field),
        edge.influence.value if edge.influence else None,
    )


def _end_columns(dataset: Dataset | None, field: str | None) -> Row:
    """Return namespace, name and field of one end of an edge, the first two None without a dataset."""
    if dataset is None:
        return None, None, field
    return dataset.namespace, dataset.name, field


def _fields(store: StoreComponents, partition: Partition) -> Iterator[Row]:
    """Yield for each dataset a row without a field, with its description, then a row for each field."""
    if not isinstance(partition, KeyRangePartition):
        raise TypeError(f"the catalogue is read by key range, not by {partition!r}")
    for rows in dataset_rows(store, partition.key_range):
        yield from rows


def dataset_rows(store: StoreComponents, key_range: layout.Range) -> Iterator[list[Row]]:
    """Yield the rows of the table `fields` of each dataset in a range of catalogue keys."""
    for entry, fields in store.catalogue.entries(key_range):
        names = entry.dataset.namespace, entry.dataset.name
        own_row = (*names, None, None, None, None, entry.description or None)
        yield [own_row, *((*names, f.name, f.type or None, f.read, f.written, None) for f in fields)]


def _operations(store: StoreComponents, either_end: DatasetFilter, partition: Partition) -> Iterator[Row]:
    """Yield all operations of the contents that read or write a matching dataset, each content once."""
    for checksum in _checksums(store, either_end, partition):
        try:
            operations = store.contents.content(checksum).operations
        except ContentMissing:
            # Garbage collection may have deleted the content since the scan. If its row exists, it is
            # corrupt.
            if store.table.get(layout.content_row(checksum)):
                raise
            continue
        for operation in operations:
            dataset = dataset_of(operation)
            names = (dataset.namespace, dataset.name) if dataset else (None, None)
            # No answer shows who recorded an operation (decision 97).
            shown = replace(operation, is_unconfirmed=False) if isinstance(operation, Read) else operation
            yield checksum, operation.name, type_of(operation), *names, canonical(shown)


def _checksums(store: StoreComponents, either_end: DatasetFilter, partition: Partition) -> Iterator[str]:
    """Yield the checksums of the matching contents of a partition, in order. Raises CorruptRow."""
    # Only small cells are scanned, since operations may have megabytes. They are read one content at a time.
    everything = either_end.matches_all
    columns = (layout.VERSION,) if everything else (layout.SOURCES, layout.DESTINATIONS)
    for key, row in _content_rows(store, partition, columns):
        if everything:
            yield ranges.checksum_of(key)
            continue
        endpoints = decode_endpoints(key, row)
        if any(either_end.matches(dataset) for _, dataset in endpoints.by_direction()):
            yield endpoints.checksum


def _content_rows(
    store: StoreComponents, partition: Partition, columns: Columns
) -> Iterable[tuple[bytes, Cells]]:
    """Return the content rows of a partition, by key. Raises TypeError for a partition of references."""
    if isinstance(partition, IdPartition):
        keys = [layout.content_row(checksum) for checksum in partition.ids]
        return sorted(store.table.rows(keys, columns=columns).items())
    if isinstance(partition, KeyRangePartition):
        return store.table.scan(*partition.key_range, columns=columns)
    raise TypeError(f"contents are read by key range or id, not by {partition!r}")


class EdgeCache:
    """Columns of edges by key, up to CACHED_EDGES_MAX edges, for one task. Threads must not share it."""

    def __init__(self) -> None:
        self._rows: LRUCache[Hashable, list[Row]] = LRUCache(
            CACHED_EDGES_MAX, getsizeof=lambda rows: len(rows) + 1
        )

    def rows(self, key: Hashable, compute: Callable[[], Iterable[Row] | None]) -> Iterable[Row]:
        """Return the rows of the key, computed unless they are cached, or none if `compute` returns None."""
        cached: list[Row] | None = self._rows.get(key)
        if cached is not None:
            return cached
        computed = compute()
        return () if computed is None else self._fill(key, computed)

    def _fill(self, key: Hashable, computed: Iterable[Row]) -> Iterator[Row]:
        """Yield the rows as computed; cache them after the last, unless over CACHED_CONTENT_EDGES_MAX."""
        rows: list[Row] = []
        for row in computed:
            if len(rows) <= CACHED_CONTENT_EDGES_MAX:
                rows.append(row)
            yield row
        if len(rows) <= CACHED_CONTENT_EDGES_MAX:
            self._rows[key] = rows
