"""UPDATE, DELETE and MERGE that Spark does not plan as queries: Delta Lake's, and simple DELETEs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from fll_hbase.capture.resolver.dump import Node, Plan
from fll_hbase.capture.resolver.expressions import ExpressionResolver
from fll_hbase.capture.resolver.merge_rows import is_given, names_by_id
from fll_hbase.capture.resolver.plan_lineage import (
    CONDITIONAL,
    FILTER,
    JOIN,
    NO_INPUTS,
    NO_LINEAGE,
    ColumnLineage,
    IndirectInput,
    Relation,
    highest_kinds,
    influences,
    merge,
)

DELETES = frozenset({"DeleteCommand", "DeleteFromTable"})
COMMANDS = DELETES | {"MergeIntoCommand", "UpdateCommand"}

TARGETS = ("targetPlan", "table")
"""Members of commands that hold their table."""

Columns: TypeAlias = tuple[tuple[str, ColumnLineage], ...]

_CLAUSES = ("matchedClauses", "notMatchedClauses", "notMatchedBySourceClauses")


def columns_of(
    plan: Plan, relations: Sequence[Relation], node: Node
) -> tuple[Columns, frozenset[IndirectInput]]:
    """Return the columns that a command leaves in its table, and what influences all of its rows."""
    target, source = node.plan(*TARGETS), node.plan("source")
    columns = {
        number: column
        for child in (source, target)
        if child is not None
        for number, column in relations[child].columns.items()
    }
    resolver = ExpressionResolver(plan.expressions, columns=columns, outer=columns, relations=relations)
    output = plan.nodes[target].rows("output") if target is not None else []
    names = [plan.expressions[row].name or "" for row in output]
    values = resolver.resolve_all(output)
    conditions = resolver.resolve_all(node.rows("condition"))
    if node.kind in DELETES:
        return tuple(zip(names, values, strict=True)), influences(conditions, FILTER)
    if node.kind == "UpdateCommand":
        tested = influences(conditions, CONDITIONAL)
        updates = resolver.resolve_all(node.rows("updateExpressions"))
        if not has_condition(plan, node):
            return tuple(zip(names, updates, strict=False)), NO_INPUTS
        changed = [
            (name, value if update == value else highest_kinds(merge([update, value], indirect=tested)))
            for name, value, update in zip(names, values, updates, strict=False)
        ]
        return tuple(changed), NO_INPUTS
    merged, rows = _merged(plan, node, resolver, dict(zip(names, values, strict=True)))
    rows = rows.union(*(relations[child].rows for child in (source,) if child is not None))
    return tuple(merged.items()), rows | influences(conditions, JOIN)


def has_condition(plan: Plan, node: Node) -> bool:
    """Return whether a command changes only some rows by its condition; a constant does not count."""
    return any(plan.expressions[row].kind != "Literal" for row in node.rows("condition"))


def _merged(
    plan: Plan, node: Node, resolver: ExpressionResolver, columns: dict[str, ColumnLineage]
) -> tuple[dict[str, ColumnLineage], frozenset[IndirectInput]]:
    """Return the columns with the values of every clause, and the conditions of clauses that delete rows.

    The operands of a clause are a condition and actions. Changes `columns`, and returns it.
    """
    rows = NO_INPUTS
    target = node.plan(*TARGETS)
    stored = {} if target is None else names_by_id(plan, plan.nodes[target].rows("output"))
    inserts = node.rows("notMatchedClauses")
    for clause in (row for name in _CLAUSES for row in node.rows(name)):
        operands = resolver.operands(clause)
        actions = [row for row in operands if plan.expressions[row].kind == "DeltaMergeAction"]
        conditions = [row for row in operands if row not in actions]
        tested = influences(resolver.resolve_all(conditions), CONDITIONAL)
        if not actions:
            rows |= influences(resolver.resolve_all(conditions), FILTER)
        for action in actions:
            name = plan.expressions[action].name or ""
            value = resolver.resolve(action)
            given = plan.expressions[resolver.operands(action)[-1]]
            if is_given(given, name, stored, is_insert=clause in inserts):
                value = merge([value], indirect=tested)
            columns[name] = merge([columns.get(name, NO_LINEAGE), value])
    return columns, rows
