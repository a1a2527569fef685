"""Query-completed events of Trino's event listeners: a run for each query.

docs/record/trino.md describes the events and their mapping to runs.
"""

from __future__ import annotations

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.runs import RecordedRun, State
from fll_hbase.sources import sql
from fll_hbase.sources.sql.names.dataset_naming import name_in
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX
from fll_hbase.sources.warehouses.rows import ParsedRows, Row, RowDocument, program_name, read_rows
from fll_hbase.sources.warehouses.statement_lineage import StatementLineage

SOURCE = "trino"
_IO = "ioMetadata"
_CANCELED = "USER_CANCELED"


def read_document(document: object, *, namespace: str | None) -> ParsedRows:
    """Read a run for each query-completed event that has tables, and add a warning for any other event.

    `namespace` is the URL's, or None for the document's. Raises UnreadableDocument with all errors, TooLarge.
    """
    rows = read_rows(document, SOURCE, namespace=namespace, has_lower_names=False)
    return rows.read_each(_read_run)


def _read_run(row: Row, rows: RowDocument) -> RecordedRun | None:
    """Return the run of a completed query, or None with a warning for another event or without tables."""
    if _IO not in row and ("metadata" in row or "queryId" in row):
        row.warning(f"is the event of a created query or of a split, without {_IO}; left out")
        return None
    if _IO not in row:
        row.error("missing: only events of Trino have it", _IO)
    metadata, context = row.record("metadata"), row.record("context")
    run_id = metadata.required_text("queryId", bytes_max=ID_BYTES_MAX)
    start_ms = row.first_time_ms("executionStartTime", "createTime")
    kind = context.first_text("queryType", bytes_max=ID_BYTES_MAX)
    verb = metadata.first_text("updateType", bytes_max=ID_BYTES_MAX) or kind
    statement = sql.without_literals(metadata.first_text("query"), dialect=SOURCE)
    state, error = _read_state(row, metadata)
    lineage = _read_lineage(row.record(_IO), rows)
    if not (lineage.sources or lineage.targets):
        row.warning("reads and writes no table; no run is recorded")
        return None
    return rows.recorded(
        lineage.build(verb),
        application=context.first_text("source", bytes_max=ID_BYTES_MAX) or SOURCE,
        kind=kind or "QUERY",
        program=program_name(verb or "QUERY", lineage.targets),
        run=run_id,
        start_ms=start_ms,
        state=state,
        user=context.first_text("user", bytes_max=ID_BYTES_MAX),
        sql=statement,
        error=error,
    )


def _read_state(row: Row, metadata: Row) -> tuple[State, str]:
    """Return the state of a query and the error of one that failed, "" for others."""
    failure = row.record("failureInfo")
    state = metadata.first_text("queryState", bytes_max=ID_BYTES_MAX)
    if state != "FAILED" and not failure.members:
        return State.COMPLETE, ""
    code = failure.record("errorCode").first_text("name", bytes_max=ID_BYTES_MAX)
    message = failure.first_text("failureMessage")
    error = ": ".join(filter(None, (code, message)))
    return State.ABORT if code == _CANCELED else State.FAIL, error


def _read_lineage(tables: Row, rows: RowDocument) -> StatementLineage:
    """Return what a query reads and writes, from the member `ioMetadata`."""
    lineage = StatementLineage()
    for item in tables.nested_items("inputs"):
        columns = item.nested("columns")
        if columns.value is not None and not isinstance(columns.value, list):
            columns.error("must be an array of columns")
        names = [_column_name(column) for column in columns.listed()]
        lineage.read(_read_dataset(item, rows, "catalogName"), names)
    output = tables.record("output")
    if not output.members:
        return lineage
    targets: dict[str, list[DatasetField]] = {}
    for column in output.nested_items("columns"):
        sources = targets.setdefault(column.required_text("columnName", bytes_max=NAME_BYTES_MAX), [])
        for source in column.nested_items("sourceColumns"):
            name = source.required_text("columnName", bytes_max=NAME_BYTES_MAX)
            sources.append(DatasetField(_read_dataset(source, rows, "catalog"), name))
    lineage.write_columns(_read_dataset(output, rows, "catalogName"), targets)
    return lineage


def _column_name(column: Row) -> str:
    """Return the name of a column of an input, which newer releases write as an object."""
    if column.is_object:
        return column.required_text("name", "columnName", "column", bytes_max=NAME_BYTES_MAX)
    return column.name(bytes_max=NAME_BYTES_MAX)


def _read_dataset(part: Row, rows: RowDocument, catalog: str) -> Dataset:
    """Return a table as a dataset; add errors for missing parts of its name."""
    names = [part.required_text(name, bytes_max=NAME_BYTES_MAX) for name in (catalog, "schema", "table")]
    namespace = rows.dataset_namespace
    name = name_in(namespace, names) if namespace else ".".join(names)
    name = part.validator.name(name, part.path_of("table"), bytes_max=NAME_BYTES_MAX)
    return Dataset(namespace or rows.namespace, name)
