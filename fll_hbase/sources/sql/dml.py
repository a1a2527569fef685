"""Which fields does a change to rows that are there make: UPDATE, MERGE, DELETE and ON CONFLICT."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from fll_hbase.model.operations import Dataset
from fll_hbase.sources.sql import from_clause, joins
from fll_hbase.sources.sql.expressions import QUERIES, gather
from fll_hbase.sources.sql.provenance import ColumnSet, RowDependencies, ColumnProvenance, TableSource
from fll_hbase.sources.sql.query import resolve_query, clause, with_queries
from fll_hbase.sources.sql.scope import Scope
from fll_hbase.sources.sql.script_state import ScriptState, TableWrite
from fll_hbase.sources.sql.select_list import Selected
from fll_hbase.sources.sql.write_target import Target, declared, matched

Named = tuple[str, ColumnProvenance]


def update(session: ScriptState, node: exp.Expr, scope: Scope) -> None:
    """UPDATE: the columns it sets; all others stay as they are and are not told."""
    scope = Scope(with_queries(session, node, scope), parent=scope.parent)
    target = _changed(session, scope, node)
    selected = Selected(session, scope, resolve_query)
    fields = list(_assigned(session, scope, selected, node.expressions, node.this.alias_or_name))
    effects = scope.effects | selected.effects
    effects |= clause(session, scope, [(node.args.get("where"), "filter")], "WHERE")
    session.write(TableWrite("UPDATE", target, fields, _without(effects, target)))


def delete(session: ScriptState, node: exp.Expr, scope: Scope) -> None:
    """DELETE makes no field; what it looks at decides which rows are left."""
    scope = Scope(with_queries(session, node, scope), parent=scope.parent)
    target = _deleted(session, scope, node)
    for table in node.args.get("using") or ():
        from_clause.add(session, scope, resolve_query, table)
    effects = scope.effects | clause(session, scope, [(node.args.get("where"), "filter")], "WHERE")
    if effects.whole:
        session.write(TableWrite("DELETE", target, (), _without(effects, target)))


def merge(session: ScriptState, node: exp.Expr, scope: Scope) -> None:
    """MERGE: each column of all its branches; what a branch asks decides about its columns."""
    scope = Scope(with_queries(session, node, scope), parent=scope.parent)
    from_clause.add(session, scope, resolve_query, node.this)
    from_clause.add(session, scope, resolve_query, node.args["using"])
    target = session.end_point(node.this)
    effects = joins.on(session, scope, resolve_query, node.args["on"]) if node.args.get("on") else RowDependencies()
    selected = Selected(session, scope, resolve_query)
    fields: list[Named] = []
    for when in node.args["whens"].expressions:
        asked = (
            gather(session, scope, resolve_query, [(when.args["condition"], "conditional")]) if _asks(when) else None
        )
        shaping = frozenset(asked.indirect) if asked else frozenset()
        effects |= asked.effects if asked else RowDependencies()
        branch = list(_branch(session, scope, selected, target, when.args["then"], node.this.alias_or_name))
        fields += [(name, replace(made, indirect=made.indirect | shaping)) for name, made in branch]
        if not branch:
            effects |= RowDependencies(frozenset((leaf, "filter") for leaf, _ in shaping))
    effects |= scope.effects | selected.effects
    session.write(TableWrite("MERGE", target, fields, _without(effects, target)))


def conflicting(
    session: ScriptState,
    scope: Scope,
    node: exp.Expr,
    target: Dataset,
    fields: list[Named],
    effects: RowDependencies,
) -> tuple[list[Named], RowDependencies]:
    """The fields of an INSERT with what it sets where a row is there already."""
    conflict = node.args["conflict"]
    table = node.this.this if isinstance(node.this, exp.Schema) else node.this
    there = TableSource((table.alias_or_name.lower(),), session.tables.columns(target))
    inner = Scope(scope.queries, relations=[there, TableSource(("excluded",), ColumnSet(tuple(fields)))])
    selected = Selected(session, inner, resolve_query)
    where = conflict.args.get("where")
    asked = gather(session, inner, resolve_query, [(where, "conditional")] if where is not None else [])
    assigned = _assigned(session, inner, selected, conflict.expressions, table.alias_or_name)
    more = [
        (name, replace(made, indirect=made.indirect | frozenset(asked.indirect))) for name, made in assigned
    ]
    return [*fields, *more], effects | selected.effects | asked.effects


def _deleted(session: ScriptState, scope: Scope, node: exp.Expr) -> Dataset:
    """Likewise of DELETE, where a name before FROM says which of its tables is meant."""
    tables: list[exp.Expr] = node.args.get("tables") or []
    if not isinstance(node.this, exp.Expr):
        from_clause.add(session, scope, resolve_query, tables[0])
        return session.end_point(tables[0])
    from_clause.add(session, scope, resolve_query, node.this)
    said = tables[0].name.lower() if tables else ""
    inside = [table for table in node.this.find_all(exp.Table) if table.alias_or_name.lower() == said]
    return session.end_point(inside[0] if inside else node.this)


def _changed(session: ScriptState, scope: Scope, node: exp.Expr) -> Dataset:
    """Put everything a statement names into the scope; the table it changes may be an alias of its FROM."""
    from_ = node.args.get("from_")
    said = node.this.name.lower()
    inside = [table for table in (from_.find_all(exp.Table) if from_ else ()) if table.alias.lower() == said]
    from_clause.add_all(session, scope, resolve_query, node)
    if inside and not node.this.db:
        return session.end_point(inside[0])
    from_clause.add(session, scope, resolve_query, node.this)
    return session.end_point(node.this)


def _assigned(
    session: ScriptState, scope: Scope, selected: Selected, items: list[exp.Expr], target: str
) -> Iterator[Named]:
    """The fields that a SET names, each with the value it gets."""
    for item in items:
        if not isinstance(item, (exp.EQ, exp.PropertyEQ)):
            continue
        left = item.this.unnest()
        names = left.expressions if isinstance(left, exp.Tuple) else [left]
        if not names:
            continue
        value = item.expression.unnest() if isinstance(item.expression, exp.Paren) else item.expression
        if isinstance(value, exp.Tuple) and len(value.expressions) == len(names) > 1:
            for name, one in zip(names, value.expressions, strict=True):
                yield _field(name, target), selected.made(one, "SET")
        elif len(names) > 1 and isinstance(value, QUERIES):
            result = resolve_query(session, value, scope)
            for name, (_, made) in zip(names, result.columns.named, strict=False):
                yield _field(name, target), replace(made, indirect=made.indirect | result.effects.whole)
        else:
            made = selected.assigned(value, names[0])
            for name in names:
                yield _field(name, target), made


def _field(name: exp.Expr, target: str) -> str:
    """The field that a name before `=` means: of the target, or one nested in a column of it."""
    parts = [part.name for part in name.parts] if isinstance(name, exp.Column) else [name.name]
    if len(parts) > 1 and parts[0].lower() == target.lower():
        parts = parts[1:]
    return "/".join(parts)


def _branch(
    session: ScriptState, scope: Scope, selected: Selected, target: Dataset, then: exp.Expr, alias: str
) -> Iterator[Named]:
    """The fields that one branch of a MERGE writes."""
    if not isinstance(then, (exp.Insert, exp.Update)):
        return
    said = then.args.get("expressions")
    if isinstance(next(iter(said), None) if isinstance(said, list) else said or then.this, exp.Star):
        yield from _all(session, target, scope.relations[1].columns)
    elif isinstance(then, exp.Update):
        yield from _assigned(session, scope, selected, then.expressions, alias)
    elif isinstance(then.expression, exp.Expr):
        listed = [_field(one, alias) for one in then.this.expressions] if then.this else []
        given = then.expression.expressions
        if len(given) == 1 and isinstance(given[0], exp.Tuple):
            given = given[0].expressions
        columns = ColumnSet(tuple(("", selected.made(value, "VALUES")) for value in given))
        yield from matched(session, Target(target, tuple(listed)), columns) or ()
    else:
        yield from matched(session, Target(target), scope.relations[1].columns) or ()


def _all(session: ScriptState, target: Dataset, source: ColumnSet) -> Iterator[Named]:
    """Every column of the target, from that of the same name."""
    names = declared(session, target) or ([name for name, _ in source.named] if source.complete else None)
    if names is None:
        session.warn(f"MERGE of all columns: those of {target.name!r} are not known; give them in `schema`")
    for name in names or ():
        made = source.get(name) or (source.rest(name) if source.rest else None)
        if made is None:
            session.warn(f"MERGE of all columns: {name!r} is not known to be one of the source")
        else:
            yield name, made if made.text else replace(made, text=name)


def _asks(when: exp.Expr) -> bool:
    return isinstance(when.args.get("condition"), exp.Expr)


def _without(effects: RowDependencies, target: Dataset) -> RowDependencies:
    """The target is only read where one of its fields is."""
    return replace(effects, reads=effects.reads - {target})
