"""SQL documents: the run of a script, and the lineage of a single query that another program writes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain

from sqlglot import exp

from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, DatasetMetadata, Field
from fll_hbase.model.runs import ProgramRun, encode_details
from fll_hbase.runtime.errors import FieldError, InvalidLineage, UnreadableDocument
from fll_hbase.sources import derived_columns
from fll_hbase.sources.derived_columns import TooManyColumns
from fll_hbase.sources.dialect_names import DIALECT_ALIASES, DIALECTS
from fll_hbase.sources.native.document import Reading, ReadOperations, read_field, read_head, read_run
from fll_hbase.sources.sql import long_scripts
from fll_hbase.sources.sql.names.dataset_naming import DatasetNaming, fold_default
from fll_hbase.sources.sql.names.table_schemas import FieldLookup, TableSchemas
from fll_hbase.sources.sql.parser import (
    MALFORMED,
    BrokenStatement,
    Script,
    Statement,
    StatementTooLarge,
    parse_script,
)
from fll_hbase.sources.sql.queries.query_results import open_resolver
from fll_hbase.sources.sql.script.script_state import ScriptState, TableWrite
from fll_hbase.sources.sql.statements.statement_reader import read_statements
from fll_hbase.sources.sql.statements.written_operations import build_operations
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Part

NO_WRITE = "no statement writes a field of a table"
SELECT_ALONE = f"{NO_WRITE}: a SELECT alone has no lineage to record"

NO_STATEMENT = "send a statement that writes a table, such as INSERT INTO t SELECT a FROM s"

ALIASES_MAX = 10
"""Alias namespaces of a script. Each table has a row for each namespace."""
_MEMBERS = (
    *("run", "sql", "dialect", "schema", "namespace"),
    *("defaults", "datasetNamespace", "aliasNamespaces"),
)


@dataclass(frozen=True, slots=True)
class ScriptReading(Reading):
    """The run of a script, and the aliases of its tables in other namespaces."""

    metadata: tuple[DatasetMetadata, ...] = ()


def read_document(document: object, *, namespace: str | None, columns: FieldLookup) -> ScriptReading:
    """Read the run of a document; `columns` returns the fields of a dataset in the catalogue.

    `namespace` comes from the URL. If it is None, the document must have its own. A statement that cannot be
    read is left out with a warning. If nothing is written, raises UnreadableDocument with the errors of such
    statements, or InvalidLineage without such errors. Also raises UnreadableDocument with every error of a
    document of another shape, TooLarge, and the errors of `deadline.check` and `columns`.
    """
    top, namespace = read_head(document, namespace, *_MEMBERS)
    run = read_run(top, namespace)
    if isinstance(top.get("dialect"), str):
        # Clients also write `Snowflake` and `PostgreSQL`.
        top = Part(top.validator, {**top.members, "dialect": top.get("dialect").lower()})
    dialect = top.choice("dialect", (*DIALECTS, *DIALECT_ALIASES), DIALECTS[0])
    dialect = DIALECT_ALIASES.get(dialect, dialect)
    naming = _read_naming(top, namespace, dialect)
    sql = _read_sql(top)
    try:
        with long_scripts.turn(sql), derived_columns.part():
            return _read_script(top, sql, run, naming, columns)
    except (StatementTooLarge, TooManyColumns) as error:
        raise type(error)(f"{error}; nothing was stored") from error


def _read_script(
    top: Part, sql: str, run: ProgramRun, naming: DatasetNaming, columns: FieldLookup
) -> ScriptReading:
    """Read the script and the member `schema` of a document whose other members have been read.

    Raises the errors of `read_document`, so UnreadableDocument if the validator of `top` has errors, too.
    The metadata has only datasets with aliases, sorted. The details of `run` are replaced by the script.
    """
    validator, dialect = top.validator, naming.dialect
    script: Script | None = None
    faults: tuple[FieldError, ...] = ()
    try:
        script = parse_script(sql, dialect) if "sql" in top else None
    except UnreadableDocument as error:
        faults = error.errors
    schema = _read_schema(top.member("schema", {}), is_refused=bool(validator.errors or faults))
    if validator.errors or script is None:
        raise UnreadableDocument(chain(validator.errors, faults))
    state = ScriptState(script, TableSchemas(naming.namespace, schema, columns, naming=naming))
    read_statements(state)
    # The text may contain lone surrogates (see `_read_sql`).
    run = replace(
        run, details=encode_details(sql=sql if sql.isascii() else sql.encode(errors="replace").decode())
    )
    operations = _to_lineage(state)
    aliases = (
        DatasetMetadata(dataset, aliases=state.aliases.get(dataset) or naming.file_aliases(dataset.name))
        for dataset in sorted({*operations.info.sources, *operations.info.destinations})
    )
    metadata = tuple(item for item in aliases if item.aliases)
    return ScriptReading(run, operations, tuple(validator.warnings), metadata)


def read_query(sql: str, *, dialect: str, target: Dataset, verb: str, tables: TableSchemas) -> ReadOperations:
    """Return the operations of one query that writes its columns, each under its own name, into `target`.

    `dialect` is one of DIALECTS, `verb` the first line of the WRITE's description. A column has the spelling
    that `tables` has for the target. If `tables` has no declared columns of the target, the query's columns
    are declared for later queries that read it, if all are known in order. Raises UnreadableDocument for a
    text that is not exactly one query of the dialect, or that reads a name too long for a key. A result
    column with such a name is left out with a warning. Also raises TooLarge, and the errors of
    `deadline.check` and of the lookup of `tables`.
    """
    with long_scripts.turn(sql), derived_columns.part() as part:
        state = ScriptState(parse_script(sql, dialect), tables)
        query = _only_query(state.script)
        state.begin(query)
        state.fold_columns(query.tree)
        try:
            result = open_resolver(state).query(query.tree)
        # The parser bounds parentheses only; deep nesting of other kinds can exceed Python's stack.
        except RecursionError as error:
            raise UnreadableDocument([FieldError("sql", "nested too deeply")]) from error
        except MALFORMED as error:
            detail = f"has a form that is not understood: {error}"
            raise UnreadableDocument([FieldError("sql", detail)]) from error
        schema = tables.schema(target)
        spelling = {field.name.lower(): field for field in schema.fields} if schema else {}
        fields = [(spelling.get(name.lower(), Field(name)), column) for name, column in result.columns.items]
        columns = [(field.name, column) for field, column in fields]
        is_known = bool(columns) or result.columns.is_complete
        state.write(TableWrite(verb, target, columns if is_known else None, result.dependencies))
        operations = _to_lineage(state)
        # Declared columns come from a catalog or contract, which take precedence over the query's columns.
        if result.columns.is_positional and not (schema and schema.declared):
            tables.declare(target, [field for field, _ in fields])
        # The query may list as many columns as it has tokens.
        part.keep(state.retained - len(query.tokens))
        return operations


def read_script(sql: str, *, dialect: str, tables: TableSchemas) -> ReadOperations:
    """Read the operations of a script inside another document, such as an event.

    A statement that cannot be read is left out with a warning. If nothing is written, raises
    UnreadableDocument with the errors of such statements, or InvalidLineage without such errors. Also raises
    TooLarge, and the errors of `deadline.check` and of the lookup of `tables`.
    """
    with long_scripts.turn(sql), derived_columns.part():
        state = ScriptState(parse_script(sql, dialect), tables)
        read_statements(state)
        return _to_lineage(state)


def _read_sql(top: Part) -> str:
    """Read the script, `?` with an error for anything but a non-empty text, and warn of lone surrogates."""
    sql, validator = top.get("sql"), top.validator
    errors_before = validator.errors.count
    text = top.required("sql")
    if sql == "":
        for error in validator.errors.remove_after(errors_before):
            validator.error(error.path, f"{error.detail}; {NO_STATEMENT}")
    if not isinstance(sql, str) or not sql or validator.errors.count == errors_before:
        return text
    for error in validator.errors.remove_after(errors_before):
        validator.warning(error.path, f"{error.detail}; names that have it are left out")
    return sql


def _read_schema(schema: Part, *, is_refused: bool) -> dict[str, list[Field]]:
    """Read the columns of tables by table name as spelled in the document, or {} if it declares none.

    Adds an error if it is not an object. An unreadable table is left out with a warning, or stays with its
    errors if the document `is_refused` anyway.
    """
    if not schema.is_object:
        schema.error("must be an object of tables, each with an array of its columns")
    fields = {}
    for table, part in schema.member_parts():
        errors_before = part.validator.errors.count
        part.validator.name(table, part.path, bytes_max=NAME_BYTES_MAX)
        columns = [read_field(column) for column in schema.items(table)]
        # Leave out the whole table: with a column missing, writes by position would go into wrong columns.
        if is_refused or not part.leave_out(errors_before=errors_before):
            fields[table] = columns
    return fields


def _read_naming(top: Part, namespace: str, dialect: str) -> DatasetNaming:
    """Read the naming of datasets, mapped into a `datasetNamespace` or, without it, in `namespace`.

    Anything invalid adds an error, and so does an unknown member of `defaults`, since names depend on it.
    """
    defaults = top.member("defaults", {})
    names = {"catalog": "", "schema": ""}
    if not defaults.is_object:
        defaults.error("must be an object with `catalog` and `schema`")
    for name in defaults.members:
        if name in names:
            names[name] = defaults.optional(name, bytes_max=NAME_BYTES_MAX)
        else:
            defaults.error("unknown member: `catalog` and `schema` are known", name)
    aliases = list(top.items("aliasNamespaces"))
    if len(aliases) > ALIASES_MAX:
        top.error(f"has more than {ALIASES_MAX} items", "aliasNamespaces")
    dataset_namespace = top.optional("datasetNamespace", bytes_max=ID_BYTES_MAX)
    return DatasetNaming(
        dataset_namespace or namespace,
        dialect,
        catalog=fold_default(dialect, names["catalog"]),
        schema=fold_default(dialect, names["schema"]),
        is_mapped=bool(dataset_namespace),
        alias_namespaces=tuple(alias.name(bytes_max=ID_BYTES_MAX) for alias in aliases),
    )


def _only_query(script: Script) -> Statement:
    """Return the only statement of a script, which must be a query, or raise UnreadableDocument."""
    errors = [item.error for item in script.statements if isinstance(item, BrokenStatement)]
    if errors:
        raise UnreadableDocument(errors)
    match script.statements:
        case (Statement(tree=exp.Query()) as query,):
            return query
    kinds = [item.tree.key.upper() for item in script.statements if isinstance(item, Statement)]
    raise UnreadableDocument(
        [FieldError("sql", f"must be one query, is {', '.join(kinds[:5]) or 'nothing'}")]
    )


def _to_lineage(state: ScriptState) -> ReadOperations:
    """Return the operations of all writes of a script, with its warnings.

    Without writes, raises UnreadableDocument with the errors of parts left out, else InvalidLineage.
    """
    operations = build_operations(state.writes, state.tables)
    if operations:
        return ReadOperations(lineage.build_lineage_lenient(operations), state.warnings)
    errors = tuple(state.errors)
    if errors:
        raise UnreadableDocument(errors)
    if not state.script.statements:
        raise InvalidLineage([FieldError("sql", f"{NO_WRITE}; {NO_STATEMENT}")])
    trees = [item.tree for item in state.script.statements if isinstance(item, Statement)]
    only_queries = bool(trees) and all(isinstance(tree, exp.Query) for tree in trees)
    raise InvalidLineage([FieldError("sql", SELECT_ALONE if only_queries else NO_WRITE)])
