"""RETURNING and OUTPUT: rows that a writing statement passes to the query around it or to another table."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from fll_hbase.sources.sql.queries.column_provenance import ColumnSet, NamedColumn, QueryResult, TableSource
from fll_hbase.sources.sql.queries.scope import Resolver, Scope
from fll_hbase.sources.sql.queries.select_list import SelectList
from fll_hbase.sources.sql.script.script_state import TableWrite
from fll_hbase.sources.sql.statements.variables import assign_result
from fll_hbase.sources.sql.statements.write_target import Target, map_to_target


def read_returning(resolver: Resolver, node: exp.Expr, write: TableWrite) -> None:
    """Read the RETURNING of a statement. With INTO, its rows go to another table or a variable.

    The scope of `resolver` contains the tables of the statement, and `write` is its write. Sets
    `script.returned`, without columns unless the statement has INTO or is in a query.
    """
    script, clause = resolver.script, node.args.get("returning")
    script.returned = QueryResult(ColumnSet(()), write.dependencies)
    into = clause.args.get("into") if isinstance(clause, exp.Returning) else None
    # The rows of any other RETURNING go to the client.
    if not isinstance(clause, exp.Returning) or not (into or isinstance(node.parent, exp.CTE)):
        return
    items: Sequence[exp.Expr] = clause.expressions
    listed: tuple[str, ...] = ()
    table: exp.Table | None = None
    # Only T-SQL's OUTPUT has a table there.
    if into and script.facts.changes_queries:
        items, listed, table = _split_target(clause.expressions)
    select_list = SelectList(_row_resolver(resolver, node, write))
    for item in items:
        select_list.add(item)
    script.returned = QueryResult(select_list.columns(), select_list.dependencies | write.dependencies)
    if table is not None:
        target = Target(script.dataset(table), listed)
        fields = map_to_target(script, target, script.returned.columns)
        script.write(TableWrite("INSERT", target.dataset, fields, script.returned.dependencies))
    elif isinstance(into, exp.Expr):
        assign_result(script, into.name.lower().split(","), script.returned)


def _row_resolver(resolver: Resolver, node: exp.Expr, write: TableWrite) -> Resolver:
    """Return a resolver that sees the row as written, and the other tables of its statement."""
    script, scope = resolver.script, resolver.scope
    view = script.views.get(write.target)
    existing = view.columns if view else script.tables.columns(write.target)
    written = _with_values(existing, write.fields or ())
    table = node.this.this if isinstance(node.this, exp.Schema) else node.this
    names = {table.alias_or_name.lower(), write.target.name.lower().rpartition(".")[2]}
    sources = [TableSource((name,), written) for name in sorted(names)]
    if script.facts.changes_queries:
        sources = [TableSource(("inserted",), written), TableSource(("deleted",), existing)]
    others = [source for source in scope.sources if not names & {*source.name[-1:]}]
    around = Scope(scope.queries, parent=scope.parent, sources=others)
    return resolver.in_scope(Scope(scope.queries, parent=around, sources=sources))


def _with_values(columns: ColumnSet, fields: Sequence[NamedColumn]) -> ColumnSet:
    """Return columns with new values replaced by name, ignoring case, and other new values appended."""
    values = {name.lower(): (name, column) for name, column in fields}
    items = [values.pop(name.lower(), (name, column)) for name, column in columns.items]
    return ColumnSet((*items, *values.values()), columns.fallback, columns.is_complete, columns.is_ordered)


def _split_target(items: Sequence[exp.Expr]) -> tuple[Sequence[exp.Expr], tuple[str, ...], exp.Table]:
    """Split off the table of INTO and its columns, which are the last items (see `with_known_clauses`)."""
    *items, name = items
    parts = name.parts if isinstance(name, exp.Column) else [name]
    qualifiers = dict(zip(("db", "catalog"), (part.copy() for part in parts[-2::-1]), strict=False))
    table = exp.Table(this=parts[-1].copy(), **qualifiers)
    last = items[-1] if len(items) > 1 else None
    if isinstance(last, (exp.Paren, exp.Tuple)):
        names = last.expressions if isinstance(last, exp.Tuple) else [last.this]
        if all(isinstance(column, exp.Column) and not column.table for column in names):
            return items[:-1], tuple(column.name for column in names), table
    return items, (), table
