"""Statements that change existing rows: UPDATE, MERGE and DELETE."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from sqlglot import exp

from fll_hbase.model.datasets import Dataset
from fll_hbase.sources.sql.queries import from_clause
from fll_hbase.sources.sql.queries.column_provenance import ColumnSet, NamedColumn, RowDependencies
from fll_hbase.sources.sql.queries.expression_inputs import clause_dependencies, collect_inputs
from fll_hbase.sources.sql.queries.query_results import filter_clause, statement_scope
from fll_hbase.sources.sql.queries.scope import Resolver, Scope
from fll_hbase.sources.sql.queries.select_list import SelectList
from fll_hbase.sources.sql.script.script_state import TableWrite, UnknownTarget
from fll_hbase.sources.sql.statements.write_target import (
    Target,
    assigned_field,
    assignments,
    listed_values,
    map_to_target,
    read_returning,
)


def update(resolver: Resolver, node: exp.Expr) -> None:
    """Read UPDATE as a write, for each changed table, of the columns that it sets."""
    resolver = statement_scope(resolver, node)
    tables = _tables_of_queries(resolver, node)
    target = _update_target(resolver, node, tables)
    for table, items in _by_table(node):
        changed = target if table is node.this else _dataset(resolver, table, tables)
        select_list = SelectList(resolver)
        fields = list(assignments(resolver, select_list, items, table.alias_or_name))
        where = filter_clause(resolver, node, "where", "WHERE")
        dependencies = resolver.scope.dependencies | select_list.dependencies | where
        _write(resolver, node, TableWrite("UPDATE", changed, fields, dependencies))


def delete(resolver: Resolver, node: exp.Expr) -> None:
    """Read DELETE, which writes no field, but tests columns to decide which rows remain."""
    resolver = statement_scope(resolver, node)
    targets = _delete_targets(resolver, node, _tables_of_queries(resolver, node))
    for table in node.args.get("using") or ():
        from_clause.add_source(resolver, table)
    dependencies = resolver.scope.dependencies | filter_clause(resolver, node, "where", "WHERE")
    for target in targets:
        _write(resolver, node, TableWrite("DELETE", target, (), dependencies))


def merge(resolver: Resolver, node: exp.Expr) -> None:
    """Read MERGE as a write of all branches' columns, which depend on the condition of their branch."""
    resolver = statement_scope(resolver, node)
    from_clause.add_source(resolver, node.this)
    from_clause.add_source(resolver, node.args["using"])
    target = _dataset(resolver, node.this, _tables_of_queries(resolver, node))
    on = node.args.get("on")
    dependencies = clause_dependencies(resolver, [(on, "join")], "ON") if on else RowDependencies()
    fields: list[NamedColumn] = []
    for when in node.args["whens"].expressions:
        visible = _visible_in(resolver, when)
        select_list = SelectList(visible)
        condition = when.args.get("condition")
        operands = [(condition, "conditional")] if isinstance(condition, exp.Expr) else []
        inputs = collect_inputs(visible, operands)
        branch = list(_branch(resolver, select_list, target, when.args["then"], node.this.alias_or_name))
        dependencies |= inputs.dependencies | select_list.dependencies
        fields += [(name, column.with_indirect(inputs.indirect)) for name, column in branch]
        if not branch:
            # A branch that deletes filters the rows of the target.
            dependencies |= RowDependencies(frozenset((field, "filter") for field, _ in inputs.indirect))
    dependencies |= resolver.scope.dependencies
    _write(resolver, node, TableWrite("MERGE", target, fields, dependencies))


def _visible_in(resolver: Resolver, when: exp.Expr) -> Resolver:
    """Return the resolver of one branch. Without a match, a bare name refers to the only existing row."""
    scope = resolver.scope
    if when.args.get("matched") or len(scope.sources) < 2:
        return resolver
    first, *others = scope.sources
    only, hidden = ([first], others) if when.args.get("source") else (others, [first])
    visible = Scope(scope.queries, parent=scope.parent, sources=only)
    for source in hidden:
        visible.add_qualified(source)
    return resolver.in_scope(visible)


def _write(resolver: Resolver, node: exp.Expr, write: TableWrite) -> None:
    """Write changed rows, and what RETURNING reads; a DELETE without conditions has no lineage."""
    # The target counts as read only if one of its fields is read.
    dependencies = replace(write.dependencies, reads=write.dependencies.reads - {write.target})
    write = replace(write, dependencies=dependencies)
    if write.verb != "DELETE" or dependencies.indirect:
        resolver.script.write(write)
    read_returning(resolver, node, write)


def _tables_of_queries(resolver: Resolver, node: exp.Expr) -> dict[str, exp.Expr | None]:
    """Return the table behind each query in a WITH, by lower-case name, or None for one of several tables.

    In T-SQL, a change of such a query changes its table. For other engines, the result is empty.
    """
    tables: dict[str, exp.Expr | None] = {}
    with_ = node.args.get("with_")
    if with_ is None or not resolver.script.facts.changes_queries:
        return tables
    for query in with_.expressions:
        from_ = query.this.args.get("from_") if isinstance(query.this, exp.Select) else None
        table = from_.this if from_ is not None and not query.this.args.get("joins") else None
        if isinstance(table, exp.Table) and not table.db:
            table = tables.get(table.name.lower(), table)
        tables[query.alias.lower()] = table if isinstance(table, exp.Table) else None
    return tables


