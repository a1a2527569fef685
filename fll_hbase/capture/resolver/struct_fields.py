"""Fields of structs and maps that a plan builds, alone or in arrays, and what each of them depends on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fll_hbase.capture.resolver.dump import Expression
from fll_hbase.capture.resolver.plan_lineage import (
    KEYS,
    NO_INPUTS,
    VALUES,
    ColumnLineage,
    Direct,
    IndirectInput,
    OtherFields,
    influences,
    merge,
)

SAME_ELEMENTS: Mapping[str, Direct] = {
    "AnyValue": Direct.AGGREGATION,
    "ArrayCompact": Direct.TRANSFORMATION,
    "ArrayDistinct": Direct.TRANSFORMATION,
    "ArrayMax": Direct.TRANSFORMATION,
    "ArrayMin": Direct.TRANSFORMATION,
    "ArraySort": Direct.TRANSFORMATION,
    "CollectList": Direct.AGGREGATION,
    "CollectSet": Direct.AGGREGATION,
    "ElementAt": Direct.TRANSFORMATION,
    "Explode": Direct.TRANSFORMATION,
    "First": Direct.AGGREGATION,
    "GetArrayItem": Direct.TRANSFORMATION,
    "Inline": Direct.TRANSFORMATION,
    "Lag": Direct.TRANSFORMATION,
    "Last": Direct.AGGREGATION,
    "Lead": Direct.TRANSFORMATION,
    "Max": Direct.AGGREGATION,
    "MaxBy": Direct.AGGREGATION,
    "Min": Direct.AGGREGATION,
    "MinBy": Direct.AGGREGATION,
    "NthValue": Direct.TRANSFORMATION,
    "PosExplode": Direct.TRANSFORMATION,
    "Reverse": Direct.TRANSFORMATION,
    "Shuffle": Direct.TRANSFORMATION,
    "Slice": Direct.TRANSFORMATION,
    "SortArray": Direct.TRANSFORMATION,
}
"""Functions that keep, collect or select structs unchanged; the first operand has the structs."""

OTHERS_MAX = 16
"""Number of structs of one value to distinguish; beyond this, fields are merged as if of one struct."""

CONSTANTS_MAX = 100
"""Number of map keys to distinguish when values are merged; beyond this, any key may have any value."""


def build_struct(names: Sequence[str], values: Sequence[ColumnLineage]) -> ColumnLineage:
    """Return the lineage of a struct whose fields have these names and values, in the same order.

    The struct itself depends on all values, at least as a TRANSFORMATION. A value without a name counts
    for the struct only, and a name without a value is left out.
    """
    value = merge(values, least=Direct.TRANSFORMATION)
    return ColumnLineage(value.direct, value.indirect, dict(zip(names, values, strict=False)) or None)


def update_struct(struct: ColumnLineage, fields: Mapping[str, ColumnLineage]) -> ColumnLineage:
    """Return the lineage of a struct with fields replaced or added, at least as a TRANSFORMATION."""
    value = merge([struct, *fields.values()], least=Direct.TRANSFORMATION)
    parts = dict(struct.parts or {})
    parts.update(fields.items())
    return ColumnLineage(value.direct, value.indirect, parts, rest=_other_fields(struct))


def struct_field(value: ColumnLineage, name: str) -> ColumnLineage:
    """Return a field: a built struct's part, a longer path in the source field, or a built map as a whole."""
    if is_built_map(value):
        return merge([value], least=Direct.TRANSFORMATION)
    if value.parts is not None and name in value.parts:
        return value.parts[name]
    fields = [_other_field(others, name) for others in _other_fields(value)]
    return with_elements(fields, least=Direct.IDENTITY)


def is_built_map(value: ColumnLineage) -> bool:
    """Return whether a value is, or may be, a map that the plan builds."""
    return value.parts is not None and KEYS in value.parts


