"""Variables of scripts and procedures: DECLARE, SET, SELECT into them, and T-SQL's table variables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

from sqlglot import exp

from fll_hbase.model.datasets import Field
from fll_hbase.sources.sql.parser import Rows
from fll_hbase.sources.sql.queries.column_provenance import (
    GENERATED,
    UNKNOWN,
    UNKNOWN_COLUMNS,
    ColumnProvenance,
    ColumnSet,
    QueryResult,
    RowDependencies,
)
from fll_hbase.sources.sql.queries.scope import Resolver, variable_name
from fll_hbase.sources.sql.queries.select_list import SelectList
from fll_hbase.sources.sql.script.script_state import ScriptState
from fll_hbase.sources.sql.script.statement_tokens import Tokens, changed_tables, word_at

_REPLACING = {"CACHE", "CREATE", "DROP", "REPLACE", "SELECT"}
"""First words of statements after which a table or view has no earlier rows."""


def declare(resolver: Resolver, node: exp.Expr) -> None:
    """Read DECLARE: set variables to their initial values; table variables become temporary tables."""
    for item in node.expressions:
        names = item.this if isinstance(item.this, list) else [item.this]
        kind = item.args.get("kind")
        for name in names:
            if isinstance(kind, exp.Schema):
                _declare_table(resolver.script, exp.Table(this=name.copy()), kind)
            else:
                _assign(resolver, variable_name(name), item.args.get("default"))


def set_variables(resolver: Resolver, node: exp.Expr) -> None:
    """Read SET: set each variable to the inputs of its value; ignore settings of the engine."""
    for item in node.expressions:
        assignment = item.this
        if not isinstance(assignment, exp.EQ):
            continue
        name = variable_name(assignment.this)
        if resolver.script.facts.has_session_variables and name not in resolver.script.variables:
            # A variable of the session, to which a query refers as `$name`.
            name = f"${name}"
        # Other names belong to settings, which a query cannot name.
        if name[:1] in ("@", "$") or name in resolver.script.variables:
            _assign(resolver, name, assignment.expression)


def select_variables(resolver: Resolver, node: exp.Expr) -> bool:
    """Read `SELECT @a = x, @b = y FROM t`, whose items it replaces by their values with an alias.

    Return False for a query that sets no variable.
    """
    items = node.expressions if isinstance(node, exp.Select) else []
    names = [
        variable_name(item.this)
        if isinstance(item, (exp.EQ, exp.PropertyEQ)) and isinstance(item.this, exp.Parameter)
        else ""
        for item in items
    ]
    if not any(names):
        return False
    values = [item.expression if name else item for name, item in zip(names, items, strict=True)]
    node.set(
        "expressions",
        [exp.Alias(this=value, alias=exp.to_identifier(f"_{number}")) for number, value in enumerate(values)],
    )
    assign_result(resolver.script, names, resolver.query(node))
    return True


def assign_result(script: ScriptState, names: Iterable[str], result: QueryResult) -> None:
    """Give variables the columns of a query, by position, with the influences on its rows.

    A single variable also becomes a record with all columns. For several columns, its own value is unknown.
    Columns without a known order do not change variables. An empty name only takes a position.
    """
    names = list(names)
    values = as_values(result)
    if len(names) == 1 and names[0]:
        script.records[names[0]] = values
    if len(names) == 1 and len(values.columns.items) > 1:
        # A record has no single value.
        script.variables |= {name: UNKNOWN for name in names if name}
    elif values.columns.is_positional:
        pairs = zip(names, values.columns.values(), strict=False)
        script.variables |= {name: column for name, column in pairs if name}


def assign_rows(script: ScriptState, rows: Rows, result: QueryResult | None) -> None:
    """Give the names of a loop, cursor, FETCH or assignment a query's columns, unknown without `result`.

    Warns of a cursor without `result`. The variables of a cursor are UNKNOWN if the order of columns is not
    known. An assigned variable never counts as unknown. Raises TooManyColumns.
    """
    if result is None:
        result = QueryResult(ColumnSet((), is_complete=False))
        if rows.cursor:
            script.warn(f"cursor {rows.cursor[:100]!r}: unknown query")
    if rows.record:
        values = as_values(result)
        script.keep_view(values.columns.values())
        script.records[rows.record] = values
    assign_result(script, rows.variables, result)
    for name in rows.variables:
        if rows.cursor and not result.columns.is_positional:
            script.variables[name] = UNKNOWN
        elif not rows.cursor:
            # An expression in a procedure may contain parts unknown in statements, such as SQL%ROWCOUNT.
            script.variables[name] = replace(script.variables.get(name, GENERATED), unknown=False)


def forget(script: ScriptState, names: Iterable[str], record: str = "") -> None:
    """Make the names that a left-out statement may set unknown: a record and variables."""
    if record:
        script.records[record] = QueryResult(ColumnSet((), lambda _: UNKNOWN, is_complete=False))
    for name in names:
        if name.startswith("@") or name in script.variables:
            script.variables[name] = UNKNOWN
        elif script.facts.has_session_variables:
            script.variables[f"${name}"] = UNKNOWN


def forget_tables(script: ScriptState, tokens: Tokens) -> None:
    """Make the columns of the views and temporary tables unknown that a left-out statement may change.

    They keep their inputs so far if the statement does not replace the table or view.
    """
    first, is_view = word_at(tokens, 0), word_at(tokens, 1) == "VIEW"
    # Other changes of a table, such as ADD CONSTRAINT, keep the values of its columns.
    names = changed_tables(tokens) if first != "ALTER" or is_view else ()
    for dataset in chain.from_iterable(map(script.views.ending_with, names)):
        if is_view or first in _REPLACING:
            script.views[dataset] = QueryResult(UNKNOWN_COLUMNS)
        else:
            script.add_unknown_rows(dataset)


def as_values(result: QueryResult) -> QueryResult:
    """Return a result whose columns carry the influences on its rows to the statements that use them."""
    columns, rows = result.columns, result.dependencies

    def fallback(name: str) -> ColumnProvenance | None:
        column = columns.fallback(name) if columns.fallback else None
        return _as_value(column, rows) if column else None

    items = tuple((name, _as_value(column, rows)) for name, column in columns.items)
    return QueryResult(
        ColumnSet(items, fallback if columns.fallback else None, columns.is_complete, columns.is_ordered)
    )


def _as_value(column: ColumnProvenance, rows: RowDependencies) -> ColumnProvenance:
    """Return a column with the influences on its rows, without the text of another statement."""
    return replace(column, indirect=column.indirect | rows.indirect, text="", steps=(), origin=None)


def _assign(resolver: Resolver, name: str, value: exp.Expr | None) -> None:
    """Set a variable to the inputs of an expression, or to a generated value without known inputs."""
    script = resolver.script
    column = GENERATED
    # Other values are constants, or settings that look like columns, as in `SET a.b = on`.
    if isinstance(value, exp.Expr) and value.find(exp.Query, exp.Parameter, exp.Column) is not None:
        columns = [part for part in value.find_all(exp.Column) if part.find_ancestor(exp.Query) is None]
        if all(variable_name(part) in script.variables for part in columns):
            select_list = SelectList(resolver)
            column = _as_value(select_list.resolve(value), select_list.dependencies)
    script.variables[name] = column


def _declare_table(script: ScriptState, table: exp.Table, schema: exp.Schema) -> None:
    """Declare a table variable as a temporary table: a view of the script with generated columns."""
    fields = [Field(column.name) for column in schema.expressions if isinstance(column, exp.ColumnDef)]
    dataset = script.dataset(table)
    script.temporary.add(dataset)
    script.views[dataset] = QueryResult(ColumnSet(tuple((field.name, GENERATED) for field in fields)))
    script.tables.declare(dataset, fields)
