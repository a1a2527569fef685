"""Query-completed events of Trino's event listeners: a run for each query.

docs/record/trino.md describes the events and their mapping to runs.
"""

from __future__ import annotations

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.runs import ProgramRun, RecordedRun, State
from fll_hbase.sources import sql
from fll_hbase.sources.sql.names.dataset_naming import name_in
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Part
from fll_hbase.sources.warehouses.rows import (
    ParsedRows,
    RowDocument,
    nested,
    nested_items,
    program_name,
    read_single_rows,
    record,
    required_text,
    statement_details,
    text,
    time_ms,
)
from fll_hbase.sources.warehouses.statement_lineage import StatementLineage

SOURCE = "trino"
_IO = "ioMetadata"
_CANCELED = "USER_CANCELED"


def read_document(document: object, *, namespace: str | None) -> ParsedRows:
    """Read a run for each query-completed event that has tables, and add a warning for any other event.

    `namespace` comes from the URL. If it is None, the document must contain one. Raises UnreadableDocument
    with every error of every event, and TooLarge.
    """
    return read_single_rows(document, SOURCE, _read_run, namespace=namespace, has_lower_names=False)


def _read_run(row: Part, rows: RowDocument) -> RecordedRun | None:
    """Return the run of a completed query, or None with a warning for another event or without tables."""
    if _IO not in row and ("metadata" in row or "queryId" in row):
        row.warning(f"is the event of a created query or of a split, without {_IO}; left out")
        return None
    if _IO not in row:
        row.error("missing: only events of Trino have it", _IO)
    metadata, context = record(row, "metadata"), record(row, "context")
    run_id = required_text(metadata, "queryId", bytes_max=ID_BYTES_MAX)
    start_ms = time_ms(row, "executionStartTime", "createTime")
    kind = text(context, "queryType", bytes_max=ID_BYTES_MAX)
    verb = text(metadata, "updateType", bytes_max=ID_BYTES_MAX) or kind
    statement = sql.without_literals(text(metadata, "query"), dialect=SOURCE)
    state, error = _read_state(row, metadata)
    lineage = _read_lineage(record(row, _IO), rows)
    if not (lineage.sources or lineage.targets):
        row.warning("reads and writes no table; no run is recorded")
        return None
    run = ProgramRun(
        namespace=rows.namespace,
        application=text(context, "source", bytes_max=ID_BYTES_MAX) or SOURCE,
        version="",
        type=kind or "QUERY",
        program=program_name(verb or "QUERY", lineage.targets),
        run=run_id,
        start_ms=start_ms,
        state=state,
        details=statement_details(
            user=text(context, "user", bytes_max=ID_BYTES_MAX), sql=statement, error=error
        ),
    )
    return RecordedRun(run, lineage.build(verb))


def _read_state(row: Part, metadata: Part) -> tuple[State, str]:
    """Return the state of a query and the error of one that failed, "" for others."""
    failure = record(row, "failureInfo")
    state = text(metadata, "queryState", bytes_max=ID_BYTES_MAX)
    if state != "FAILED" and not failure.members:
        return State.COMPLETE, ""
    code = text(record(failure, "errorCode"), "name", bytes_max=ID_BYTES_MAX)
    message = text(failure, "failureMessage")
    error = ": ".join(filter(None, (code, message)))
    return State.ABORT if code == _CANCELED else State.FAIL, error


def _read_lineage(tables: Part, rows: RowDocument) -> StatementLineage:
    """Return what a query reads and writes, from the member `ioMetadata`."""
    lineage = StatementLineage()
    for item in nested_items(tables, "inputs"):
        columns = nested(item, "columns")
        if columns.value is not None and not isinstance(columns.value, list):
            columns.error("must be an array of columns")
        names = [_column_name(column) for column in columns.listed()]
        lineage.read(_read_dataset(item, rows, "catalogName"), names)
    output = record(tables, "output")
    if not output.members:
        return lineage
    targets: dict[str, list[DatasetField]] = {}
    for column in nested_items(output, "columns"):
        sources = targets.setdefault(required_text(column, "columnName", bytes_max=NAME_BYTES_MAX), [])
        for source in nested_items(column, "sourceColumns"):
            name = required_text(source, "columnName", bytes_max=NAME_BYTES_MAX)
            sources.append(DatasetField(_read_dataset(source, rows, "catalog"), name))
    lineage.write_columns(_read_dataset(output, rows, "catalogName"), targets)
    return lineage


def _column_name(column: Part) -> str:
    """Return the name of a column of an input, which newer releases write as an object."""
    if column.is_object:
        return required_text(column, "name", "columnName", "column", bytes_max=NAME_BYTES_MAX)
    return column.name(bytes_max=NAME_BYTES_MAX)


def _read_dataset(part: Part, rows: RowDocument, catalog: str) -> Dataset:
    """Return a table as a dataset; add errors for missing parts of its name."""
    names = [required_text(part, name, bytes_max=NAME_BYTES_MAX) for name in (catalog, "schema", "table")]
    namespace = rows.dataset_namespace
    name = name_in(namespace, names) if namespace else ".".join(names)
    name = part.validator.name(name, part.path_of("table"), bytes_max=NAME_BYTES_MAX)
    return Dataset(namespace or rows.namespace, name)