def build_map(
    keys: Sequence[ColumnLineage], values: Sequence[ColumnLineage], constants: Sequence[int] = ()
) -> ColumnLineage:
    """Return the lineage of a map with these keys and values, in the same order.

    `constants` are the numbers of the keys if all of them are constants. If some are equal, Spark may take
    any of their values, so the constants are ignored. Values keep their fields, but maps and structs inside
    them count as a whole, because nested maps would take exponential time.
    """
    values = list(map(without_depth, values))
    total = merge([*keys, *values], least=Direct.TRANSFORMATION)
    parts: dict[str | int, ColumnLineage] = {KEYS: merge(keys, least=Direct.TRANSFORMATION)}
    if constants and len(set(constants)) == len(keys):
        parts.update(zip(constants, values, strict=True))
    else:
        parts[VALUES] = with_elements(values, least=Direct.IDENTITY)
    return ColumnLineage(total.direct, total.indirect, parts)


def without_depth(value: ColumnLineage) -> ColumnLineage:
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
    parts = _map_parts(value)
    return merge([parts[KEYS], *_read_maps(value)] if parts else [value], least=Direct.TRANSFORMATION)


def map_values(value: ColumnLineage) -> ColumnLineage:
    """Return what the values of a map depend on: the column with fields as paths, for a map that is read."""
    if value.parts is None:
        return with_elements([value])
    if not (parts := _map_parts(value)):
        return merge([value], least=Direct.TRANSFORMATION)
    return with_elements([*(part for name, part in parts.items() if name != KEYS), *_read_maps(value)])


def map_value(value: ColumnLineage, key: ColumnLineage, constant: object) -> ColumnLineage:
    """Return the value of a map at `key`, which has the number `constant` if it is a constant.

    The result has the values of all keys that may be equal, and depends on these keys unless they are
    constants.
    """
    parts = _map_parts(value)
    if not parts:
        return with_elements([value], [key])
    if not isinstance(constant, int) or constant < 0 or constant not in parts:
        return with_elements([map_values(value)], [key, map_keys(value)])
    values = [parts[constant], *_read_maps(value)]
    if VALUES in parts:
        return with_elements([*values, parts[VALUES]], [map_keys(value)])
    # A map that MAP_CONCAT makes is NULL if any of its maps is NULL.
    return with_elements(values, indirect=parts[KEYS].indirect)


def _map_parts(value: ColumnLineage) -> dict[str | int, ColumnLineage]:
    """Return keys and values of a map that the plan builds, and {} for any other value."""
    return value.parts if value.parts is not None and is_built_map(value) else {}


def _read_maps(value: ColumnLineage) -> list[ColumnLineage]:
    """Return the columns of maps that the plan reads and merges into a map that it builds."""
    columns = ((ColumnLineage(other.struct | other.direct, other.indirect), other) for other in value.rest)
    return [merge([column], least=max(Direct.TRANSFORMATION, other.least)) for column, other in columns]


def same_elements(expression: Expression, operands: Sequence[ColumnLineage]) -> ColumnLineage:
    """Return the first operand's fields for a function of SAME_ELEMENTS, depending on the others."""
    return with_elements(operands[:1], operands[1:], least=SAME_ELEMENTS[expression.kind])


def compared_elements(
    value: ColumnLineage, compared: Sequence[ColumnLineage], influence: str
) -> ColumnLineage:
    """Return a value whose fields also depend on everything compared, by an influence of that kind."""
    fields = with_elements([value], least=Direct.IDENTITY, indirect=influences(compared, influence))
    return replace(fields, indirect=value.indirect)


def with_elements(
    structs: Sequence[ColumnLineage],
    others: Sequence[ColumnLineage] = (),
    *,
    least: Direct = Direct.TRANSFORMATION,
    indirect: frozenset[IndirectInput] = NO_INPUTS,
) -> ColumnLineage:
    """Merge values into one whose structs have the fields of `structs`. Each depends on `others`, too.

    Fields of structs that the plan builds have names; other fields are paths. NULL has no fields.
    """
    return _Merge(merge(others, least=least, indirect=indirect), least).values(structs)


