"""Statements that write the result of a query: INSERT, CREATE ... AS, SELECT ... INTO, COPY and LOAD.

A CREATE may declare columns that the table computes from its others: GENERATED ALWAYS AS (…), MATERIALIZED.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from sqlglot import exp

from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.sources.sql.queries import from_clause
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
    all_fields,
    merge_columns,
)
from fll_hbase.sources.sql.queries.expression_inputs import clause_dependencies, collect_inputs, field_column
from fll_hbase.sources.sql.queries.query_results import statement_scope, unknown_result
from fll_hbase.sources.sql.queries.scope import Resolver, Scope
from fll_hbase.sources.sql.queries.select_list import SelectList
from fll_hbase.sources.sql.script.script_state import ScriptState, TableWrite, UnknownTarget, temporary_mark
from fll_hbase.sources.sql.statements.variables import assign_result
from fll_hbase.sources.sql.statements.write_target import (
    Target,
    assignments,
    listed_values,
    map_to_target,
    mark_defaults,
    read_returning,
    read_target,
)


def insert(resolver: Resolver, node: exp.Expr) -> None:
    """Add the write of INSERT with its ON CONFLICT and RETURNING, or only warn without a query or VALUES."""
    resolver, script = statement_scope(resolver, node), resolver.script
    source = node.expression if isinstance(node.expression, exp.Expr) else node.args.get("source")
    target = _insert_target(script, node)
    if not isinstance(source, exp.Expr):
        script.warn(f"the rows written into {target.dataset.name!r} are not known")
        if target.dataset in script.temporary:
            script.add_unknown_rows(target.dataset)
        # The last result may be of a statement in the WITH of this one.
        script.returned = unknown_result(resolver, node)
        return
    mark_defaults(script, source)
    result = resolver.query(source)
    fields = map_to_target(script, target, result.columns)
    dependencies = result.dependencies
    if fields is not None and node.args.get("conflict") is not None:
        updated, update_dependencies = _on_conflict(resolver, node, target.dataset, fields)
        fields, dependencies = [*fields, *updated], dependencies | update_dependencies
    verb = "INSERT OVERWRITE" if node.args.get("overwrite") else "INSERT"
    write = TableWrite(verb, target.dataset, fields, dependencies, all_fields(result.columns))
    script.write(write)
    read_returning(resolver, node, write)


def _on_conflict(
    resolver: Resolver, node: exp.Expr, target: Dataset, fields: list[NamedColumn]
) -> tuple[list[NamedColumn], RowDependencies]:
    """Return the fields that ON CONFLICT ... DO UPDATE sets, and the dependencies of the updated rows.

    `fields` are the fields of the row to be inserted, to which the table `excluded` refers.
    """
    conflict = node.args["conflict"].transform(_name_excluded)
    table = node.this.this if isinstance(node.this, exp.Schema) else node.this
    existing = TableSource((table.alias_or_name.lower(),), resolver.script.tables.columns(target))
    # `excluded` contains the values of the INSERT, so lineage passes through it to their sources.
    excluded = TableSource(("excluded",), ColumnSet(tuple(fields)))
    inner = resolver.in_scope(Scope(resolver.scope.queries, sources=[existing]))
    inner.scope.add_qualified(excluded)
    if resolver.script.facts.has_open_conflicts and isinstance(node.expression, exp.Select):
        # Expressions after ON DUPLICATE KEY may name the tables of the query, too.
        selected = resolver.in_scope(Scope(resolver.scope.queries))
        from_clause.add_from(selected, node.expression)
        for source in selected.scope.sources:
            inner.scope.add_qualified(source)
    select_list = SelectList(inner)
    where = conflict.args.get("where")
    condition = collect_inputs(inner, [(where, "conditional")] if where is not None else [])
    updated = [
        (name, column.with_indirect(condition.indirect))
        for name, column in assignments(inner, select_list, conflict.expressions, table.alias_or_name)
    ]
    return updated, select_list.dependencies | condition.dependencies


def _name_excluded(node: exp.Expr) -> exp.Expr:
    """Return MySQL's `VALUES(column)` as `excluded.column`, and any other node unchanged."""
    if isinstance(node, exp.Anonymous) and node.name.upper() == "VALUES" and len(node.expressions) == 1:
        return exp.column(node.expressions[0].copy(), table="excluded")
    return node


def insert_many(resolver: Resolver, node: exp.Expr) -> None:
    """Read a query into several targets: Hive's FROM ... INSERT ... SELECT, Snowflake's INSERT ALL."""
    resolver, source = statement_scope(resolver, node), node.args["source"]
    if isinstance(source, exp.Query) and not isinstance(source, exp.Subquery):
        _insert_all(resolver, node, source)
        return
    for statement in node.expressions:
        if isinstance(statement.expression, exp.Select):
            # Each branch resolves the shared source in its own scope.
            statement.expression.set("from_", exp.From(this=source.copy()))
        insert(resolver, statement)


