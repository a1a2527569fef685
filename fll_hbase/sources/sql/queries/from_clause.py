"""FROM clauses: tables, views, queries, VALUES, generators of rows, the joins between them, and PIVOTs.

In PIVOT, rows of a table become columns, and in UNPIVOT columns become rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from sqlglot import exp

from fll_hbase.runtime.errors import UnreadableDocument
from fll_hbase.sources.derived_columns import counted, derive
from fll_hbase.sources.sql.parser import Statement, StatementTooLarge, parse_script
from fll_hbase.sources.sql.queries.column_provenance import (
    GENERATED,
    UNKNOWN,
    UNKNOWN_COLUMNS,
    ColumnProvenance,
    ColumnSet,
    NamedColumn,
    QueryResult,
    RowDependencies,
    TableSource,
    as_indirect,
    merge_columns,
    merge_dependencies,
    rows_of,
)
from fll_hbase.sources.sql.queries.expression_inputs import clause_dependencies, collect_inputs
from fll_hbase.sources.sql.queries.scope import Resolver, Scope
from fll_hbase.sources.sql.queries.select_list import SelectList, expand_star
from fll_hbase.sources.sql.queries.table_functions import (
    EXPLODE,
    ROW_GENERATORS,
    WITH_POSITION,
    makes_fixed_rows,
    named_table,
)
from fll_hbase.sources.sql.script.script_state import ScriptState
from fll_hbase.sources.sql.script.source_text import to_sql

_TABLE_NAMES = (exp.Identifier, exp.Dot, exp.Var, exp.Parameter, exp.Literal)
_FILTERING_JOINS = {"SEMI", "ANTI"}
UNLISTED = "PIVOT: the columns that it makes are unknown and left out"


def add_from(resolver: Resolver, node: exp.Expr) -> None:
    """Add the FROM, lateral views and joins of a statement to the scope, with their row dependencies."""
    start, from_ = len(resolver.scope.sources), node.args.get("from_")
    if from_ is not None:
        add_source(resolver, from_.this)
    _add_joined(resolver, node, start)


def add_source(resolver: Resolver, node: exp.Expr) -> None:
    """Add one item of a FROM, after its PIVOTs, and the joins inside it, to the scope."""
    start = len(resolver.scope.sources)
    if isinstance(node, exp.AtIndex):
        # Redshift's `t.o AS v AT k`.
        names = exp.TableAlias(columns=[exp.to_identifier(node.this.alias), node.expression])
        node = exp.Unnest(expressions=[node.this.unalias()], alias=names)
    node = named_table(resolver.script, node)
    # ClickHouse's FINAL, Databricks' STREAM and parentheses around a table without an alias have no effect.
    if isinstance(node, (exp.Final, exp.Stream)) or (
        isinstance(node, exp.Subquery)
        and isinstance(node.this, (exp.Table, exp.Subquery))
        and not node.alias
        and not node.args.get("pivots")
    ):
        add_source(resolver, node.this)
    else:
        result = _resolve_source(resolver, node)
        columns = rename_columns(resolver.script, result.columns, node.alias_column_names)
        source = TableSource(_source_name(node), columns)
        for pivot in node.args.get("pivots") or ():
            source = _apply_pivot(resolver, source, pivot)
        resolver.scope.add_dependencies(result.dependencies)
        resolver.scope.add(source)
    _add_joined(resolver, node, start)


def rename_columns(script: ScriptState, columns: ColumnSet, names: Sequence[str]) -> ColumnSet:
    """Return columns renamed by position; columns beyond the names stay unchanged. Raises TooManyColumns.

    For an unknown order, warns and returns only an UNKNOWN column per name. Without names, does nothing.
    """
    if not names:
        return columns
    if columns.is_positional:
        derive(len(columns.items))
        renamed = zip(names, columns.values(), strict=False)
        return ColumnSet((*renamed, *columns.items[len(names) :]), columns.fallback)
    script.warn(f"cannot map the names {', '.join(names)} to columns: list the columns in `schema`")
    return ColumnSet(tuple((name, UNKNOWN) for name in names))


def _add_joined(resolver: Resolver, node: exp.Expr, first: int) -> None:
    """Add the tables of a node's LATERAL and JOIN clauses to the scope, and the conditions of joins.

    A PIVOT after a join applies to all joined tables, from number `first` on or from the last comma.
    """
    facts = resolver.script.facts
    joins, laterals = node.args.get("joins") or (), node.args.get("laterals") or ()
    # Each item sees the items before it; Hive allows LATERAL VIEW on both sides of a join.
    for item in sorted((*joins, *laterals), key=_position) if joins and laterals else (*joins, *laterals):
        start = len(resolver.scope.sources)
        if isinstance(item, exp.Lateral):
            add_source(resolver, item)
        elif item.kind == "ARRAY":
            _add_array_elements(resolver, item)
        else:
            # The parser gives this argument to every join except a comma.
            is_comma = "pivots" not in item.args
            first = start if is_comma else first
            if facts.pivots_joins and not is_comma and item.this.args.get("pivots"):
                item.set("pivots", item.this.args.pop("pivots"))
            add_source(resolver, item.this)
            _join(resolver, item, start)
            for pivot in item.args.get("pivots") or ():
                _pivot_joined(resolver, pivot, first)


def _position(node: exp.Expr) -> int:
    """Return the offset of one of a clause's names in the text, or 0 if it has none."""
    names = node.find_all(exp.Identifier)
    return next((int(name.meta["start"]) for name in names if "start" in name.meta), 0)


