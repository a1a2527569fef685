"""Queries: the columns they return and what influences their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from sqlglot import exp

from fll_hbase.sources.sql.queries import from_clause
from fll_hbase.sources.sql.queries.column_provenance import (
    GENERATED,
    UNKNOWN_COLUMNS,
    ColumnFallback,
    ColumnProvenance,
    ColumnSet,
    IndirectInput,
    QueryResult,
    RowDependencies,
    TableSource,
    merge_columns,
    merge_dependencies,
    rows_of,
)
from fll_hbase.sources.sql.queries.expression_inputs import Operand, clause_dependencies, field_column
from fll_hbase.sources.sql.queries.scope import AliasPrecedence, Reader, Resolver, Scope
from fll_hbase.sources.sql.queries.select_list import SelectList, expand_star
from fll_hbase.sources.sql.script.script_state import ScriptState

_LINK_CLAUSES = ("by_name", "order", "sort", "cluster", "limit", "offset")
RECURSION_ROUNDS_MAX = 20
"""Limit of rounds for a recursive query; inputs that only later rounds would add are not recorded."""


def open_resolver(script: ScriptState, statement_reader: Reader | None = None) -> Resolver:
    """Return a resolver in an empty scope. Statements in a WITH have unknown columns without a reader."""
    reader = statement_reader or unknown_result
    return Resolver(script, Scope({}), resolve_query, reader, expand_star, field_column)


def unknown_result(_: Resolver, __: exp.Expr) -> QueryResult:
    """Return a result with unknown columns for any statement, without reading it."""
    return QueryResult(ColumnSet((), is_complete=False))


def resolve_query(resolver: Resolver, node: exp.Expr) -> QueryResult:
    """Resolve a query in the scope of the resolver, which belongs to the enclosing query."""
    inner = resolver.in_scope(Scope(common_table_expressions(resolver, node), parent=resolver.scope))
    has_own = isinstance(node, exp.Subquery) and any(map(node.args.get, ("joins", "pivots")))
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query) and not has_own:
        # A query in parentheses, with its own ORDER BY.
        result = inner.query(node.this)
        inner.scope.aliases.update((name.lower(), column) for name, column in result.columns.items)
        return _with_ordering(inner, node, result)
    if isinstance(node, exp.SetOperation):
        return _resolve_set_operation(inner, node)
    if isinstance(node, exp.Select):
        return _resolve_select(inner, node)
    return _resolve_source(inner, node)


def statement_scope(resolver: Resolver, node: exp.Expr) -> Resolver:
    """Return the resolver of a new scope, with the tables of its WITH, for a statement that writes."""
    return resolver.in_scope(Scope(common_table_expressions(resolver, node), parent=resolver.scope.parent))


def common_table_expressions(resolver: Resolver, node: exp.Expr) -> dict[str, QueryResult]:
    """Return the common table expressions that a node sees, including enclosing ones, by lower-case name.

    Its own hide others of the same name, and are read here, including statements that write.
    """
    scope = resolver.scope
    queries = dict(scope.queries)
    with_ = node.args.get("with_")
    if with_ is None:
        return queries
    for table in with_.expressions:
        # A scalar of ClickHouse is an alias in the query that contains the WITH, not a table.
        if table.args.get("scalar"):
            continue
        # Each table of a WITH sees the tables before it.
        outer = resolver.in_scope(Scope(queries, parent=scope))
        # T-SQL has no keyword for recursive queries.
        is_recursive = with_.args.get("recursive") or resolver.script.facts.changes_queries
        if is_recursive and isinstance(table.this, exp.Union):
            result = _resolve_recursive(outer, table)
        elif isinstance(table.this, (exp.Query, exp.Pivot)):
            result = _rename(outer, outer.query(table.this), table)
        else:
            result = outer.statement_reader(outer, table.this)
        queries[table.alias.lower()] = result
    return queries


def _resolve_recursive(resolver: Resolver, node: exp.Expr) -> QueryResult:
    """Resolve a query that refers to itself, in RECURSION_ROUNDS_MAX rounds or until inputs are stable."""
    scope = resolver.scope
    anchor = node.this
    while isinstance(anchor, exp.SetOperation):
        anchor = anchor.this
    result = _rename(resolver, resolver.query(anchor), node)
    for _ in range(RECURSION_ROUNDS_MAX):
        # Texts would repeat with every round.
        items = tuple(
            (name, replace(column, text="", steps=(), origin=None)) for name, column in result.columns.items
        )
        previous = replace(result, columns=replace(result.columns, items=items))
        queries = {**scope.queries, node.alias.lower(): previous}
        inner = resolver.in_scope(Scope(queries, parent=scope))
        following = _rename(resolver, inner.query(node.this), node)
        if _inputs(following) == _inputs(result):
            return following
        result = following
    return result


def _inputs(result: QueryResult) -> tuple[object, frozenset[IndirectInput]]:
    """Return what to compare between rounds of a recursive query: the fields of columns and of rows."""
    columns = [(column.direct, column.indirect) for column in result.columns.values()]
    return columns, result.dependencies.indirect


def _rename(resolver: Resolver, result: QueryResult, node: exp.Expr) -> QueryResult:
    """Return a result with column names from the alias `node`, by position; warn if the order is unknown."""
    columns = from_clause.rename_columns(resolver.script, result.columns, node.alias_column_names)
    return QueryResult(columns, result.dependencies)


def _resolve_source(resolver: Resolver, node: exp.Expr) -> QueryResult:
    """Return all columns of an item of a FROM that takes the place of a query; add it to the scope."""
    from_clause.add_source(resolver, node)
    select_list = SelectList(resolver)
    select_list.add(exp.Star())
    return QueryResult(select_list.columns(), resolver.scope.dependencies)


def _resolve_set_operation(resolver: Resolver, node: exp.SetOperation) -> QueryResult:
    """Resolve UNION, INTERSECT and EXCEPT, iteratively, since a long chain parses to a deep tree."""
    scope = resolver.scope
    links: list[exp.SetOperation] = []
    first: exp.Expr = node
    while isinstance(first, exp.SetOperation):
        if first is not node:
            # The parser attaches the WITH to any link of the chain.
            scope.queries = common_table_expressions(resolver, first)
        links.append(first)
        first = first.this
    # Merge all branches of a long UNION at once: merging in pairs would take time quadratic in their number.
    branches = [resolver.query(first)]
    merged = 0
    for link in reversed(links):
        right = resolver.query(link.expression)
        is_plain = isinstance(link, exp.Union) and not any(map(link.args.get, _LINK_CLAUSES))
        if is_plain and _match_by_position(branches[0].columns, right.columns):
            branches.append(right)
            merged = len(branches) if link.args.get("distinct") else merged
            continue
        result = _combine(resolver.script, link, _merge_branches(branches, merged), right)
        scope.aliases = {name.lower(): column for name, column in result.columns.items}
        branches, merged = [_with_ordering(resolver, link, result)], 0
    return _merge_branches(branches, merged)


def _match_by_position(left: ColumnSet, right: ColumnSet) -> bool:
    """Return whether all columns of both sides are known in order, and their numbers are equal."""
    return left.is_positional and right.is_positional and len(left.items) == len(right.items)


def _merge_branches(branches: Sequence[QueryResult], merged: int) -> QueryResult:
    """Merge the results of a UNION by position; all have as many columns as the first, which names them.

    The first `merged` results precede a UNION without ALL, which merges equal rows.
    """
    if len(branches) == 1:
        return branches[0]
    columns = zip(*(branch.columns.values() for branch in branches), strict=True)
    names = [name for name, _ in branches[0].columns.items]
    items = zip(names, map(merge_columns, columns), strict=True)
    compared = (column for branch in branches[:merged] for column in branch.columns.values())
    dependencies = [*(branch.dependencies for branch in branches), rows_of(compared, "group_by")]
    return QueryResult(ColumnSet(tuple(items)), merge_dependencies(dependencies))


def _combine(
    script: ScriptState, node: exp.SetOperation, left: QueryResult, right: QueryResult
) -> QueryResult:
    """Combine two sides by position, or by name for BY NAME, with the column names of the left side."""
    dependencies = left.dependencies | right.dependencies
    if not isinstance(node, exp.Union):
        # INTERSECT and EXCEPT compare both sides to decide which rows of the left side remain.
        columns = left.columns
        dependencies |= rows_of((*columns.values(), *right.columns.values()), "filter")
    elif node.args.get("by_name"):
        columns = _union_by_name(left.columns, right.columns)
    else:
        columns = _union_by_position(script, left.columns, right.columns)
    if node.args.get("distinct"):
        dependencies |= rows_of(columns.values(), "group_by")
    return QueryResult(columns, dependencies)


def _union_by_position(script: ScriptState, left: ColumnSet, right: ColumnSet) -> ColumnSet:
    """Merge the columns of a UNION by position, or warn and mark the left ones unknown if that fails."""
    if _match_by_position(left, right):
        pairs = zip(left.items, right.values(), strict=True)
        return ColumnSet(tuple((name, merge_columns([column, other])) for (name, column), other in pairs))
    script.warn("a UNION has sides whose columns cannot be matched by position; give them in `schema`")
    items = tuple((name, replace(column, unknown=True)) for name, column in left.items)
    return ColumnSet(items, _one_sided(left.fallback), left.is_complete, left.is_ordered)


def _one_sided(fallback: ColumnFallback | None) -> ColumnFallback | None:
    """Return a fallback that marks columns unknown, since the other side is unknown, or None for None."""
    if fallback is None:
        return None

    def one_sided(name: str) -> ColumnProvenance | None:
        column = fallback(name)
        return replace(column, unknown=True, origin=None) if column else None

    return one_sided


def _union_by_name(left: ColumnSet, right: ColumnSet) -> ColumnSet:
    """Return all columns of both sides, left ones first; a column that one side lacks is NULL there."""
    items = [(name, merge_columns([column, right.get(name) or GENERATED])) for name, column in left.items]
    items += [(name, column) for name, column in right.items if left.get(name) is None]
    return ColumnSet(
        tuple(items),
        _one_sided(left.fallback or right.fallback),
        left.is_complete and right.is_complete,
        left.is_ordered and right.is_ordered,
    )


def _resolve_select(resolver: Resolver, node: exp.Select) -> QueryResult:
    """Resolve a SELECT: its FROM in the scope, its list, and its clauses as row dependencies."""
    scope = resolver.scope
    if resolver.script.facts.has_aliases_first:
        scope.later = dict(_later_aliases(resolver, node))
    from_clause.add_from(resolver, node)
    if (match := node.args.get("match")) is not None:
        _hide_matched(resolver, match)
    _add_scalars(resolver, node)
    scope.windows = {window.name.lower(): window for window in node.args.get("windows") or ()}
    dependencies = scope.dependencies
    for name in ("where", "prewhere"):
        dependencies |= filter_clause(resolver, node, name, "WHERE")
    if (connect := node.args.get("connect")) is not None:
        scope.has_hierarchy = True
        operands = [(connect.args.get(part), "filter") for part in ("start", "connect")]
        dependencies |= clause_dependencies(resolver, operands, "CONNECT BY")
    select_list = SelectList(resolver)
    for expression in node.expressions:
        select_list.add(expression)
    columns = select_list.columns()
    if node.args.get("kind") == "VALUE" and len(columns.items) == 1:
        # The struct is the row.
        columns = ColumnSet(resolver.script.tables.members(columns.values()[0]) or columns.items)
    dependencies |= select_list.dependencies
    # GROUP BY and HAVING may name an alias, but a known column takes precedence.
    scope.alias_precedence = AliasPrecedence.BEFORE_UNKNOWN
    dependencies |= _grouping(resolver, node, columns)
    dependencies |= filter_clause(resolver, node, "having", "HAVING")
    dependencies |= filter_clause(resolver, node, "qualify", "QUALIFY")
    return _with_ordering(resolver, node, QueryResult(columns, dependencies))


def _later_aliases(
    resolver: Resolver, node: exp.Select
) -> Iterator[tuple[str, Callable[[], ColumnProvenance]]]:
    """Yield the lower-case aliases in any expression of a SELECT, each with a function that resolves it."""
    read_value = partial(field_column, resolver)
    for part in node.walk(prune=lambda part: isinstance(part, exp.Query) and part is not node):
        if isinstance(part, exp.Alias):
            is_item = part.parent is node
            read, value = (SelectList(resolver).resolve, part) if is_item else (read_value, part.this)
            yield part.alias.lower(), partial(read, value)


def _hide_matched(resolver: Resolver, node: exp.Expr) -> None:
    """Replace the last table of the scope with unknown columns for MATCH_RECOGNIZE, with a warning."""
    scope = resolver.scope
    table = scope.sources[-1]
    resolver.script.warn("MATCH_RECOGNIZE: what its columns come from is not known")
    scope.remove_from(len(scope.sources) - 1)
    scope.add(TableSource((node.alias.lower(),) if node.alias else table.name, UNKNOWN_COLUMNS))


def _add_scalars(resolver: Resolver, node: exp.Select) -> None:
    """Add the values in ClickHouse's WITH, such as `WITH 5 AS k`, as aliases."""
    with_ = node.args.get("with_")
    for table in with_.expressions if with_ is not None else ():
        if table.args.get("scalar"):
            select_list = SelectList(resolver)
            resolver.scope.aliases[table.alias.lower()] = select_list.resolve(table.this)
            resolver.scope.add_dependencies(select_list.dependencies)