def _insert_all(resolver: Resolver, node: exp.Expr, source: exp.Query) -> None:
    """Add a write per branch of INSERT ALL or FIRST, dependent on its WHEN, or for ELSE on all WHENs."""
    script, result = resolver.script, resolver.query(source)
    inner = resolver.in_scope(Scope(resolver.scope.queries, sources=[TableSource((), result.columns)]))
    conditions: list[exp.Expr] = []
    earlier: list[exp.Expr] = []
    for branch in node.expressions:
        # Several INTO clauses may follow one WHEN. ELSE applies where no WHEN does.
        if (condition := branch.args.get("expression")) is not None:
            conditions = [condition]
            earlier.append(condition)
        elif branch.args.get("else_"):
            conditions = earlier
        operands = [(part, "filter") for part in conditions]
        dependencies = result.dependencies | clause_dependencies(inner, operands, "WHEN")
        into = branch.this if isinstance(branch, exp.ConditionalInsert) else branch
        columns = result.columns
        if isinstance(into.expression, exp.Values):
            rows = into.expression.expressions
            values = rows[0].expressions if rows and isinstance(rows[0], exp.Tuple) else rows
            select_list = SelectList(inner)
            columns = listed_values(select_list, values)
            dependencies |= select_list.dependencies
        target = _insert_target(script, into)
        fields = map_to_target(script, target, columns)
        script.write(TableWrite("INSERT", target.dataset, fields, dependencies, all_fields(columns)))


def create(resolver: Resolver, node: exp.Expr) -> None:
    """Read CREATE TABLE or VIEW from a query, as a clone, or with declared columns only; ignore others."""
    script, kind = resolver.script, str(node.args.get("kind") or "").upper()
    if kind not in ("TABLE", "VIEW"):
        return
    is_temporary = _is_temporary(node)
    if is_temporary or (kind == "VIEW" and not script.database):
        _add_unqualified(script, node.this)
    written = node.find(exp.ToTableProperty)
    if written is not None:
        # A materialized view of ClickHouse is a trigger, whose rows go into the table after TO.
        node.this.replace(written.this)
        kind = "TABLE"
    target = read_target(script, node.this)
    is_temporary = is_temporary or script.tables.is_transient(target.dataset)
    query = node.args.get("expression") or (clone.this if (clone := node.args.get("clone")) else None)
    if query is None:
        _declare(resolver, node, target.dataset, is_temporary=is_temporary)
        return
    script.computed.pop(target.dataset, None)
    result = statement_scope(resolver, node).query(query)
    _create(script, f"CREATE {kind}", target, result, is_temporary=is_temporary, is_view=kind == "VIEW")


def cache(resolver: Resolver, node: exp.Expr) -> None:
    """Read Spark's CACHE TABLE ... AS, which creates a temporary view. Without a query it has no effect."""
    if node.expression:
        result = resolver.query(node.expression)
        _add_unqualified(resolver.script, node.this)
        target = read_target(resolver.script, node.this)
        _create(resolver.script, "CACHE", target, result, is_temporary=True)


def into_clause(node: exp.Query) -> exp.Into | None:
    """Return the INTO of a query (for a UNION, of its first query), or None without INTO."""
    first: exp.Expr = node
    while isinstance(first, (exp.SetOperation, exp.Subquery)):
        first = first.this
    into = first.args.get("into")
    return into if isinstance(into, exp.Into) else None


def select_into(resolver: Resolver, node: exp.Expr, into: exp.Into) -> None:
    """Read SELECT ... INTO, which creates its target or assigns variables of a procedure."""
    variables = _assigned_variables(resolver.script, into)
    if variables:
        assign_result(resolver.script, variables, resolver.query(node))
        return
    is_temporary = bool(into.args.get("temporary") or temporary_mark(into.this.this))
    if is_temporary:
        _add_unqualified(resolver.script, into.this)
    target = read_target(resolver.script, into.this)
    is_temporary = is_temporary or target.dataset.name.startswith("#")
    _create(resolver.script, "SELECT INTO", target, resolver.query(node), is_temporary=is_temporary)


def _assigned_variables(script: ScriptState, into: exp.Into) -> list[str]:
    """Return the lower-case variables after INTO, or [] if INTO names a table."""
    if into.expressions:
        return [name.name.lower() for name in into.expressions]
    table = into.this
    name = table.name.lower() or table.this.name.lower()
    # In Oracle, a SELECT does not create a table.
    is_variable = script.facts.selects_into_variables or isinstance(table.this, exp.Placeholder)
    return [name] if is_variable or (not table.db and name in script.variables) else []