def _pivot_joined(resolver: Resolver, node: exp.Expr, first: int) -> None:
    """Replace the tables from number `first` on with the result of a PIVOT of all their columns."""
    scope = resolver.scope
    keys = scope.join_keys
    joined = resolver.in_scope(Scope(scope.queries, sources=scope.sources[first:], join_keys=keys))
    columns = expand_star(joined, exp.Star())
    scope.remove_from(first)
    scope.join_keys = {}
    scope.add(_apply_pivot(resolver, TableSource((), columns), node))


def _add_array_elements(resolver: Resolver, node: exp.Join) -> None:
    """Add the elements of ClickHouse's ARRAY JOIN under their alias; others keep the array's name."""
    select_list = SelectList(resolver)
    arrays = [(item, select_list.resolve(item)) for item in (node.this, *node.expressions)]
    items = tuple((item.alias, column) for item, column in arrays if isinstance(item, exp.Alias))
    resolver.scope.add(TableSource((), ColumnSet(items)))
    rows = rows_of([column for _, column in arrays], "join")
    resolver.scope.add_dependencies(select_list.dependencies | rows)


def _join(resolver: Resolver, node: exp.Join, start: int) -> None:
    """Resolve a join with the tables from number `start` on; SEMI and ANTI remove these from the scope."""
    scope = resolver.scope
    is_filter = bool({node.kind, node.side} & _FILTERING_JOINS)
    keys = [name.name for name in node.args.get("using") or ()]
    if node.method == "NATURAL":
        keys = _common_columns(resolver, start)
    for key in keys:
        # A third table with the same key is joined with the merged column.
        shared = scope.join_keys.get(key.lower())
        left = shared[1] if shared else _join_key(resolver, scope.sources[:start], key)
        right = _join_key(resolver, scope.sources[start:], key)
        scope.add_dependencies(rows_of((left, right), "join"))
        if not is_filter:
            scope.join_keys[key.lower()] = (key, _merge_sides(node.side, left, right))
    if keys:
        scope.add_dependencies(RowDependencies(clauses=(f"USING ({', '.join(keys)})",)))
    conditions = [(node.args.get(name), "join") for name in ("on", "match_condition")]
    if any(condition is not None for condition, _ in conditions):
        scope.add_dependencies(clause_dependencies(resolver, conditions, "ON"))
    if is_filter:
        # Nothing can refer to the right side of a semi or anti join afterwards.
        scope.remove_from(start)


