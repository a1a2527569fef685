"""Lineage of expressions: the columns that an expression takes values from, and those that influence it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from fll_hbase.capture.resolver.dump import Expression
from fll_hbase.capture.resolver.expression_rules import RULES, Operands, conditional
from fll_hbase.capture.resolver.plan_lineage import (
    CONDITIONAL,
    NO_LINEAGE,
    SORT,
    WINDOW,
    ColumnLineage,
    Direct,
    Relation,
    highest_kinds,
    influences,
    merge,
)
from fll_hbase.capture.resolver.struct_fields import (
    build_map,
    compared_elements,
    map_keys,
    map_values,
    update_struct,
    with_elements,
)

TRANSPARENT = frozenset(
    [
        "Alias",
        "OuterReference",
        "CheckOverflowInTableInsert",
        "KnownNotNull",
        "KnownNullable",
        "AssertNotNull",
        "KnownFloatingPointNormalized",
        "PromotePrecision",
        "CheckOverflow",
        "WithField",
        "With",
        "CommonExpressionDef",
        "DeltaMergeAction",
        "TempResolvedColumn",
        "RowOrdering",
    ]
)
"""Expressions that have the value of their last operand."""

MASKING = frozenset(
    [
        "AesEncrypt",
        "Count",
        "CountIf",
        "Crc32",
        "HiveHash",
        "HyperLogLogPlusPlus",
        "Mask",
        "Md5",
        "Murmur3Hash",
        "Sha1",
        "Sha2",
        "XxHash64",
    ]
)
"""Functions that hide their values; OpenLineage counts COUNT among them."""

RANKS = frozenset(["CumeDist", "DenseRank", "NTile", "PercentRank", "Rank", "RowNumber"])
"""Functions that depend only on the order of a window; some repeat that order as their operands."""

CALLING = {
    "ArrayAggregate": 2,
    "ArrayExists": 1,
    "ArrayFilter": 1,
    "ArrayForAll": 1,
    "ArraySort": 1,
    "ArrayTransform": 1,
    "MapFilter": 1,
    "MapZipWith": 1,
    "TransformKeys": 1,
    "TransformValues": 1,
}
"""Functions that call others for each element of an array or of maps, and the number of arrays or maps."""

REPEATED_DEPTH_MAX = 4
"""Nesting depth of functions up to which AGGREGATE resolves its function twice."""

VALUELESS = frozenset(["Literal", "WindowSpecDefinition", "Exists"])


class _Assignment(NamedTuple):
    """Rows of an assignment of an UPDATE: IF(condition, new value, former value). `condition` is None if it
    is absent or constant: the former value is gone.
    """

    condition: int | None
    value: int
    former: int


@dataclass(slots=True, eq=False)
class ExpressionResolver:
    """Resolves the expressions of one node, each once.

    `expressions` are all of the plan, `inputs` the columns of the node's children. `outer` are all columns of
    the plan so far, for correlated subqueries, `relations` the results of its nodes. `variables` are the
    arguments of the `depth` functions around an expression, `common` the values of common expressions.
    """

    expressions: Sequence[Expression]
    inputs: Mapping[int, ColumnLineage]
    outer: Mapping[int, ColumnLineage]
    relations: Sequence[Relation]
    variables: Mapping[int, ColumnLineage] = field(default_factory=dict)
    depth: int = 0
    common: dict[int, ColumnLineage] = field(default_factory=dict)
    _resolved: dict[int, ColumnLineage] = field(default_factory=dict, init=False)

    def resolve(self, row: int) -> ColumnLineage:
        """Return the lineage of an expression. Its operands precede it, so recursion is not needed."""
        expression = self.expressions[row]
        if expression.kind == "AttributeReference":
            return self._attribute(expression)
        for number in sorted(self._unresolved(row)):
            self._resolved[number] = self._combine(number)
        return self._resolved[row]

    def resolve_all(self, rows: Sequence[int]) -> Operands:
        """Return the lineage of the expressions in several rows, in the same order."""
        return [self.resolve(row) for row in rows]

    def columns(self, rows: Sequence[int]) -> dict[int, ColumnLineage]:
        """Return the lineage of named expressions by id, without rows that have no id."""
        expressions, inputs = self.expressions, self.inputs
        columns = {}
        # Most columns of wide tables only pass through, so look them up here.
        for row in rows:
            number = expressions[row].id
            if number is not None:
                column = inputs.get(number) if expressions[row].kind == "AttributeReference" else None
                columns[number] = self.resolve(row) if column is None else column
        return columns

    def assigned(self, rows: Sequence[int]) -> dict[int, ColumnLineage]:
        """Return the lineage of the columns of an UPDATE by id; unassigned columns keep their value."""
        return self.columns(rows) | {
            number: self._assigned_value(assignment)
            for row, number in self.with_ids(rows)
            if (assignment := assignment_of(self.expressions, row))
        }

    def _assigned_value(self, assignment: _Assignment) -> ColumnLineage:
        """Return the lineage of a column after its assignment in an UPDATE, described by the new value.

        An assignment with a condition may keep the former value, and the condition influences the column.
        """
        value = replace(self.resolve(assignment.value), row=assignment.value)
        if assignment.condition is None:
            return value
        tested = influences([self.resolve(assignment.condition)], CONDITIONAL)
        changed = with_elements(
            [value, self.resolve(assignment.former)], least=Direct.IDENTITY, indirect=tested
        )
        return replace(highest_kinds(changed), row=assignment.value)

    def with_ids(self, rows: Sequence[int]) -> list[tuple[int, int]]:
        """Return pairs of row and id of the expressions that have an id, in the same order."""
        ids = ((row, self.expressions[row].id) for row in rows)
        return [(row, number) for row, number in ids if number is not None]

    def subquery(self, row: int) -> Relation | None:
        """Return the result of the subquery's plan in a row, or None for any other expression."""
        plan = self.expressions[row].details.get("plan")
        return None if plan is None else self.relations[plan]

    def _unresolved(self, row: int) -> set[int]:
        """Return a row and the rows that it depends on, without rows that are already resolved."""
        pending, rows = [row], set[int]()
        while pending:
            number = pending.pop()
            if number not in rows and number not in self._resolved:
                rows.add(number)
                pending.extend(self._operands_before(self.expressions[number]))
        return rows

    def _operands_before(self, expression: Expression) -> Sequence[int]:
        """Return the operands to resolve before an expression: all except functions that it calls."""
        if expression.kind not in CALLING:
            return expression.operands
        return [row for row in expression.operands if self.expressions[row].kind != "LambdaFunction"]

    def _attribute(self, expression: Expression) -> ColumnLineage:
        """Return the lineage of a column by id, from the children, else the plan; NO_LINEAGE if unknown."""
        number = -1 if expression.id is None else expression.id
        column = self.inputs.get(number)
        return self.outer.get(number, NO_LINEAGE) if column is None else column

    def _combine(self, row: int) -> ColumnLineage:
        """Return the lineage of an expression whose operands are all resolved."""
        expression = self.expressions[row]
        kind = expression.kind
        if kind == "AttributeReference":
            return self._attribute(expression)
        operands = [self._resolved[number] for number in self._operands_before(expression)]
        if kind == "NamedLambdaVariable":
            return self.variables.get(-1 if expression.id is None else expression.id, NO_LINEAGE)
        if kind == "CommonExpressionRef":
            return self.common.get(-1 if expression.id is None else expression.id, NO_LINEAGE)
        if "plan" in expression.details:
            return self._subquery(expression, operands)
        if kind in TRANSPARENT or expression.details.get("same"):
            return self._transparent(row, expression, operands)
        method = _METHODS.get(kind)
        if method is not None and len(expression.operands) - len(operands) == CALLING.get(kind, 0):
            return method(self, expression, operands)
        rule = RULES.get(kind)
        if rule is not None:
            return rule(expression, operands)
        if kind in VALUELESS or kind in RANKS:
            return NO_LINEAGE
        return merge(operands, least=Direct.TRANSFORMATION, masked=kind in MASKING)

    def _transparent(self, row: int, expression: Expression, operands: Operands) -> ColumnLineage:
        """Return the value of the last operand; store a common expression's value by its id."""
        value = operands[-1] if operands else NO_LINEAGE
        if expression.kind == "CommonExpressionDef" and expression.id is not None:
            self.common[expression.id] = value
        if expression.kind == "Alias" and self._is_described(expression.operands):
            return replace(value, row=expression.operands[0])
        return value

    def _is_described(self, operands: Sequence[int]) -> bool:
        """Return whether an alias names something other than a plain column or a literal."""
        inner = self.expressions[operands[0]] if operands else None
        return inner is not None and inner.kind not in ("AttributeReference", "Literal")

    def _subquery(self, expression: Expression, operands: Operands) -> ColumnLineage:
        """Return the values of a subquery, influenced by everything that influences its rows."""
        relation = self.relations[expression.details["plan"]]
        # The query of an IN has as many columns as the left side has values.
        values = relation.by_position()[: None if expression.kind == "ListQuery" else 1]
        values = [] if expression.kind == "Exists" else values
        # Outer columns are operands, too, but they count through the conditions that use them.
        return with_elements(values, least=Direct.IDENTITY, indirect=relation.rows)

    def _window(self, expression: Expression, operands: Operands) -> ColumnLineage:
        """Return the value of a window function, influenced by the keys of its window."""
        function = self.expressions[expression.operands[0]]
        least = Direct.IDENTITY if function.kind == "AggregateExpression" else Direct.TRANSFORMATION
        keys = [self._resolved[number] for number in self.expressions[expression.operands[1]].operands]
        return with_elements(operands[:1], least=least, indirect=influences(keys, WINDOW))

    def _if(self, expression: Expression, operands: Operands) -> ColumnLineage:
        """Resolve IF, as its last value if both are equal, as in UPDATE, or if Spark added it for NULL."""
        _, then, otherwise = expression.operands
        if then == otherwise or self._is_null_check(self.expressions[otherwise]):
            return operands[-1]
        return conditional(operands[:1], operands[1:])

    def _is_null_check(self, function: Expression) -> bool:
        """Return whether Spark added an IF, which keeps a NULL number away from a Scala or Java function."""
        kinds = [self.expressions[row].kind for row in function.operands]
        return function.kind == "ScalaUDF" and "KnownNotNull" in kinds

    def _transform(self, expression: Expression, operands: Operands) -> ColumnLineage:
        """Return the array of TRANSFORM: the results of its function for the elements."""
        element = self._call(expression.operands[1], [operands[0]])
        return with_elements([element], _unused(operands[:1], element))

    def _filter(self, expression: Expression, operands: Operands) -> ColumnLineage:
        """Return the array of FILTER: elements of the first operand, depending on the selecting function."""
        selected = self._call(expression.operands[1], [operands[0]])
        return with_elements(operands[:1], [selected])

    def _sort(self, expression: Expression, operands: Operands) -> ColumnLineage:
        """Return the array of ARRAY_SORT: elements of the first operand, ordered by a function."""
        order = self._call(expression.operands[1], [operands[0], operands[0]])
        return compared_elements(with_elements(operands[:1]), [order], SORT)

    def _map_function(self, expression: Expression, operands: Operands) -> ColumnLineage:
        """Return the map made by a function of maps, which calls another function with keys and values."""
        keys = merge(map(map_keys, operands), least=Direct.TRANSFORMATION)
        values = [map_values(operand) for operand in operands]
        result = self._call(expression.operands[-1], [keys, *values])
        if expression.kind == "MapFilter":
            return with_elements(operands, [result])
        # A value of MAP_ZIP_WITH depends on the keys that both maps have.
        has_keys = expression.kind == "MapZipWith" or len(_unused(operands, result)) > 0
        result = with_elements([result], [keys] if has_keys else [])
        return (
            build_map([result], values) if expression.kind == "TransformKeys" else build_map([keys], [result])
        )

    def _exists(self, expression: Expression, operands: Operands) -> ColumnLineage:
        """Return the result of EXISTS or FORALL: of its function, and of an array that this does not use."""
        selected = self._call(expression.operands[1], [operands[0]])
        return merge([selected, *_unused(operands[:1], selected)], least=Direct.TRANSFORMATION)

    def _reduce(self, expression: Expression, operands: Operands) -> ColumnLineage:
        """Return the result of AGGREGATE, whose functions use the elements and their own earlier results."""
        array, start = operands[:2]
        _, _, add, finish = expression.operands
        total = with_elements([start, self._call(add, [start, array])])
        # Resolve once more, since the function may read its own result for another element.
        if self.depth < REPEATED_DEPTH_MAX:
            total = with_elements([start, self._call(add, [total, array])])
        value = self._call(finish, [total])
        return with_elements([value], _unused([array], value))

    def _call(self, function: int, arguments: Operands) -> ColumnLineage:
        """Return the value of a SQL function for some arguments; any further parameters are positions."""
        body, *variables = self.expressions[function].operands
        numbers = (self.expressions[variable].id for variable in variables)
        bound = {
            number: value for number, value in zip(numbers, arguments, strict=False) if number is not None
        }
        return replace(self, variables={**self.variables, **bound}, depth=self.depth + 1).resolve(body)

    def _update_fields(self, expression: Expression, operands: Operands) -> ColumnLineage:
        """Return a struct with fields replaced or added; dropping a field does not change the others."""
        operations = [self.expressions[number] for number in expression.operands[1:]]
        fields = {
            operation.name or "": value
            for operation, value in zip(operations, operands[1:], strict=True)
            if operation.kind == "WithField"
        }
        return update_struct(operands[0], fields)