def load(resolver: Resolver, node: exp.Expr) -> None:
    """Add the write of LOAD DATA, without fields; warn that the columns of the file are unknown."""
    script, path = resolver.script, node.args.get("inpath")
    file = script.tables.dataset(path.name if isinstance(path, exp.Expr) else "")
    target = script.dataset(node.this)
    script.warn(f"LOAD DATA into {target.name!r}: the fields of {file.name!r} are not known")
    script.write(TableWrite("LOAD DATA", target, None, RowDependencies(reads=frozenset((file,)))))


def copy(resolver: Resolver, node: exp.Expr) -> None:
    """Read COPY of files or a query into a table, or of a table or query into files."""
    script = resolver.script
    given = node.args.get("files") or ()
    sources = [source.this if isinstance(source.this, exp.Query) else source for source in given]
    # A stage or file may be parsed as a table.
    files = [
        script.dataset(source) if isinstance(source, exp.Table) else script.tables.dataset(source.name)
        for source in sources
        if not isinstance(source, exp.Query)
    ]
    if node.args.get("kind"):
        target = read_target(script, node.this)
        queries = [resolver.query(source) for source in sources if isinstance(source, exp.Query)]
        for result in queries:
            fields = map_to_target(script, target, result.columns)
            script.write(TableWrite("COPY", target.dataset, fields, result.dependencies))
        if files or not queries:
            script.warn(f"COPY into {target.dataset.name!r}: the fields of its files are not known")
            reads = RowDependencies(reads=frozenset(files))
            script.write(TableWrite("COPY", target.dataset, None, reads))
        if any(_declared_columns(node)):
            _declare(resolver, node, target.dataset, is_temporary=False)
        return
    result = resolver.query(node.this)
    for dataset in files:
        script.write(TableWrite("COPY", dataset, result.columns.items or None, result.dependencies))


def _insert_target(script: ScriptState, node: exp.Expr) -> Target:
    """Read the target of an INSERT. Raises UnknownTarget for a function of ClickHouse."""
    if isinstance(node.this, exp.Directory):
        return Target(script.tables.dataset(node.this.this.name), by_name=True)
    if node.args.get("is_function"):
        raise UnknownTarget(f"the table that {node.this.name[:100]}() writes is unknown")
    return read_target(script, node.this, by_name=bool(node.args.get("by_name")))


def _create(
    script: ScriptState,
    verb: str,
    target: Target,
    result: QueryResult,
    *,
    is_temporary: bool,
    is_view: bool = False,
) -> None:
    """Write a dataset unless temporary, keep a view or temporary table, and declare columns with an order."""
    columns = result.columns
    if target.listed and columns.is_positional:
        columns = ColumnSet(tuple(zip(target.listed, columns.values(), strict=False)))
    result = QueryResult(columns, result.dependencies)
    if is_temporary:
        script.keep_view(columns.values())
        _keep_temporary(script, target.dataset, result)
    elif is_view:
        # Later statements read through the view to its tables.
        script.views[target.dataset] = result
    else:
        # A table that replaces a view of the same name hides the view.
        script.views.pop(target.dataset, None)
    if not is_temporary:
        fields = columns.items if columns.items or columns.is_complete else None
        script.write(TableWrite(verb, target.dataset, fields, result.dependencies))
    if columns.is_positional:
        script.tables.declare(target.dataset, [Field(column) for column, _ in columns.items])


def _add_unqualified(script: ScriptState, node: exp.Expr) -> None:
    """Note a view or temporary table without a database, so that a later USE does not complete its name."""
    table = node.this if isinstance(node, exp.Schema) else node
    if isinstance(table, exp.Table) and not table.db:
        script.unqualified.add(table.name.lower())


def _declare(resolver: Resolver, node: exp.Expr, dataset: Dataset, *, is_temporary: bool) -> None:
    """Declare the columns that a CREATE or COPY lists, partition columns last, or else copies with LIKE.

    Also declares computed columns, and keeps a temporary table or view.
    """
    script = resolver.script
    dialect = script.script.dialect
    fields = [
        Field(column.name, column.args["kind"].sql(dialect) if column.args.get("kind") else "")
        for column in _declared_columns(node)
    ]
    like = node.find(exp.LikeProperty)
    if like is not None:
        names = script.tables.declared_columns(script.dataset(like.this)) or []
        fields = fields or [Field(name) for name in names]
    if is_temporary:
        names = [field.name for field in fields]
        is_view = str(node.args.get("kind")).upper() == "VIEW"
        empty = QueryResult(ColumnSet(tuple((name, GENERATED) for name in names)))
        rows = _read_options(script, node, dataset, names) if is_view else empty
        _keep_temporary(script, dataset, rows)
    if fields:
        script.tables.declare(dataset, fields)
    declare_computed(resolver, dataset, _declared_columns(node))


