"""Columns of the tables, as Spark DDL."""

from __future__ import annotations

from fll_hbase.spark.datasource.reader_options import TableName

LAST_MS = 253_402_300_799_999
"""The end of the year 9999, the last year that Spark timestamps support."""

_RUN = "run string, namespace string"
# `start_ms` has every start, but `start` is null after the last timestamp of Spark.
_START = "start timestamp, start_ms bigint"
SCHEMAS = {
    TableName.RUNS: (
        f"{_RUN}, application string, version string, type string, program string, "
        f"{_START}, state string, checksum string, details string"
    ),
    TableName.EDGES: (
        f"{_RUN}, {_START}, checksum string, "
        "source_namespace string, source_name string, source_field string, "
        "destination_namespace string, destination_name string, destination_field string, influence string"
    ),
    TableName.FIELDS: (
        "namespace string, name string, field string, type string, read boolean, written boolean, "
        "description string"
    ),
    TableName.OPERATIONS: (
        "checksum string, operation string, type string, namespace string, name string, json string"
    ),
}


def start_columns(start_ms: int) -> tuple[int | None, int]:
    """Return the columns `start` (microseconds since 1970, None after LAST_MS) and `start_ms` of a start."""
    return start_ms * 1_000 if start_ms <= LAST_MS else None, start_ms
