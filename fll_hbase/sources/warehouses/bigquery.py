"""Rows of BigQuery's `INFORMATION_SCHEMA.JOBS`: a run for each job, with the columns that its SQL gives.

The SQL counts if it agrees with the job's tables. docs/record/bigquery.md describes how rows become runs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.lineage import FieldLineageInfo, build_lineage_lenient
from fll_hbase.model.operations import Operation, Read, Write, dataset_of
from fll_hbase.model.runs import RecordedRun, State
from fll_hbase.model.unique_names import UniqueNames
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import InputError, InvalidLineage, TooLarge
from fll_hbase.sources import sql
from fll_hbase.sources.native.document import ReadOperations
from fll_hbase.sources.sql.names.dataset_naming import DatasetNaming
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX
from fll_hbase.sources.warehouses.rows import ParsedRows, Row, RowDocument, program_name, read_rows
from fll_hbase.sources.warehouses.statement_lineage import StatementLineage

SOURCE = "bigquery"
NAMESPACE = "bigquery"
"""Namespace of tables in OpenLineage and in DataHub."""

_RUNNING = {"PENDING", "RUNNING"}
_STOPPED = "stopped"
"""Reason of the error of a job that a user canceled."""
_NAME = ("project_id", "dataset_id", "table_id")
_RESULT = "\nresult"
"""Name of the result of a query that is not kept; no table has such a name."""
# Warnings of the SQL source recommend a member `schema`, which rows do not have.
_SQL_ADVICE = re.compile(r"[;,][^;,]*`schema`$")


def read_document(document: object, *, namespace: str | None, columns: sql.FieldLookup) -> ParsedRows:
    """Read a run for each job of a document; a script, and a job without tables, only adds a warning.

    `columns` returns the fields of a dataset in the catalogue.

    `namespace` comes from the URL. If it is None, the document must contain one. Raises UnreadableDocument
    with every error of every row, TooLarge, and the errors of the lookup.
    """
    rows = read_rows(document, SOURCE, namespace=namespace, has_lower_names=True)
    jobs = [_Job(row, rows) for row in deadline.watched(rows.rows)]
    # Reading SQL takes most of the time, so rows with errors are refused first.
    rows.top.validator.check()
    return rows.parsed([job.recorded(columns) for job in deadline.watched(jobs)])


class _Job:
    """The row of one job. Reading it adds errors."""

    def __init__(self, row: Row, rows: RowDocument) -> None:
        self._row = row
        self._document = rows
        self._run = row.required_text("job_id", bytes_max=ID_BYTES_MAX)
        self._start_ms = row.first_time_ms("start_time", "creation_time")
        self._kind = row.first_text("statement_type", "job_type", bytes_max=ID_BYTES_MAX)
        self._user = row.first_text("user_email", bytes_max=ID_BYTES_MAX)
        self._parent = row.first_text("parent_job_id", bytes_max=ID_BYTES_MAX)
        self._query = row.first_text("query")
        self._state, self._error = _read_state(row)
        self._tables = _read_tables(row, rows.dataset_namespace or NAMESPACE)

    def recorded(self, columns: sql.FieldLookup) -> RecordedRun | None:
        """Return the run of the job, or None with a warning for a script and for a job without tables."""
        if self._kind == "SCRIPT":
            self._row.warning("is a script, whose statements are jobs of their own; no run is recorded")
            return None
        info, warnings = _read_lineage(self._query, self._tables, verb=self._kind, columns=columns)
        for warning in warnings:
            self._row.warning(warning, "query")
        if not info.operations:
            self._row.warning("reads and writes no table; no run is recorded")
            return None
        return self._document.recorded(
            info,
            application=SOURCE,
            kind=self._kind or "QUERY",
            program=program_name(self._kind or "QUERY", info.destinations),
            run=self._run,
            start_ms=self._start_ms,
            state=self._state,
            user=self._user,
            sql=sql.without_literals(self._query, dialect=SOURCE),
            error=self._error,
            parent=self._parent,
        )


def _read_state(row: Row) -> tuple[State, str]:
    """Return the state of a job and the error of one that failed, "" for others."""
    error = row.record("error_result")
    reason = error.first_text("reason", bytes_max=ID_BYTES_MAX)
    message = error.first_text("message")
    if reason or message:
        state = State.ABORT if reason == _STOPPED else State.FAIL
        return state, ": ".join(filter(None, (reason, message)))
    is_running = row.first_text("state", bytes_max=ID_BYTES_MAX).upper() in _RUNNING
    return State.RUNNING if is_running else State.COMPLETE, ""


def _read_tables(row: Row, namespace: str) -> _JobTables:
    """Return the tables of a job, without an anonymous destination."""
    referenced = [_read_table(item, namespace) for item in row.nested_items("referenced_tables")]
    target = row.record("destination_table")
    destination = None
    # Results of queries are in anonymous tables of hidden datasets, which are deleted after a day.
    is_hidden = target.first_text("dataset_id").startswith("_")
    if target.members and not (is_hidden and target.first_text("table_id").startswith("anon")):
        destination = _read_table(target, namespace)
    project = row.first_text("project_id", bytes_max=NAME_BYTES_MAX)
    return _JobTables(namespace, project, frozenset(referenced), destination)


def _read_table(part: Row, namespace: str) -> Dataset:
    """Return a table as a dataset, without decorators of partitions and times; add errors."""
    names = [part.required_text(name, bytes_max=NAME_BYTES_MAX) for name in _NAME]
    table = names[2].partition("$")[0].partition("@")[0] or names[2]
    name = part.validator.name(".".join((*names[:2], table)), part.path, bytes_max=NAME_BYTES_MAX)
    return Dataset(namespace, name)


@dataclass(frozen=True, slots=True)
class _JobTables:
    """The tables that a job references, its destination or None, and the project of incomplete names."""

    namespace: str
    project: str
    referenced: frozenset[Dataset]
    destination: Dataset | None


def _read_lineage(
    query: str, tables: _JobTables, *, verb: str, columns: sql.FieldLookup
) -> tuple[FieldLineageInfo, tuple[str, ...]]:
    """Return the lineage of a job, and warnings about its SQL. Raises the errors of the lookup `columns`.

    If the SQL cannot be read, or disagrees with the tables of the job, the lineage has only these tables.
    """
    fault = ""
    if query:
        try:
            reading = _read_query(query, tables, verb, columns)
            operations = reading.info.operations
            if not (fault := _find_disagreement(operations, tables)):
                info = build_lineage_lenient(list(_with_other_tables(operations, tables)))
                return info, tuple(_SQL_ADVICE.sub("", item.detail) for item in reading.warnings)
        except (InputError, TooLarge) as error:
            fault = str(error)
    lineage = StatementLineage()
    for source in tables.referenced:
        lineage.read(source)
    if tables.destination is not None:
        lineage.write_columns(tables.destination, {})
    # A job without tables has no columns that are unknown.
    has_tables = bool(lineage.sources or lineage.targets)
    warnings = (f"{fault}; the columns of this job are unknown",) if fault and has_tables else ()
    return lineage.build(verb), warnings


def _read_query(query: str, tables: _JobTables, verb: str, columns: sql.FieldLookup) -> ReadOperations:
    """Return the operations of a query, only READs if its result is not kept. Raises InputError, TooLarge."""
    try:
        return sql.read_script(query, dialect=SOURCE, tables=_table_schemas(tables, columns))
    except InvalidLineage as error:
        if error.errors[0].detail not in (sql.NO_WRITE, sql.SELECT_ALONE):
            raise
    target = tables.destination or Dataset(tables.namespace, _RESULT)
    schemas = _table_schemas(tables, columns)
    reading = sql.read_query(query, dialect=SOURCE, target=target, verb=verb, tables=schemas)
    if tables.destination is not None:
        return reading
    reads = [operation for operation in reading.info.operations if isinstance(operation, Read)]
    return replace(reading, info=build_lineage_lenient(reads))


def _table_schemas(tables: _JobTables, columns: sql.FieldLookup) -> sql.TableSchemas:
    """Return the tables of a job by each end of their names that only one of them has."""
    naming = DatasetNaming(tables.namespace, SOURCE, catalog=tables.project)
    schemas = sql.TableSchemas(tables.namespace, {}, columns, naming=naming)
    datasets = _all_tables(tables)
    ends = Counter(end for dataset in datasets for end in _ends(dataset.name))
    for dataset in datasets:
        for end in _ends(dataset.name):
            # An end that two tables share identifies neither: the job's default dataset is unknown.
            if ends[end] == 1:
                schemas.add_alias(end, dataset.name)
    return schemas


def _all_tables(tables: _JobTables) -> set[Dataset]:
    """Return the referenced tables and the destination."""
    return {*tables.referenced, *([tables.destination] if tables.destination else ())}


def _ends(name: str) -> Iterator[str]:
    """Yield `a.b.c`, `b.c` and `c` for a table; dots in a project are a part of it."""
    _, dataset, table = name.rsplit(".", 2)
    yield from (name, f"{dataset}.{table}", table)


def _find_disagreement(operations: tuple[Operation, ...], tables: _JobTables) -> str:
    """Return why the SQL's tables cannot be the job's, "" if they can, as other tables read by full name."""
    job_tables = _all_tables(tables)
    for operation in operations:
        dataset = dataset_of(operation)
        if dataset is None or dataset in job_tables:
            continue
        is_write = isinstance(operation, Write)
        if dataset.name.count(".") < len(_NAME) - 1 or (is_write and tables.destination is not None):
            verb = "writes" if is_write else "reads"
            return f"{verb} {dataset.name!r}, but the job has no such table"
    return ""


def _with_other_tables(operations: tuple[Operation, ...], tables: _JobTables) -> Iterator[Operation]:
    """Yield the operations, and a READ without fields for each other table, such as those behind a view."""
    names = UniqueNames()
    for operation in operations:
        names.assign(operation.name)
    others = sorted(tables.referenced - {dataset_of(operation) for operation in operations})
    reads = [Read(names.assign(f"read {dataset.name}"), "", dataset, "", ()) for dataset in others]
    added = tuple(read.name for read in reads)
    for operation in operations:
        if isinstance(operation, Write) and operation.unknown_origins is not None and added:
            origins = tuple(sorted((*operation.unknown_origins, *added)))
            yield replace(operation, unknown_origins=origins)
        else:
            yield operation
    yield from reads