def _keep_temporary(script: ScriptState, dataset: Dataset, rows: QueryResult) -> None:
    """Keep the rows of a temporary view or table, also under Spark's database `global_temp`."""
    script.temporary.add(dataset)
    script.views[dataset] = script.views[script.tables.dataset(f"global_temp.{dataset.name}")] = rows


def _read_options(script: ScriptState, node: exp.Expr, view: Dataset, names: list[str]) -> QueryResult:
    """Return the rows of Spark's view USING … OPTIONS from its path, or warn if it has no path."""
    options = {option.name.lower(): option.args.get("value") for option in node.find_all(exp.Property)}
    path = options.get("path")
    if isinstance(path, exp.Expr):
        file = script.tables.dataset(path.name)
        given, reads = script.tables.columns(file), frozenset((file,))
    else:
        script.warn(f"the columns that the view {view.name[:100]!r} reads are unknown")
        given, reads = UNKNOWN_COLUMNS, frozenset()
    items = tuple((name, given.lookup(name) or UNKNOWN) for name in names)
    return QueryResult(ColumnSet(items) if names else given, RowDependencies(reads=reads))


def _declared_columns(node: exp.Expr) -> Iterator[exp.ColumnDef]:
    """Yield the column definitions in a CREATE or COPY; columns in PARTITIONED BY come last."""
    partitions = node.find(exp.PartitionedByProperty)
    for schema in (node.this, partitions.this if partitions is not None else None):
        for column in schema.expressions if isinstance(schema, exp.Schema) else ():
            # Spark's PARTITIONED BY may also name columns of the preceding list.
            if isinstance(column, exp.ColumnDef):
                yield column


def _is_temporary(node: exp.Expr) -> bool:
    """Return whether a CREATE makes a temporary table or view, by TEMPORARY, VOLATILE or `#` in the name."""
    properties = node.args.get("properties")
    table = node.this.this if isinstance(node.this, exp.Schema) else node.this
    # T-SQL marks temporary tables in the name. So does Redshift, whose parser does not know the mark.
    if isinstance(table, exp.Table) and table.this and (table.name[:1] == "#" or temporary_mark(table.this)):
        return True
    return bool(properties and properties.find(exp.TemporaryProperty, exp.VolatileProperty))


def declare_computed(resolver: Resolver, dataset: Dataset, columns: Iterable[exp.ColumnDef]) -> None:
    """Make writes into a table also write columns that it computes, replacing any earlier declaration."""
    expressions = {column.name: value for column in columns if (value := computed_value(column)) is not None}
    script = resolver.script
    script.computed.pop(dataset, None)
    if expressions:
        script.computed[dataset] = (frozenset(expressions), partial(_compute, resolver, expressions))


def computed_value(column: exp.ColumnDef) -> exp.Expr | None:
    """Return the expression that computes a column, or None for any other column."""
    for constraint in column.args.get("constraints") or ():
        kind = constraint.args.get("kind")
        if isinstance(kind, exp.ComputedColumnConstraint):
            return kind.this if isinstance(kind.this, exp.Expr) else None
        # Some parsers return this for a column without a word such as STORED.
        if isinstance(kind, exp.GeneratedAsIdentityColumnConstraint) and kind.expression:
            return kind.expression if isinstance(kind.expression, exp.Expr) else None
    return None


def _compute(resolver: Resolver, expressions: dict[str, exp.Expr], write: TableWrite) -> list[NamedColumn]:
    """Return the columns that a table computes for a write: unwritten ones that use a written column.

    Other columns that these use have the table's values for UPDATE and MERGE, else no inputs.
    """
    written: dict[str, ColumnProvenance] = {}
    for name, column in write.fields or ():
        earlier = written.get(name.lower())
        written[name.lower()] = merge_columns([earlier, column]) if earlier else column
    existing = resolver.script.tables.columns(write.target)
    keeps_others = write.verb in ("UPDATE", "MERGE")
    computed: list[NamedColumn] = []
    for name, expression in expressions.items():
        used = {part.name.lower() for part in expression.find_all(exp.Column)}
        if name.lower() in written or not used & set(written):
            continue
        others = existing.lookup if keeps_others else lambda _: GENERATED
        columns = ColumnSet(tuple(written.items()), others, is_complete=False)
        inner = resolver.in_scope(Scope({}, sources=[TableSource((), columns)]))
        written[name.lower()] = field_column(inner, expression)
        computed.append((name, written[name.lower()]))
    return computed
