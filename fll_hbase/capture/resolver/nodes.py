"""Lineage of plan nodes: each is resolved from its children, in the order of the dump."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from fll_hbase.capture.resolver.dump import Node, Plan
from fll_hbase.capture.resolver.expressions import ExpressionResolver
from fll_hbase.capture.resolver.merge_rows import (
    assigning_nodes,
    columns_by_position,
    merge_rows,
    merge_targets,
)
from fll_hbase.capture.resolver.plan_lineage import (
    FILTER,
    GROUP_BY,
    JOIN,
    NO_INPUTS,
    NO_LINEAGE,
    SORT,
    ColumnLineage,
    Direct,
    IndirectInput,
    Relation,
    influences,
    merge,
    source_column,
)
from fll_hbase.capture.resolver.struct_fields import is_built_map, map_keys, map_values, struct_field

LOOPS_MAX = 50
"""Maximum passes over a recursive query. Its lineage grows with each pass, and is complete after a few."""

_LEFT_ONLY = frozenset({"LeftSemi", "LeftAnti"})


_Rule: TypeAlias = Callable[[Node, list[Relation], ExpressionResolver], Relation]


def resolve_plan(plan: Plan) -> list[Relation]:
    """Return the result of each node of a plan, by its number."""
    return _PlanResolver(plan).resolve()


class _PlanResolver:
    """Resolves the nodes of one plan in order."""

    def __init__(self, plan: Plan) -> None:
        """Find what concerns the whole plan: definitions, loops, correlation, pivots and assignments."""
        self._plan = plan
        self._relations: list[Relation] = []
        self._outer: dict[int, ColumnLineage] = {}
        self._definitions = _by_number(plan, "CTERelationDef")
        self._loops = _by_number(plan, "UnionLoop")
        kinds = {row.kind for row in plan.expressions}
        self._is_correlated = "OuterReference" in kinds
        self._has_pivots = "PivotFirst" in kinds
        self._assigning = frozenset(assigning_nodes(plan))
        self._merge_rules = partial(merge_rows, stored=merge_targets(plan))

    def resolve(self) -> list[Relation]:
        """Return the result of every node, in order, repeating recursive unions until they are stable."""
        for number, node in enumerate(self._plan.nodes):
            self._relations.append(self._resolve_node(number, node))
            if node.kind == "UnionLoop":
                self._repeat(number, node)
        return self._relations

    def _repeat(self, number: int, node: Node) -> None:
        """Resolve the recursive part of a loop until its lineage stops growing, at most LOOPS_MAX times."""
        for _ in range(LOOPS_MAX):
            previous = self._relations[number]
            for inner in range(node.children[0] + 1, number + 1):
                self._relations[inner] = self._resolve_node(inner, self._plan.nodes[inner])
            if self._relations[number] == previous:
                return

    def _resolve_node(self, number: int, node: Node) -> Relation:
        """Return the result of a node with resolved children, by its rule or by `_other`."""
        children = [self._relations[child] for child in self._inputs(node)]
        if self._is_pivot(node):
            # The aggregate below it groups by the key, too, but this is not a grouping of the query.
            keyed = self._plan.nodes[node.children[0]]
            children = [replace(children[0], rows=self._relations[keyed.children[0]].rows)]
        rule = _RULES.get(node.kind)
        if number in self._assigning and node.kind == "Project":
            rule = _assign
        elif node.kind == "MergeRows":
            rule = self._merge_rules
        if not children:
            relation = self._leaf(node)
        elif rule is not None:
            columns = children[0].columns if len(children) == 1 else _all_columns(children)
            expressions = ExpressionResolver(
                self._plan.expressions, inputs=columns, outer=self._outer, relations=self._relations
            )
            relation = rule(node, children, expressions)
        else:
            relation = self._other(node, children)
        order = tuple(self._ids(node.rows("output")))
        if self._is_correlated:
            self._outer.update(relation.columns)
        return Relation(relation.columns, relation.rows, order) if order else relation

    def _inputs(self, node: Node) -> list[int]:
        """Return the children of a node, skipping the sort that `randomSplit` puts below a sample."""
        child = self._plan.nodes[node.children[0]] if node.kind == "Sample" else node
        return child.children if child.kind == "Sort" and child.members.get("local") else node.children

    def _is_pivot(self, node: Node) -> bool:
        """Return whether a node is the second of the two aggregates into which Spark turns most pivots."""
        rows = node.rows("aggregateExpressions") if self._has_pivots else []
        for kind in ("Alias", "AggregateExpression"):
            values = [self._plan.expressions[row] for row in rows]
            rows = [value.operands[0] for value in values if value.kind == kind]
        return any(self._plan.expressions[row].kind == "PivotFirst" for row in rows)

    def _ids(self, rows: Sequence[int]) -> list[int]:
        """Return the ids of the expressions in the rows, with -1 for an expression without an id."""
        return [
            -1 if number is None else number for number in (self._plan.expressions[row].id for row in rows)
        ]

    def _leaf(self, node: Node) -> Relation:
        """Resolve a node without children: its columns are fields of a dataset, or have no lineage."""
        output = node.rows("output")
        if node.kind in ("CTERelationRef", "UnionLoopRef"):
            return self._reference(node, output)
        dataset = node.members.get("dataset")
        columns = dict.fromkeys(self._ids(output), NO_LINEAGE)
        if isinstance(dataset, int):
            # Columns of an RDD have no names outside the application, so they are named by position.
            is_numbered = node.kind == "LogicalRDD"
            for position, row in enumerate(output):
                column = self._plan.expressions[row]
                if column.id is not None and not column.details.get("metadata"):
                    name = str(position) if is_numbered else column.name or ""
                    columns[column.id] = source_column((dataset, name))
        return Relation(columns)

    def _reference(self, node: Node, output: list[int]) -> Relation:
        """Resolve a reference to a common table expression or loop by position; NO_LINEAGE if absent."""
        if node.kind == "CTERelationRef":
            target = self._definitions.get(node.members.get("cteId"))
        else:
            loop = self._loops.get(node.members.get("loopId"))
            done = loop is not None and loop < len(self._relations)
            target = loop if done or loop is None else self._plan.nodes[loop].children[0]
        if target is None or target >= len(self._relations):
            return Relation(dict.fromkeys(self._ids(output), NO_LINEAGE))
        source = self._relations[target]
        if not source.order and self._plan.nodes[target].children:
            source = self._relations[self._plan.nodes[target].children[0]]
        values = source.by_position()
        if node.kind == "UnionLoopRef":
            # Parts of maps may still grow after the loop is stable.
            values = [ColumnLineage(v.direct, v.indirect) if is_built_map(v) else v for v in values]
        return Relation(dict(zip(self._ids(output), values, strict=False)), source.rows)

    def _other(self, node: Node, children: list[Relation]) -> Relation:
        """Resolve a node without a rule: each new column depends on all columns of its children."""
        columns = _all_columns(children)
        rows = _all_rows(children)
        if "output" not in node.members:
            return Relation(columns, rows)
        inputs = merge(columns.values(), least=Direct.TRANSFORMATION)
        function = node.rows("functionExpr") or node.rows("func") or node.rows("function")
        opaque = ColumnLineage(inputs.direct, inputs.indirect, None, function[0] if function else -1)
        return Relation(
            {number: columns.get(number, opaque) for number in self._ids(node.rows("output"))}, rows
        )


def _by_number(plan: Plan, kind: str) -> dict[object, int]:
    """Return the numbers of the nodes of a kind by their member `id`, the last node if ids are equal."""
    return {node.members.get("id"): number for number, node in enumerate(plan.nodes) if node.kind == kind}


def _all_columns(children: Sequence[Relation]) -> dict[int, ColumnLineage]:
    """Return the columns of all children by id, the last child's if ids are equal."""
    columns: dict[int, ColumnLineage] = {}
    for child in children:
        columns.update(child.columns)
    return columns


