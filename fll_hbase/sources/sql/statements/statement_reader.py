"""Statements of a script, read one after another."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from sqlglot import exp

from fll_hbase.runtime import deadline
from fll_hbase.sources.derived_columns import TooManyColumns
from fll_hbase.sources.sql.parser import MALFORMED, BrokenStatement, Procedure, Rows, ScriptItem, Statement
from fll_hbase.sources.sql.queries.column_provenance import GENERATED, QueryResult
from fll_hbase.sources.sql.queries.query_results import (
    common_table_expressions,
    open_resolver,
    unknown_result,
)
from fll_hbase.sources.sql.queries.scope import Resolver
from fll_hbase.sources.sql.script.script_state import ScriptState, UnknownTarget
from fll_hbase.sources.sql.script.statement_tokens import assigned_names
from fll_hbase.sources.sql.statements import inserts, renames, row_changes, variables

# These write no field from another field, so they need no warning.
_WITHOUT_LINEAGE = (
    *(exp.TruncateTable, exp.Uncache, exp.Refresh, exp.Analyze, exp.Commit, exp.Rollback),
    *(exp.Transaction, exp.Grant, exp.Revoke, exp.Comment, exp.Describe, exp.Show, exp.Pragma),
    *(exp.Semicolon, exp.Query),
)
# The library parses these as plain text after a first word.
_COMMANDS_WITHOUT_LINEAGE = {
    *("ADD", "DECLARE", "DROP", "EXPLAIN", "MSCK", "OPTIMIZE", "RESET", "SET", "SHOW", "VACUUM")
}
_ASSIGNED_QUERY = re.compile(r"(?:DECLARE|SET)\b(?!.*\bCURSOR\b).*\bSELECT\b", re.DOTALL | re.IGNORECASE)
"""A command that assigns the value of a query to a variable."""

CALL_DEPTH_MAX = 50
"""Depth of procedure calls to which the called procedures are read."""


def read_statements(script: ScriptState) -> None:
    """Read every statement of a script in order; a procedure is read where the script first calls it.

    A statement that cannot be read is left out with a warning. A procedure that is never called is read at
    the end, since its text is all that a client can send. Raises TooManyColumns, and the errors of
    `deadline.check` and of the lookup of tables.
    """
    called: set[str] = set()
    for number, item in _numbered(script.script.statements):
        _read_item(script, item, f"statement {number}", called)
    for name, procedure in list(script.procedures.items()):
        if name not in called:
            if procedure.statements:
                script.warn(f"procedure {name!r} is not called, but recorded as if it were")
            _read_body(script, procedure, called)


def _numbered(items: Iterable[ScriptItem]) -> Iterator[tuple[int, ScriptItem]]:
    """Yield items with statement numbers; cursors and assignments share the preceding number."""
    number = 0
    for item in items:
        deadline.check()
        number += not isinstance(item, Rows)
        yield number, item


def _read_item(script: ScriptState, item: ScriptItem, label: str, called: set[str]) -> None:
    """Read one item of a script. Only declare a procedure, whose body is read when it is called."""
    match item:
        case BrokenStatement():
            script.leave_out(label, item.error.detail)
            variables.forget(script, item.assigned, item.record)
            variables.forget_tables(script, item.tokens)
        case Procedure(name="") if item.statements:
            _read_block(script, item, label, called)
        case Procedure():
            script.procedures[item.name] = item
            if item.language:
                script.leave_out(label, f"procedure {item.name!r} is in {item.language}, not in SQL")
            elif not item.statements:
                script.leave_out(label, f"procedure {item.name!r} has no statements")
        case Statement() if item.procedure and (procedure := script.procedure(item.procedure)):
            _read_body(script, procedure, called)
        case Statement():
            _read_safely(script, item, label)
        case Rows():
            _read_rows(script, item)


def _read_body(script: ScriptState, procedure: Procedure, called: set[str]) -> None:
    """Read the statements of a procedure once, or warn and skip it after CALL_DEPTH_MAX nested calls."""
    if procedure.name in called:
        return
    if script.call_depth == CALL_DEPTH_MAX:
        # The procedure counts as not called, so that it is read at the end.
        script.warn(f"procedures call each other more than {CALL_DEPTH_MAX} deep")
        return
    called.add(procedure.name)
    script.call_depth += 1
    _read_block(script, procedure, f"procedure {procedure.name!r}", called)
    script.call_depth -= 1


def _read_block(script: ScriptState, procedure: Procedure, label: str, called: set[str]) -> None:
    """Read the statements of a procedure with its variables, which end with it."""
    outer = script.variables
    script.variables = outer | dict.fromkeys(procedure.variables, GENERATED)
    for number, item in _numbered(procedure.statements):
        _read_item(script, item, f"statement {number} of {label}", called)
    script.variables = outer


def _read_rows(script: ScriptState, rows: Rows) -> None:
    """Give the names of a loop, cursor, FETCH or assignment their columns, unknown if unreadable.

    An assigned variable keeps its earlier value in that case. A query that derives too many columns is
    unreadable, with a warning.
    """
    if rows.query is not None:
        # A value such as SQL%ROWCOUNT is unknown, which is not an error of the script.
        script.is_silent = not rows.record
        script.begin(rows.query)
    try:
        with script.statement_columns(len(rows.query.tokens) if rows.query else 0):
            result = script.records.get(rows.cursor)
            if rows.query is not None:
                script.fold_columns(rows.query.tree)
                result = open_resolver(script, _read_nested).query(rows.query.tree)
            variables.assign_rows(script, rows, result)
    except TooManyColumns as error:
        script.is_silent = False
        name = rows.record or rows.cursor or ", ".join(rows.variables)
        script.warn(f"the rows of {name[:100]!r} are unknown: the query {error}")
        variables.assign_rows(script, rows, None)
    except (RecursionError, *MALFORMED):
        variables.assign_rows(script, rows, None)
    finally:
        script.is_silent = False


def _read_safely(script: ScriptState, statement: Statement, label: str) -> None:
    """Read a statement, or warn and drop its writes if its tree lacks a part, or its target is unknown.

    Too deep nesting counts, too. All that the statement may have set or changed is then unknown. Raises
    TooManyColumns with the label.
    """
    start, retained, view_columns = len(script.writes), script.retained, script.view_columns
    script.begin(statement)
    if statement.caution:
        script.warn(f"{label}, {statement.caution}")
    try:
        with script.statement_columns(len(statement.tokens)):
            script.fold_columns(statement.tree)
            _read_statement(open_resolver(script, _read_nested), label, statement)
        script.selected = statement if isinstance(statement.tree, exp.Query) else None
    except TooManyColumns as error:
        raise TooManyColumns(f"sql: {label} {error}") from error
    except RecursionError:
        detail = "nested too deeply"
    except UnknownTarget as error:
        detail = str(error)
    except MALFORMED as error:
        detail = f"{statement.tree.key.upper()} has a form that is not understood: {error}"
    else:
        return
    del script.writes[start:]
    script.retained, script.view_columns = retained, view_columns
    script.leave_out(label, detail)
    variables.forget(script, assigned_names(statement.tokens))
    variables.forget_tables(script, statement.tokens)


def _read_statement(resolver: Resolver, label: str, statement: Statement) -> None:
    """Read a statement by its kind; ignore kinds without lineage, and leave out others with a warning."""
    script, node = resolver.script, statement.tree
    if type(node) in _STATEMENTS:
        _STATEMENTS[type(node)](resolver, node)
    elif isinstance(node, exp.Query) and (into := inserts.into_clause(node)) is not None:
        inserts.select_into(resolver, node, into)
    elif isinstance(node, exp.Execute) and node.this.name.lower() == "sp_rename":
        renames.sp_rename(resolver, node)
    elif isinstance(node, exp.Query) and variables.select_variables(resolver, node):
        return
    elif isinstance(node, exp.Query) and node.args.get("with_"):
        # A WITH may write, as PostgreSQL's `WITH x AS (INSERT ... RETURNING ...) SELECT ...` does.
        common_table_expressions(resolver, node)
    elif isinstance(node, exp.Command) and _read_command(resolver, node):
        return
    elif not isinstance(node, _WITHOUT_LINEAGE):
        if isinstance(node, (exp.Alias, exp.Condition, exp.Identifier)):
            # The library parses any expression as a statement.
            name = script.facts.name or "ansi"
            script.leave_out(label, f"is not a statement of {name}: give its `dialect`")
            return
        kind = node.name if isinstance(node, exp.Command) else node.key
        script.leave_out(
            f"{label} ({kind[:40].upper()})", "the tables and columns that it writes are unknown"
        )
        variables.forget_tables(script, statement.tokens)


def _read_command(resolver: Resolver, node: exp.Command) -> bool:
    """Read a command that moves rows or writes nothing; return False for other commands.

    Raises UnknownTarget if it assigns the value of a query to a variable.
    """
    if _ASSIGNED_QUERY.match(f"{node.name} {node.text('expression')}"):
        raise UnknownTarget("the assigned value is unknown")
    word = node.name.upper().split(" ")[0]
    return word in _COMMANDS_WITHOUT_LINEAGE or (word == "ALTER" and renames.move_rows(resolver, node))


def _read_nested(resolver: Resolver, node: exp.Expr) -> QueryResult:
    """Read a statement that writes inside a WITH; return the columns of its RETURNING, unknown for others."""
    if type(node) not in _STATEMENTS:
        return unknown_result(resolver, node)
    _STATEMENTS[type(node)](resolver, node)
    return resolver.script.returned


def _use(resolver: Resolver, node: exp.Expr) -> None:
    """Read USE, which sets the current database or catalog.

    Where a plain USE sets a catalog, it is ignored with a warning if neither of them is set yet.
    """
    script = resolver.script
    kind = str(node.args.get("kind") or "").upper()
    if kind in ("WAREHOUSE", "ROLE") or not isinstance(node.this, exp.Table):
        return
    parts = [script.tables.naming.fold(part) for part in node.this.parts if isinstance(part, exp.Identifier)]
    if kind == "CATALOG":
        script.catalog = parts[-1]
    elif script.facts.is_database_before_table or kind == "SCHEMA":
        script.database = parts[-1]
        script.catalog = ".".join(parts[:-1]) or script.catalog
    elif script.catalog or script.database:
        script.catalog, script.database = parts[0], ".".join(parts[1:]) or script.database
    else:
        script.warn("USE is ignored: table names stay as they are written")


def _drop(resolver: Resolver, node: exp.Expr) -> None:
    """Read DROP: forget a view or temporary table of the script with the dropped name."""
    script = resolver.script
    for table in (node.this, *(node.args.get("tables") or ())):
        if isinstance(table, exp.Table):
            dataset = script.dataset(table)
            script.views.pop(dataset, None)
            script.temporary.discard(dataset)
            script.unqualified.discard(table.name.lower())


_STATEMENTS: dict[type[exp.Expr], Callable[[Resolver, exp.Expr], None]] = {
    exp.Insert: inserts.insert,
    exp.MultitableInserts: inserts.insert_many,
    exp.Create: inserts.create,
    exp.Cache: inserts.cache,
    exp.LoadData: inserts.load,
    exp.Copy: inserts.copy,
    exp.Update: row_changes.update,
    exp.Delete: row_changes.delete,
    exp.Merge: row_changes.merge,
    exp.Alter: renames.alter,
    exp.Declare: variables.declare,
    exp.Set: variables.set_variables,
    exp.Use: _use,
    exp.Drop: _drop,
}