def filter_clause(resolver: Resolver, node: exp.Expr, argument: str, name: str) -> RowDependencies:
    """Return the dependencies of a clause named `name` that selects rows, empty without the clause."""
    return clause_dependencies(resolver, [(node.args.get(argument), "filter")], name)


def _grouping(resolver: Resolver, node: exp.Select, columns: ColumnSet) -> RowDependencies:
    """Return the dependencies of GROUP BY (names, ordinals, grouping sets, ALL), DISTINCT and DISTINCT ON."""
    group, distinct = node.args.get("group"), node.args.get("distinct")
    dependencies = RowDependencies()
    if isinstance(distinct, exp.Distinct):
        on = distinct.args.get("on")
        dependencies = (
            clause_dependencies(resolver, [(on, "group_by")], "DISTINCT ON")
            if on
            else rows_of(columns.values(), "group_by")
        )
    if group is None:
        return dependencies
    parts: list[exp.Expr] = list(group.iter_expressions())
    if group.args.get("all"):
        parts = [part.unalias() for part in node.expressions if part.find(exp.AggFunc) is None]
    return dependencies | _ordinal_clause(resolver, parts, columns, kind="group_by", name="GROUP BY")


def _with_ordering(resolver: Resolver, node: exp.Expr, result: QueryResult) -> QueryResult:
    """Add the dependencies of ORDER BY, SORT BY and CLUSTER BY (aliases first), and of queries in LIMIT."""
    dependencies = RowDependencies()
    resolver.scope.alias_precedence = AliasPrecedence.FIRST
    clauses = [node.args.get(name) for name in ("order", "sort", "cluster")]
    if any(clauses):
        # A name is a column of the result, with or without an alias.
        for column_name, column in result.columns.items:
            resolver.scope.aliases.setdefault(column_name.lower(), column)
    for order in clauses:
        if order is not None:
            parts = [part.this if isinstance(part, exp.Ordered) else part for part in order.expressions]
            dependencies |= _ordinal_clause(resolver, parts, result.columns, kind="sort", name="ORDER BY")
    resolver.scope.alias_precedence = AliasPrecedence.LAST
    for name in ("limit", "offset"):
        bound = node.args.get(name)
        if bound is not None and bound.find(exp.Query) is not None:
            # A query in LIMIT does not see the tables of the query around it.
            apart = resolver.in_scope(Scope(resolver.scope.queries, parent=resolver.scope.parent))
            dependencies |= clause_dependencies(apart, [(bound, "filter")], name.upper())
    return QueryResult(result.columns, result.dependencies | dependencies)


def _ordinal_clause(
    resolver: Resolver, parts: Iterable[exp.Expr], columns: ColumnSet, *, kind: str, name: str
) -> RowDependencies:
    """Return the dependencies of a clause in which an integer is a column number, from 1."""
    selected: list[ColumnProvenance] = []
    others: list[Operand] = []
    for part in parts:
        number = int(part.name) - 1 if isinstance(part, exp.Literal) and part.is_int else -1
        if 0 <= number < len(columns.items) and columns.is_ordered:
            selected.append(columns.items[number][1])
        else:
            others.append((part, kind))
    return clause_dependencies(resolver, others, name) | rows_of(selected, kind)
