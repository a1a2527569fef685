"""Cells of tags: the tags of each field, and the index that lists fields by tag.

docs/reference/row-keys.md defines the format.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from fll_hbase.keys import layout
from fll_hbase.model.datasets import DatasetField
from fll_hbase.model.tags import FieldTag, TagNote
from fll_hbase.runtime.errors import in_row
from fll_hbase.store.rows.run_rows import checked_put, decode_json
from fll_hbase.tables import Batch, Cell, Put, Row

REMOVED = b""
"""The value of a removed tag. Writers delete nothing, because on HBase a delete would hide a later put."""


class _Value(msgspec.Struct, frozen=True, omit_defaults=True, rename={"at_ms": "at"}):
    """The value of a cell, without empty members."""

    at_ms: int
    by: str = ""
    description: str = ""


def tag_batches(tags: list[FieldTag]) -> list[Batch]:
    """Return the puts of tags, the index first, so that its readers find every tag. Raises TooLarge."""
    return [[index_put(tag) for tag in tags], [_tag_put(tag) for tag in tags]]


def index_put(tag: FieldTag) -> Put:
    """Return the index cell that lists the field of a tag under this tag."""
    return Put(layout.tag_index_row(tag.tag, tag.field), layout.TAGGED, b"")


def removal(field: DatasetField, tag: str) -> Put:
    """Return the cell that marks a tag of a field as removed."""
    return Put(layout.tags_row(field), layout.tag_column(tag), REMOVED)


def decode_tags(key: bytes, row: Row) -> Iterator[FieldTag]:
    """Yield the remaining tags of a row, ignoring columns of another kind. Raises CorruptRow."""
    with in_row(key):
        field = layout.parse_tagged_field(key)
        for column, cell in row.items():
            # A newer release may have further columns.
            if column.startswith(layout.TAG) and (tag := decode_tag(field, column, cell)) is not None:
                yield tag


def decode_tag(field: DatasetField, column: bytes, cell: Cell) -> FieldTag | None:
    """Return the tag of a field in one cell, or None if it was removed. Raises CorruptRow."""
    tag = layout.parse_tag(column)
    if cell.value == REMOVED:
        return None
    value = decode_json(cell.value, _Value, "the value of a tag")
    return FieldTag(field, tag, value.at_ms, TagNote(value.by, value.description))


def _tag_put(tag: FieldTag) -> Put:
    """Return the cell of a tag in the row of its field. Raises TooLarge."""
    value = msgspec.json.encode(_Value(tag.at_ms, tag.note.by, tag.note.description))
    label = f"tag {tag.tag!r} of field {tag.field.name!r} of {tag.field.dataset}"
    return checked_put(layout.tags_row(tag.field), layout.tag_column(tag.tag), value, label)
