"""Write targets: the fields of a table into which columns of a query or items of a SET are written.

RETURNING and OUTPUT pass the rows of a statement to the query around it, or to another target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from fll_hbase.model.datasets import Dataset
from fll_hbase.sources.sql.names.column_names import is_generated
from fll_hbase.sources.sql.queries.column_provenance import (
    ColumnProvenance,
    ColumnSet,
    NamedColumn,
    QueryResult,
    TableSource,
)
from fll_hbase.sources.sql.queries.expression_inputs import QUERIES, column_path
from fll_hbase.sources.sql.queries.scope import Resolver, Scope
from fll_hbase.sources.sql.queries.select_list import SelectList
from fll_hbase.sources.sql.script.script_state import ScriptState, TableWrite
from fll_hbase.sources.sql.statements.variables import assign_result


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """Table that a statement writes, with its listed columns, in order, and its partition columns.

    `static` partitions have a value in the statement; `dynamic` partitions get the last columns of the query.
    With `by_name`, each column goes into the field of its name.
    """

    dataset: Dataset
    listed: tuple[str, ...] = ()
    static: tuple[NamedColumn, ...] = ()
    dynamic: tuple[str, ...] = ()
    by_name: bool = False


def read_target(script: ScriptState, node: exp.Expr, *, by_name: bool = False) -> Target:
    """Read the target after INTO, CREATE TABLE and similar, with listed columns and partitions."""
    table = node.this if isinstance(node, exp.Schema) else node
    listed = tuple(column.name for column in node.expressions) if isinstance(node, exp.Schema) else ()
    partition = table.args.get("partition") or node.args.get("partition")
    columns = partition.expressions if isinstance(partition, exp.Partition) else ()
    # The value is a literal, which texts show as a placeholder.
    value = ColumnProvenance(text="?")
    static = tuple((column.this.name, value) for column in columns if isinstance(column, exp.EQ))
    dynamic = tuple(column.name for column in columns if not isinstance(column, exp.EQ))
    return Target(script.dataset(table), listed, static, dynamic, by_name)


def map_to_target(script: ScriptState, target: Target, columns: ColumnSet) -> list[NamedColumn] | None:
    """Return the fields written, by position or by name, and static partitions, or None if they are unknown.

    Columns go by name if the target is `by_name` or, with a warning, if its columns are unknown. Otherwise
    an unknown order gives None with a warning, and of different numbers the smaller counts, with a warning.
    """
    name = target.dataset.name
    names = None if target.by_name else _column_names(script, target)
    if names is None:
        return _map_by_name(script, target, columns)
    if not columns.is_positional:
        script.warn(f"cannot map values to the columns of {name!r}: list all tables in `schema`")
        return None
    if len(names) != len(columns.items):
        script.warn(f"{name!r} has {len(names)} columns to write, the query gives {len(columns.items)}")
    pairs = zip(names, columns.values(), strict=False)
    return [*_expand_structs(script, target.dataset, pairs), *target.static]


def mark_defaults(script: ScriptState, source: exp.Expr) -> None:
    """Replace each DEFAULT in an INSERT's rows with a constant, unless a table in it has such a column."""
    rows = source.expressions if isinstance(source, exp.Values) else [source]
    values = [
        value
        for row in rows
        if isinstance(row, (exp.Select, exp.Tuple))
        for value in (item.unalias() for item in row.expressions)
        if _constant(value) is not value
    ]
    tables = source.find_all(exp.Table) if values else ()
    if not any(script.tables.columns(script.dataset(table)).get("default") for table in tables):
        for value in values:
            value.replace(_constant(value))


def listed_values(select_list: SelectList, values: Sequence[exp.Expr]) -> ColumnSet:
    """Return the values of a VALUES as columns, named by the value if it is a column, else by its text."""
    values = list(map(_constant, values))
    columns = [select_list.resolve(value, "VALUES") for value in values]
    names = [(column_path(value) or [""])[-1] for value in values]
    items = zip(names, columns, strict=True)
    return ColumnSet(tuple((name or column.text or "?", column) for name, column in items))


def assignments(
    resolver: Resolver, select_list: SelectList, items: Sequence[exp.Expr], alias: str
) -> Iterator[NamedColumn]:
    """Yield the fields that a SET assigns, each with its value; `alias` is the name of the target in it."""
    for item in items:
        if not isinstance(item, (exp.EQ, exp.PropertyEQ)):
            continue
        left = item.this.unnest()
        names = left.expressions if isinstance(left, exp.Tuple) else [left]
        if names:
            columns = _assigned_columns(resolver, select_list, names, item.expression)
            fields = (assigned_field(name, alias) for name in names)
            yield from zip(fields, columns, strict=False)


def _assigned_columns(
    resolver: Resolver, select_list: SelectList, names: Sequence[exp.Expr], value: exp.Expr
) -> list[ColumnProvenance]:
    """Return the values of `(a, b) = [ROW](1, 2)`, of `(a, b) = (SELECT ...)`, or of `a = 1`."""
    value = value.unnest() if isinstance(value, exp.Paren) else value
    is_row = isinstance(value, exp.Anonymous) and value.name.upper() == "ROW"
    if (is_row or isinstance(value, exp.Tuple)) and len(value.expressions) == len(names) > 1:
        return [select_list.resolve(_constant(part), "SET") for part in value.expressions]
    if len(names) > 1 and isinstance(value, QUERIES):
        result = resolver.query(value)
        rows = result.dependencies.indirect
        return [column.with_indirect(rows) for column in result.columns.values()]
    return [select_list.resolve_assignment(_constant(value), names[0])] * len(names)


