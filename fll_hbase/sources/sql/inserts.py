"""Which fields does a query written somewhere make: INSERT, CREATE … AS, SELECT … INTO and their like."""

from __future__ import annotations

from sqlglot import exp

from fll_hbase.model.operations import Dataset, Field
from fll_hbase.sources.sql import write_target
from fll_hbase.sources.sql.dml import conflicting
from fll_hbase.sources.sql.provenance import GENERATED, ColumnSet, RowDependencies, TableSource, QueryResult, seen
from fll_hbase.sources.sql.query import resolve_query, clause, with_queries
from fll_hbase.sources.sql.scope import Scope
from fll_hbase.sources.sql.script_state import ScriptState, TableWrite
from fll_hbase.sources.sql.select_list import Selected
from fll_hbase.sources.sql.write_target import Target, matched, target_of


def insert(session: ScriptState, node: exp.Expr, scope: Scope) -> None:
    """INSERT, with what it does to rows that are there already."""
    scope = Scope(with_queries(session, node, scope), parent=scope.parent)
    source = node.expression if isinstance(node.expression, exp.Expr) else node.args.get("source")
    target = _target(session, node)
    if not isinstance(source, exp.Expr):
        session.warn(f"the rows written into {target.end_point.name!r} are not told")
        return
    result = resolve_query(session, source, scope)
    fields = matched(session, target, result.columns)
    effects = result.effects
    if fields is not None and node.args.get("conflict") is not None:
        fields, effects = conflicting(session, scope, node, target.end_point, fields, effects)
    verb = "INSERT OVERWRITE" if node.args.get("overwrite") else "INSERT"
    session.write(TableWrite(verb, target.end_point, fields, effects, seen(result.columns)))


def insert_many(session: ScriptState, node: exp.Expr, scope: Scope) -> None:
    """One query into several targets: each has a SELECT of its own, or values of the columns."""
    source = node.args["source"]
    if not isinstance(source, exp.Query) or isinstance(source, exp.Subquery):
        for one in node.expressions:
            if isinstance(one.expression, exp.Select):
                one.expression.set("from_", exp.From(this=source.copy()))
            insert(session, one, scope)
        return
    result = resolve_query(session, source, scope)
    inner = Scope(scope.queries, relations=[TableSource((), result.columns)])
    for one in node.expressions:
        effects = result.effects | clause(session, inner, [(one.args.get("expression"), "filter")], "WHEN")
        into = one.this if isinstance(one, exp.ConditionalInsert) else one
        columns = result.columns
        if isinstance(into.expression, exp.Values):
            rows = into.expression.expressions
            selected = Selected(session, inner, resolve_query)
            given = rows[0].expressions if rows and isinstance(rows[0], exp.Tuple) else rows
            columns = ColumnSet(tuple(("", selected.made(value, "VALUES")) for value in given))
            effects |= selected.effects
        target = _target(session, into)
        fields = matched(session, target, columns)
        session.write(TableWrite("INSERT", target.end_point, fields, effects, seen(columns)))


def create(session: ScriptState, node: exp.Expr, scope: Scope) -> None:
    """A table or view of a query, or a table that is only declared."""
    kind = str(node.args.get("kind") or "").upper()
    if kind not in ("TABLE", "VIEW"):
        return
    temporary = _temporary(node)
    target = target_of(session, node.this)
    query = node.args.get("expression") or _cloned(node)
    if query is None:
        _declare(session, node, target.end_point, temporary=temporary)
        return
    scope = Scope(with_queries(session, node, scope), parent=scope.parent)
    result = resolve_query(session, query, scope)
    _keep(session, f"CREATE {kind}", target, result, temporary=temporary, view=kind == "VIEW")


def cache(session: ScriptState, node: exp.Expr, scope: Scope) -> None:
    """CACHE TABLE … AS: a temporary view."""
    if node.expression:
        result = resolve_query(session, node.expression, scope)
        _keep(session, "CACHE", target_of(session, node.this), result, temporary=True)