def _dataset(resolver: Resolver, table: exp.Expr, tables: Mapping[str, exp.Expr | None]) -> Dataset:
    """Return the dataset of a target, which may be a query in `tables`. Raises UnknownTarget."""
    name = table.name.lower()
    if name not in tables or table.args.get("db"):
        return resolver.script.dataset(table)
    changed = tables[name]
    if changed is None:
        raise UnknownTarget(f"{name[:100]!r} is a query of several tables")
    return resolver.script.dataset(changed)


def _delete_targets(
    resolver: Resolver, node: exp.Expr, queries: Mapping[str, exp.Expr | None]
) -> list[Dataset]:
    """Add the tables of a DELETE to the scope; return its targets, named before FROM or else after it."""
    names: list[exp.Expr] = node.args.get("tables") or []
    if not isinstance(node.this, exp.Expr):
        from_clause.add_source(resolver, names[0])
        return [_dataset(resolver, names[0], queries)]
    from_clause.add_source(resolver, node.this)
    # `DELETE a FROM t AS a JOIN ...` deletes from t.
    mentions = reversed(list(node.this.find_all(exp.Table)))
    tables: dict[str, exp.Expr] = {table.alias_or_name.lower(): table for table in mentions}
    aliased = [tables[name.name.lower()] for name in names if name.name.lower() in tables]
    return [_dataset(resolver, table, queries) for table in aliased or [node.this]]


def _by_table(node: exp.Expr) -> Iterator[tuple[exp.Expr, list[exp.Expr]]]:
    """Yield the tables that a SET changes with their items; MySQL changes several joined tables."""
    joined = [join.this for join in node.this.args.get("joins") or () if isinstance(join.this, exp.Table)]
    others = {table.alias_or_name.lower(): table for table in joined}
    items: dict[str, list[exp.Expr]] = {}
    for item in node.expressions:
        name = item.this if isinstance(item, exp.EQ) else None
        qualifier = name.table.lower() if isinstance(name, exp.Column) else ""
        items.setdefault(qualifier if qualifier in others else "", []).append(item)
    for qualifier, changes in items.items():
        yield others.get(qualifier, node.this), changes


def _update_target(resolver: Resolver, node: exp.Expr, queries: Mapping[str, exp.Expr | None]) -> Dataset:
    """Add the tables of an UPDATE to the scope, and return its target, which FROM may alias."""
    from_ = node.args.get("from_")
    # `UPDATE a SET ... FROM t AS a` changes t.
    alias = node.this.name.lower()
    aliased = [
        table for table in (from_.find_all(exp.Table) if from_ else ()) if table.alias.lower() == alias
    ]
    from_clause.add_from(resolver, node)
    if aliased and not node.this.db:
        return _dataset(resolver, aliased[0], queries)
    from_clause.add_source(resolver, node.this)
    return _dataset(resolver, node.this, queries)


def _branch(
    resolver: Resolver, select_list: SelectList, target: Dataset, then: exp.Expr, alias: str
) -> Iterator[NamedColumn]:
    """Yield the fields that one branch of a MERGE writes, or none for DELETE."""
    if not isinstance(then, (exp.Insert, exp.Update)):
        return
    items = then.args.get("expressions")
    source = resolver.scope.sources[1].columns
    # Delta Lake's `UPDATE *` and `INSERT *`.
    if isinstance(next(iter(items), None) if isinstance(items, list) else items or then.this, exp.Star):
        yield from _all_columns(resolver, target, source)
    elif isinstance(then, exp.Update):
        yield from assignments(resolver, select_list, then.expressions, alias)
    elif isinstance(then.expression, exp.Expr):
        listed = [assigned_field(name, alias) for name in then.this.expressions] if then.this else []
        values = then.expression.expressions
        if len(values) == 1 and isinstance(values[0], exp.Tuple):
            values = values[0].expressions
        columns = listed_values(select_list, values)
        yield from map_to_target(resolver.script, Target(target, tuple(listed)), columns) or ()
    else:
        yield from map_to_target(resolver.script, Target(target), source) or ()


def _all_columns(resolver: Resolver, target: Dataset, source: ColumnSet) -> Iterator[NamedColumn]:
    """Yield every column of the target with the source column of its name, for `UPDATE *`.

    Columns missing on either side are left out with a warning. If the target's columns are unknown, the
    source's columns are used, or none, with a warning, if these are unknown, too.
    """
    script = resolver.script
    names = script.tables.declared_columns(target)
    if not names:
        names = [name for name, _ in source.items] if source.is_complete else None
    if names is None:
        script.warn(
            f"MERGE of all columns: the columns of {target.name!r} are unknown; list them in `schema`"
        )
    target_names = {name.lower() for name in names or ()}
    added = [name for name, _ in source.items if name.lower() not in target_names] if names else []
    if added:
        listed = ", ".join(name[:100] for name in added[:5])
        script.warn(f"MERGE of all columns: {target.name!r} is not known to have {listed}; left out")
    for name in names or ():
        column = source.lookup(name)
        if column is None:
            script.warn(f"MERGE of all columns: {name!r} is not known to be one of the source")
        else:
            yield name, column.with_text(name)
