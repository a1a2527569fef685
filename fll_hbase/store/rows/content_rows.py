"""Cells of contents: content rows and their catalogue entries, encoded and decoded by pure functions.

docs/reference/row-keys.md defines the format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from fll_hbase.keys import layout
from fll_hbase.model import checksum as checksums
from fll_hbase.model.datasets import Dataset, DatasetField, DatasetMetadata
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.operation_graph import operations_by_field
from fll_hbase.model.operations import Influence, Operation, Read, Write, outputs_of
from fll_hbase.model.window import Direction
from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.store.endpoints import ContentEndpoints
from fll_hbase.store.rows.field_map_codec import FORM, encode_field_map
from fll_hbase.store.rows.run_rows import checked_put
from fll_hbase.tables import Cell, Put, Row

_TypesByField: TypeAlias = dict[Dataset, dict[str, set[str]]]
"""By dataset and field, the types from operations; an empty set if there is none."""

_RANGES = re.compile(rb"[0-9]{1,9}(-[0-9]{1,9})?(,[0-9]{1,9}(-[0-9]{1,9})?)*")


@dataclass(frozen=True, slots=True)
class EncodedContent:
    """Puts of one distinct set of operations: its catalogue entries and its content row."""

    endpoints: ContentEndpoints
    catalogue: tuple[Put, ...]
    data: tuple[Put, ...]


def encode_content(info: FieldLineageInfo) -> EncodedContent:
    """Return the cells that all runs with these operations share. Raises TooLarge naming the cell."""
    endpoints = ContentEndpoints(info.checksum, info.sources, info.destinations)
    data = tuple(_data_puts(info))
    return EncodedContent(endpoints, tuple(catalogue_puts(info)), data)


def catalogue_puts(info: FieldLineageInfo) -> Iterator[Put]:
    """Yield the catalogue cells of a content: its datasets, fields, types and descriptions.

    Cells may repeat. Unconfirmed sources have no catalogue cells. Raises TooLarge.
    """
    # Use only this content, never stored cells, so that the order of arrival does not matter (decision 1).
    unconfirmed = {
        operation.source
        for operation in info.operations
        if isinstance(operation, Read) and operation.is_unconfirmed
    }
    for dataset in {*info.sources} - unconfirmed | {*info.destinations}:
        yield Put(layout.dataset_row(dataset), layout.EXISTS, b"")
    for dataset, fields in _source_fields(info).items():
        if dataset not in unconfirmed:
            yield from _field_puts(Direction.FORWARD, dataset, fields)
    for dataset, fields in _destination_fields(info).items():
        yield from _field_puts(Direction.BACKWARD, dataset, fields)
    for operation in info.operations:
        if isinstance(operation, Read):
            yield from _description_puts(operation.source, operation.source_description)
        elif isinstance(operation, Write):
            yield from _description_puts(operation.destination, operation.destination_description)


def _source_fields(info: FieldLineageInfo) -> _TypesByField:
    """Return the fields that are read or used, with their types from READs."""
    fields: _TypesByField = {}
    for field in info.field_map.fields:
        fields.setdefault(field.dataset, {})[field.name] = set()
    for operation in info.operations:
        if isinstance(operation, Read):
            for output in operation.outputs:
                fields[operation.source][output.name].add(output.type)
    return fields


def _destination_fields(info: FieldLineageInfo) -> _TypesByField:
    """Return the written fields, with their types from their origins."""
    types = {
        operation.name: {output.name: output.type for output in outputs_of(operation)}
        for operation in info.operations
    }
    fields: _TypesByField = {}
    for operation in info.operations:
        if isinstance(operation, Write):
            written = fields.setdefault(operation.destination, {})
            for input_field in operation.inputs:
                # An indirect input of a WRITE influences rows, and is not a field of the destination.
                if input_field.influence is Influence.DIRECT:
                    type_ = types[input_field.origin].get(input_field.name, "")
                    written.setdefault(input_field.name, set()).add(type_)
    return fields


def metadata_puts(metadata: DatasetMetadata) -> Iterator[Put]:
    """Yield the catalogue and alias cells of metadata, but no tags, only their fields. Raises TooLarge."""
    row = layout.dataset_row(metadata.dataset)
    yield Put(row, layout.EXISTS, b"")
    yield from _description_puts(metadata.dataset, metadata.description)
    for field in metadata.fields:
        column = layout.declared_field_column(field.name)
        yield Put(row, column, b"")
        yield from _type_puts(row, column, field.type, DatasetField(metadata.dataset, field.name))
    for tag in metadata.tags:
        yield Put(row, layout.declared_field_column(tag.field), b"")
    # Put the alias into the rows of both names, so that a query for either reads one row (decision 13). Also
    # put it into the catalogue, or a query for it would raise NotFound.
    for alias in metadata.aliases:
        yield Put(layout.dataset_row(alias), layout.EXISTS, b"")
        yield Put(layout.alias_row(metadata.dataset), layout.alias_column(alias), b"")
        yield Put(layout.alias_row(alias), layout.alias_column(metadata.dataset), b"")


def has_same_operations(row: Row, content: EncodedContent) -> bool:
    """Return whether a stored content row has exactly the operations of the content."""
    stored = {column: cell.value for column, cell in row.items() if column.startswith(layout.OPERATION)}
    return stored == {
        put.column: put.value for put in content.data if put.column.startswith(layout.OPERATION)
    }


def decode_operation(cell: Cell) -> Operation:
    """Return the operation in one cell. Raises CorruptRow."""
    try:
        return checksums.operation_from_json(cell.value)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CorruptRow(f"{cell.value[:200]!r} is not an operation") from error


def decode_operation_names(cell: Cell) -> list[str]:
    """Return the operation names in a cell of a content row, in stored order. Raises CorruptRow."""
    try:
        return [str(name) for name in json.loads(cell.value)]
    except (ValueError, TypeError, RecursionError) as error:
        raise CorruptRow(f"{cell.value[:200]!r} is not a list of operation names") from error


def decode_ranges(cell: Cell, stop: int) -> Iterator[int]:
    """Yield the ascending operation indexes, all below `stop`, in a graph cell. Raises CorruptRow."""
    if not _RANGES.fullmatch(cell.value):
        raise CorruptRow(f"{cell.value[:200]!r} is not a list of operation numbers")
    following = 0
    for span in cell.value.decode().split(","):
        first, _, last = span.partition("-")
        # Check before building the range: a corrupt cell must not exhaust memory.
        if not following <= int(first) <= int(last or first) < stop:
            raise CorruptRow(f"{span!r} is not a range of the numbers of {stop} operations")
        following = int(last or first) + 1
        yield from range(int(first), following)


def encode_ranges(bits: int) -> bytes:
    """Return the numbers of the set bits as ranges: `0-2,7` for bits 0, 1, 2 and 7, or b"" for 0."""
    # Match the binary digits: shifting a number of n bits n times would take time quadratic in n.
    digits = bin(bits)[:1:-1]
    spans = (match.span() for match in re.finditer("1+", digits))
    return ",".join(
        str(start) if stop - start == 1 else f"{start}-{stop - 1}" for start, stop in spans
    ).encode()


def _field_puts(direction: Direction, dataset: Dataset, types_by_field: dict[str, set[str]]) -> Iterator[Put]:
    """Yield the catalogue cells of written (backward) or read (forward) fields, with their types."""
    row = layout.dataset_row(dataset)
    for field, types in types_by_field.items():
        column = layout.field_column(direction, field)
        yield Put(row, column, b"")
        for type_ in sorted(types):
            yield from _type_puts(row, column, type_, DatasetField(dataset, field))


def _type_puts(row: bytes, column: bytes, type_: str, field: DatasetField) -> Iterator[Put]:
    """Yield the catalogue cell of a field's type; nothing if it is empty. Raises TooLarge."""
    if type_:
        typed_column = layout.typed_value_column(column, checksums.digest(type_.encode()))
        label = f"the type of field {field.name!r} of {field.dataset}"
        yield checked_put(row, typed_column, type_.encode(), label)