def _merge_sides(join_side: str, left: ColumnProvenance, right: ColumnProvenance) -> ColumnProvenance:
    """Return the value of a USING key: COALESCE of both sides for FULL, else right for RIGHT, else left."""
    if join_side == "FULL":
        both = merge_columns([left, right])
        return both.with_indirect(as_indirect(left, "conditional"))
    # The key of an outer join comes from the side that keeps all rows.
    return right if join_side == "RIGHT" else left


def _join_key(resolver: Resolver, sources: Sequence[TableSource], key: str) -> ColumnProvenance:
    """Return the column of a key on one side of a join, or warn and return UNKNOWN if that is unclear."""
    columns = [column for source in sources if (column := source.columns.get(key)) is not None]
    fallbacks = [source.columns.fallback for source in sources if source.columns.fallback is not None]
    if not columns and len(fallbacks) == 1:
        columns = [column for column in (fallbacks[0](key),) if column is not None]
    if len(columns) == 1:
        return columns[0]
    resolver.script.warn(f"cannot find the table of column {key!r} of a join: list the columns in `schema`")
    return UNKNOWN


def _common_columns(resolver: Resolver, start: int) -> list[str]:
    """Return the columns on both sides of a natural join, in the left order; warn if a side is unknown."""
    sources = resolver.scope.sources
    if not all(source.columns.is_complete for source in sources):
        resolver.script.warn("NATURAL JOIN: the columns of both sides are not known; give them in `schema`")
    right = {name.lower() for source in sources[start:] for name, _ in source.columns.items}
    left = [name for source in sources[:start] for name, _ in source.columns.items]
    return [name for name in dict.fromkeys(left) if name.lower() in right]


def _resolve_source(resolver: Resolver, node: exp.Expr) -> QueryResult:
    """Resolve one item. Queries see the items before them only if lateral; VALUES and functions always do."""
    scope = resolver.scope
    apart = resolver.in_scope(Scope(scope.queries, parent=scope.parent))
    match node:
        case exp.Table() if isinstance(node.this, _TABLE_NAMES) and not isinstance(_function(node), exp.Func):
            return _resolve_table(resolver, node)
        case exp.Lateral() if isinstance(node.this, exp.Query):
            return resolver.query(node.this)
        case exp.Subquery() if isinstance(node.this, exp.Query):
            return apart.query(_unwrap(node))
        case exp.Pivot():
            add_source(apart, node.this)
            return _resolve_pivot(apart, node)
        case exp.Subquery():
            add_source(apart, node.this)
            if len(apart.scope.sources) == 1:
                return QueryResult(apart.scope.sources[0].columns, apart.scope.dependencies)
            items = tuple(counted(item for source in apart.scope.sources for item in source.columns.items))
            return QueryResult(ColumnSet(items), apart.scope.dependencies)
        case exp.Values():
            return _resolve_values(resolver, node)
        case exp.Query():
            return apart.query(node)
        case _:
            return _resolve_function(resolver, node)


def _unwrap(node: exp.Subquery) -> exp.Expr:
    """Return the content of parentheses; keep them if they have WITH or ORDER BY, but no joins or PIVOT."""
    has_clause = any(node.args.get(name) for name in ("with_", "order", "sort", "cluster"))
    return node if has_clause and not node.args.get("joins") and not node.args.get("pivots") else node.this


def _resolve_table(resolver: Resolver, node: exp.Table) -> QueryResult:
    """Return the columns of a name in a FROM: from a query in a WITH, else a view, else a table."""
    script = resolver.script
    # A name with a database is not the name of a common table expression.
    query = resolver.scope.queries.get(node.name.lower()) if not node.db else None
    if query is not None:
        return query
    dataset = script.dataset(node)
    view = script.views.get(dataset)
    return view or QueryResult(script.tables.columns(dataset), RowDependencies(reads=frozenset((dataset,))))


