"""Rows of `ACCESS_HISTORY`, which may be joined with `QUERY_HISTORY`: a run for each query.

docs/record/snowflake.md describes the rows and their mapping to runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.runs import ProgramRun, RecordedRun, State
from fll_hbase.sources import sql
from fll_hbase.sources.sql.names.dataset_naming import name_in
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Part
from fll_hbase.sources.warehouses.rows import (
    ParsedRows,
    RowDocument,
    nested_items,
    path_dataset,
    program_name,
    read_single_rows,
    required_text,
    statement_details,
    text,
    time_ms,
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

    `namespace` comes from the URL. If it is None, the document must contain one. Raises UnreadableDocument
    with every error of every row, and TooLarge.
    """
    return read_single_rows(document, SOURCE, _read_run, namespace=namespace, has_lower_names=True)


def _read_run(row: Part, rows: RowDocument) -> RecordedRun | None:
    """Return the run of a query, or None with a warning if it reads and writes no data."""
    run_id = required_text(row, "query_id", bytes_max=ID_BYTES_MAX)
    start_ms = time_ms(row, "start_time", "query_start_time")
    kind = text(row, "query_type", bytes_max=ID_BYTES_MAX)
    status = text(row, "execution_status", bytes_max=ID_BYTES_MAX).upper()
    error = text(row, "error_message")
    state = _STATES.get(status, State.COMPLETE)
    statement = sql.without_literals(text(row, "query_text"), dialect=SOURCE)
    lineage = _read_lineage(row, rows)
    if not (lineage.sources or lineage.targets):
        row.warning("reads and writes no table; no run is recorded")
        return None
    run = ProgramRun(
        namespace=rows.namespace,
        application=SOURCE,
        version="",
        type=kind or "QUERY",
        program=program_name(kind or "QUERY", lineage.targets),
        run=run_id,
        start_ms=start_ms,
        state=state,
        details=statement_details(
            user=text(row, "user_name", bytes_max=ID_BYTES_MAX),
            sql=statement,
            error=error if state is State.FAIL else "",
            parent=text(row, "parent_query_id", "root_query_id", bytes_max=ID_BYTES_MAX),
        ),
    )
    return RecordedRun(run, lineage.build(kind))


def _read_lineage(row: Part, rows: RowDocument) -> StatementLineage:
    """Return what a query reads and writes."""
    lineage = StatementLineage()
    for name in _ACCESSED:
        for item in nested_items(row, name):
            dataset = _read_dataset(item, rows)
            if dataset is not None:
                lineage.read(dataset, filter(None, map(_column_name, nested_items(item, "columns"))))
    for item in nested_items(row, "objects_modified"):
        target = _read_dataset(item, rows)
        if target is None:
            continue
        columns: dict[str, list[DatasetField]] = {}
        for column in nested_items(item, "columns"):
            sources = columns.setdefault(required_text(column, "columnName", bytes_max=NAME_BYTES_MAX), [])
            for source, source_column in _read_sources(column, rows):
                if source_column:
                    sources.append(DatasetField(source, source_column))
                else:
                    lineage.relate(source, target)
        lineage.write_columns(target, columns)
    return lineage


def _read_sources(column: Part, rows: RowDocument) -> Iterator[tuple[Dataset, str]]:
    """Yield the sources of a written column, direct and base ones: dataset and column, "" if unknown."""
    for name in _SOURCES:
        for source in nested_items(column, name):
            dataset = _read_dataset(source, rows)
            if dataset is not None:
                yield dataset, _column_name(source)


def _column_name(part: Part) -> str:
    """Return the column of an object, "" if it has none."""
    return text(part, "columnName", bytes_max=NAME_BYTES_MAX)


def _read_dataset(part: Part, rows: RowDocument) -> Dataset | None:
    """Return an object as a dataset, or None if it holds no data; add an error if it has no name."""
    domain = text(part, "objectDomain", bytes_max=ID_BYTES_MAX).lower()
    if domain and domain not in _DATA and "columns" not in part and "columnName" not in part:
        return None
    location = text(part, "location", bytes_max=NAME_BYTES_MAX)
    if location and not text(part, "objectName"):
        return path_dataset(location, rows.dataset_namespace or rows.namespace)
    name = required_text(part, "objectName", "location", bytes_max=NAME_BYTES_MAX)
    parts = [match[0] if match[1] is None else match[1].replace('""', '"') for match in _PART.finditer(name)]
    # A name of dots alone has no parts.
    parts = [item for item in parts if item] or [name]
    namespace = rows.dataset_namespace
    return Dataset(namespace or rows.namespace, name_in(namespace, parts) if namespace else ".".join(parts))