def _constant(value: exp.Expr) -> exp.Expr:
    """Return DEFAULT, which the library parses as a column, as a constant; return other values unchanged."""
    if not isinstance(value, exp.Column) or value.name.upper() != "DEFAULT":
        return value
    is_default = len(value.parts) == 1 and not value.this.args.get("quoted")
    return exp.Var(this="DEFAULT") if is_default else value


def assigned_field(name: exp.Expr, alias: str) -> str:
    """Return the field that a name before `=` means, without the target's `alias`; nested fields have `/`."""
    parts = [part.name for part in name.parts] if isinstance(name, exp.Column) else [name.name]
    if len(parts) > 1 and parts[0].lower() == alias.lower():
        parts = parts[1:]
    return "/".join(parts)


def _map_by_name(script: ScriptState, target: Target, columns: ColumnSet) -> list[NamedColumn] | None:
    """Return fields named as in the query, or None if that contradicts the known target or none is known.

    Warns unless the target is `by_name`. Columns without a name are then left out if the target is known, and
    else have their texts. Static partitions are fields, too.
    """
    items = list(columns.items)
    if not target.by_name:
        schema = script.tables.schema(target.dataset)
        spelling = {field.name.lower(): field.name for field in schema.fields} if schema else {}
        with_names = [item for item in items if not _is_unnamed(script, item)]
        contradicts = bool(spelling) and not {name.lower() for name, _ in with_names} <= set(spelling)
        _warn_of_names(script, target, items, contradicts=contradicts, is_known=bool(spelling))
        if contradicts:
            return None
        if spelling:
            items = [(spelling[name.lower()], column) for name, column in with_names]
        else:
            items = _with_texts(script, items)
    return [*items, *target.static] if items or columns.is_complete else None


def _with_texts(script: ScriptState, items: Sequence[NamedColumn]) -> list[NamedColumn]:
    """Return columns with the expression's text in place of a name generated by an engine.

    A generated name is not the name of the written column. The position, such as `_3`, replaces a text that
    contains no name or that another column has.
    """
    result: list[NamedColumn] = []
    labels = {name for name, column in items if not _is_unnamed(script, (name, column))}
    for number, (name, column) in enumerate(items, 1):
        if _is_unnamed(script, (name, column)):
            is_label = column.text not in labels and any(map(str.isalpha, column.text))
            name = column.text if is_label else f"_{number}"
            labels.add(name)
        result.append((name, column))
    return result


def _warn_of_names(
    script: ScriptState, target: Target, items: Sequence[NamedColumn], *, contradicts: bool, is_known: bool
) -> None:
    """Warn that a target's columns are unknown, and of columns without a name."""
    assumption = "" if contradicts else " taken to be named as in the query;"
    script.warn(
        f"the columns of {target.dataset.name!r}, which is written by position, are not known;{assumption} "
        "give them in `schema`"
    )
    unnamed = [column.text or name for name, column in items if _is_unnamed(script, (name, column))]
    if unnamed and not contradicts:
        outcome = "are left out" if is_known else "are written under their texts"
        listed = ", ".join(text[:100] for text in unnamed[:5])
        script.warn(f"columns without a name ({listed}) of {target.dataset.name!r} {outcome}")


def _is_unnamed(script: ScriptState, item: NamedColumn) -> bool:
    """Return whether a query's column is computed and has only a name generated by the engine."""
    return item[1].origin is None and is_generated(script.facts, item[0])


def _column_names(script: ScriptState, target: Target) -> list[str] | None:
    """Return the listed, else declared, target columns for the query's columns, or None if unknown.

    Dynamic partitions come last. Static partitions are left out, and computed columns unless listed.
    """
    declared = script.tables.declared_columns(target.dataset)
    names: Sequence[str] | None = target.listed or declared
    if names is None:
        return None
    if not target.listed and target.dataset in script.computed:
        names = [name for name in names if name not in script.computed[target.dataset][0]]
    # Partition columns get the last values, wherever they are in the table.
    partitions = {name.lower() for name in (*(name for name, _ in target.static), *target.dynamic)}
    spelling = {name.lower(): name for name in declared or ()}
    plain = [name for name in names if name.lower() not in partitions]
    return [spelling.get(name.lower(), name) for name in (*plain, *target.dynamic)]


def _expand_structs(
    script: ScriptState, dataset: Dataset, pairs: Iterator[NamedColumn]
) -> Iterator[NamedColumn]:
    """Yield fields with their columns; split a struct into nested fields if it is not declared itself."""
    schema = script.tables.schema(dataset)
    names = [field.name for field in schema.fields] if schema and schema.declared else []
    nested: dict[str, list[str]] = {}
    for name in names:
        head, slash, _ = name.partition("/")
        if slash:
            nested.setdefault(head, []).append(name)
    for name, column in pairs:
        if name in nested and name not in names:
            for path in nested[name]:
                yield path, script.tables.nested_column(column, path.split("/")[1:])
        else:
            yield name, column


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
    """Return a resolver that sees the written row (T-SQL: `inserted` and `deleted`) and the other tables."""
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
    """Return the items of OUTPUT before the last ones, which belong to INTO, and INTO's columns and table."""
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
