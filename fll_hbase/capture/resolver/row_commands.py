"""Changes of rows by UPDATE, DELETE and MERGE.

Changes of Iceberg and other tables are planned as queries. ReplaceData writes all rows of the files that
change. WriteDelta writes only the changed rows: its query contains neither unchanged rows nor the columns of
deleted rows. Changes of Delta Lake, and simple DELETEs, are commands without a query.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from fll_hbase.capture.resolver.dump import Node, Plan
from fll_hbase.capture.resolver.expressions import ExpressionResolver
from fll_hbase.capture.resolver.merge_rows import assigned_columns, is_given, names_by_id
from fll_hbase.capture.resolver.plan_lineage import (
    CONDITIONAL,
    FILTER,
    JOIN,
    NO_INPUTS,
    NO_LINEAGE,
    ColumnLineage,
    Direct,
    IndirectInput,
    Relation,
    highest_kinds,
    influences,
    merge,
)

QUERY_COMMANDS = frozenset({"ReplaceData", "WriteDelta"})

DELETES = frozenset({"DeleteCommand", "DeleteFromTable"})
COMMANDS = DELETES | {"MergeIntoCommand", "UpdateCommand"}

TARGETS = ("targetPlan", "table")
"""Members of commands that hold their table."""

_CLAUSES = ("matchedClauses", "notMatchedClauses", "notMatchedBySourceClauses")

Columns: TypeAlias = tuple[tuple[str, ColumnLineage], ...]


def query_columns(
    plan: Plan, relations: Sequence[Relation], node: Node, *, table: int, query: int
) -> tuple[Columns, frozenset[IndirectInput]]:
    """Return the columns that one of QUERY_COMMANDS leaves in its table, and what influences its rows."""
    relation = relations[query]
    names = plan.names(plan.nodes[query].rows("output"))
    # If two columns have the same name, the first is the value and the other the original.
    values = dict(reversed(list(zip(names, relation.by_position(), strict=False))))
    stored = _stored_columns(plan, relations, table=table, query=query)
    if node.kind == "ReplaceData":
        written = {name: values[name] for name in stored if name in values}
        if not _is_union(plan, query):
            return tuple(written.items()), relation.rows
        # An UPDATE whose condition has a subquery is a union of the selected rows and all others.
        tested = frozenset((source, CONDITIONAL) for source, _ in relation.rows)
        return _tested(written, tested, assigned_columns(plan)), NO_INPUTS
    is_update = plan.nodes[query].kind != "MergeRows" and any(name in values for name in stored)
    if not is_update:
        columns = ((name, _either(column, values.get(name))) for name, column in stored.items())
        return tuple(columns), relation.rows
    # The condition of an UPDATE selects the rows that change; the others stay.
    if not has_condition(plan, (node for node in plan.nodes if node.kind == "Filter")):
        return tuple((name, values.get(name, column)) for name, column in stored.items()), NO_INPUTS
    tested = frozenset((source, CONDITIONAL) for source, _ in relation.rows)
    return _updated(stored, values, tested), NO_INPUTS


def _stored_columns(
    plan: Plan, relations: Sequence[Relation], *, table: int, query: int
) -> dict[str, ColumnLineage]:
    """Return the columns of the table as the query reads them, without hidden ones."""
    columns = [plan.expressions[row] for row in plan.nodes[table].rows("output")]
    read = dict(relations[table].columns)
    for number, node in enumerate(plan.nodes[:query]):
        if "dataset" in node.members:
            read |= relations[number].columns
    return {
        column.name or "": read.get(column.id, NO_LINEAGE)
        for column in columns
        if column.id is not None and not column.details.get("metadata")
    }


def _updated(
    stored: Mapping[str, ColumnLineage],
    values: Mapping[str, ColumnLineage],
    tested: frozenset[IndirectInput],
) -> Columns:
    """Return columns after an UPDATE, whose condition influences the columns that it changes."""
    return tuple(
        (
            name,
            column if _is_same(name, values.get(name)) else _changed(_either(column, values[name]), tested),
        )
        for name, column in stored.items()
    )


def _changed(value: ColumnLineage, tested: frozenset[IndirectInput]) -> ColumnLineage:
    """Return a value with `tested` added as influences, and only the highest kind of each input."""
    return replace(highest_kinds(merge([value], indirect=tested)), row=value.row)


def _is_union(plan: Plan, number: int) -> bool:
    """Return whether a query is a union, to which some releases of Spark add a column."""
    node = plan.nodes[number]
    while node.kind == "Project":
        node = plan.nodes[node.children[0]]
    return node.kind == "Union"


def _tested(
    values: Mapping[str, ColumnLineage], tested: frozenset[IndirectInput], assigned: frozenset[str]
) -> Columns:
    """Return the columns of an UPDATE that writes all rows: `tested` influences those in `assigned`."""
    return tuple(
        (name, _changed(value, tested) if name in assigned else value) for name, value in values.items()
    )


def _is_same(name: str, value: ColumnLineage | None) -> bool:
    """Return whether a value is the unchanged column of this name, or None, which means unchanged."""
    if value is None or value.indirect:
        return value is None
    return {(field, kind) for (_, field), kind, _ in value.direct} == {(name, Direct.IDENTITY)}


def _either(column: ColumnLineage, value: ColumnLineage | None) -> ColumnLineage:
    """Return a column that keeps its value in some rows and has `value`, if not None, in others."""
    return column if value is None else replace(merge([column, value]), row=value.row)


def command_columns(
    plan: Plan, relations: Sequence[Relation], node: Node
) -> tuple[Columns, frozenset[IndirectInput]]:
    """Return the columns that one of COMMANDS leaves in its table, and what influences all of its rows."""
    target, source = node.plan(*TARGETS), node.plan("source")
    columns = {
        number: column
        for child in (source, target)
        if child is not None
        for number, column in relations[child].columns.items()
    }
    resolver = ExpressionResolver(plan.expressions, inputs=columns, outer=columns, relations=relations)
    output = plan.nodes[target].rows("output") if target is not None else []
    names = plan.names(output)
    values = resolver.resolve_all(output)
    conditions = resolver.resolve_all(node.rows("condition"))
    if node.kind in DELETES:
        return tuple(zip(names, values, strict=True)), influences(conditions, FILTER)
    if node.kind == "UpdateCommand":
        tested = influences(conditions, CONDITIONAL)
        updates = resolver.resolve_all(node.rows("updateExpressions"))
        if not has_condition(plan, [node]):
            return tuple(zip(names, updates, strict=False)), NO_INPUTS
        changed = [
            (name, value if update == value else highest_kinds(merge([update, value], indirect=tested)))
            for name, value, update in zip(names, values, updates, strict=False)
        ]
        return tuple(changed), NO_INPUTS
    merged, rows = _merged(plan, node, resolver, dict(zip(names, values, strict=True)))
    if source is not None:
        rows |= relations[source].rows
    return tuple(merged.items()), rows | influences(conditions, JOIN)


def has_condition(plan: Plan, nodes: Iterable[Node]) -> bool:
    """Return whether commands or filters select rows by a condition; a constant does not count."""
    rows = (row for node in nodes for row in node.rows("condition"))
    return any(plan.expressions[row].kind != "Literal" for row in rows)


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
        operands = plan.expressions[clause].operands
        actions = [row for row in operands if plan.expressions[row].kind == "DeltaMergeAction"]
        conditions = [row for row in operands if row not in actions]
        tested = influences(resolver.resolve_all(conditions), CONDITIONAL)
        if not actions:
            rows |= influences(resolver.resolve_all(conditions), FILTER)
        for action in actions:
            name = plan.expressions[action].name or ""
            value = resolver.resolve(action)
            given = plan.expressions[plan.expressions[action].operands[-1]]
            if is_given(given, name, stored, is_insert=clause in inserts):
                value = merge([value], indirect=tested)
            columns[name] = merge([columns.get(name, NO_LINEAGE), value])
    return columns, rows
