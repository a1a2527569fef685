"""What does a document with SQL say: a run, and the lineage of what its statements write."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fll_hbase.errors import FieldError, InvalidLineage, UnreadableDocument
from fll_hbase.model import lineage
from fll_hbase.model.datasets import Field
from fll_hbase.model.operations import Operation, dataset_of, outputs_of
from fll_hbase.model.runs import encode_details
from fll_hbase.sources.native.document import Reading, ReadOperations, read_namespace, read_run
from fll_hbase.sources.native.shared_members import read_field
from fll_hbase.sources.sql.operations import operations_of
from fll_hbase.sources.sql.parser import DIALECTS, Script, parse
from fll_hbase.sources.sql.script_state import ScriptState
from fll_hbase.sources.sql.source_text import SourceText
from fll_hbase.sources.sql.statements import read_all
from fll_hbase.sources.sql.table_schemas import FieldLookup, TableSchemas
from fll_hbase.sources.validation import NAME_BYTES_MAX, Validator, each, inside

NO_WRITE = "no statement writes a field of a table: a SELECT alone has no lineage to record"


def read_document(document: object, *, namespace: str | None, columns: FieldLookup) -> Reading:
    """The run that a document records; `columns` are the fields of an end point as the catalogue has them.

    `namespace` is that of the URL; without one the document must name its own. Raises UnreadableDocument for
    what is no such document or no SQL, InvalidLineage where nothing is written.
    """
    checks = Validator()
    members = checks.members(document, "", ("run", "sql", "dialect", "schema", "namespace"))
    if checks.errors:
        raise UnreadableDocument(checks.errors)
    namespace = read_namespace(checks, members, namespace)
    run = read_run(checks, members, namespace)
    dialect = checks.choice(members, "dialect", "", DIALECTS, DIALECTS[0])
    schema = _schema(checks, members)
    sql = checks.required(members, "sql", "")
    try:
        script = parse(sql, dialect) if "sql" in members else None
    except UnreadableDocument as error:
        raise UnreadableDocument([*checks.errors, *error.errors]) from error
    if checks.errors or script is None:
        raise UnreadableDocument(checks.errors)
    told = _told(script, TableSchemas(namespace, schema, columns))
    return Reading(replace(run, details=encode_details(sql=sql)), told, tuple(checks.warnings))


def _schema(checks: Validator, members: dict[str, Any]) -> dict[str, list[Field]]:
    """The columns of tables, by the names the SQL has for them."""
    said = members.get("schema", {})
    if not isinstance(said, dict):
        checks.error("schema", "must be an object of tables, each with an array of its columns")
        return {}
    found = {}
    for table in said:
        at = inside("schema", table)
        checks.name(table, at, bytes_max=NAME_BYTES_MAX)
        items = checks.items(said, table, "schema")
        found[table] = [read_field(checks, item, place) for item, place in each(items, at)]
    return found


def _told(script: Script, tables: TableSchemas) -> ReadOperations:
    session = ScriptState(script, tables, SourceText(script.sql, script.tokens))
    try:
        read_all(session)
    except RecursionError as error:
        raise UnreadableDocument([FieldError("sql", "nested too deeply")]) from error
    return build_operations(session)


def build_operations(session: ScriptState) -> ReadOperations:
    """Build the operations of all writes of a script; raises UnreadableDocument for names out of bounds."""
    operations = operations_of(session.writings, session.tables)
    _check(operations)
    return ReadOperations(lineage.build_lineage_lenient(operations), session.warnings)


def _check(operations: list[Operation]) -> None:
    """Names come from the SQL, where they may be anything."""
    if not operations:
        raise InvalidLineage([FieldError("sql", NO_WRITE)])
    checks = Validator()
    for operation in operations:
        for field in outputs_of(operation):
            checks.name(field.name, "sql", bytes_max=NAME_BYTES_MAX)
        end_point = dataset_of(operation)
        if end_point is not None:
            checks.name(end_point.name, "sql", bytes_max=NAME_BYTES_MAX)
    if checks.errors:
        raise UnreadableDocument(checks.errors)
