"""Content rows in form 1, as earlier releases wrote them: sets of fields are hex numbers of bits."""

from __future__ import annotations

import json
from collections.abc import Iterable

from fll_hbase.keys import layout
from fll_hbase.model.field_map import FieldMap
from fll_hbase.model.field_sets import FieldSetResolver, Members
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.operation_graph import operations_by_field
from fll_hbase.model.window import Direction
from fll_hbase.store.rows import content_rows
from fll_hbase.tables import Put


def field_map_1(field_map: FieldMap) -> bytes:
    """The field map of form 1: each set of source fields is a hex number with one bit for each field."""
    resolver = FieldSetResolver(field_map.sets, range(len(field_map.fields)))
    flows: dict[tuple[int, str, str], list[str]] = {}
    index_of = {dataset: index for index, dataset in enumerate(field_map.destinations)}

    def bits_of(number: int | None) -> list[str]:
        members = resolver.members(number) if number is not None else Members()
        return [bits(members.direct), bits(members.indirect)]

    for copied in field_map.copied:
        for name, position in zip(copied.fields, copied.positions, strict=True):
            flows.setdefault((index_of[copied.destination], bits([position]), "0"), []).append(name)
    for entry in field_map.derived:
        direct, indirect = bits_of(entry.number)
        flows.setdefault((index_of[entry.destination], direct, indirect), []).extend(entry.fields)
    value = {
        "sources": [
            [source.namespace, source.name, [f.name for f in field_map.fields if f.dataset == source]]
            for source in field_map.sources
        ],
        "destinations": [[to.namespace, to.name] for to in field_map.destinations],
        "flows": [[to, sorted(names), direct, indirect] for (to, direct, indirect), names in flows.items()],
        "generated": [[index_of[field.dataset], [field.name]] for field in field_map.generated],
        "dropped": bits_of(field_map.dropped),
        "whole": [[index_of[to], bits_of(number)[1]] for to, number in field_map.dataset_wide],
        "unread": [field_map.sources.index(source) for source in field_map.read_without_fields],
        "unwritten": [index_of[to] for to in field_map.written_without_fields],
    }
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def bits(positions: Iterable[int]) -> str:
    return f"{sum(1 << position for position in positions):x}"


def puts_1(info: FieldLineageInfo) -> list[Put]:
    """The cells in which form 1 differs: the version, the field map and the graphs of all fields."""
    row = layout.content_row(info.checksum)
    sets = operations_by_field(info.operations)
    return [
        Put(row, layout.VERSION, b"1"),
        Put(row, layout.FIELD_MAP, field_map_1(info.field_map)),
        *(
            Put(row, layout.graph_column(direction, dataset, field), content_rows.encode_ranges(bits))
            for direction, by_dataset in (
                (Direction.BACKWARD, sets.backward),
                (Direction.FORWARD, sets.forward),
            )
            for dataset, by_field in by_dataset.items()
            for field, bits in by_field.items()
        ),
    ]
