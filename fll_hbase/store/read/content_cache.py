"""Cached reader of content rows; contents are immutable, so decoded contents never expire."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial, wraps
from itertools import islice
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

from cachetools import LRUCache

from fll_hbase.keys import layout
from fll_hbase.model import field_relations, lineage
from fll_hbase.model.dataset_lineage import DatasetLineageSet, LineageUnion
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.derivation_parts import derivation_digests
from fll_hbase.model.field_map import FieldMap
from fll_hbase.model.operations import Operation
from fll_hbase.model.window import Direction
from fll_hbase.runtime import damage, deadline, metrics
from fll_hbase.runtime.errors import CorruptRow, in_row
from fll_hbase.store.read import shared_reads
from fll_hbase.store.rows import content_rows, field_map_codec
from fll_hbase.tables import Row, Scan, Table
from fll_hbase.tables.observed import counted

# Measured: a digest takes 115 bytes; the rest is for the name of its field.
_BYTES_PER_STORED_BYTE = 8
_BYTES_PER_DIGEST = 250

P = ParamSpec("P")
T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

ATTEMPTS_MAX = 3
"""Maximum number of attempts of a query with a missing content; one that stays missing is corruption."""

# Estimates of sizes in memory, from measurements.
_BYTES_PER_PAIR = 100
_PAIRS_PER_DATASET_PAIR = 8

NEVER_CACHED = sys.maxsize
"""The size of a result that is not cached: larger than any cache."""

FIRST_MAPS, FIRST_OPERATIONS = 32, 8
"""Contents of the first call for field maps, and for operations, which are larger."""

LOAD_MAX, LOAD_BYTES = 500, 4 * 2**20
"""Maximum number of contents in one call, and the target size of a call in bytes."""


class FieldOfContent(NamedTuple):
    """A field, under the name that its dataset has in a content."""

    checksum: str
    field: DatasetField


class DatasetOfContent(NamedTuple):
    """A dataset, under the name that it has in a content."""

    checksum: str
    dataset: Dataset


class ContentMissing(CorruptRow):
    """A run's content is missing: both were deleted during a query, or the table is corrupt."""


def retry_on_missing_content(query: Callable[P, T]) -> Callable[P, T]:
    """Repeat a query if a content is missing; the third attempt raises ContentMissing.

    Garbage collection may delete a content after a query has read its run; the next attempt finds neither.
    """

    # Do not use the common retry policy: its overhead is a tenth of the time of a cached query.
    @wraps(query)
    def attempt(*args: P.args, **options: P.kwargs) -> T:
        for _ in range(ATTEMPTS_MAX - 1):
            with suppress(ContentMissing):
                return query(*args, **options)
            # The next attempt must not reuse the reads that led to the missing content.
            shared_reads.forget()
        return query(*args, **options)

    return counted(attempt)


class Content(NamedTuple):
    """A content: its operations as recorded, sorted by name, and its field map."""

    operations: tuple[Operation, ...]
    field_map: FieldMap


