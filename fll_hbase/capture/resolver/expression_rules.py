"""Rules of expressions whose lineage depends only on the lineage of their operands."""

from __future__ import annotations

from collections.abc import Callable

from fll_hbase.capture.resolver.dump import Expression
from fll_hbase.capture.resolver.plan_lineage import (
    CONDITIONAL,
    FILTER,
    GROUP_BY,
    NO_INPUTS,
    NO_LINEAGE,
    SORT,
    ColumnLineage,
    Direct,
    influences,
    merge,
)
from fll_hbase.capture.resolver.struct_fields import (
    SAME_ELEMENTS,
    build_map,
    build_struct,
    compared_elements,
    is_built_map,
    map_keys,
    map_value,
    map_values,
    same_elements,
    struct_field,
    with_elements,
    without_depth,
)

CHECKS = frozenset(["charTypeWriteSideCheck", "readSidePadding", "varcharTypeWriteSideCheck"])
"""Functions with which Spark reads and writes texts of limited length; the first operand is the text."""

Operands = list[ColumnLineage]


def _case(_: Expression, operands: Operands) -> ColumnLineage:
    """Resolve CASE: pairs of condition and value, then the value of ELSE if there is one."""
    pairs = len(operands) // 2 * 2
    values = [*operands[1:pairs:2], *operands[pairs:]]
    return conditional(operands[0:pairs:2], values)


def _coalesce(_: Expression, operands: Operands) -> ColumnLineage:
    """Resolve COALESCE, which has the value of any argument and tests all but the last (decision 53)."""
    return conditional(_tested(operands[:-1], operands), operands)


def _null_if(_: Expression, operands: Operands) -> ColumnLineage:
    """Resolve NULLIF: the first operand is the comparison, which is tested, the second the value."""
    return conditional(_tested(operands[:1], operands[1:]), operands[1:])


def _tested(arguments: Operands, values: Operands) -> Operands:
    """Return `arguments` without indirect inputs that `values` already have, such as keys of a window."""
    present = NO_INPUTS.union(*(value.indirect for value in values))
    return [ColumnLineage(argument.direct, argument.indirect - present) for argument in arguments]


def conditional(tested: Operands, values: Operands) -> ColumnLineage:
    """Return one of several values, which depends on the tested expressions."""
    return with_elements(values, indirect=influences(tested, CONDITIONAL))


def _pivot(_: Expression, operands: Operands) -> ColumnLineage:
    """Resolve a pivot's value: the first operand selects and influences it, the second is the value."""
    return conditional(operands[:1], operands[1:2])


def _aggregate(expression: Expression, operands: Operands) -> ColumnLineage:
    """Resolve an aggregate function with the condition of its FILTER clause, if there is one."""
    filtered = influences(operands[1:], FILTER)
    return with_elements(operands[:1], least=Direct.AGGREGATION, indirect=filtered)


def _sort_order(_: Expression, operands: Operands) -> ColumnLineage:
    """Resolve a sort key, which is its first operand; later operands only repeat it."""
    return operands[0] if operands else NO_LINEAGE


def _list_aggregate(_: Expression, operands: Operands) -> ColumnLineage:
    """Resolve LISTAGG: aggregate value and delimiter; the sort keys influence them as SORT."""
    return merge(operands[:2], least=Direct.AGGREGATION, indirect=influences(operands[2:], SORT))


def _elements_of_all(_: Expression, operands: Operands) -> ColumnLineage:
    """Resolve ARRAY, CONCAT, FLATTEN and MAP_CONCAT: elements, and their fields, come from all operands."""
    return with_elements(operands)


def _distinct_elements(expression: Expression, operands: Operands) -> ColumnLineage:
    """Resolve ARRAY_DISTINCT and COLLECT_SET: equality of structs depends on all of their fields."""
    value = same_elements(expression, operands)
    return compared_elements(value, [value], GROUP_BY)


