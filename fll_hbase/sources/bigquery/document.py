"""Rows of `INFORMATION_SCHEMA.JOBS`: a run for each job, with the columns that its SQL gives.

docs/record/bigquery.md describes the rows and their mapping to runs.
"""

from __future__ import annotations

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.runs import RecordedRun, State
from fll_hbase.runtime import deadline
from fll_hbase.sources import sql
from fll_hbase.sources.bigquery.job_lineage import JobTables, read_lineage
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Part
from fll_hbase.sources.warehouses.rows import (
    ParsedRows,
    RowDocument,
    StatementFacts,
    nested_items,
    program_name,
    program_run,
    read_rows,
    record,
    required_text,
    text,
    time_ms,
)

SOURCE = "bigquery"
NAMESPACE = "bigquery"
"""Namespace of tables in OpenLineage and in DataHub."""

_RUNNING = {"PENDING", "RUNNING"}
_STOPPED = "stopped"
"""Reason of the error of a job that a user canceled."""
_NAME = ("project_id", "dataset_id", "table_id")


def read_document(document: object, *, namespace: str | None, columns: sql.FieldLookup) -> ParsedRows:
    """Read a run for each job of a document; a script, and a job without tables, only adds a warning.

    `columns` returns the fields of a dataset in the catalogue.

    `namespace` comes from the URL. If it is None, the document must contain one. Raises UnreadableDocument
    with every error of every row, TooLarge, and the errors of the lookup.
    """
    rows = read_rows(document, SOURCE, namespace=namespace, has_lower_names=True)
    jobs = [_Job(row, rows) for row in deadline.watched(rows.rows)]
    # Reading SQL takes most of the time, so rows with errors are refused first.
    rows.check()
    runs = [job.recorded(columns) for job in deadline.watched(jobs)]
    return ParsedRows(tuple(filter(None, runs)), tuple(rows.top.validator.warnings))


class _Job:
    """The row of one job. Reading it adds errors."""

    def __init__(self, row: Part, rows: RowDocument) -> None:
        self._row = row
        self._namespace = rows.namespace
        self._run = required_text(row, "job_id", bytes_max=ID_BYTES_MAX)
        self._start_ms = time_ms(row, "start_time", "creation_time")
        self._kind = text(row, "statement_type", "job_type", bytes_max=ID_BYTES_MAX)
        self._user = text(row, "user_email", bytes_max=ID_BYTES_MAX)
        self._parent = text(row, "parent_job_id", bytes_max=ID_BYTES_MAX)
        self._query = text(row, "query")
        self._state, self._error = _read_state(row)
        self._tables = _read_tables(row, rows.dataset_namespace or NAMESPACE)

    def recorded(self, columns: sql.FieldLookup) -> RecordedRun | None:
        """Return the run of the job, or None with a warning for a script and for a job without tables."""
        if self._kind == "SCRIPT":
            self._row.warning("is a script, whose statements are jobs of their own; no run is recorded")
            return None
        info, warnings = read_lineage(self._query, self._tables, verb=self._kind, columns=columns)
        for warning in warnings:
            self._row.warning(warning, "query")
        if not info.operations:
            self._row.warning("reads and writes no table; no run is recorded")
            return None
        facts = StatementFacts(
            run=self._run,
            start_ms=self._start_ms,
            application=SOURCE,
            type=self._kind or "QUERY",
            program=program_name(self._kind or "QUERY", info.destinations),
            state=self._state,
            user=self._user,
            sql=sql.without_literals(self._query, dialect=SOURCE),
            error=self._error,
            parent=self._parent,
        )
        return RecordedRun(program_run(facts, self._namespace), info)


def _read_state(row: Part) -> tuple[State, str]:
    """Return the state of a job and the error of one that failed, "" for others."""
    error = record(row, "error_result")
    reason = text(error, "reason", bytes_max=ID_BYTES_MAX)
    message = text(error, "message")
    if reason or message:
        state = State.ABORT if reason == _STOPPED else State.FAIL
        return state, ": ".join(filter(None, (reason, message)))
    is_running = text(row, "state", bytes_max=ID_BYTES_MAX).upper() in _RUNNING
    return State.RUNNING if is_running else State.COMPLETE, ""


def _read_tables(row: Part, namespace: str) -> JobTables:
    """Return the tables of a job, without an anonymous destination."""
    referenced = [_read_table(item, namespace) for item in nested_items(row, "referenced_tables")]
    target = record(row, "destination_table")
    destination = None
    # Results of queries are in anonymous tables of hidden datasets, which are deleted after a day.
    is_anonymous = text(target, "dataset_id").startswith("_") and text(target, "table_id").startswith("anon")
    if target.members and not is_anonymous:
        destination = _read_table(target, namespace)
    project = text(row, "project_id", bytes_max=NAME_BYTES_MAX)
    return JobTables(namespace, project, frozenset(referenced), destination)


def _read_table(part: Part, namespace: str) -> Dataset:
    """Return a table as a dataset, without decorators of partitions and times; add errors."""
    names = [required_text(part, name, bytes_max=NAME_BYTES_MAX) for name in _NAME]
    table = names[2].partition("$")[0].partition("@")[0] or names[2]
    name = part.validator.name(".".join((*names[:2], table)), part.path, bytes_max=NAME_BYTES_MAX)
    return Dataset(namespace, name)
