"""Maps that a plan builds: what their keys and values depend on, and the functions of maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from fll_hbase.capture.resolver.dump import Expression
from fll_hbase.capture.resolver.plan_lineage import (
    CONDITIONAL,
    KEYS,
    VALUES,
    ColumnLineage,
    Direct,
    influences,
    merge,
)
from fll_hbase.capture.resolver.struct_fields import (
    build_struct,
    is_built_map,
    same_elements,
    with_elements,
)

Operands = Sequence[ColumnLineage]


def build_map(keys: Operands, values: Operands, constants: Sequence[int] = ()) -> ColumnLineage:
    """Return the lineage of a map with these keys and values, in the same order.

    `constants` are the numbers of the keys if all of them are constants. If some are equal, Spark may take
    any of their values, so the constants are ignored. Values keep their fields, but maps and structs inside
    them count as a whole, because nested maps would take exponential time.
    """
    values = list(map(_without_depth, values))
    total = merge([*keys, *values], least=Direct.TRANSFORMATION)
    parts: dict[str | int, ColumnLineage] = {KEYS: merge(keys, least=Direct.TRANSFORMATION)}
    if constants and len(set(constants)) == len(keys):
        parts.update(zip(constants, values, strict=True))
    else:
        parts[VALUES] = with_elements(values, least=Direct.IDENTITY)
    return ColumnLineage(total.direct, total.indirect, parts)


def _without_depth(value: ColumnLineage) -> ColumnLineage:
    """Return a value without the parts of its fields; a map loses its keys and values."""
    if is_built_map(value):
        return merge([value], least=Direct.TRANSFORMATION)
    if all(part.parts is None for part in (value.parts or {}).values()):
        return value
    parts = {
        name: merge([part], least=Direct.TRANSFORMATION if part.parts else Direct.IDENTITY)
        for name, part in (value.parts or {}).items()
    }
    return replace(value, parts=parts)


def map_keys(value: ColumnLineage) -> ColumnLineage:
    """Return what the keys of a map depend on: the column, for a map that is read."""
    parts = _parts(value)
    return merge([parts[KEYS], *_read(value)] if parts else [value], least=Direct.TRANSFORMATION)


def map_values(value: ColumnLineage) -> ColumnLineage:
    """Return what the values of a map depend on: the column with fields as paths, for a map that is read."""
    if value.parts is None:
        return with_elements([value])
    if not (parts := _parts(value)):
        return merge([value], least=Direct.TRANSFORMATION)
    return with_elements([*(part for name, part in parts.items() if name != KEYS), *_read(value)])


def _map_value(value: ColumnLineage, key: ColumnLineage, constant: object) -> ColumnLineage:
    """Return the value of a map at `key`, which has the number `constant` if it is a constant.

    It has the values of all keys that may be equal, and depends on these keys unless they are constants.
    """
    parts = _parts(value)
    if not parts:
        return with_elements([value], [key])
    if not isinstance(constant, int) or constant < 0 or constant not in parts:
        return with_elements([map_values(value)], [key, map_keys(value)])
    values = [parts[constant], *_read(value)]
    if VALUES in parts:
        return with_elements([*values, parts[VALUES]], [map_keys(value)])
    # A map that MAP_CONCAT makes is NULL if any of its maps is NULL.
    return with_elements(values, indirect=parts[KEYS].indirect)


def _parts(value: ColumnLineage) -> dict[str | int, ColumnLineage]:
    """Return keys and values of a map that the plan builds, and {} for any other value."""
    return value.parts if value.parts is not None and is_built_map(value) else {}


def _read(value: ColumnLineage) -> list[ColumnLineage]:
    """Return the columns of maps that the plan reads and merges into a map that it builds."""
    columns = ((ColumnLineage(other.struct | other.direct, other.indirect), other) for other in value.rest)
    return [merge([column], least=max(Direct.TRANSFORMATION, other.least)) for column, other in columns]


def _create_map(expression: Expression, operands: Operands) -> ColumnLineage:
    """Resolve MAP: keys and values alternate."""
    return build_map(operands[::2], operands[1::2], expression.details.get("keys", ()))


def _map_from_arrays(_: Expression, operands: Operands) -> ColumnLineage:
    """Resolve MAP_FROM_ARRAYS: if one array is NULL, there is neither a key nor a value."""
    keys, values = operands[:1], operands[1:]
    elements = with_elements(list(map(_without_depth, values)), indirect=influences(keys, CONDITIONAL))
    return build_map([merge(keys, indirect=influences(values, CONDITIONAL))], [elements])


def _map_from_entries(_: Expression, operands: Operands) -> ColumnLineage:
    """Resolve MAP_FROM_ENTRIES: structs of a key and a value, whatever their field names."""
    (entries,) = operands
    parts = list((entries.parts or {}).values())
    if len(parts) != 2 or entries.rest or is_built_map(entries):
        return merge(operands, least=Direct.TRANSFORMATION)
    return build_map(parts[:1], parts[1:])


def _map_entries(_: Expression, operands: Operands) -> ColumnLineage:
    """Resolve MAP_ENTRIES: structs of a key and a value."""
    return build_struct(["key", "value"], [map_keys(operands[0]), map_values(operands[0])])


def _map_contains_key(_: Expression, operands: Operands) -> ColumnLineage:
    """Resolve MAP_CONTAINS_KEY, which ignores values."""
    return merge([map_keys(operands[0]), *operands[1:]], least=Direct.TRANSFORMATION)


def _get_map_value(expression: Expression, operands: Operands) -> ColumnLineage:
    """Resolve the value of a key; the details contain the key's number if it is a constant."""
    return _map_value(operands[0], operands[1], expression.details.get("key"))


def _element_at(expression: Expression, operands: Operands) -> ColumnLineage:
    """Resolve ELEMENT_AT of an array or a map. For a map, the details have `key`."""
    if "key" in expression.details:
        return _get_map_value(expression, operands)
    if is_built_map(operands[0]):
        # An array of maps.
        return merge(operands, least=Direct.TRANSFORMATION)
    return same_elements(expression.kind, operands)


MAP_RULES: dict[str, Callable[[Expression, Operands], ColumnLineage]] = {
    "CreateMap": _create_map,
    "ElementAt": _element_at,
    "GetMapValue": _get_map_value,
    "MapConcat": lambda _, operands: with_elements(operands),
    "MapContainsKey": _map_contains_key,
    "MapEntries": _map_entries,
    "MapFromArrays": _map_from_arrays,
    "MapFromEntries": _map_from_entries,
    "MapKeys": lambda _, operands: map_keys(operands[0]),
    "MapValues": lambda _, operands: map_values(operands[0]),
}
"""Rules of map functions by kind of expression."""
