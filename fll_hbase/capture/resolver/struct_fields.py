"""Fields of structs that a plan builds: what a field of the struct, or of structs in an array, depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fll_hbase.capture.resolver.lineage import (
    NO_INPUTS,
    NO_LINEAGE,
    ColumnLineage,
    Direct,
    IndirectInput,
    merge,
)

SAME_ELEMENTS: Mapping[str, Direct] = {
    "AnyValue": Direct.AGGREGATION,
    "ArrayCompact": Direct.TRANSFORMATION,
    "ArrayDistinct": Direct.TRANSFORMATION,
    "CollectList": Direct.AGGREGATION,
    "CollectSet": Direct.AGGREGATION,
    "ElementAt": Direct.TRANSFORMATION,
    "Explode": Direct.TRANSFORMATION,
    "First": Direct.AGGREGATION,
    "GetArrayItem": Direct.TRANSFORMATION,
    "Inline": Direct.TRANSFORMATION,
    "Last": Direct.AGGREGATION,
    "PosExplode": Direct.TRANSFORMATION,
    "Reverse": Direct.TRANSFORMATION,
    "Shuffle": Direct.TRANSFORMATION,
    "Slice": Direct.TRANSFORMATION,
}
"""Functions that leave structs as they are, and collect or select them; the first operand has the structs."""


def build_struct(names: Sequence[str], values: Sequence[ColumnLineage]) -> ColumnLineage:
    """Return the lineage of a struct with these fields."""
    value = merge(values, least=Direct.TRANSFORMATION)
    return ColumnLineage(value.direct, value.indirect, dict(zip(names, values, strict=False)) or None)


def update_struct(struct: ColumnLineage, fields: Mapping[str, ColumnLineage]) -> ColumnLineage:
    """Return the lineage of a struct in which some fields are replaced or added."""
    value = merge([struct, *fields.values()], least=Direct.TRANSFORMATION)
    if struct.parts is not None:
        return ColumnLineage(value.direct, value.indirect, {**struct.parts, **fields}, rest=struct.rest)
    return ColumnLineage(value.direct, value.indirect, dict(fields), rest=struct)


def struct_field(value: ColumnLineage, name: str) -> ColumnLineage:
    """Return a field: a part of a struct that the plan builds, or a longer path of the source field."""
    if value.parts is not None and name in value.parts:
        return value.parts[name]
    if value.rest is not None:
        return with_elements([struct_field(value.rest, name)], least=Direct(value.least))
    if value.parts is not None:
        return NO_LINEAGE
    direct = frozenset(
        ((source[0], f"{source[1]}.{name}") if kind == Direct.IDENTITY else source, kind, masked)
        for source, kind, masked in value.direct
    )
    return ColumnLineage(direct, value.indirect)


def with_elements(
    structs: Sequence[ColumnLineage],
    others: Sequence[ColumnLineage] = (),
    *,
    least: Direct = Direct.TRANSFORMATION,
    indirect: frozenset[IndirectInput] = NO_INPUTS,
) -> ColumnLineage:
    """Merge values into one whose structs have the fields of `structs`.

    These are known if the plan builds all of the structs, or if there is one only. NULL has no fields.
    """
    value = merge([*structs, *others], least=least, indirect=indirect)
    structs = [item for item in structs if item.parts is not None or item.direct or item.indirect]
    parts = [item.parts for item in structs if item.parts is not None and item.rest is None]
    if len(structs) == 1 and not parts and not indirect:
        return value if value is structs[0] else replace(value, rest=structs[0], least=least)
    if not parts or len(parts) < len(structs):
        return value
    names = dict.fromkeys(name for fields in parts for name in fields)
    elements = {
        name: with_elements(
            [fields.get(name, NO_LINEAGE) for fields in parts], least=least, indirect=indirect
        )
        for name in names
    }
    return ColumnLineage(value.direct, value.indirect, elements)
