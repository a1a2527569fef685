"""Commands of Delta Lake: UPDATE, DELETE and MERGE, which Spark does not plan as a query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from fll_hbase.capture.resolver.dump import Node, Plan
from fll_hbase.capture.resolver.expressions import ExpressionResolver
from fll_hbase.capture.resolver.lineage import (
    CONDITIONAL,
    FILTER,
    JOIN,
    NO_INPUTS,
    NO_LINEAGE,
    ColumnLineage,
    IndirectInput,
    Relation,
    influences,
    merge,
)

COMMANDS = frozenset({"DeleteCommand", "MergeIntoCommand", "UpdateCommand"})

Columns: TypeAlias = tuple[tuple[str, ColumnLineage], ...]

_CLAUSES = ("matchedClauses", "notMatchedClauses", "notMatchedBySourceClauses")


def columns_of(
    plan: Plan, relations: Sequence[Relation], node: Node
) -> tuple[Columns, frozenset[IndirectInput]]:
    """Return the columns that a command leaves in its table, and what influences all of its rows."""
    target, source = node.plan("targetPlan"), node.plan("source")
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
    if node.kind == "DeleteCommand":
        return tuple(zip(names, values, strict=True)), influences(conditions, FILTER)
    if node.kind == "UpdateCommand":
        tested = influences(conditions, CONDITIONAL)
        updates = resolver.resolve_all(node.rows("updateExpressions"))
        changed = [
            (name, update if update == value else merge([update, value], indirect=tested))
            for name, value, update in zip(names, values, updates, strict=False)
        ]
        return tuple(changed), NO_INPUTS
    merged = _merged(plan, node, resolver, dict(zip(names, values, strict=True)))
    rows = frozenset().union(*(relations[child].rows for child in (source,) if child is not None))
    return tuple(merged.items()), rows | influences(conditions, JOIN)


def _merged(
    plan: Plan, node: Node, resolver: ExpressionResolver, columns: dict[str, ColumnLineage]
) -> dict[str, ColumnLineage]:
    """Return the columns with the values of every clause: its operands are a condition and actions."""
    for clause in (row for name in _CLAUSES for row in node.rows(name)):
        operands = resolver.operands(clause)
        actions = [row for row in operands if plan.expressions[row].kind == "DeltaMergeAction"]
        conditions = [row for row in operands if row not in actions]
        tested = influences(resolver.resolve_all(conditions), CONDITIONAL)
        for action in actions:
            name = plan.expressions[action].name or ""
            value = merge([resolver.resolve(action)], indirect=tested)
            columns[name] = merge([columns.get(name, NO_LINEAGE), value])
    return columns
