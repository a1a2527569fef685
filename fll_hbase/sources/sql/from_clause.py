"""What stands in a FROM: tables, views, queries, generators of rows, and how they are joined."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from fll_hbase.sources.sql import joins, pivots
from fll_hbase.sources.sql.expressions import Answer
from fll_hbase.sources.sql.provenance import UNKNOWN, ColumnSet, RowDependencies, TableSource, QueryResult
from fll_hbase.sources.sql.scope import Scope
from fll_hbase.sources.sql.script_state import ScriptState
from fll_hbase.sources.sql.select_list import Selected

_VALUES_NAMES = {"spark": "col{}", "hive": "col{}"}
_NAMES = (exp.Identifier, exp.Dot, exp.Var, exp.Parameter)


def add_all(session: ScriptState, scope: Scope, answer: Answer, node: exp.Expr) -> None:
    """Everything in the FROM of a node: what it begins with, its lateral views and its joins."""
    from_ = node.args.get("from_")
    if from_ is not None:
        add(session, scope, answer, from_.this)
    _add_beside(session, scope, answer, node)


def add(session: ScriptState, scope: Scope, answer: Answer, node: exp.Expr) -> None:
    """One item and what is joined inside of it."""
    if isinstance(node, exp.Subquery) and isinstance(node.this, (exp.Table, exp.Subquery)) and not node.alias:
        add(session, scope, answer, node.this)
    else:
        result = _result(session, scope, answer, node)
        relation = TableSource(_name(session, node), renamed(session, result.columns, node.alias_column_names))
        for pivot in node.args.get("pivots") or ():
            relation = pivots.pivoted(session, scope, answer, relation, pivot)
        scope.found.append(result.effects)
        scope.put(relation)
    _add_beside(session, scope, answer, node)


def renamed(session: ScriptState, columns: ColumnSet, names: Sequence[str]) -> ColumnSet:
    """Columns under other names, by position."""
    if not names:
        return columns
    if columns.complete and columns.ordered:
        made = [made for _, made in columns.named]
        return ColumnSet((*zip(names, made, strict=False), *columns.named[len(names) :]), columns.rest)
    session.warn(f"columns named {', '.join(names)}: which they are is not known; give them in `schema`")
    return ColumnSet(tuple((name, UNKNOWN) for name in names))


def values(session: ScriptState, scope: Scope, answer: Answer, node: exp.Values) -> QueryResult:
    """Rows written out: each column is any of its values."""
    selected = Selected(session, scope, answer)
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
    pattern = _VALUES_NAMES.get(session.spoken, "column{}")
    columns = tuple(
        (pattern.format(number + 1), selected.any_of([row[number] for row in rows if number < len(row)]))
        for number in range(max(map(len, rows), default=0))
    )
    return QueryResult(ColumnSet(columns), selected.effects)


def _add_beside(session: ScriptState, scope: Scope, answer: Answer, node: exp.Expr) -> None:
    for lateral in node.args.get("laterals") or ():
        add(session, scope, answer, lateral)
    for join in node.args.get("joins") or ():
        before = len(scope.relations)
        add(session, scope, answer, join.this)
        joins.join(session, scope, answer, join, before)


def _result(session: ScriptState, scope: Scope, answer: Answer, node: exp.Expr) -> QueryResult:
    """The columns and effects of one item. Only what is lateral sees what stands before it."""
    apart = Scope(scope.queries, parent=scope.parent)
    if isinstance(node, exp.Table) and isinstance(node.this, _NAMES):
        return _table(session, scope, node)
    if isinstance(node, exp.Lateral) and isinstance(node.this, exp.Query):
        return answer(session, node.this, scope)
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
        return answer(session, _bare(node), apart)
    if isinstance(node, exp.Subquery):
        add(session, apart, answer, node.this)
        every = ColumnSet(tuple(named for one in apart.relations for named in one.columns.named))
        return QueryResult(every, apart.effects)
    if isinstance(node, exp.Values):
        return values(session, scope, answer, node)
    if isinstance(node, exp.Query):
        return answer(session, node, apart)
    return _generated(session, scope, answer, node)


def _bare(node: exp.Subquery) -> exp.Expr:
    """The query in parentheses, with them where they have more than an alias."""
    more = any(node.args.get(name) for name in ("with_", "order", "sort", "cluster"))
    return node if more and not node.args.get("joins") and not node.args.get("pivots") else node.this


def _table(session: ScriptState, scope: Scope, node: exp.Table) -> QueryResult:
    """A named query, a view of this script, or else a table."""
    name = session.name(node)
    known = scope.queries.get(name.lower()) if not node.db else None
    known = known or session.views.get(name.lower())
    if known is not None:
        return known
    end_point = session.tables.dataset(name)
    return QueryResult(session.tables.columns(end_point), RowDependencies(reads=frozenset((end_point,))))


def _name(session: ScriptState, node: exp.Expr) -> tuple[str, ...]:
    if node.alias:
        return (node.alias.lower(),)
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        return tuple(part.name.lower() for part in node.parts)
    return ()


def _generated(session: ScriptState, scope: Scope, answer: Answer, node: exp.Expr) -> QueryResult:
    """A function that gives rows: each column is made of all its arguments, or of its own where they pair."""
    selected = Selected(session, scope, answer)
    alias = node.args.get("alias")
    names = (
        [name.name for name in alias.args.get("columns") or ()] if isinstance(alias, exp.TableAlias) else []
    )
    offset = node.args.get("offset")
    names += [offset.name] if isinstance(offset, exp.Identifier) else []
    sources = node.expressions if isinstance(node, exp.Unnest) else [node.this]
    every = [source for source in sources if isinstance(source, exp.Expr)]
    all_ = selected.any_of(every)
    if not names:
        spread = tuple((name, all_) for name in _spread(session, node, every))
        return QueryResult(ColumnSet(spread, rest=lambda _: all_, complete=bool(spread)), selected.effects)
    if len(every) == len(names) > 1:
        made = [selected.any_of([source]) for source in every]
    elif len(every) == 1:
        made = selected.several(every[0], len(names), every[0])
    else:
        made = [all_] * len(names)
    return QueryResult(ColumnSet(tuple(zip(names, made, strict=True))), selected.effects)


def _spread(session: ScriptState, node: exp.Expr, every: Sequence[exp.Expr]) -> tuple[str, ...]:
    """What the columns of a generator are called that nobody named."""
    if session.spoken == "postgres" and node.alias:
        return (node.alias,)
    if len(every) == 1 and isinstance(every[0], (exp.Posexplode, exp.PosexplodeOuter)):
        return ("pos", "col")
    return ("col",) if len(every) == 1 and isinstance(every[0], (exp.Explode, exp.ExplodeOuter)) else ()
