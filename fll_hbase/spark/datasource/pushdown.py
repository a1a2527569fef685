"""Filter pushdown: WHERE clauses that narrow the scan bounds. Spark applies every filter again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from fll_hbase.model.window import START_LIMIT_MS
from fll_hbase.spark.datasource.reader_options import DatasetFilter, ScanBounds, TableName

START, START_MS = "start", "start_ms"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_ID_COLUMNS = {TableName.RUNS: "run", TableName.EDGES: "run", TableName.OPERATIONS: "checksum"}
_TABLES_WITH_START = (TableName.RUNS, TableName.EDGES)
_DATASETS = {
    TableName.EDGES: {"source_": "sources", "destination_": "destinations"},
    TableName.FIELDS: {"": "either_end"},
}
"""Members of ScanBounds by the prefix of the columns `namespace` and `name` of their dataset."""


def push_down(bounds: ScanBounds, filters: Iterable[Filter], table: TableName) -> ScanBounds:
    """Narrow the bounds by filters that all hold, except filters that key ranges cannot express."""
    for column_filter in filters:
        bounds = _apply(bounds, column_filter, table)
    return bounds


def _apply(bounds: ScanBounds, column_filter: Filter, table: TableName) -> ScanBounds:
    """Return the bounds narrowed by a filter, or unchanged if the filter cannot narrow them."""
    match column_filter:
        case EqualTo((column,), value) | EqualNullSafe((column,), value):
            # Key ranges can express equality of names, and equality or order of starts.
            if isinstance(value, str):
                return _equal_text(bounds, column, table, value)
            return _start_between(bounds, column, table, at_least=value, at_most=value)
        # Lists of names or starts would need several ranges, so only ids, which are read by key, are
        # narrowed.
        case In((column,), values) if column == _ID_COLUMNS.get(table):
            return bounds.with_ids(frozenset(value for value in values if isinstance(value, str)))
        case GreaterThanOrEqual((column,), value) | GreaterThan((column,), value):
            return _start_between(bounds, column, table, at_least=value)
        case LessThanOrEqual((column,), value) | LessThan((column,), value):
            return _start_between(bounds, column, table, at_most=value)
    return bounds


def _equal_text(bounds: ScanBounds, column: str, table: TableName, value: str) -> ScanBounds:
    """Return the bounds narrowed to an id, namespace or name, or unchanged for any other column."""
    if column == _ID_COLUMNS.get(table):
        return bounds.with_ids(frozenset({value}))
    for prefix, member in _DATASETS.get(table, {}).items():
        if column in (f"{prefix}namespace", f"{prefix}name"):
            narrower = DatasetFilter(**{column.removeprefix(prefix): value})
            return replace(bounds, **{member: getattr(bounds, member).narrow(narrower)})
    return bounds


def _start_between(
    bounds: ScanBounds, column: str, table: TableName, *, at_least: Any = None, at_most: Any = None
) -> ScanBounds:
    """Return the bounds with the window narrowed by a filter on `start` or `start_ms`, else unchanged.

    A table without these columns leaves the bounds unchanged, too. Both limits are inclusive and rounded
    outwards to milliseconds. A limit that is None or not a time is ignored.
    """
    if table not in _TABLES_WITH_START or column not in (START, START_MS):
        return bounds
    # `start` has microseconds. Spark applies the exact filter to the millisecond that is read.
    first_ms, last_ms = _milliseconds(at_least, column), _milliseconds(at_most, column)
    return bounds.with_window(
        start_ms=0 if first_ms is None else first_ms,
        stop_ms=START_LIMIT_MS if last_ms is None else last_ms + 1,
    )


def _milliseconds(value: Any, column: str) -> int | None:
    """Return the millisecond since 1970 that contains the value, or None if it is not a time."""
    if column == START_MS and isinstance(value, int):
        return value
    if column == START and isinstance(value, datetime) and value.tzinfo is not None:
        return (value - _EPOCH) // timedelta(milliseconds=1)
    return None
