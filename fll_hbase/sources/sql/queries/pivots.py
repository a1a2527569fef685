"""PIVOT and UNPIVOT: rows of a table become columns, and columns become rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from sqlglot import exp

from fll_hbase.sources.derived_columns import counted
from fll_hbase.sources.sql.queries.column_provenance import (
    GENERATED,
    UNKNOWN,
    ColumnProvenance,
    ColumnSet,
    NamedColumn,
    QueryResult,
    TableSource,
    merge_columns,
    rows_of,
)
from fll_hbase.sources.sql.queries.expression_inputs import collect_inputs
from fll_hbase.sources.sql.queries.scope import Resolver, Scope
from fll_hbase.sources.sql.queries.select_list import SelectList

UNLISTED = "PIVOT: the columns that it makes are unknown and left out"


def apply_pivot(resolver: Resolver, source: TableSource, node: exp.Expr) -> TableSource:
    """Return a table after a PIVOT or UNPIVOT, with its new names; add only row dependencies to the scope."""
    scope = resolver.scope
    inner = resolver.in_scope(Scope(scope.queries, parent=scope.parent, sources=[source]))
    apply = _unpivot if node.args.get("unpivot") else _pivot
    columns = apply(inner, source.columns, node)
    scope.add_dependencies(inner.scope.dependencies)
    names = node.alias_column_names
    if names and columns.is_complete:
        renamed = zip(names, columns.values(), strict=False)
        columns = replace(columns, items=(*renamed, *columns.items[len(names) :]))
    return TableSource((node.alias.lower(),) if node.alias else source.name, columns)


def resolve_statement(resolver: Resolver, node: exp.Expr) -> QueryResult:
    """Return the result of DuckDB's `PIVOT t ON … USING …` or `UNPIVOT t ON …` of the table in the scope."""
    columns = resolver.scope.sources[0].columns
    if node.args.get("unpivot"):
        result = _unpivot_statement(columns, node)
    else:
        result = _pivot_statement(resolver, columns, node)
    return QueryResult(result, resolver.scope.dependencies)


def _pivot_statement(resolver: Resolver, columns: ColumnSet, node: exp.Expr) -> ColumnSet:
    """Return the columns of DuckDB's PIVOT: grouping, and one per value and aggregate; warn if unlisted."""
    fields = node.expressions
    select_list = SelectList(resolver)
    aggregates = [(item.alias, select_list.resolve(item)) for item in node.args.get("using") or ()]
    if len(aggregates) > 1:
        # Names have the value and the aggregate's alias or text, of a single aggregate only its alias.
        aggregates = [(alias or column.text, column) for alias, column in aggregates]
    keys = [field.this if isinstance(field, exp.In) else field for field in fields]
    key_inputs = collect_inputs(resolver, [(key, "conditional") for key in keys]).indirect
    parts = [*keys, *(node.args.get("using") or ())]
    used = {column.name.lower() for part in parts for column in part.find_all(exp.Column)}
    group = node.args.get("group")
    if group is None:
        grouping = [(name, column) for name, column in columns.items if name.lower() not in used]
    else:
        grouped = [part for part in group.expressions if isinstance(part, exp.Column)]
        grouping = [(part.name, resolver.column([p.name for p in part.parts])) for part in grouped]
    grouped_rows = rows_of((column for _, column in grouping), "group_by")
    resolver.scope.add_dependencies(select_list.dependencies | grouped_rows)
    is_listed = all(isinstance(field, exp.In) and field.expressions for field in fields)
    if not is_listed:
        resolver.script.warn(UNLISTED)
    values = product(*([value.alias_or_name for value in field.expressions] for field in fields))
    pivoted = [
        (
            "_".join((*value, alias) if alias else value),
            replace(column, indirect=column.indirect | key_inputs),
        )
        for value in counted(values if is_listed else ())
        for alias, column in counted(aggregates)
    ]
    is_complete = is_listed and (columns.is_complete or group is not None)
    return ColumnSet((*grouping, *pivoted), None, is_complete, is_complete)


def _unpivot_statement(columns: ColumnSet, node: exp.Expr) -> ColumnSet:
    """Return the columns of DuckDB's UNPIVOT: unused columns, the name column and merged value columns."""
    used = [column.name for part in node.expressions for column in part.find_all(exp.Column)]
    into = node.args.get("into")
    name = into.this.name if into is not None and into.this else "name"
    values = [value.name for value in into.expressions] if into is not None else ["value"]
    lowered = {column.lower() for column in used}
    rest = [(column, value) for column, value in columns.items if column.lower() not in lowered]
    merged = merge_columns(_column(columns, column) for column in used)
    return replace(columns, items=(*rest, (name, GENERATED), *((value, merged) for value in values)))


