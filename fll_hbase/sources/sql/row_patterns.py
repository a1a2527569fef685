"""MATCH_RECOGNIZE: rows that match a pattern, with measures of them."""

from __future__ import annotations

import re

from sqlglot import exp

from fll_hbase.sources.sql.expressions import clause_dependencies
from fll_hbase.sources.sql.provenance import ColumnSet, NamedColumn, RowDependencies, TableSource, as_indirect
from fll_hbase.sources.sql.scope import Resolver, Scope
from fll_hbase.sources.sql.select_list import SelectList

_WORD = re.compile(r"[A-Za-z_]\w*")


def apply_match(resolver: Resolver, node: exp.Expr) -> None:
    """Replace the last table of the scope by what MATCH_RECOGNIZE returns of it.

    One row for each match has the columns that it is partitioned by and its measures; all rows have the
    columns of the table, too.
    """
    scope = resolver.scope
    source = scope.sources[-1]
    variables = dict.fromkeys(name.lower() for name in _WORD.findall(_text(node, "pattern")))
    # `a.price` is that of a row that matched `a`; in a scope around, so that `price` is not ambiguous.
    matched = Scope(
        scope.queries,
        parent=scope.parent,
        sources=[TableSource((name,), source.columns) for name in variables],
    )
    inner = resolver.in_scope(Scope(scope.queries, parent=matched, sources=[source]))
    select_list = SelectList(inner)
    items: list[NamedColumn] = [
        (column.name, inner.column([part.name for part in column.parts]))
        for column in node.args.get("partition_by") or ()
        if isinstance(column, exp.Column)
    ]
    partition = frozenset().union(*(as_indirect(column, "group_by") for _, column in items))
    measures = [
        (measure.this.alias, select_list.resolve(measure.this)) for measure in node.args.get("measures") or ()
    ]
    conditions: list[tuple[exp.Expr | None, str]] = [
        (definition.this, "filter") for definition in node.args.get("define") or ()
    ]
    dependencies = clause_dependencies(inner, conditions, "DEFINE")
    dependencies |= clause_dependencies(inner, [(node.args.get("order"), "sort")], "ORDER BY")
    scope.add_dependencies(dependencies | select_list.dependencies | RowDependencies(partition))
    columns = ColumnSet((*items, *measures))
    if _text(node, "rows").upper().startswith("ALL"):
        original = source.columns
        columns = ColumnSet(
            (*original.items, *measures), original.fallback, original.is_complete, original.is_ordered
        )
    scope.remove_from(len(scope.sources) - 1)
    scope.add(TableSource((node.alias.lower(),) if node.alias else source.name, columns))


def _text(node: exp.Expr, name: str) -> str:
    part = node.args.get(name)
    return part.name if isinstance(part, exp.Expr) else ""