def _resolve_values(resolver: Resolver, node: exp.Values) -> QueryResult:
    """Return the columns of VALUES, named by the dialect, each with all values at its position as inputs."""
    select_list = SelectList(resolver)
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
    pattern = resolver.script.facts.values_column
    items = tuple(
        (
            pattern.format(number + 1),
            select_list.resolve_any([row[number] for row in rows if number < len(row)]),
        )
        for number in range(max(map(len, rows), default=0))
    )
    return QueryResult(ColumnSet(items), select_list.dependencies)


def _resolve_generator(resolver: Resolver, node: exp.Expr) -> QueryResult:
    """Resolve a table function: each column has all arguments or its own as inputs; warn if unknown."""
    select_list = SelectList(resolver)
    names, offset = node.alias_column_names, node.args.get("offset")
    names = [*names, offset.name] if isinstance(offset, exp.Identifier) else names
    arguments = node.expressions if isinstance(node, exp.Unnest) else [node.this]
    inputs = [argument for argument in arguments if isinstance(argument, exp.Expr)]
    combined = select_list.resolve_any(inputs)
    if not all(map(makes_fixed_rows, inputs)):
        select_list.dependencies |= rows_of([combined], "join")
    if _is_unknown_function(node, combined):
        columns = _unknown_columns(resolver.script, node)
        listed = ColumnSet(tuple((name, UNKNOWN) for name in names))
        return QueryResult(listed if names else columns, select_list.dependencies)
    if not names:
        items = _default_items(select_list, node, inputs, combined)
        columns = ColumnSet(items, lambda _: combined, is_complete=bool(items))
        return QueryResult(columns, select_list.dependencies)
    if len(inputs) == len(names) > 1:
        values = [select_list.resolve_any([argument]) for argument in inputs]
    elif len(inputs) == 1:
        values = select_list.resolve_generator(inputs[0], len(names), inputs[0])
    else:
        values = [combined] * len(names)
    return QueryResult(ColumnSet(tuple(zip(names, values, strict=True))), select_list.dependencies)


def _is_unknown_function(node: exp.Expr, inputs: ColumnProvenance) -> bool:
    """Return whether a function of constants may read anything, so that its rows have other sources."""
    function = _function(node)
    if not isinstance(function, exp.Expr) or isinstance(node, exp.Unnest) or inputs.direct or inputs.unknown:
        return False
    has_model = any(isinstance(part, exp.Table) for part in function.iter_expressions())
    return has_model or (isinstance(function, exp.Anonymous) and function.name.lower() not in ROW_GENERATORS)


def _function(node: exp.Expr) -> exp.Expr | None:
    """Return the function of an item of a FROM, without names before it, or None in a broken tree."""
    function: exp.Expr | None = node.this.expression if isinstance(node.this, exp.Dot) else node.this
    return function


def _unknown_columns(script: ScriptState, node: exp.Expr) -> ColumnSet:
    """Return the unknown columns of a table function, with a warning."""
    function = _function(node) or node
    is_own = isinstance(function, exp.Anonymous)
    name = function.name if is_own else to_sql(function, script.script.dialect).partition("(")[0]
    script.warn(f"the sources of the columns of {name[:100]}() are unknown")
    return UNKNOWN_COLUMNS


def _resolve_function(resolver: Resolver, node: exp.Expr) -> QueryResult:
    """Resolve a function: by its query in the script or one that it is passed, else by its arguments.

    A model's function has the columns of its query and predictions. Other functions of a `SELECT *` or
    of a table have unknown columns, with a warning.
    """
    apart = resolver.in_scope(Scope(resolver.scope.queries, parent=resolver.scope.parent))
    function = _function(node) if isinstance(node.this, exp.Expr) else None
    if (called := resolver.call(function)) is not None:
        return called
    if not isinstance(node, exp.Table) or function is None:
        return _resolve_generator(resolver, node)
    statement = _passed_statement(resolver.script, node.this)
    if statement is not None:
        return apart.query_of(statement)
    has_model = isinstance(node.this.args.get("this"), exp.Table)
    queries = [part for part in node.this.iter_expressions() if isinstance(part, exp.Query)]
    for part in node.this.find_all(exp.Anonymous):
        argument = next(iter(part.expressions), None)
        if part is not node.this and part.name.lower() == "table" and isinstance(argument, exp.Column):
            names = dict(zip(("this", "db", "catalog"), argument.parts[::-1], strict=False))
            queries.append(exp.select("*").from_(exp.Table(**names)))
    results = [apart.query(query) for query in queries if has_model or query.unnest().is_star]
    if not results:
        return _resolve_generator(resolver, node)
    dependencies = merge_dependencies(result.dependencies for result in results)
    if not has_model or len(results) > 1:
        return QueryResult(_unknown_columns(resolver.script, node), dependencies)
    return QueryResult(_predicted_columns(results[0].columns), dependencies)


