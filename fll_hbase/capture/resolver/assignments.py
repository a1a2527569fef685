"""Assignments of an UPDATE in the query that Spark makes: IF(condition, new value, former value)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fll_hbase.capture.resolver.dump import Expression, Plan


class Assignment(NamedTuple):
    """Rows of an assignment. `condition` is None if it is absent or constant: the former value is gone."""

    condition: int | None
    value: int
    former: int


def assigning_nodes(plan: Plan) -> Iterator[int]:
    """Yield the nodes that assign, between a command that writes whole files and the node that it reads."""
    for command in plan.nodes:
        query = command.plan("query") if command.kind == "ReplaceData" else None
        pending = [] if query is None else [query]
        while pending:
            number = pending.pop()
            if plan.nodes[number].kind in ("Project", "Union"):
                yield number
                pending.extend(plan.nodes[number].children)


def assignment_of(expressions: Sequence[Expression], row: int) -> Assignment | None:
    """Return the assignment of a column, or None for any other expression and for an unchanged column."""
    column = expressions[row]
    if column.kind != "Alias" or expressions[column.operands[0]].kind != "If":
        return None
    condition, value, former = expressions[column.operands[0]].operands
    if value == former:
        return None
    return Assignment(None if expressions[condition].kind == "Literal" else condition, value, former)


def assigned_columns(plan: Plan) -> frozenset[str]:
    """Return the names of the columns to which the projections of `assigning_nodes` assign a value."""
    rows = (row for number in assigning_nodes(plan) for row in plan.nodes[number].rows("projectList"))
    return frozenset(plan.expressions[row].name or "" for row in rows if assignment_of(plan.expressions, row))