class ContentCache:
    """Reads contents and caches decoded values, up to about `cache_bytes`. Threads may share it.

    With `shared`, the entries go into that cache, under its bound. Only caches with an equal `scope` find
    them. `public_checksum` returns the checksum that answers show for a content.

    Methods raise StoreUnavailable, ContentMissing or CorruptRow.
    """

    def __init__(
        self,
        table: Table,
        *,
        cache_bytes: int,
        pairs_max: int,
        steps_max: int,
        public_checksum: Callable[[str], str] = str,
        shared: ContentCache | None = None,
        scope: Hashable = None,
    ) -> None:
        self._table = table
        self._scope = scope
        self.public_checksum = public_checksum
        self._pairs_max = pairs_max
        self._steps_max = steps_max
        self._cache: LRUCache[Hashable, tuple[int, Any]] = (
            LRUCache(cache_bytes, getsizeof=lambda item: item[0]) if shared is None else shared._cache
        )
        self._lock: threading.Lock = threading.Lock() if shared is None else shared._lock

    def for_view(
        self, table: Table, *, public_checksum: Callable[[str], str], scope: Hashable
    ) -> ContentCache:
        """Return a cache for a view of the table, which uses the memory of this cache."""
        return ContentCache(
            table,
            cache_bytes=0,
            pairs_max=self._pairs_max,
            steps_max=self._steps_max,
            public_checksum=public_checksum,
            shared=self,
            scope=scope,
        )

    def field_map(self, checksum: str) -> FieldMap:
        """Return the field map of a content, from the cache or with one read."""
        return self.cached(("map", checksum), lambda: self._read_field_map(checksum))

    def find_missing(self, checksums: Iterable[str]) -> set[str]:
        """Return the checksums whose field maps are not cached, without reading."""
        with self._lock:
            return {checksum for checksum in checksums if (self._scope, ("map", checksum)) not in self._cache}

    def load(self, checksums: Iterable[str]) -> None:
        """Read field maps that are not cached into the cache, several per call.

        Missing contents are skipped. The first call reads FIRST_MAPS contents. Later calls read as many as
        fit into LOAD_BYTES at the size seen in the preceding call, but at most twice as many and at most
        LOAD_MAX.
        """
        missing = sorted(self.find_missing(checksums))
        keys = {layout.content_row(checksum): checksum for checksum in missing}
        remaining, count = iter(keys), FIRST_MAPS
        while chunk := list(islice(remaining, count)):
            rows = self._table.rows(chunk, columns=(layout.FIELD_MAP,))
            for key, row in rows.items():
                checksum = keys[key]
                self.cached(("map", checksum), partial(_decode_field_map, checksum, row))
            size_bytes = sum(len(row[layout.FIELD_MAP].value) for row in rows.values())
            count = _next_count(count, len(chunk), size_bytes)

    def load_readable(self, checksums: Collection[str]) -> Collection[str]:
        """Read field maps as `load` does; return the checksums, leaving out damaged but not missing ones."""
        try:
            self.load(checksums)
        except CorruptRow:
            readable = set()
            for checksum in checksums:
                with damage.leaving_out():
                    self.load([checksum])
                    readable.add(checksum)
            return readable
        return checksums

    def has_dataset(self, checksum: str, direction: Direction, dataset: Dataset) -> bool:
        """Return whether the content writes (backward) or reads (forward) the dataset."""
        field_map = self.field_map(checksum)
        if direction is Direction.BACKWARD:
            return field_map.has_destination(dataset)
        return field_map.has_source(dataset)

    def relations(
        self, checksums: frozenset[str], direction: Direction, dataset: Dataset
    ) -> DatasetLineageSet:
        """Return the lineage of a dataset, merged over contents, up to the limits that `truncated_by` names.

        Raises DeadlineExceeded if the deadline passes before the first content.
        """
        key = "relations", checksums, direction, dataset
        return self.cached(key, lambda: self._merged_relations(checksums, direction, dataset))

    def mentions_field(self, content: FieldOfContent, direction: Direction) -> bool:
        """Return whether the content writes (backward) or reads (forward) the field."""
        field_map = self.field_map(content.checksum)
        if direction is Direction.FORWARD:
            return field_map.has_source_field(content.field)
        return field_map.has_destination_field(content.field)

    def may_use_field(self, content: FieldOfContent, direction: Direction) -> bool:
        """Return whether the content may write (backward) or read (forward) a field it does not mention."""
        field_map = self.field_map(content.checksum)
        if direction is Direction.FORWARD:
            return field_map.may_read_more(content.field.dataset)
        return field_map.may_write_more(content.field.dataset)

    def iter_operations(
        self, contents: Sequence[FieldOfContent], direction: Direction
    ) -> Iterator[tuple[Operation, ...]]:
        """Yield for each content, in order, the operations upstream (backward) or downstream of its field.

        Each content must mention its field. If its row has no graph of the field, all its operations are
        yielded. Contents that are not cached are read when needed: first FIRST_OPERATIONS in two calls, then
        as many as `load` would read.
        """
        return self._iter_cached(
            contents,
            key=lambda content: ("operations", direction, content),
            read=lambda missing: self._field_cells(missing, direction),
            decode=_decode_operations,
        )

    def iter_touching(
        self, contents: Sequence[FieldOfContent], direction: Direction
    ) -> Iterator[tuple[Operation, ...]]:
        """Yield the result of `iter_operations` for each content, or () if it does not mention its field.

        Loads the field maps of all contents first. Raises DeadlineExceeded.
        """
        self.load(content.checksum for content in contents)
        touching = {content for content in contents if self.mentions_field(content, direction)}
        stored = self.iter_operations([content for content in contents if content in touching], direction)
        for content in contents:
            # Check here, because fully cached contents never wait for the store.
            deadline.check()
            yield next(stored) if content in touching else ()

    def iter_all_operations(self, checksums: Sequence[str]) -> Iterator[dict[str, Operation]]:
        """Yield for each content, in order, all its operations by name, read as in `iter_operations`.

        Adds outputs that other operations use as inputs but the producing operation does not list.
        """
        return self._iter_cached(
            checksums,
            key=lambda checksum: ("all", checksum),
            read=self._operation_cells,
            decode=_decode_all_operations,
        )

    def derivation_digests(
        self, contents: Sequence[DatasetOfContent], *, indirect: bool
    ) -> Iterator[dict[str, str]]:
        """Yield for each content digests of the derivations of its dataset's fields, by field name.

        Without `indirect`, indirect inputs are ignored. Contents are read as in `iter_operations`.
        """
        return self._iter_cached(
            contents,
            key=lambda content: ("digests", indirect, content),
            read=self._cells_of_datasets,
            decode=partial(_decode_digests, indirect=indirect),
        )

    def content(self, checksum: str) -> Content:
        """Return a whole content, from the cache or in two calls."""
        return self.contents([checksum])[checksum]

    def contents(self, checksums: Iterable[str]) -> dict[str, Content]:
        """Return whole contents by checksum, reading first all field maps, then operations, in batches."""
        distinct = list(dict.fromkeys(checksums))
        self.load(distinct)
        operations = self._iter_cached(
            distinct,
            key=lambda checksum: ("content", checksum),
            read=self._operation_cells,
            decode=_decode_content,
        )
        return {
            checksum: Content(listed, self.field_map(checksum))
            for checksum, listed in zip(distinct, operations, strict=True)
        }

    def cached(self, key: Hashable, read: Callable[[], tuple[int, T]]) -> T:
        """Return the value of a key from the cache, or from `read`, which returns its size in bytes, too."""
        with self._lock:
            cached = self._cache.get((self._scope, key))
        if cached is not None:
            metrics.CACHE_HITS.add()
        else:
            metrics.CACHE_MISSES.add()
            # Read outside the lock, which would make all threads wait for the table; two may read the same
            # row.
            cached = read()
            self.put(key, *cached)
        return cast(T, cached[1])

    def put(self, key: Hashable, size_bytes: int, value: object) -> None:
        """Cache the value of a key, replacing any earlier value, unless it is larger than the whole cache."""
        with self._lock:
            # LRUCache raises ValueError for an item larger than the whole cache.
            if size_bytes <= self._cache.maxsize:
                self._cache[self._scope, key] = size_bytes, value

    def _merged_relations(
        self, checksums: frozenset[str], direction: Direction, dataset: Dataset
    ) -> tuple[int, DatasetLineageSet]:
        """Return merged relations after their size in bytes, NEVER_CACHED if the deadline cut them."""
        union = LineageUnion()
        late: set[str] = set()
        for relations in deadline.until_over(
            self._relations_by_content(checksums, direction, dataset), truncated_by=late
        ):
            union.add(relations)
            if union.cost > self._pairs_max:
                # The answer may not contain more, so further contents would be cut anyway.
                union.truncated_by.add(f"pairs_max={self._pairs_max}")
                break
        union.truncated_by |= late
        merged = union.build()
        if late:
            # The deadline of one request must not cut the answers to others.
            return NEVER_CACHED, merged
        overhead = _PAIRS_PER_DATASET_PAIR * len(merged.by_datasets) + len(checksums)
        return _BYTES_PER_PAIR * (merged.size + overhead), merged

    def _relations_by_content(
        self, checksums: frozenset[str], direction: Direction, dataset: Dataset
    ) -> Iterator[DatasetLineageSet]:
        """Yield the lineage of a dataset in each content, by checksum. Raises DeadlineExceeded."""
        # Sorted, because the order of a set of strings differs between processes, and answers must not.
        for checksum in sorted(checksums):
            # Check here, because fully cached contents never wait for the store.
            deadline.check()
            yield field_relations.dataset_relations(
                self.field_map(checksum),
                dataset,
                backward=direction is Direction.BACKWARD,
                pairs_max=self._pairs_max,
                steps_max=self._steps_max,
            )

    def _read_field_map(self, checksum: str) -> tuple[int, FieldMap]:
        """Read one field map from the table; return its size in the cache in bytes, and the map."""
        return _decode_field_map(checksum, self._row(checksum, (layout.FIELD_MAP,)))

    def _iter_cached(
        self,
        items: Sequence[K],
        *,
        key: Callable[[K], Hashable],
        read: Callable[[Sequence[K]], Mapping[K, Row]],
        decode: Callable[[K, Row], tuple[int, T]],
    ) -> Iterator[T]:
        """Yield a value per item, in order, cached or decoded; `read` must return the cells of every item."""
        begin, count = 0, FIRST_OPERATIONS
        while chunk := items[begin : begin + count]:
            begin += len(chunk)
            with self._lock:
                hits = {item: self._cache.get((self._scope, key(item))) for item in chunk}
            values: dict[K, T] = {item: hit[1] for item, hit in hits.items() if hit is not None}
            missing = [item for item in chunk if item not in values]
            metrics.CACHE_HITS.add(len(values))
            if missing:
                cells = read(missing)
                for item, row in cells.items():
                    values[item] = self.cached(key(item), partial(decode, item, row))
                count = _next_count(count, len(missing), sum(map(_stored_bytes, cells.values())))
            for item in chunk:
                yield values[item]

    def _field_cells(
        self, contents: Sequence[FieldOfContent], direction: Direction
    ) -> dict[FieldOfContent, Row]:
        """Read the operation cells of the field of each content, in two calls."""
        graphs = {
            content: layout.graph_column(direction, content.field.dataset, content.field.name)
            for content in contents
        }
        keys = [layout.content_row(content.checksum) for content in contents]
        rows = self._table.rows(keys, columns=(layout.OPERATION_NAMES, *set(graphs.values())))
        columns = {}
        for content, key in zip(contents, keys, strict=True):
            _check_exists(content.checksum, rows.get(key), (layout.OPERATION_NAMES,))
            with in_row(key):
                columns[content] = _operation_columns(rows[key], graphs[content])
        return {
            content: _checked_cells(content.checksum, row, columns[content])
            for content, row in zip(contents, self._rows_of_columns(columns), strict=True)
        }

    def _rows_of_columns(self, columns: Mapping[FieldOfContent, tuple[bytes, ...]]) -> list[Row]:
        """Read the given columns of each content in one call; a missing content has an empty row."""
        keys = [layout.content_row(content.checksum) for content in columns]
        if len(set(columns.values())) <= 1:
            rows = self._table.rows(keys, columns=next(iter(columns.values()), ()))
            return [rows.get(key, {}) for key in keys]
        scans = [
            Scan(key, key + b"\x00", listed, 1) for key, listed in zip(keys, columns.values(), strict=True)
        ]
        return [dict(page[0][1]) if page else {} for page in self._table.scan_many(scans)]

    def _operation_cells(self, checksums: Sequence[str]) -> dict[str, Row]:
        """Return all operation cells of contents by checksum, in one call. Raises ContentMissing."""
        keys = {checksum: layout.content_row(checksum) for checksum in checksums}
        rows = self._table.rows(list(keys.values()), columns=(layout.HEAVY,))
        for checksum, key in keys.items():
            _check_exists(checksum, rows.get(key), (layout.HEAVY,))
        return {checksum: _operations_only(rows[key]) for checksum, key in keys.items()}

    def _cells_of_datasets(self, contents: Sequence[DatasetOfContent]) -> dict[DatasetOfContent, Row]:
        """Return all operation cells of each item's content, in one call. Raises ContentMissing."""
        cells = self._operation_cells(list(dict.fromkeys(content.checksum for content in contents)))
        return {content: cells[content.checksum] for content in contents}

    def _row(self, checksum: str, columns: Sequence[bytes]) -> Row:
        """Return the given columns of a content row. Raises ContentMissing if all are absent."""
        row = self._table.get(layout.content_row(checksum), columns=columns)
        _check_exists(checksum, row, columns)
        return row


