"""How is content laid out as cells, and read back: data rows, and what they say in the catalogue.

Pure, and the same for every way in. The format is written down in docs/row-keys.md.
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
from fll_hbase.store.run_rows import ContentEndpoints, checked_put
from fll_hbase.tables import Cell, Put, Row

_RANGES = re.compile(rb"[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*")


@dataclass(frozen=True, slots=True)
class EncodedContent:
    """The rows of one distinct set of operations: its catalogue entries and its data row."""

    endpoints: ContentEndpoints
    catalogue: tuple[Put, ...]
    data: tuple[Put, ...]


def encode_content(info: FieldLineageInfo) -> EncodedContent:
    """All rows that do not depend on the run. Raises TooLarge naming what exceeds a cell."""
    ends = ContentEndpoints(info.checksum, info.sources, info.destinations)
    data = tuple(_data(info))
    return EncodedContent(ends, tuple(catalogue_puts(info)), data)


def catalogue_puts(info: FieldLineageInfo) -> Iterator[Put]:
    """What a content says of end points: each cell is true whatever else is recorded, in any order."""
    types = {
        (operation.name, output.name): output.type
        for operation in info.operations
        for output in outputs_of(operation)
    }
    for end_point in {*info.sources, *info.destinations}:
        yield Put(layout.dataset_row(end_point), layout.EXISTS, b"")
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
            for taken in operation.inputs:
                if taken.influence is Influence.DIRECT:
                    target = DatasetField(operation.destination, taken.name)
                    yield from _field_puts(
                        Direction.BACKWARD, target, types.get((taken.origin, taken.name), "")
                    )


def metadata_puts(schema: DatasetMetadata) -> Iterator[Put]:
    """Catalogue cells of what is known of an end point without any run; an alias is told at both ends."""
    row = layout.dataset_row(schema.dataset)
    yield Put(row, layout.EXISTS, b"")
    yield from _description_puts(schema.dataset, schema.description)
    for field in schema.fields:
        yield from _said_puts(row, layout.declared_field_column(field.name), field.type)
    for alias in schema.aliases:
        yield Put(layout.dataset_row(alias), layout.EXISTS, b"")
        yield Put(layout.alias_row(schema.dataset), layout.alias_column(alias), b"")
        yield Put(layout.alias_row(alias), layout.alias_column(schema.dataset), b"")


def has_same_operations(row: Row, content: EncodedContent) -> bool:
    """Whether a stored data row holds the very operations of the content."""
    stored = {column: cell.value for column, cell in row.items() if column.startswith(layout.OPERATION)}
    return stored == {
        put.column: put.value for put in content.data if put.column.startswith(layout.OPERATION)
    }


def decode_endpoints(checksum: str, row: Row) -> ContentEndpoints:
    """The end points of a data row. Raises CorruptRow."""
    return ContentEndpoints(checksum, _end_points(row, layout.SOURCES), _end_points(row, layout.DESTINATIONS))


def decode_field_map(row: Row) -> FieldMap:
    """The field map of a data row. Raises CorruptRow."""
    try:
        return _parsed_field_map(json.loads(row[layout.FIELD_MAP].value))
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise CorruptRow("the field map of a data row cannot be read") from error


def decode_operation(cell: Cell) -> Operation:
    """The operation of one cell. Raises CorruptRow."""
    try:
        return checksums.operation_from_json(cell.value)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CorruptRow(f"{cell.value[:200]!r} is not an operation") from error


def decode_operation_names(cell: Cell) -> list[str]:
    """All operation names of a data row, sorted. Raises CorruptRow."""
    try:
        return [str(name) for name in json.loads(cell.value)]
    except (ValueError, TypeError, RecursionError) as error:
        raise CorruptRow(f"{cell.value[:200]!r} is not a list of operation names") from error


def decode_ranges(cell: Cell) -> Iterator[int]:
    """The operations of a graph cell, as numbers into the sorted names. Raises CorruptRow."""
    if not _RANGES.fullmatch(cell.value):
        raise CorruptRow(f"{cell.value[:200]!r} is not a list of operation numbers")
    for piece in cell.value.decode().split(","):
        first, _, last = piece.partition("-")
        yield from range(int(first), int(last or first) + 1)


def encode_ranges(bits: int) -> bytes:
    """A set of numbers as text: `0-2,7` for bits 0, 1, 2 and 7."""
    digits = bin(bits)[:1:-1]
    found = (match.span() for match in re.finditer("1+", digits))
    return ",".join(str(a) if b - a == 1 else f"{a}-{b - 1}" for a, b in found).encode()


def _field_puts(direction: Direction, field: DatasetField, type_: str) -> Iterator[Put]:
    yield from _said_puts(
        layout.dataset_row(field.dataset), layout.field_column(direction, field.name), type_
    )


def _said_puts(row: bytes, column: bytes, type_: str) -> Iterator[Put]:
    yield Put(row, column, b"")
    if type_:
        yield checked_put(row, layout.typed_value_column(column, checksums.digest(type_.encode())), type_.encode())


def _description_puts(end_point: Dataset, description: str) -> Iterator[Put]:
    if description:
        column = layout.DESCRIPTION + checksums.digest(description.encode()).encode()
        yield checked_put(layout.dataset_row(end_point), column, description.encode())


def _data(info: FieldLineageInfo) -> Iterator[Put]:
    """Operations first, so that one which no cell holds is named itself."""
    row = layout.content_row(info.checksum)
    size = 0
    for operation in info.operations:
        value = checksums.canonical(operation).encode()
        size += len(value)
        yield checked_put(row, layout.operation_column(operation.name), value, f"operation {operation.name!r}")
    yield Put(row, layout.VERSION, checksums.VERSION.encode())
    yield checked_put(row, layout.SOURCES, _json([[e.namespace, e.name] for e in info.sources]))
    yield checked_put(row, layout.DESTINATIONS, _json([[e.namespace, e.name] for e in info.destinations]))
    yield checked_put(row, layout.FIELD_MAP, _json(_described_field_map(info.field_map)))
    yield checked_put(row, layout.OPERATION_NAMES, _json([operation.name for operation in info.operations]))
    yield from _graphs(row, info, size)


def _graphs(row: bytes, info: FieldLineageInfo, size_bytes: int) -> Iterator[Put]:
    """One cell per field, or none at all where they would outgrow the operations themselves."""
    sets = [*info.backward.values(), *info.forward.values()]
    if len(info.operations) > GRAPHED_OPERATIONS_MAX or sum(map(_runs_of_bits, sets)) > size_bytes:
        return
    puts = [
        Put(row, layout.graph_column(direction, field.dataset, field.name), encode_ranges(bits))
        for direction, graphs in ((Direction.BACKWARD, info.backward), (Direction.FORWARD, info.forward))
        for field, bits in graphs.items()
    ]
    if sum(len(put.value) for put in puts) <= size_bytes:
        yield from puts


def _runs_of_bits(bits: int) -> int:
    return (bits & ~(bits << 1)).bit_count()


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _end_points(row: Row, column: bytes) -> tuple[Dataset, ...]:
    try:
        said = json.loads(row[column].value)
        "".join(name for pair in said for name in pair).encode()
        return tuple(Dataset(namespace, name) for namespace, name in said)
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptRow(f"{column!r} of a data row is not a list of end points") from error


def _described_field_map(field_map: FieldMap) -> dict[str, Any]:
    """Source fields by end point, then everything as numbers into them; sets as hex, bit n is field n."""
    fields: dict[Dataset, list[str]] = {source: [] for source in field_map.sources}
    for field in field_map.fields:
        fields[field.dataset].append(field.name)
    place = {end_point: number for number, end_point in enumerate(field_map.destinations)}
    generated: dict[int, list[str]] = {}
    for field in field_map.generated:
        generated.setdefault(place[field.dataset], []).append(field.name)
    return {
        "sources": [[end_point.namespace, end_point.name, names] for end_point, names in fields.items()],
        "destinations": [[end_point.namespace, end_point.name] for end_point in field_map.destinations],
        "flows": [
            [place[flow.destination], flow.fields, f"{flow.direct:x}", f"{flow.indirect:x}"]
            for flow in field_map.entries
        ],
        "generated": list(generated.items()),
        "dropped": [f"{field_map.dropped_direct:x}", f"{field_map.dropped_indirect:x}"],
        "whole": [[place[end_point], f"{bits:x}"] for end_point, bits in field_map.dataset_wide],
        "unread": [field_map.sources.index(end_point) for end_point in field_map.read_without_fields],
        "unwritten": [place[end_point] for end_point in field_map.written_without_fields],
    }


def _parsed_field_map(said: dict[str, Any]) -> FieldMap:
    sources = tuple(Dataset(namespace, name) for namespace, name, _ in said["sources"])
    destinations = tuple(Dataset(namespace, name) for namespace, name in said["destinations"])
    dropped_direct, dropped_indirect = (int(bits, 16) for bits in said["dropped"])
    return FieldMap(
        fields=tuple(
            DatasetField(source, name)
            for source, (_, _, names) in zip(sources, said["sources"], strict=True)
            for name in names
        ),
        sources=sources,
        destinations=destinations,
        entries=tuple(
            FieldMapEntry(destinations[place], tuple(names), int(direct, 16), int(indirect, 16))
            for place, names, direct, indirect in said["flows"]
        ),
        generated=tuple(
            DatasetField(destinations[place], name) for place, names in said["generated"] for name in names
        ),
        dropped_direct=dropped_direct,
        dropped_indirect=dropped_indirect,
        dataset_wide=tuple((destinations[place], int(bits, 16)) for place, bits in said["whole"]),
        read_without_fields=tuple(sources[place] for place in said["unread"]),
        written_without_fields=tuple(destinations[place] for place in said["unwritten"]),
    )
