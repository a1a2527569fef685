"""What does a checksum stand for: data rows, decoded once and kept, since content is immutable."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar, cast

from cachetools import LRUCache

from fll_hbase.errors import CorruptRow, in_row
from fll_hbase.keys import layout
from fll_hbase.model import field_relations, lineage
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.field_map import FieldMap
from fll_hbase.model.field_relations import DatasetLineageSet
from fll_hbase.model.operations import Operation
from fll_hbase.model.window import Direction
from fll_hbase.store import content_rows
from fll_hbase.tables import Row, Table

T = TypeVar("T")


class ContentMissing(CorruptRow):
    """A run names a data row that is not there: a sweep took both since it was read, or it is corrupt."""


class Content(NamedTuple):
    """All of what a checksum names: the operations as they were told, and what follows for fields."""

    operations: tuple[Operation, ...]
    field_map: FieldMap


class ContentCache:
    """Reads data rows; keeps what it decoded up to a number of bytes as stored."""

    def __init__(self, table: Table, *, cache_bytes: int, pairs_max: int) -> None:
        self._table = table
        self._pairs_max = pairs_max
        self._kept: LRUCache[Hashable, tuple[int, Any]] = LRUCache(
            cache_bytes, getsizeof=lambda item: item[0]
        )
        self._lock = threading.Lock()

    def field_map(self, checksum: str) -> FieldMap:
        """Which fields made which. Raises CorruptRow where the data row is missing or unreadable."""
        return self._once(("map", checksum), lambda: self._read_field_map(checksum))

    def has_dataset(self, checksum: str, direction: Direction, end_point: Dataset) -> bool:
        """Whether the content writes (backward) or reads (forward) the end point."""
        field_map = self.field_map(checksum)
        ends = field_map.destinations if direction is Direction.BACKWARD else field_map.sources
        return end_point in ends

    def relations(
        self, checksums: frozenset[str], direction: Direction, end_point: Dataset
    ) -> DatasetLineageSet:
        """What all the contents together say of an end point."""
        key = "relations", checksums, direction, end_point
        return self._once(key, lambda: self._merged_relations(checksums, direction, end_point))

    def operations(self, checksum: str, direction: Direction, field: DatasetField) -> tuple[Operation, ...]:
        """The operations on the way of a field; none where the content does not touch it."""
        key = "operations", checksum, direction, field
        return self._once(key, lambda: self._read_operations(checksum, direction, field))

    def content(self, checksum: str) -> Content:
        """The operations as they were told, sorted by name, and the field map. Raises CorruptRow."""
        cells = self._operation_cells(checksum)
        with in_row(layout.content_row(checksum)):
            told = sorted(
                map(content_rows.decode_operation, cells.values()), key=lambda operation: operation.name
            )
        return Content(tuple(told), self.field_map(checksum))

    def all_operations(self, checksum: str) -> dict[str, Operation]:
        """Every operation by name, each listing also what others take of it unlisted."""
        return self._once(("all", checksum), lambda: self._read_all_operations(checksum))

    def _once(self, key: Hashable, read: Callable[[], tuple[int, T]]) -> T:
        with self._lock:
            kept = self._kept.get(key)
        if kept is None:
            kept = read()
            if kept[0] <= self._kept.maxsize:
                with self._lock:
                    self._kept[key] = kept
        return cast(T, kept[1])

    def _merged_relations(
        self, checksums: frozenset[str], direction: Direction, end_point: Dataset
    ) -> tuple[int, DatasetLineageSet]:
        union = DatasetLineageSet({})
        for checksum in sorted(checksums):
            union = union.merge(
                field_relations.dataset_relations(
                    self.field_map(checksum),
                    end_point,
                    backward=direction is Direction.BACKWARD,
                    pairs_max=self._pairs_max,
                )
            )
        pairs = sum(len(found.direct) + len(found.indirect) + 8 for found in union.by_datasets.values())
        return 100 * (pairs + len(checksums)), union

    def _read_field_map(self, checksum: str) -> tuple[int, FieldMap]:
        row = self._row(checksum, (layout.FIELD_MAP,))
        with in_row(layout.content_row(checksum)):
            return 8 * len(row[layout.FIELD_MAP].value), content_rows.decode_field_map(row)

    def _read_operations(
        self, checksum: str, direction: Direction, field: DatasetField
    ) -> tuple[int, tuple[Operation, ...]]:
        if not self._touches(checksum, direction, field):
            return 100, ()
        graph = layout.graph_column(direction, field.dataset, field.name)
        row = self._row(checksum, (graph, layout.OPERATION_NAMES))
        if graph in row:
            names = content_rows.decode_operation_names(row[layout.OPERATION_NAMES])
            try:
                wanted = [names[number] for number in content_rows.decode_ranges(row[graph])]
            except IndexError as error:
                raise CorruptRow(f"c|{checksum}: {graph!r} names an operation that is not there") from error
            columns = [layout.operation_column(name) for name in wanted]
            cells = self._row(checksum, columns)
            missing = [column for column in columns if column not in cells]
            if missing:
                raise CorruptRow(f"c|{checksum}: {missing[0]!r} is missing")
        else:
            cells = self._operation_cells(checksum)
        size = sum(len(cell.value) for cell in cells.values())
        return 8 * size, tuple(content_rows.decode_operation(cell) for _, cell in sorted(cells.items()))

    def _read_all_operations(self, checksum: str) -> tuple[int, dict[str, Operation]]:
        cells = self._operation_cells(checksum)
        size = sum(len(cell.value) for cell in cells.values())
        return 8 * size, lineage.declare_missing_outputs(
            [content_rows.decode_operation(cell) for cell in cells.values()]
        )

    def _operation_cells(self, checksum: str) -> Row:
        row = self._row(checksum, (layout.HEAVY,))
        return {column: cell for column, cell in row.items() if column.startswith(layout.OPERATION)}

    def _touches(self, checksum: str, direction: Direction, field: DatasetField) -> bool:
        field_map = self.field_map(checksum)
        if direction is Direction.FORWARD:
            return field in field_map.fields
        return field in field_map.generated or any(
            flow.destination == field.dataset and field.name in flow.fields for flow in field_map.entries
        )

    def _row(self, checksum: str, columns: tuple[bytes, ...] | list[bytes]) -> Row:
        row = self._table.get(layout.content_row(checksum), columns=columns)
        if not row:
            raise ContentMissing(f"c|{checksum}: a run names this data row, but it holds none of {columns!r}")
        return row