def _all_rows(children: Sequence[Relation]) -> frozenset[IndirectInput]:
    """Return everything that influences the rows of any child."""
    return NO_INPUTS.union(*(child.rows for child in children))


def _pass(_: Node, children: list[Relation], __: ExpressionResolver) -> Relation:
    """Resolve a node that changes neither columns nor rows. The last child of a WITH is its query."""
    return Relation(children[-1].columns, children[-1].rows, children[-1].order)


def _sequence(node: Node, children: list[Relation], expressions: ExpressionResolver) -> Relation:
    """Resolve the row numbers of the pandas API, which depend on no column."""
    numbers = expressions.with_ids(node.rows("sequenceAttr"))
    return Relation(children[0].columns | {number: NO_LINEAGE for _, number in numbers}, children[0].rows)


def _project(node: Node, children: list[Relation], expressions: ExpressionResolver) -> Relation:
    """Resolve a projection, which has the columns of its list."""
    return Relation(expressions.columns(node.rows("projectList")), _all_rows(children))


def _assign(node: Node, children: list[Relation], expressions: ExpressionResolver) -> Relation:
    """Resolve a projection that assigns columns of an UPDATE."""
    return Relation(expressions.assigned(node.rows("projectList")), _all_rows(children))


def _influenced(member: str, kind: str) -> _Rule:
    """Return the rule of nodes that only filter or order: the expressions of a member influence all rows."""

    def resolve(node: Node, children: list[Relation], expressions: ExpressionResolver) -> Relation:
        keys = expressions.resolve_all(node.rows(member))
        return Relation(children[0].columns, children[0].rows | influences(keys, kind))

    return resolve