def _ordered_elements(expression: Expression, operands: Operands) -> ColumnLineage:
    """Resolve SORT_ARRAY, MAX and the like: the order of structs depends on all of their fields."""
    value = same_elements(expression, operands)
    return compared_elements(value, [value], SORT)


def _struct(expression: Expression, operands: Operands) -> ColumnLineage:
    """Resolve NAMED_STRUCT, and ARRAYS_ZIP, whose structs have an element of each array.

    The fields have the names in the details, and the operands as values.
    """
    return build_struct(expression.details.get("names", []), operands)


def _static_invoke(expression: Expression, operands: Operands) -> ColumnLineage:
    """Resolve a static function: one of CHECKS gives its first operand, any other depends on all operands."""
    if expression.name in CHECKS and operands:
        return operands[0]
    return merge(operands, least=Direct.TRANSFORMATION)


def _struct_field(expression: Expression, operands: Operands) -> ColumnLineage:
    """Resolve the access to a field of a struct or of an array's structs; the expression names the field."""
    return struct_field(operands[0], expression.name or "")


def _create_map(expression: Expression, operands: Operands) -> ColumnLineage:
    """Resolve MAP: keys and values alternate."""
    return build_map(operands[::2], operands[1::2], expression.details.get("keys", ()))


def _map_from_arrays(_: Expression, operands: Operands) -> ColumnLineage:
    """Resolve MAP_FROM_ARRAYS: if one array is NULL, there is neither a key nor a value."""
    keys, values = operands[:1], operands[1:]
    elements = with_elements(list(map(without_depth, values)), indirect=influences(keys, CONDITIONAL))
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
    return map_value(operands[0], operands[1], expression.details.get("key"))


def _element_at(expression: Expression, operands: Operands) -> ColumnLineage:
    """Resolve ELEMENT_AT of an array or a map. For a map, the details have `key`."""
    if "key" in expression.details:
        return _get_map_value(expression, operands)
    if is_built_map(operands[0]):
        # An array of maps.
        return merge(operands, least=Direct.TRANSFORMATION)
    return same_elements(expression, operands)


def _time_of_window(_: Expression, operands: Operands) -> ColumnLineage:
    """Resolve an edge of a time window without the conditions of the CASE by which Spark computes it."""
    value = merge(operands[:1], least=Direct.TRANSFORMATION)
    conditions = {(source, CONDITIONAL) for source in value.fields()}
    return ColumnLineage(value.direct, value.indirect - conditions)


RULES: dict[str, Callable[[Expression, Operands], ColumnLineage]] = {
    **dict.fromkeys(SAME_ELEMENTS, same_elements),
    "AggregateExpression": _aggregate,
    "ArrayDistinct": _distinct_elements,
    "ArrayMax": _ordered_elements,
    "ArrayMin": _ordered_elements,
    "ArraysZip": _struct,
    "CaseWhen": _case,
    "Coalesce": _coalesce,
    "CollectSet": _distinct_elements,
    "Concat": _elements_of_all,
    "CreateArray": _elements_of_all,
    "CreateMap": _create_map,
    "CreateNamedStruct": _struct,
    "ElementAt": _element_at,
    "Flatten": _elements_of_all,
    "GetArrayStructFields": _struct_field,
    "GetMapValue": _get_map_value,
    "GetStructField": _struct_field,
    "ListAgg": _list_aggregate,
    "MapConcat": _elements_of_all,
    "MapContainsKey": _map_contains_key,
    "MapEntries": _map_entries,
    "MapFromArrays": _map_from_arrays,
    "MapFromEntries": _map_from_entries,
    "MapKeys": lambda _, operands: map_keys(operands[0]),
    "MapValues": lambda _, operands: map_values(operands[0]),
    "Max": _ordered_elements,
    "Min": _ordered_elements,
    "NullIfResult": _null_if,
    "PivotFirst": _pivot,
    "PreciseTimestampConversion": _time_of_window,
    "SortArray": _ordered_elements,
    "SortOrder": _sort_order,
    "StaticInvoke": _static_invoke,
}
"""Rules by kind of the expression."""
