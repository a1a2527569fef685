"""Rows of `ACCESS_HISTORY`, which may be joined with `QUERY_HISTORY`: a run for each query.

docs/record/snowflake.md describes the rows and their mapping to runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.runs import RecordedRun, State
from fll_hbase.sources import sql
from fll_hbase.sources.sql.names.dataset_naming import name_in
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX
from fll_hbase.sources.warehouses.rows import (
    ParsedRows,
    Row,
    RowDocument,
    path_dataset,
    program_name,
    read_rows,
)
from fll_hbase.sources.warehouses.statement_lineage import StatementLineage

SOURCE = "snowflake"
_ACCESSED = ("direct_objects_accessed", "base_objects_accessed")
_SOURCES = ("directSources", "baseSources")
_DATA = {
    *("dynamic table", "event table", "external table", "hybrid table", "iceberg table", "materialized view"),
    *("stage", "stream", "table", "view"),
}
"""Domains of objects with data, in lower case. Others, such as functions, count if they have columns."""

_FAILURES = ("FAIL", "FAILED_WITH_ERROR", "FAILED_WITH_INCIDENT", "INCIDENT")
_UNFINISHED = ("BLOCKED", "QUEUED", "RESUMING_WAREHOUSE", "RUNNING")
_STATES = dict.fromkeys(_FAILURES, State.FAIL) | dict.fromkeys(_UNFINISHED, State.RUNNING)
_PART = re.compile(r'"((?:[^"]|"")*)"|[^."]+')
"""A part of an object's name, which may be quoted."""


def read_document(document: object, *, namespace: str | None) -> ParsedRows:
    """Read a run for each row of a document; a row without tables only adds a warning.

    `namespace` is the URL's, or None for the document's. Raises UnreadableDocument with all errors, TooLarge.
    """
    rows = read_rows(document, SOURCE, namespace=namespace, has_lower_names=True)
    return rows.read_each(_read_run)


def _read_run(row: Row, rows: RowDocument) -> RecordedRun | None:
    """Return the run of a query, or None with a warning if it reads and writes no data."""
    run_id = row.required_text("query_id", bytes_max=ID_BYTES_MAX)
    start_ms = row.first_time_ms("start_time", "query_start_time")
    kind = row.first_text("query_type", bytes_max=ID_BYTES_MAX)
    status = row.first_text("execution_status", bytes_max=ID_BYTES_MAX).upper()
    error = row.first_text("error_message")
    state = _STATES.get(status, State.COMPLETE)
    statement = sql.without_literals(row.first_text("query_text"), dialect=SOURCE)
    lineage = _read_lineage(row, rows)
    if not (lineage.sources or lineage.targets):
        row.warning("reads and writes no table; no run is recorded")
        return None
    return rows.recorded(
        lineage.build(kind),
        application=SOURCE,
        kind=kind or "QUERY",
        program=program_name(kind or "QUERY", lineage.targets),
        run=run_id,
        start_ms=start_ms,
        state=state,
        user=row.first_text("user_name", bytes_max=ID_BYTES_MAX),
        sql=statement,
        error=error if state is State.FAIL else "",
        parent=row.first_text("parent_query_id", "root_query_id", bytes_max=ID_BYTES_MAX),
    )


def _read_lineage(row: Row, rows: RowDocument) -> StatementLineage:
    """Return what a query reads and writes."""
    lineage = StatementLineage()
    for name in _ACCESSED:
        for item in row.nested_items(name):
            dataset = _read_dataset(item, rows)
            if dataset is not None:
                lineage.read(dataset, filter(None, map(_column_name, item.nested_items("columns"))))
    for item in row.nested_items("objects_modified"):
        target = _read_dataset(item, rows)
        if target is None:
            continue
        columns: dict[str, list[DatasetField]] = {}
        for column in item.nested_items("columns"):
            sources = columns.setdefault(column.required_text("columnName", bytes_max=NAME_BYTES_MAX), [])
            for source, source_column in _read_sources(column, rows):
                if source_column:
                    sources.append(DatasetField(source, source_column))
                else:
                    lineage.relate(source, target)
        lineage.write_columns(target, columns)
    return lineage


def _read_sources(column: Row, rows: RowDocument) -> Iterator[tuple[Dataset, str]]:
    """Yield the sources of a written column, direct and base ones: dataset and column, "" if unknown."""
    for name in _SOURCES:
        for source in column.nested_items(name):
            dataset = _read_dataset(source, rows)
            if dataset is not None:
                yield dataset, _column_name(source)


def _column_name(part: Row) -> str:
    """Return the column of an object, "" if it has none."""
    return part.first_text("columnName", bytes_max=NAME_BYTES_MAX)


def _read_dataset(part: Row, rows: RowDocument) -> Dataset | None:
    """Return an object as a dataset, or None if it holds no data; add an error if it has no name."""
    domain = part.first_text("objectDomain", bytes_max=ID_BYTES_MAX).lower()
    if domain and domain not in _DATA and "columns" not in part and "columnName" not in part:
        return None
    location = part.first_text("location", bytes_max=NAME_BYTES_MAX)
    if location and not part.first_text("objectName"):
        return path_dataset(location, rows.dataset_namespace or rows.namespace)
    name = part.required_text("objectName", "location", bytes_max=NAME_BYTES_MAX)
    parts = [match[0] if match[1] is None else match[1].replace('""', '"') for match in _PART.finditer(name)]
    # A name of dots alone has no parts.
    parts = [item for item in parts if item] or [name]
    namespace = rows.dataset_namespace
    return Dataset(namespace or rows.namespace, name_in(namespace, parts) if namespace else ".".join(parts))
