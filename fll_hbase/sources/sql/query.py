"""What does a query give: its columns, and what shapes its rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from fll_hbase.sources.sql import from_clause
from fll_hbase.sources.sql.expression_inputs import Part
from fll_hbase.sources.sql.expressions import gather
from fll_hbase.sources.sql.provenance import ColumnSet, RowDependencies, ColumnProvenance, QueryResult, shaped
from fll_hbase.sources.sql.scope import Rank, Scope
from fll_hbase.sources.sql.script_state import ScriptState
from fll_hbase.sources.sql.select_list import Selected
from fll_hbase.sources.sql.set_operations import combined

ROUNDS_MAX = 20
"""How often a recursive query is gone through before its columns are taken as they are."""


def resolve_query(session: ScriptState, node: exp.Expr, scope: Scope) -> QueryResult:
    """The result of a query in a scope, which is that of the query around it."""
    inner = Scope(with_queries(session, node, scope), parent=scope)
    if isinstance(node, exp.Subquery):
        return _subquery(session, node, inner)
    if isinstance(node, exp.SetOperation):
        return _set_operation(session, node, inner)
    if isinstance(node, exp.Select):
        return _select(session, node, inner)
    return _item(session, node, inner)


def with_queries(session: ScriptState, node: exp.Expr, scope: Scope) -> dict[str, QueryResult]:
    """The named queries that a node can use: those around it, and those of its own WITH."""
    named = dict(scope.queries)
    with_ = node.args.get("with_")
    if with_ is None:
        return named
    for one in with_.expressions:
        outer = Scope(named, parent=scope)
        recursive = with_.args.get("recursive") or session.spoken == "tsql"
        if recursive and isinstance(one.this, exp.Union):
            result = _recursive(session, one, outer)
        elif isinstance(one.this, exp.Query):
            result = _renamed(session, resolve_query(session, one.this, outer), one)
        else:
            result = session.change(session, one.this, outer)
        named[one.alias.lower()] = result
    return named


def _recursive(session: ScriptState, node: exp.Expr, scope: Scope) -> QueryResult:
    """A query that may name itself: gone through until its columns are made of nothing more."""
    name = node.alias.lower()
    left = node.this
    while isinstance(left, exp.SetOperation):
        left = left.this
    result = _renamed(session, resolve_query(session, left, scope), node)
    for _ in range(ROUNDS_MAX):
        bare = tuple(
            (column, replace(made, text="", steps=(), origin=None)) for column, made in result.columns.named
        )
        known = replace(result, columns=replace(result.columns, named=bare))
        inner = Scope({**scope.queries, name: known}, parent=scope)
        again = _renamed(session, resolve_query(session, node.this, inner), node)
        if _inputs(again) == _inputs(result):
            return again
        result = again
    return result


def _inputs(result: QueryResult) -> list[object]:
    made = [made for _, made in result.columns.named]
    return [[(one.direct, one.indirect) for one in made], result.effects.whole]


def _renamed(session: ScriptState, result: QueryResult, node: exp.Expr) -> QueryResult:
    """The result under the column names that its alias gives, if any."""
    return replace(result, columns=from_clause.renamed(session, result.columns, node.alias_column_names))


def _subquery(session: ScriptState, node: exp.Subquery, scope: Scope) -> QueryResult:
    """A query in parentheses, which may have an order or joins of its own."""
    if isinstance(node.this, exp.Query) and not node.args.get("joins") and not node.args.get("pivots"):
        result = resolve_query(session, node.this, scope)
        scope.aliases.update((name.lower(), made) for name, made in result.columns.named)
        return replace(result, effects=result.effects | _sorted(session, node, scope, result.columns))
    return _item(session, node, scope)


def _item(session: ScriptState, node: exp.Expr, scope: Scope) -> QueryResult:
    """All columns of what could stand in a FROM."""
    from_clause.add(session, scope, resolve_query, node)
    selected = Selected(session, scope, resolve_query)
    selected.add(exp.Star())
    return QueryResult(selected.columns(), scope.effects)


def _set_operation(session: ScriptState, node: exp.SetOperation, scope: Scope) -> QueryResult:
    """Several queries as one. They are a chain, which may be long, hence no recursion."""
    links: list[exp.SetOperation] = []
    first: exp.Expr = node
    while isinstance(first, exp.SetOperation):
        if first is not node:
            scope.queries = with_queries(session, first, scope)
        links.append(first)
        first = first.this
    result = resolve_query(session, first, scope)
    for link in reversed(links):
        right = resolve_query(session, link.expression, scope)
        result = combined(session, link, result, right)
        scope.aliases = {name.lower(): made for name, made in result.columns.named}
        result = replace(result, effects=result.effects | _sorted(session, link, scope, result.columns))
    return result


def _select(session: ScriptState, node: exp.Select, scope: Scope) -> QueryResult:
    from_clause.add_all(session, scope, resolve_query, node)
    scope.windows = {window.name.lower(): window for window in node.args.get("windows") or ()}
    effects = scope.effects | clause(session, scope, [(node.args.get("where"), "filter")], "WHERE")
    effects |= clause(session, scope, [(node.args.get("prewhere"), "filter")], "WHERE")
    selected = Selected(session, scope, resolve_query)
    for one in node.expressions:
        selected.add(one)
    columns = selected.columns()
    effects |= selected.effects
    scope.rank = Rank.BEFORE_UNKNOWN
    effects |= _grouped(session, node, scope, columns)
    effects |= clause(session, scope, [(node.args.get("having"), "filter")], "HAVING")
    effects |= clause(session, scope, [(node.args.get("qualify"), "filter")], "QUALIFY")
    effects |= _sorted(session, node, scope, columns)
    return QueryResult(columns, effects)


def _grouped(session: ScriptState, node: exp.Select, scope: Scope, columns: ColumnSet) -> RowDependencies:
    """What rows are grouped by: names, ordinals, sets of them, or all that is no aggregate."""
    group, distinct = node.args.get("group"), node.args.get("distinct")
    effects = RowDependencies()
    if isinstance(distinct, exp.Distinct) and distinct.args.get("on"):
        effects |= clause(session, scope, [(distinct.args["on"], "group_by")], "DISTINCT ON")
    if group is None:
        return effects
    parts: list[exp.Expr] = list(group.iter_expressions())
    if group.args.get("all"):
        parts = [one.unalias() for one in node.expressions if one.find(exp.AggFunc) is None]
    return effects | _ordinal_clause(session, scope, parts, columns, ("group_by", "GROUP BY"))


def _sorted(session: ScriptState, node: exp.Expr, scope: Scope, columns: ColumnSet) -> RowDependencies:
    effects = RowDependencies()
    scope.rank = Rank.FIRST
    for name in ("order", "sort", "cluster"):
        order = node.args.get(name)
        if order is not None:
            parts = [one.this if isinstance(one, exp.Ordered) else one for one in order.expressions]
            effects |= _ordinal_clause(session, scope, parts, columns, ("sort", "ORDER BY"))
    scope.rank = Rank.LAST
    return effects


def _ordinal_clause(
    session: ScriptState, scope: Scope, parts: Iterable[exp.Expr], columns: ColumnSet, said: tuple[str, str]
) -> RowDependencies:
    """A clause in which a number is that of a column."""
    kind, name = said
    made: list[ColumnProvenance] = []
    others: list[Part] = []
    for part in parts:
        number = int(part.name) - 1 if isinstance(part, exp.Literal) and part.is_int else -1
        if 0 <= number < len(columns.named) and columns.ordered:
            made.append(columns.named[number][1])
        else:
            others.append((part, kind))
    effects = clause(session, scope, others, name)
    return (
        effects | RowDependencies(frozenset(shape for one in made for shape in shaped(one, kind)))
        if made
        else effects
    )


def clause(
    session: ScriptState, scope: Scope, parts: Iterable[tuple[exp.Expr | None, str]], name: str
) -> RowDependencies:
    """What a clause shapes rows by, and its text."""
    found = gather(session, scope, resolve_query, [(part, kind) for part, kind in parts if part is not None])
    text = session.texts.item(name, (found.start, found.end)) if found.start >= 0 else ""
    clauses = (f"{name} {text}",) if text else ()
    return RowDependencies(frozenset(found.indirect), clauses) | found.effects