def _pivot(resolver: Resolver, columns: ColumnSet, node: exp.Expr) -> ColumnSet:
    """Return the columns that PIVOT does not use, by which it groups, then one per value and aggregate.

    Warns if the values are not listed; the columns made from them are then only found by name.
    """
    fields = _fields(node)
    values = [field.this for field in fields]
    # Otherwise they are ANY, or the result of a query.
    is_listed = all(
        field.expressions and not isinstance(field.expressions[0], (exp.PivotAny, exp.Query))
        for field in fields
    )
    queries = [value for field in fields for value in field.expressions if isinstance(value, exp.Query)]
    keys = collect_inputs(resolver, [(part, "conditional") for part in (*values, *queries)])
    resolver.scope.add_dependencies(keys.dependencies)
    select_list = SelectList(resolver)
    aggregates = [select_list.resolve(expression) for expression in node.expressions]
    # Names from the parser, or else the alias or text of each value.
    labels = node.args.get("columns") or [value for field in fields for value in field.expressions]
    names = [label.alias_or_name for label in labels] if aggregates and is_listed else []
    pivoted = [
        (name, replace(aggregate, indirect=aggregate.indirect | keys.indirect))
        # The parser lists names value by value, with all aggregates of a value together.
        for number, name in enumerate(counted(names))
        for aggregate in (aggregates[number % len(aggregates)],)
    ]
    parts = (*node.expressions, *(fields if is_listed else values))
    used = {column.name.lower() for part in parts for column in part.find_all(exp.Column)}
    # A PIVOT groups by every column that it does not use; SQL has no clause for this.
    grouping = [(name, column) for name, column in columns.items if name.lower() not in used]
    resolver.scope.add_dependencies(rows_of((column for _, column in grouping), "group_by"))
    if not is_listed:
        resolver.script.warn(UNLISTED)
        pivoted_column = merge_columns(
            replace(item, indirect=item.indirect | keys.indirect) for item in aggregates
        )
        return _with_unlisted(columns, grouping, pivoted_column)
    return replace(columns, items=(*grouping, *pivoted))


def _with_unlisted(columns: ColumnSet, grouping: list[NamedColumn], pivoted: ColumnProvenance) -> ColumnSet:
    """Return the grouped columns; other names are made by the PIVOT, unless the table may have them.

    Names of pivoted columns begin with a quote if the values are texts (snowflake).
    """

    def fallback(name: str) -> ColumnProvenance | None:
        is_pivoted = columns.fallback is None or name.startswith("'")
        return pivoted if is_pivoted else columns.fallback and columns.fallback(name)

    return ColumnSet(tuple(grouping), fallback, is_complete=False, is_ordered=False)


def _unpivot(resolver: Resolver, columns: ColumnSet, node: exp.Expr) -> ColumnSet:
    """Return the columns that remain and, per field, a generated column of names and its value columns."""
    values_first = resolver.script.facts.has_values_first
    items: list[NamedColumn] = []
    used: set[str] = set()
    for field in _fields(node):
        tuples = [list(_item_names(value)) for value in field.expressions]
        used.update(name.lower() for names in tuples for name in names)
        targets = [name for expression in node.expressions for name in _item_names(expression)]
        for number, target in enumerate(targets):
            sources = [names[number] for names in tuples if number < len(names)]
            items.append((target, merge_columns(_column(columns, source) for source in sources)))
        position = len(items) if values_first else len(items) - len(targets)
        items.insert(position, (field.this.name, GENERATED))
    unused = [(name, column) for name, column in columns.items if name.lower() not in used]
    return replace(columns, items=(*unused, *items))


def _fields(node: exp.Expr) -> list[exp.In]:
    """Return the parts `x IN (...)` of a PIVOT or UNPIVOT."""
    return [field for field in node.args.get("fields") or () if isinstance(field, exp.In)]


def _column(columns: ColumnSet, name: str) -> ColumnProvenance:
    """Return a column by its name, also used as its text if it has none; UNKNOWN if it is absent."""
    column = columns.lookup(name)
    return column.with_text(name) if column else UNKNOWN


def _item_names(node: exp.Expr) -> Iterator[str]:
    """Yield the names in an item: a column, or several in parentheses."""
    node = node.this if isinstance(node, (exp.PivotAlias, exp.Alias)) else node
    for part in node.expressions if isinstance(node, exp.Tuple) else [node]:
        yield part.name
