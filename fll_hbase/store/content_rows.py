"""Cells of contents: content rows and their catalogue entries, encoded and decoded by pure functions.

docs/row-keys.md defines the format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fll_hbase.errors import CorruptRow
from fll_hbase.keys import layout
from fll_hbase.model import checksum as checksums
from fll_hbase.model.datasets import Dataset, DatasetField, DatasetMetadata
from fll_hbase.model.field_map import FieldMap, FieldMapEntry
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.operation_sets import GRAPHED_OPERATIONS_MAX
from fll_hbase.model.operations import Influence, Operation, Read, Write, outputs_of
from fll_hbase.model.window import Direction
from fll_hbase.store.endpoints import ContentEndpoints
from fll_hbase.store.run_rows import checked_put
from fll_hbase.tables import Cell, Put, Row

_RANGES = re.compile(rb"[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*")


@dataclass(frozen=True, slots=True)
class EncodedContent:
    """Puts of one distinct set of operations: its catalogue entries and its content row."""

    endpoints: ContentEndpoints
    catalogue: tuple[Put, ...]
    data: tuple[Put, ...]


def encode_content(info: FieldLineageInfo) -> EncodedContent:
    """Encode the rows shared by all runs with these operations. Raises TooLarge naming the cell."""
    endpoints = ContentEndpoints(info.checksum, info.sources, info.destinations)
    data = tuple(_data_puts(info))
    return EncodedContent(endpoints, tuple(catalogue_puts(info)), data)


def catalogue_puts(info: FieldLineageInfo) -> Iterator[Put]:
    """Yield the catalogue cells of a content: its datasets, fields, types and descriptions."""
    # Of this content alone, never merged with stored cells: the same in any order of arrival (decision 1).
    types = {
        (operation.name, output.name): output.type
        for operation in info.operations
        for output in outputs_of(operation)
    }
    for dataset in {*info.sources, *info.destinations}:
        yield Put(layout.dataset_row(dataset), layout.EXISTS, b"")
    for field in info.field_map.fields:
        yield from _field_puts(Direction.FORWARD, field, "")
    for operation in info.operations:
        if isinstance(operation, Read):
            yield from _description_puts(operation.source, operation.source_description)
            for output in operation.outputs:
                yield from _field_puts(
                    Direction.FORWARD, DatasetField(operation.source, output.name), output.type
                )
        elif isinstance(operation, Write):
            yield from _description_puts(operation.destination, operation.destination_description)
            for input_field in operation.inputs:
                # An indirect input of a WRITE influences rows; it is not a field of the destination.
                if input_field.influence is Influence.DIRECT:
                    target = DatasetField(operation.destination, input_field.name)
                    type_ = types.get((input_field.origin, input_field.name), "")
                    yield from _field_puts(Direction.BACKWARD, target, type_)


def metadata_puts(metadata: DatasetMetadata) -> Iterator[Put]:
    """Yield the catalogue and alias cells of metadata that is recorded without a run."""
    row = layout.dataset_row(metadata.dataset)
    yield Put(row, layout.EXISTS, b"")
    yield from _description_puts(metadata.dataset, metadata.description)
    for field in metadata.fields:
        yield from _typed_puts(row, layout.declared_field_column(field.name), field.type)
    # In the rows of both names, so that a query by either one reads one row (decision 13). The alias exists
    # in the catalogue, too: otherwise a query for it would be answered by NotFound.
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


def decode_field_map(row: Row) -> FieldMap:
    """Decode the field map of a content row. Raises CorruptRow."""
    try:
        return _field_map_from_json(json.loads(row[layout.FIELD_MAP].value))
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise CorruptRow("the field map of a content row cannot be read") from error


def decode_operation(cell: Cell) -> Operation:
    """Decode the operation of one cell. Raises CorruptRow."""
    try:
        return checksums.operation_from_json(cell.value)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CorruptRow(f"{cell.value[:200]!r} is not an operation") from error


def decode_operation_names(cell: Cell) -> list[str]:
    """Decode the sorted operation names of a content row. Raises CorruptRow."""
    try:
        return [str(name) for name in json.loads(cell.value)]
    except (ValueError, TypeError, RecursionError) as error:
        raise CorruptRow(f"{cell.value[:200]!r} is not a list of operation names") from error


def decode_ranges(cell: Cell) -> Iterator[int]:
    """Decode a graph cell: indexes into the sorted operation names. Raises CorruptRow."""
    if not _RANGES.fullmatch(cell.value):
        raise CorruptRow(f"{cell.value[:200]!r} is not a list of operation numbers")
    for span in cell.value.decode().split(","):
        first, _, last = span.partition("-")
        yield from range(int(first), int(last or first) + 1)


def encode_ranges(bits: int) -> bytes:
    """Encode a set of bit numbers: `0-2,7` for bits 0, 1, 2 and 7."""
    # By a pattern over the binary digits: shifting a number of n bits n times would cost the square of n.
    digits = bin(bits)[:1:-1]
    spans = (match.span() for match in re.finditer("1+", digits))
    return ",".join(
        str(start) if stop - start == 1 else f"{start}-{stop - 1}" for start, stop in spans
    ).encode()


def _field_puts(direction: Direction, field: DatasetField, type_: str) -> Iterator[Put]:
    yield from _typed_puts(
        layout.dataset_row(field.dataset), layout.field_column(direction, field.name), type_
    )


def _typed_puts(row: bytes, column: bytes, type_: str) -> Iterator[Put]:
    yield Put(row, column, b"")
    if type_:
        yield checked_put(
            row, layout.typed_value_column(column, checksums.digest(type_.encode())), type_.encode()
        )


def _description_puts(dataset: Dataset, description: str) -> Iterator[Put]:
    if description:
        column = layout.DESCRIPTION + checksums.digest(description.encode()).encode()
        yield checked_put(layout.dataset_row(dataset), column, description.encode())


def _data_puts(info: FieldLineageInfo) -> Iterator[Put]:
    """Yield the cells of the content row. Raises TooLarge."""
    row = layout.content_row(info.checksum)
    # Operations first: their TooLarge names the operation, which the client can split, and not the field map.
    size = 0
    for operation in info.operations:
        value = checksums.canonical(operation).encode()
        size += len(value)
        yield checked_put(
            row, layout.operation_column(operation.name), value, f"operation {operation.name!r}"
        )
    yield Put(row, layout.VERSION, checksums.VERSION.encode())
    yield checked_put(row, layout.SOURCES, _json([[e.namespace, e.name] for e in info.sources]))
    yield checked_put(row, layout.DESTINATIONS, _json([[e.namespace, e.name] for e in info.destinations]))
    yield checked_put(row, layout.FIELD_MAP, _json(_field_map_to_json(info.field_map)))
    yield checked_put(row, layout.OPERATION_NAMES, _json([operation.name for operation in info.operations]))
    yield from _graph_puts(row, info, size)


def _graph_puts(row: bytes, info: FieldLineageInfo, size_bytes: int) -> Iterator[Put]:
    """Yield the graph of each field; nothing if all together exceed `size_bytes`, that of the operations."""
    # Each range takes a byte at least, so counting ranges rejects most dense graphs before they are encoded.
    sets = [*info.backward.values(), *info.forward.values()]
    if len(info.operations) > GRAPHED_OPERATIONS_MAX or sum(map(_count_spans, sets)) > size_bytes:
        return
    puts = [
        Put(row, layout.graph_column(direction, field.dataset, field.name), encode_ranges(bits))
        for direction, graphs in ((Direction.BACKWARD, info.backward), (Direction.FORWARD, info.forward))
        for field, bits in graphs.items()
    ]
    if sum(len(put.value) for put in puts) <= size_bytes:
        yield from puts


def _count_spans(bits: int) -> int:
    return (bits & ~(bits << 1)).bit_count()


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _field_map_to_json(field_map: FieldMap) -> dict[str, Any]:
    """Return the JSON of a field map: datasets by position, sets of fields in hex with bit n for field n."""
    fields: dict[Dataset, list[str]] = {source: [] for source in field_map.sources}
    for field in field_map.fields:
        fields[field.dataset].append(field.name)
    index_of = {dataset: index for index, dataset in enumerate(field_map.destinations)}
    generated: dict[int, list[str]] = {}
    for field in field_map.generated:
        generated.setdefault(index_of[field.dataset], []).append(field.name)
    return {
        "sources": [[dataset.namespace, dataset.name, names] for dataset, names in fields.items()],
        "destinations": [[dataset.namespace, dataset.name] for dataset in field_map.destinations],
        "flows": [
            [index_of[entry.destination], entry.fields, f"{entry.direct:x}", f"{entry.indirect:x}"]
            for entry in field_map.entries
        ],
        "generated": list(generated.items()),
        "dropped": [f"{field_map.dropped_direct:x}", f"{field_map.dropped_indirect:x}"],
        "whole": [[index_of[dataset], f"{bits:x}"] for dataset, bits in field_map.dataset_wide],
        "unread": [field_map.sources.index(dataset) for dataset in field_map.read_without_fields],
        "unwritten": [index_of[dataset] for dataset in field_map.written_without_fields],
    }


def _field_map_from_json(data: dict[str, Any]) -> FieldMap:
    sources = tuple(Dataset(namespace, name) for namespace, name, _ in data["sources"])
    destinations = tuple(Dataset(namespace, name) for namespace, name in data["destinations"])
    dropped_direct, dropped_indirect = (int(bits, 16) for bits in data["dropped"])
    return FieldMap(
        fields=tuple(
            DatasetField(source, name)
            for source, (_, _, names) in zip(sources, data["sources"], strict=True)
            for name in names
        ),
        sources=sources,
        destinations=destinations,
        entries=tuple(
            FieldMapEntry(destinations[index], tuple(names), int(direct, 16), int(indirect, 16))
            for index, names, direct, indirect in data["flows"]
        ),
        generated=tuple(
            DatasetField(destinations[index], name) for index, names in data["generated"] for name in names
        ),
        dropped_direct=dropped_direct,
        dropped_indirect=dropped_indirect,
        dataset_wide=tuple((destinations[index], int(bits, 16)) for index, bits in data["whole"]),
        read_without_fields=tuple(sources[index] for index in data["unread"]),
        written_without_fields=tuple(destinations[index] for index in data["unwritten"]),
    )