def assignment_of(expressions: Sequence[Expression], row: int) -> _Assignment | None:
    """Return the assignment of a column, or None for any other expression and for an unchanged column."""
    column = expressions[row]
    if column.kind != "Alias" or expressions[column.operands[0]].kind != "If":
        return None
    condition, value, former = expressions[column.operands[0]].operands
    if value == former:
        return None
    return _Assignment(None if expressions[condition].kind == "Literal" else condition, value, former)


def _unused(arrays: Operands, value: ColumnLineage) -> Operands:
    """Return the arrays whose elements a value does not use, so that it depends only on their length."""
    used = {(dataset, name.partition(".")[0]) for dataset, name in value.sources()}
    return [
        array
        for array in arrays
        if used.isdisjoint((dataset, name.partition(".")[0]) for dataset, name in array.fields())
    ]


_METHODS: dict[str, Callable[[ExpressionResolver, Expression, Operands], ColumnLineage]] = {
    "ArrayAggregate": ExpressionResolver._reduce,
    "ArrayExists": ExpressionResolver._exists,
    "ArrayFilter": ExpressionResolver._filter,
    "ArrayForAll": ExpressionResolver._exists,
    "ArraySort": ExpressionResolver._sort,
    "ArrayTransform": ExpressionResolver._transform,
    "If": ExpressionResolver._if,
    "MapFilter": ExpressionResolver._map_function,
    "MapZipWith": ExpressionResolver._map_function,
    "TransformKeys": ExpressionResolver._map_function,
    "TransformValues": ExpressionResolver._map_function,
    "UpdateFields": ExpressionResolver._update_fields,
    "WindowExpression": ExpressionResolver._window,
}