def _description_puts(dataset: Dataset, description: str) -> Iterator[Put]:
    """Yield the catalogue cell of a dataset's description; nothing if it is empty. Raises TooLarge."""
    if description:
        column = layout.DESCRIPTION + checksums.digest(description.encode()).encode()
        label = f"the description of {dataset}"
        yield checked_put(layout.dataset_row(dataset), column, description.encode(), label)


def _data_puts(info: FieldLineageInfo) -> Iterator[Put]:
    """Yield the cells of the content row. Raises TooLarge."""
    row = layout.content_row(info.checksum)
    # Operations first: their TooLarge names an operation, which the client can split, not the field map.
    sizes: dict[str, int] = {}
    for operation in info.operations:
        value = checksums.canonical(operation).encode()
        sizes[operation.name] = len(value)
        yield checked_put(
            row, layout.operation_column(operation.name), value, f"operation {operation.name!r}"
        )
    # Contents of events may have no operations.
    largest = max(sizes, key=sizes.__getitem__, default="")
    yield Put(row, layout.VERSION, FORM.encode())
    lists = (
        (layout.SOURCES, _json(info.sources), "names of all sources"),
        (layout.DESTINATIONS, _json(info.destinations), "names of all destinations"),
        (layout.FIELD_MAP, encode_field_map(info.field_map), "fields of all others"),
        (layout.OPERATION_NAMES, _json([item.name for item in info.operations]), "names of all others"),
    )
    for column, value, subject in lists:
        # Name the largest operation, because a client can split it, or record it in a separate run.
        yield checked_put(row, column, value, f"operation {largest!r} with the {subject}")
    yield from _graph_puts(row, info, sum(sizes.values()))


def _graph_puts(row: bytes, info: FieldLineageInfo, size_bytes: int) -> Iterator[Put]:
    """Yield the incomplete graphs, unless all together exceed `size_bytes`, the size of the operations."""
    graphs = list(_partial_graphs(info.operations))
    # Each range of set bits takes at least a byte: counting rejects most dense graphs before encoding.
    if sum((bits & ~(bits << 1)).bit_count() for *_, bits in graphs) > size_bytes:
        return
    encoded = {bits: encode_ranges(bits) for bits in {bits for *_, bits in graphs}}
    if sum(len(encoded[bits]) for *_, bits in graphs) <= size_bytes:
        for direction, dataset, field, bits in graphs:
            yield Put(row, layout.graph_column(direction, dataset, field), encoded[bits])


def _partial_graphs(operations: Sequence[Operation]) -> Iterator[tuple[Direction, Dataset, str, int]]:
    """Yield the fields whose graph lacks operations. Readers assume that all others have all operations."""
    all_operations = (1 << len(operations)) - 1
    sets = operations_by_field(operations)
    for direction, by_dataset in ((Direction.BACKWARD, sets.backward), (Direction.FORWARD, sets.forward)):
        for dataset, by_field in by_dataset.items():
            for field, bits in by_field.items():
                if bits != all_operations:
                    yield direction, dataset, field, bits


def _json(value: Any) -> bytes:
    """Return a value as compact UTF-8 JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
