"""UPDATE and MERGE that Spark plans as queries: assigned columns, and instructions for kinds of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from fll_hbase.capture.resolver.dump import Expression, Node, Plan, Rows, expand
from fll_hbase.capture.resolver.expressions import ExpressionResolver, assignment_of
from fll_hbase.capture.resolver.plan_lineage import (
    CONDITIONAL,
    FILTER,
    NO_INPUTS,
    ColumnLineage,
    Direct,
    Relation,
    influences,
    merge,
)
from fll_hbase.capture.resolver.struct_fields import with_elements

_INSERTS = "notMatchedInstructions"
_INSTRUCTIONS = ("matchedInstructions", _INSERTS, "notMatchedBySourceInstructions")


def merge_targets(plan: Plan) -> dict[int, str]:
    """Return the names by id of the columns in all tables that row-level commands of the plan change."""
    tables = (node.plan("originalTable") for node in plan.nodes)
    rows = [row for table in tables if table is not None for row in plan.nodes[table].rows("output")]
    return names_by_id(plan, rows)


def names_by_id(plan: Plan, rows: Iterable[int]) -> dict[int, str]:
    """Return the names of columns by their ids, "" for no name, without columns that have no id."""
    columns = (plan.expressions[row] for row in rows)
    return {column.id: column.name or "" for column in columns if column.id is not None}


def merge_rows(
    node: Node, children: list[Relation], expressions: ExpressionResolver, *, stored: Mapping[int, str]
) -> Relation:
    """Resolve MERGE: each column has the values of all clauses.

    The condition of a clause influences the columns that it changes (decision 86), a DELETE's all rows.
    """
    output = expressions.with_ids(node.rows("output"))
    names = [expressions.expressions[row].name or "" for row, _ in output]
    lists, deleted = [], NO_INPUTS
    for member in _INSTRUCTIONS:
        for row in node.rows(member):
            instruction = expressions.expressions[row]
            conditions = expressions.resolve_all(instruction.operands[:1])
            outputs = list(_outputs(instruction, expressions.expressions))
            if not outputs:
                deleted |= influences(conditions, FILTER)
            tested = influences(conditions, CONDITIONAL)
            for rows in outputs:
                values = zip(names, rows, expressions.resolve_all(rows), strict=False)
                lists.append(
                    [
                        merge([value], indirect=tested)
                        if is_given(expressions.expressions[row], name, stored, is_insert=member == _INSERTS)
                        else value
                        for name, row, value in values
                    ]
                )
    columns = columns_by_position([number for _, number in output], lists)
    return Relation(columns, children[0].rows | deleted)


def _outputs(instruction: Expression, expressions: Sequence[Expression]) -> Iterator[Rows]:
    """Yield the lists of columns of an instruction, without deleted rows: nulls after the kind of change."""
    for rows in map(expand, instruction.details.get("outputs", [])):
        values = [expressions[row].details for row in rows[1:]]
        if not all(details.get("null") or details.get("metadata") for details in values):
            yield rows


def is_given(value: Expression, name: str, stored: Mapping[int, str], *, is_insert: bool) -> bool:
    """Return whether a clause gives a column a value. UPDATE keeps other columns, INSERT makes them NULL."""
    if is_insert:
        return not value.details.get("null")
    return value.kind != "AttributeReference" or value.id is None or stored.get(value.id) != name


def columns_by_position(
    output: Sequence[int], lists: Sequence[Sequence[ColumnLineage]]
) -> dict[int, ColumnLineage]:
    """Return the columns with the ids in `output`, each merged from the values at its position."""
    columns = {}
    for position, number in enumerate(output):
        values = [values[position] for values in lists if position < len(values)]
        columns[number] = _described(with_elements(values, least=Direct.IDENTITY), values)
    return columns


def _described(column: ColumnLineage, values: Sequence[ColumnLineage]) -> ColumnLineage:
    """Return a merged column with the first description (`row`) among its values, if there is one."""
    row = next((value.row for value in values if value.row >= 0), -1)
    return column if row == column.row else replace(column, row=row)


def assigning_nodes(plan: Plan) -> Iterator[int]:
    """Yield the projections and unions, which assign, at the top of the query of each ReplaceData."""
    for command in plan.nodes:
        query = command.plan("query") if command.kind == "ReplaceData" else None
        pending = [] if query is None else [query]
        while pending:
            number = pending.pop()
            if plan.nodes[number].kind in ("Project", "Union"):
                yield number
                pending.extend(plan.nodes[number].children)


def assigned_columns(plan: Plan) -> frozenset[str]:
    """Return the names of the columns to which the projections of `assigning_nodes` assign a value."""
    rows = (row for number in assigning_nodes(plan) for row in plan.nodes[number].rows("projectList"))
    return frozenset(plan.names([row for row in rows if assignment_of(plan.expressions, row)]))