def _aggregate(node: Node, children: list[Relation], expressions: ExpressionResolver) -> Relation:
    """Resolve a GROUP BY: its keys influence all rows."""
    keys = expressions.resolve_all(node.rows("groupingExpressions"))
    columns = expressions.columns(node.rows("aggregateExpressions"))
    return Relation(columns, children[0].rows | influences(keys, GROUP_BY))


def _distinct(_: Node, children: list[Relation], __: ExpressionResolver) -> Relation:
    """Resolve a DISTINCT: all columns influence all rows, as keys of a GROUP BY do."""
    columns = children[0].columns
    return Relation(columns, children[0].rows | influences(columns.values(), GROUP_BY), children[0].order)


def _window(node: Node, children: list[Relation], expressions: ExpressionResolver) -> Relation:
    """Resolve a window node: add the columns of its functions; rows are not influenced."""
    columns = children[0].columns | expressions.columns(node.rows("windowExpressions"))
    return Relation(columns, children[0].rows)


def _join(node: Node, children: list[Relation], expressions: ExpressionResolver) -> Relation:
    """Resolve a join: its condition influences all rows. A semi or anti join has only the left columns."""
    conditions = expressions.resolve_all([*node.rows("condition"), *node.rows("asOfCondition")])
    is_left = node.members.get("joinType") in _LEFT_ONLY
    columns = children[0].columns if is_left else _all_columns(children)
    return Relation(columns, _all_rows(children) | influences(conditions, JOIN))


def _lateral_join(node: Node, children: list[Relation], expressions: ExpressionResolver) -> Relation:
    """Resolve a LATERAL join with the subquery on its right. Its condition influences all rows."""
    right = [expressions.subquery(row) for row in node.rows("right")]
    inner = [relation for relation in right if relation is not None]
    conditions = expressions.resolve_all(node.rows("condition"))
    columns = _all_columns([*children, *inner])
    return Relation(columns, _all_rows([*children, *inner]) | influences(conditions, JOIN))