def _check_exists(checksum: str, row: Row | None, columns: Sequence[bytes]) -> None:
    """Raise ContentMissing if `row`, read with these columns, is None or empty."""
    if not row:
        raise ContentMissing(
            f"c|{checksum}: a run refers to this content row, which lacks all of {columns!r}"
        )


def _operation_columns(row: Row, graph: bytes) -> tuple[bytes, ...]:
    """Return the columns of the operations that a graph cell lists. Raises CorruptRow.

    A content has no graph cells if they would be longer than its operations. Then all operations are walked,
    so the family that contains them is returned.
    """
    if graph not in row:
        return (layout.HEAVY,)
    if layout.OPERATION_NAMES not in row:
        raise CorruptRow(f"{layout.OPERATION_NAMES!r} is missing")
    names = content_rows.decode_operation_names(row[layout.OPERATION_NAMES])
    listed = content_rows.decode_ranges(row[graph], len(names))
    return tuple(layout.operation_column(names[index]) for index in listed)


def _checked_cells(checksum: str, row: Row, columns: Sequence[bytes]) -> Row:
    """Return the operation cells of a row. Raises ContentMissing, or CorruptRow if any is missing."""
    _check_exists(checksum, row, columns)
    missing = [column for column in columns if column not in row and column != layout.HEAVY]
    if missing:
        raise CorruptRow(f"c|{checksum}: {missing[0]!r} is missing")
    return _operations_only(row)