class _Merge:
    """Merges values and the fields of their structs; results depend on `shared`, at least as `least`."""

    def __init__(self, shared: ColumnLineage, least: Direct) -> None:
        self._shared = shared
        self._least = least
        # Keyed by identity; the entry keeps the values alive. Fields that share a value share the result,
        # because nested structs would otherwise take exponential time.
        self._merged: dict[tuple[int, ...], tuple[Sequence[ColumnLineage], ColumnLineage]] = {}

    def values(self, structs: Sequence[ColumnLineage]) -> ColumnLineage:
        """Return the lineage of the values together, from the cache if it has them; NULLs are left out."""
        structs = [item for item in structs if item.parts is not None or item.direct or item.indirect]
        key = tuple(map(id, structs))
        if key not in self._merged:
            self._merged[key] = structs, self._merge(structs)
        return self._merged[key][1]

    def _merge(self, structs: Sequence[ColumnLineage]) -> ColumnLineage:
        """Return the merged lineage of the values, with their merged fields, keys and values as parts."""
        value = merge([*structs, self._shared], least=self._least)
        if len(structs) == 1 and value is structs[0]:
            return value
        names = dict.fromkeys(name for item in structs for name in item.parts or () if isinstance(name, str))
        parts: dict[str | int, ColumnLineage] = {
            name: self.values([struct_field(item, name) for item in structs]) for name in names
        }
        parts |= {name: self.values(values) for name, values in self._map_parts(structs).items()}
        others = [fields for item in structs for fields in _other_fields(item)]
        rest = _shared(others, self._shared, least=self._least)
        return ColumnLineage(value.direct, value.indirect, parts or None, rest=rest)

    def _map_parts(self, maps: Sequence[ColumnLineage]) -> dict[int, list[ColumnLineage]]:
        """Return the keys and values of all maps; beyond CONSTANTS_MAX, do not match values to keys."""
        parts: dict[int, list[ColumnLineage]] = {}
        for item in maps:
            for name, part in (item.parts or {}).items():
                if isinstance(name, int):
                    parts.setdefault(name, []).append(part)
        if len(parts) <= CONSTANTS_MAX:
            return parts
        values = [part for name, listed in parts.items() if name != KEYS for part in listed]
        return {KEYS: parts[KEYS], VALUES: values}


def _other_fields(value: ColumnLineage) -> tuple[OtherFields, ...]:
    """Return the origins of a value's fields that the plan does not build."""
    if value.parts is not None or value.rest:
        return value.rest
    return (OtherFields(value.direct, value.indirect),) if value.direct or value.indirect else ()


def _other_field(others: OtherFields, name: str) -> ColumnLineage:
    """Return a field of a struct that the plan reads; nested fields are paths, too."""
    paths = frozenset(
        ((source[0], f"{source[1]}.{name}") if kind == Direct.IDENTITY else source, kind, masked)
        for source, kind, masked in others.struct
    )
    inputs = frozenset((source, max(kind, others.least), masked) for source, kind, masked in paths)
    return ColumnLineage(inputs | others.direct, others.indirect, rest=(replace(others, struct=paths),))


def _shared(rest: Iterable[OtherFields], shared: ColumnLineage, *, least: Direct) -> tuple[OtherFields, ...]:
    """Return fields at least of a kind that also depend on `shared`; more than OTHERS_MAX become one."""
    fields = list(dict.fromkeys(rest))
    if len(fields) > OTHERS_MAX:
        # Unite them before adding `shared` to each, since `shared` may be as large as their number.
        empty: frozenset[Any] = frozenset()
        united = OtherFields(
            empty.union(*(others.struct for others in fields)),
            empty.union(*(others.indirect for others in fields)),
            empty.union(*(others.direct for others in fields)),
            max(others.least for others in fields),
        )
        fields = [united]
    shared_fields = (
        OtherFields(
            others.struct,
            others.indirect | shared.indirect,
            others.direct | shared.direct,
            max(others.least, int(least)),
        )
        for others in fields
    )
    return tuple(dict.fromkeys(shared_fields))