def _generate(node: Node, children: list[Relation], expressions: ExpressionResolver) -> Relation:
    """Resolve a generator such as EXPLODE by adding its new columns, which `_generated` returns.

    The number of rows depends on the generator's value, as it does on the condition of a join.
    """
    output = [number for _, number in expressions.with_ids(node.rows("generatorOutput"))]
    columns, rows = dict(children[0].columns), children[0].rows
    for generator in node.rows("generator")[:1]:
        values = _generated(expressions, generator, len(output))
        columns.update(
            (number, replace(value, row=generator)) for number, value in zip(output, values, strict=True)
        )
        if not _gives_fixed_rows(expressions, generator):
            rows |= influences([expressions.resolve(generator)], JOIN)
    return Relation(columns, rows)


def _gives_fixed_rows(expressions: ExpressionResolver, generator: int) -> bool:
    """Return whether a generator's number of rows per input row is fixed by the program."""
    expression = expressions.expressions[generator]
    operands = [expressions.expressions[row].kind for row in expression.operands]
    return expression.kind in ("JsonTuple", "Stack") or operands in (["CreateArray"], ["CreateMap"])


def _generated(expressions: ExpressionResolver, generator: int, count: int) -> list[ColumnLineage]:
    """Return the `count` new columns of a generator: by position for STACK, INLINE, else the value last."""
    expression = expressions.expressions[generator]
    if expression.kind == "Stack":
        stacked = expression.operands[1:]
        lists = [expressions.resolve_all(stacked[position::count]) for position in range(count)]
        return [merge(values, least=Direct.TRANSFORMATION) for values in lists]
    value = expressions.resolve(generator)
    names = expression.details.get("names", []) if expression.kind == "Inline" else []
    if names and len(names) == count:
        return [struct_field(value, name) for name in names]
    plain = ColumnLineage(value.direct, value.indirect)
    if count == {"Explode": 2, "PosExplode": 3}.get(expression.kind):
        return [plain] * (count - 2) + [map_keys(value), map_values(value)]
    # The last column has the structs of the array. A column before it is their position.
    return [plain] * (count - 1) + [value][:count]


def _expand(node: Node, children: list[Relation], expressions: ExpressionResolver) -> Relation:
    """Resolve GROUPING SETS and the like: a column has its values in every projection, by position."""
    output = [number for _, number in expressions.with_ids(node.rows("output"))]
    lists = [expressions.resolve_all(rows) for rows in node.row_lists("projections")]
    return Relation(columns_by_position(output, lists), children[0].rows)


def _union(node: Node, children: list[Relation], expressions: ExpressionResolver) -> Relation:
    """Resolve a UNION: a column has its values in every child, by position."""
    output = [number for _, number in expressions.with_ids(node.rows("output"))]
    columns = columns_by_position(output, [child.by_position() for child in children])
    return Relation(columns, _all_rows(children))


def _set_operation(node: Node, children: list[Relation], expressions: ExpressionResolver) -> Relation:
    """Resolve INTERSECT and EXCEPT: both children filter the rows of the left one, which gives the values.

    Without ALL, equal rows are merged as by a DISTINCT.
    """
    output = [number for _, number in expressions.with_ids(node.rows("output"))]
    left, right = (child.by_position() for child in children)
    columns = columns_by_position(output, [left])
    rows = _all_rows(children) | influences([*left, *right], FILTER)
    return Relation(columns, rows if node.members.get("all") else rows | influences(left, GROUP_BY))


_RULES: dict[str, _Rule] = {
    "Aggregate": _aggregate,
    "AsOfJoin": _join,
    "AttachDistributedSequence": _sequence,
    "Deduplicate": _influenced("keys", GROUP_BY),
    "DeduplicateWithinWatermark": _influenced("keys", GROUP_BY),
    "Distinct": _distinct,
    "Except": _set_operation,
    "Expand": _expand,
    "Filter": _influenced("condition", FILTER),
    "Generate": _generate,
    "Intersect": _set_operation,
    "Join": _join,
    "LateralJoin": _lateral_join,
    "Project": _project,
    "Sort": _influenced("order", SORT),
    "Union": _union,
    "UnionLoop": _union,
    "Window": _window,
    "WithCTE": _pass,
    "SubqueryAlias": _pass,
    "View": _pass,
}
