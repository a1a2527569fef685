"""What do PIVOT and UNPIVOT make of a relation: rows to columns, and columns to rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from fll_hbase.sources.sql.expressions import Answer, gather
from fll_hbase.sources.sql.provenance import (
    GENERATED,
    UNKNOWN,
    ColumnSet,
    RowDependencies,
    ColumnProvenance,
    TableSource,
    merged,
    shaped,
)
from fll_hbase.sources.sql.scope import Scope
from fll_hbase.sources.sql.script_state import ScriptState
from fll_hbase.sources.sql.select_list import Selected


def pivoted(session: ScriptState, scope: Scope, answer: Answer, relation: TableSource, node: exp.Expr) -> TableSource:
    """The relation after a PIVOT or UNPIVOT."""
    inner = Scope(scope.queries, parent=scope.parent, relations=[relation])
    make = _unpivot if node.args.get("unpivot") else _pivot
    name = (node.alias.lower(),) if node.alias else relation.name
    columns = make(session, inner, answer, relation.columns, node)
    scope.found.append(inner.effects)
    names = node.alias_column_names
    if names and columns.complete:
        renamed = zip(names, (made for _, made in columns.named), strict=False)
        columns = replace(columns, named=(*renamed, *columns.named[len(names) :]))
    return TableSource(name, columns)


def _pivot(session: ScriptState, scope: Scope, answer: Answer, columns: ColumnSet, node: exp.Expr) -> ColumnSet:
    """A column for each value looked for; rows are grouped by all columns that are not used."""
    fields = [field for field in node.args.get("fields") or () if isinstance(field, exp.In)]
    keys = gather(session, scope, answer, [(field.this, "conditional") for field in fields])
    selected = Selected(session, scope, answer)
    aggregates = [selected.made(one) for one in node.expressions]
    names = list(_names(node, fields))
    made = [
        replace(
            aggregates[number % len(aggregates)],
            indirect=aggregates[number % len(aggregates)].indirect | keys.indirect,
        )
        for number in range(len(names) if aggregates else 0)
    ]
    used = {
        column.name.lower() for part in (*node.expressions, *fields) for column in part.find_all(exp.Column)
    }
    kept = [(name, one) for name, one in columns.named if name.lower() not in used]
    scope.found.append(RowDependencies(frozenset().union(*(shaped(one, "group_by") for _, one in kept))))
    return replace(columns, named=(*kept, *zip(names, made, strict=False)))


def _names(node: exp.Expr, fields: list[exp.In]) -> Iterator[str]:
    said = node.args.get("columns")
    if said:
        yield from (name.name for name in said)
        return
    for field in fields:
        for value in field.expressions:
            yield value.alias_or_name


def _unpivot(session: ScriptState, scope: Scope, answer: Answer, columns: ColumnSet, node: exp.Expr) -> ColumnSet:
    """A row for each column looked at: its value, and beside it its name, which nothing made."""
    fields = [field for field in node.args.get("fields") or () if isinstance(field, exp.In)]
    named: list[tuple[str, ColumnProvenance]] = []
    used: set[str] = set()
    for field in fields:
        tuples = [list(_items(value)) for value in field.expressions]
        used.update(name.lower() for names in tuples for name in names)
        targets = [name for one in node.expressions for name in _items(one)]
        for number, target in enumerate(targets):
            sources = [names[number] for names in tuples if number < len(names)]
            named.append((target, merged(_column(columns, source) for source in sources)))
        named.append((field.this.name, GENERATED))
    kept = [(name, one) for name, one in columns.named if name.lower() not in used]
    return replace(columns, named=(*kept, *named))


def _column(columns: ColumnSet, name: str) -> ColumnProvenance:
    made = columns.get(name) or (columns.rest(name) if columns.rest else None)
    return replace(made, text=made.text or name) if made else UNKNOWN


def _items(node: exp.Expr) -> Iterator[str]:
    """The names in one item: a column, or several in parentheses."""
    node = node.this if isinstance(node, (exp.PivotAlias, exp.Alias)) else node
    for part in node.expressions if isinstance(node, exp.Tuple) else [node]:
        yield part.name
