"""Lineage of one query whose result something else writes into a table, as dbt does with a model."""

from __future__ import annotations

from sqlglot import exp

from fll_hbase.errors import FieldError, UnreadableDocument
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.sources.native.document import ReadOperations
from fll_hbase.sources.sql.document import build_operations
from fll_hbase.sources.sql.parser import Script, parse
from fll_hbase.sources.sql.provenance import QueryResult
from fll_hbase.sources.sql.query import resolve_query
from fll_hbase.sources.sql.scope import Scope
from fll_hbase.sources.sql.script_state import ScriptState, TableWrite
from fll_hbase.sources.sql.source_text import SourceText
from fll_hbase.sources.sql.table_schemas import TableSchemas


def read_query(sql: str, *, dialect: str, target: Dataset, verb: str, tables: TableSchemas) -> ReadOperations:
    """Read the operations of a query whose columns are written into `target`, each under its own name.

    A column is spelled as `tables` has it. Where all columns of the query are known and those of the target
    are not, `tables` has them afterwards, for the queries that read the target. `verb` is what the WRITE is
    described as. Raises UnreadableDocument for a text that is not exactly one query of the dialect.
    """
    script = parse(sql, dialect)
    session = ScriptState(script, tables, SourceText(script.sql, script.tokens))
    result = _resolve(session, _only_query(script))
    schema = tables.schema(target)
    spelling = {field.name.lower(): field for field in schema.fields} if schema else {}
    columns = [
        (spelling[name.lower()].name if name.lower() in spelling else name, column)
        for name, column in result.columns.named
    ]
    is_known = bool(columns) or result.columns.complete
    session.write(TableWrite(verb, target, columns if is_known else None, result.effects))
    operations = build_operations(session)
    if result.columns.complete and result.columns.ordered and not (schema and schema.declared):
        tables.declare(target, [spelling.get(name.lower(), Field(name)) for name, _ in columns])
    return operations


def _only_query(script: Script) -> exp.Query:
    statements = [statement for statement in script.statements if not isinstance(statement, exp.Semicolon)]
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        kinds = ", ".join(statement.key.upper() for statement in statements[:5]) or "nothing"
        raise UnreadableDocument([FieldError("sql", f"must be one query, is {kinds}")])
    return statements[0]


def _resolve(session: ScriptState, query: exp.Query) -> QueryResult:
    """The columns of a query; a tree of a form that no query has is refused like bad SQL."""
    try:
        return resolve_query(session, query, Scope({}))
    except RecursionError as error:
        raise UnreadableDocument([FieldError("sql", "nested too deeply")]) from error
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise UnreadableDocument(
            [FieldError("sql", f"has a form that is not understood: {error}")]
        ) from error