def _operations_only(row: Row) -> Row:
    """Return the cells of a row that are operations."""
    # The family also has graph cells and the list of names.
    return {column: cell for column, cell in row.items() if column.startswith(layout.OPERATION)}


def _next_count(count: int, contents: int, size_bytes: int) -> int:
    """Return how many contents the next call reads, given the `size_bytes` of the last call's `contents`."""
    return max(1, min(2 * count, LOAD_MAX, LOAD_BYTES * contents // max(size_bytes, 1)))


def _decode_field_map(checksum: str, row: Row) -> tuple[int, FieldMap]:
    """Return the size of a field map in the cache in bytes, and the map. Raises CorruptRow."""
    with in_row(layout.content_row(checksum)):
        size_bytes = _BYTES_PER_STORED_BYTE * len(row[layout.FIELD_MAP].value)
        return size_bytes, field_map_codec.decode_field_map(row)


def _decode_operations(content: FieldOfContent, cells: Row) -> tuple[int, tuple[Operation, ...]]:
    """Return the size of operations in the cache in bytes, and the sorted operations. Raises CorruptRow."""
    with in_row(layout.content_row(content.checksum)):
        operations = tuple(content_rows.decode_operation(cell) for _, cell in sorted(cells.items()))
    return _BYTES_PER_STORED_BYTE * _stored_bytes(cells), operations


def _decode_all_operations(checksum: str, cells: Row) -> tuple[int, dict[str, Operation]]:
    """Return the size of operations in the cache in bytes, and the operations by name. Raises CorruptRow."""
    size_bytes, operations = _decode_content(checksum, cells)
    return size_bytes, lineage.declare_missing_outputs(operations)


def _decode_content(checksum: str, cells: Row) -> tuple[int, tuple[Operation, ...]]:
    """Return the size of a content's operations in memory in bytes, and the operations, sorted by name."""
    with in_row(layout.content_row(checksum)):
        operations = map(content_rows.decode_operation, cells.values())
        in_order = tuple(sorted(operations, key=lambda operation: operation.name))
        return _BYTES_PER_STORED_BYTE * _stored_bytes(cells), in_order


def _decode_digests(content: DatasetOfContent, cells: Row, *, indirect: bool) -> tuple[int, dict[str, str]]:
    """Return the size in the cache in bytes, and the derivation digests by field. Raises CorruptRow."""
    _, operations = _decode_content(content.checksum, cells)
    digests = derivation_digests(operations, content.dataset, indirect=indirect)
    return _BYTES_PER_DIGEST * (len(digests) + 1), digests


def _stored_bytes(cells: Row) -> int:
    """Return the size of the values of cells, without keys."""
    return sum(len(cell.value) for cell in cells.values())
