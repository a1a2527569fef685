"""What does each statement of a script do, one after the other."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from fll_hbase.errors import FieldError, UnreadableDocument
from fll_hbase.sources.sql import dml, inserts
from fll_hbase.sources.sql.provenance import ColumnSet, RowDependencies, TableSource, QueryResult
from fll_hbase.sources.sql.query import resolve_query, with_queries
from fll_hbase.sources.sql.scope import Scope
from fll_hbase.sources.sql.script_state import ScriptState
from fll_hbase.sources.sql.select_list import Selected

Statement = Callable[[ScriptState, exp.Expr, Scope], None]

_STATEMENTS: dict[type[exp.Expr], Statement] = {
    exp.Insert: inserts.insert,
    exp.MultitableInserts: inserts.insert_many,
    exp.Create: inserts.create,
    exp.Cache: inserts.cache,
    exp.LoadData: inserts.load,
    exp.Copy: inserts.copy,
    exp.Update: dml.update,
    exp.Delete: dml.delete,
    exp.Merge: dml.merge,
}

_SILENT = (
    *(exp.TruncateTable, exp.Alter, exp.Set, exp.Uncache, exp.Refresh, exp.Analyze, exp.Commit, exp.Rollback),
    *(exp.Transaction, exp.Grant, exp.Revoke, exp.Comment, exp.Describe, exp.Show, exp.Pragma),
    *(exp.Semicolon, exp.Query),
)
"""Statements that make no field."""

_NAMED_DATABASES = {"spark", "hive", "trino"}
_COMMANDS_SILENT = {"EXPLAIN", "MSCK", "ADD", "RESET", "VACUUM", "OPTIMIZE", "SHOW"}


def read_all(session: ScriptState) -> None:
    """Every statement of the script, in order.

    The parser takes more than any grammar; a statement whose tree is not as it ought to be is refused.
    """
    session.change = _change
    for number, statement in enumerate(session.script.statements, 1):
        try:
            _read(session, number, statement)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            told = f"statement {number} ({statement.key.upper()}) has a form that is not understood: {error}"
            raise UnreadableDocument([FieldError("sql", told)]) from error


def _read(session: ScriptState, number: int, node: exp.Expr) -> None:
    if type(node) in _STATEMENTS:
        _STATEMENTS[type(node)](session, node, Scope({}))
    elif isinstance(node, exp.Select) and node.args.get("into"):
        inserts.select_into(session, node, Scope({}))
    elif isinstance(node, exp.Use):
        _use(session, node)
    elif isinstance(node, exp.Declare):
        session.variables.update(name.name.lower() for name in node.find_all(exp.Identifier))
    elif isinstance(node, exp.Drop):
        _drop(session, node)
    elif isinstance(node, exp.Query) and node.args.get("with_"):
        with_queries(session, node, Scope({}))
    elif isinstance(node, exp.Command) and node.name.upper().split(" ")[0] in _COMMANDS_SILENT:
        return
    elif not isinstance(node, _SILENT):
        said = node.name if isinstance(node, exp.Command) else node.key
        session.warn(f"statement {number} ({said[:40].upper()}) is passed over: what it writes is not known")


def _change(session: ScriptState, node: exp.Expr, scope: Scope) -> QueryResult:
    """A statement that writes inside a WITH, and the columns it returns."""
    if type(node) not in _STATEMENTS:
        return QueryResult(ColumnSet((), complete=False))
    _STATEMENTS[type(node)](session, node, scope)
    returning = node.args.get("returning")
    table = node.this.this if isinstance(node.this, exp.Schema) else node.this
    if returning is None or not isinstance(table, exp.Table):
        return QueryResult(ColumnSet(()))
    end_point = session.end_point(table)
    written = session.writings[-1] if session.writings else None
    fields = dict(written.fields or ()) if written and written.target == end_point else {}
    columns = session.tables.columns(end_point)
    named = {**dict(columns.named), **fields}
    relation = TableSource(
        (table.alias_or_name.lower(),),
        ColumnSet(tuple(named.items()), columns.rest, columns.complete, columns.ordered),
    )
    selected = Selected(session, Scope(scope.queries, relations=[relation]), resolve_query)
    for one in returning.expressions:
        selected.add(one)
    return QueryResult(selected.columns(), selected.effects | (written.effects if written else RowDependencies()))


def _use(session: ScriptState, node: exp.Expr) -> None:
    """Names without a database are of the one that is used, where a database is all that is before a name."""
    if str(node.args.get("kind") or "").upper() in ("WAREHOUSE", "ROLE"):
        return
    if session.spoken in _NAMED_DATABASES and isinstance(node.this, exp.Table):
        session.database = ".".join(part.name for part in node.this.parts)
    else:
        session.warn("USE is passed over: tables are taken by the names they are written with")


def _drop(session: ScriptState, node: exp.Expr) -> None:
    """What is dropped is no view of the script any more."""
    if isinstance(node.this, exp.Table):
        name = session.name(node.this).lower()
        session.views.pop(name, None)
        session.temporary.discard(name)
