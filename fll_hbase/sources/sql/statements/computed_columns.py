"""Columns that a table computes from its other columns: GENERATED ALWAYS AS (…), MATERIALIZED and similar."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from sqlglot import exp

from fll_hbase.model.datasets import Dataset
from fll_hbase.sources.sql.queries.column_provenance import (
    GENERATED,
    ColumnProvenance,
    ColumnSet,
    NamedColumn,
    TableSource,
    merge_columns,
)
from fll_hbase.sources.sql.queries.expression_inputs import field_column
from fll_hbase.sources.sql.queries.scope import Resolver, Scope
from fll_hbase.sources.sql.script.script_state import TableWrite


def declare_computed(resolver: Resolver, dataset: Dataset, columns: Iterable[exp.ColumnDef]) -> None:
    """Make writes into a table also write columns that it computes, replacing any earlier declaration."""
    expressions = {column.name: value for column in columns if (value := computed_value(column)) is not None}
    script = resolver.script
    script.computed.pop(dataset, None)
    if expressions:
        script.computed[dataset] = (frozenset(expressions), partial(_compute, resolver, expressions))


def computed_value(column: exp.ColumnDef) -> exp.Expr | None:
    """Return the expression that computes a column, or None for any other column."""
    for constraint in column.args.get("constraints") or ():
        kind = constraint.args.get("kind")
        if isinstance(kind, exp.ComputedColumnConstraint):
            return kind.this if isinstance(kind.this, exp.Expr) else None
        # Some parsers return this for a column without a word such as STORED.
        if isinstance(kind, exp.GeneratedAsIdentityColumnConstraint) and kind.expression:
            return kind.expression if isinstance(kind.expression, exp.Expr) else None
    return None


def _compute(resolver: Resolver, expressions: dict[str, exp.Expr], write: TableWrite) -> list[NamedColumn]:
    """Return the columns that a table computes for a write, if they use any of its columns."""
    written: dict[str, ColumnProvenance] = {}
    for name, column in write.fields or ():
        written[name.lower()] = (
            merge_columns([written[name.lower()], column]) if name.lower() in written else column
        )
    existing = resolver.script.tables.columns(write.target)
    keeps_others = write.verb in ("UPDATE", "MERGE")
    computed: list[NamedColumn] = []
    for name, expression in expressions.items():
        used = {part.name.lower() for part in expression.find_all(exp.Column)}
        if name.lower() in written or not used & set(written):
            continue
        others = existing.lookup if keeps_others else lambda _: GENERATED
        columns = ColumnSet(tuple(written.items()), others, is_complete=False)
        inner = resolver.in_scope(Scope({}, sources=[TableSource((), columns)]))
        written[name.lower()] = field_column(inner, expression)
        computed.append((name, written[name.lower()]))
    return computed
