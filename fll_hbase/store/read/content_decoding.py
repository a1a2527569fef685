"""Decode the cells of content rows, each with its estimated size in memory in bytes."""

from __future__ import annotations

from typing import NamedTuple

from fll_hbase.keys import layout
from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.derivation_digests import derivation_digests
from fll_hbase.model.field_map import FieldMap
from fll_hbase.model.operations import Operation
from fll_hbase.runtime.errors import in_row
from fll_hbase.store.rows import content_rows, field_map_codec
from fll_hbase.tables import Row

# Measured; a digest takes 115 bytes, and the rest is for the name of its field.
_BYTES_PER_STORED_BYTE = 8
_BYTES_PER_DIGEST = 250


class FieldOfContent(NamedTuple):
    """A field, under the name that its dataset has in a content."""

    checksum: str
    field: DatasetField


class DatasetOfContent(NamedTuple):
    """A dataset, under the name that it has in a content."""

    checksum: str
    dataset: Dataset


def decode_field_map(checksum: str, row: Row) -> tuple[int, FieldMap]:
    """Return the size in bytes of a field map in the cache, and the map. Raises CorruptRow."""
    with in_row(layout.content_row(checksum)):
        size_bytes = _BYTES_PER_STORED_BYTE * len(row[layout.FIELD_MAP].value)
        return size_bytes, field_map_codec.decode_field_map(row)


def decode_operations(content: FieldOfContent, cells: Row) -> tuple[int, tuple[Operation, ...]]:
    with in_row(layout.content_row(content.checksum)):
        operations = tuple(content_rows.decode_operation(cell) for _, cell in sorted(cells.items()))
    return _BYTES_PER_STORED_BYTE * stored_bytes(cells), operations


def decode_all_operations(checksum: str, cells: Row) -> tuple[int, dict[str, Operation]]:
    """Return the size in bytes of operations in the cache, and these by name. Raises CorruptRow."""
    size_bytes, operations = decode_content(checksum, cells)
    return size_bytes, lineage.declare_missing_outputs(operations)


def decode_content(checksum: str, cells: Row) -> tuple[int, tuple[Operation, ...]]:
    """Return the operations of a content, sorted by name, with their size in memory."""
    with in_row(layout.content_row(checksum)):
        operations = map(content_rows.decode_operation, cells.values())
        in_order = tuple(sorted(operations, key=lambda operation: operation.name))
        return _BYTES_PER_STORED_BYTE * stored_bytes(cells), in_order


def decode_digests(content: DatasetOfContent, cells: Row, *, indirect: bool) -> tuple[int, dict[str, str]]:
    """Return the size in bytes in the cache, and by field the digest of its derivation. Raises CorruptRow."""
    _, operations = decode_content(content.checksum, cells)
    digests = derivation_digests(operations, content.dataset, indirect=indirect)
    return _BYTES_PER_DIGEST * (len(digests) + 1), digests


def stored_bytes(cells: Row) -> int:
    return sum(len(cell.value) for cell in cells.values())