def select_into(session: ScriptState, node: exp.Expr, scope: Scope) -> None:
    """SELECT … INTO a table that it makes."""
    into = node.args["into"]
    target = target_of(session, into.this)
    temporary = bool(into.args.get("temporary")) or target.end_point.name.startswith("#")
    _keep(session, "SELECT INTO", target, resolve_query(session, node, scope), temporary=temporary)


def load(session: ScriptState, node: exp.Expr, scope: Scope) -> None:
    """A file into a table: how their fields relate is not known."""
    path = node.args.get("inpath")
    file = session.tables.dataset(path.name if isinstance(path, exp.Expr) else "")
    target = session.end_point(node.this)
    session.warn(f"LOAD DATA into {target.name!r}: the fields of {file.name!r} are not known")
    session.write(TableWrite("LOAD DATA", target, None, RowDependencies(reads=frozenset((file,)))))


def copy(session: ScriptState, node: exp.Expr, scope: Scope) -> None:
    """Files into a table, or a table or query into files."""
    said = [table for file in node.args.get("files") or () for table in file.find_all(exp.Table)]
    files = [session.end_point(file) for file in said]
    if node.args.get("kind"):
        target = target_of(session, node.this)
        session.warn(f"COPY into {target.end_point.name!r}: the fields of its files are not known")
        session.write(TableWrite("COPY", target.end_point, None, RowDependencies(reads=frozenset(files))))
        return
    result = resolve_query(session, node.this, scope)
    for file in files:
        session.write(TableWrite("COPY", file, result.columns.named or None, result.effects))


def _target(session: ScriptState, node: exp.Expr) -> Target:
    if isinstance(node.this, exp.Directory):
        return Target(session.tables.dataset(node.this.this.name), by_name=True)
    return target_of(session, node.this, by_name=bool(node.args.get("by_name")))


def _keep(
    session: ScriptState, verb: str, target: Target, result: QueryResult, *, temporary: bool, view: bool = False
) -> None:
    """What a statement creates: an end point unless temporary, and a view that later statements read."""
    columns = result.columns
    if target.listed and columns.complete and columns.ordered:
        named = zip(target.listed, (made for _, made in columns.named), strict=False)
        columns = ColumnSet(tuple(named))
    name = target.end_point.name
    if temporary:
        session.temporary.add(name.lower())
        session.views[f"global_temp.{name.lower()}"] = QueryResult(columns, result.effects)
    if temporary or view:
        session.views[name.lower()] = QueryResult(columns, result.effects)
    else:
        session.views.pop(name.lower(), None)
    if not temporary:
        known = columns.named or columns.complete
        session.write(TableWrite(verb, target.end_point, columns.named if known else None, result.effects))
    if columns.complete and columns.ordered:
        session.tables.declare(target.end_point, [Field(column) for column, _ in columns.named])


def _declare(session: ScriptState, node: exp.Expr, end_point: Dataset, *, temporary: bool) -> None:
    """Columns that a CREATE TABLE names, or has like another table."""
    said = node.this.expressions if isinstance(node.this, exp.Schema) else []
    fields = [
        Field(one.name, one.args["kind"].sql(session.script.dialect) if one.args.get("kind") else "")
        for one in said
        if isinstance(one, exp.ColumnDef)
    ]
    like = node.find(exp.LikeProperty)
    if like is not None:
        names = write_target.declared(session, session.end_point(like.this)) or []
        fields = fields or [Field(name) for name in names]
    if temporary:
        session.temporary.add(end_point.name.lower())
        columns = tuple((field.name, GENERATED) for field in fields)
        session.views[end_point.name.lower()] = QueryResult(ColumnSet(columns))
    if fields:
        session.tables.declare(end_point, fields)


def _cloned(node: exp.Expr) -> exp.Expr | None:
    clone = node.args.get("clone")
    return clone.this if isinstance(clone, exp.Clone) else None


def _temporary(node: exp.Expr) -> bool:
    said = node.args.get("properties")
    table = node.this.this if isinstance(node.this, exp.Schema) else node.this
    marked = isinstance(table, exp.Table) and bool(table.this and table.this.args.get("temporary"))
    return marked or any(isinstance(one, exp.TemporaryProperty) for one in (said.expressions if said else ()))