def _predicted_columns(given: ColumnSet) -> ColumnSet:
    """Return the columns of BigQuery's ML.PREDICT and similar: given ones, and others made from them all."""
    predicted = merge_columns(given.values()) if given.is_complete else UNKNOWN

    def fallback(name: str) -> ColumnProvenance | None:
        is_given = given.fallback is not None and not name.lower().startswith("predicted_")
        return given.fallback(name) if is_given and given.fallback else predicted

    return ColumnSet(given.items, fallback, is_complete=False, is_ordered=False)


def _passed_statement(script: ScriptState, function: exp.Expr) -> Statement | None:
    """Return the query of RESULT_SCAN(LAST_QUERY_ID()) or Trino's `catalog.system.query('…')`, or None."""
    if function.name.lower() == "result_scan" and isinstance(function, exp.Anonymous):
        is_last = [part.name.lower() for part in function.find_all(exp.Anonymous)][1:] == ["last_query_id"]
        return script.selected if is_last else None
    catalog, _, schema = function.this.sql().partition(".") if isinstance(function, exp.Dot) else ("", "", "")
    text = function.find(exp.Literal)
    if schema.lower() != "system" or function.expression.name.lower() != "query" or text is None:
        return None
    try:
        items = parse_script(text.name, script.facts.name).statements
    except (UnreadableDocument, StatementTooLarge):
        return None
    statement = items[0] if len(items) == 1 else None
    if not isinstance(statement, Statement) or not isinstance(statement.tree, exp.Query):
        return None
    for table in statement.tree.find_all(exp.Table):
        if table.db and not table.catalog:
            table.set("catalog", exp.to_identifier(catalog))
    return statement


def _default_items(
    select_list: SelectList, node: exp.Expr, inputs: Sequence[exp.Expr], combined: ColumnProvenance
) -> tuple[NamedColumn, ...]:
    """Return the columns of a table function whose alias does not name them, or () if they are unknown."""
    facts = select_list.script.facts
    generator = inputs[0] if len(inputs) == 1 else None
    if facts.names_functions and node.alias:
        return ((node.alias, combined),)
    if generator is None:
        return ()
    has_position = isinstance(generator, WITH_POSITION)
    column = select_list.resolve_generator(generator, 1 + has_position, generator)[-1]
    if has_position:
        return (("pos", combined), ("col", column))
    if isinstance(generator, exp.Inline) or (isinstance(node, exp.Unnest) and facts.has_whole_rows):
        return tuple(column.parts.items())
    return (("col", column),) if isinstance(generator, EXPLODE) else ()


def _source_name(node: exp.Expr) -> tuple[str, ...]:
    """Return the lower-case name parts by which columns refer to a table, or () without a name."""
    if node.alias:
        return (node.alias.lower(),)
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        return tuple(part.name.lower() for part in node.parts)
    return ()


def _apply_pivot(resolver: Resolver, source: TableSource, node: exp.Expr) -> TableSource:
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


def _resolve_pivot(resolver: Resolver, node: exp.Expr) -> QueryResult:
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
        ("_".join((*value, alias) if alias else value), column.with_indirect(key_inputs))
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
        (name, aggregate.with_indirect(keys.indirect))
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
        pivoted_column = merge_columns(item.with_indirect(keys.indirect) for item in aggregates)
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
