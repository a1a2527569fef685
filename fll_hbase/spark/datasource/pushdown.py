"""What of a WHERE clause narrows the bounds: the rest, and these once more, are left to Spark."""

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

from fll_hbase.model.runs import START_LIMIT_MS
from fll_hbase.spark.datasource.options import DatasetFilter, ScanBounds, TableName

START, START_MS = "start", "start_ms"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_NAMES = {TableName.RUNS: "run", TableName.EDGES: "run", TableName.OPERATIONS: "checksum"}
_TIMED = (TableName.RUNS, TableName.EDGES)
_ENDS = {TableName.EDGES: ("source_", "destination_"), TableName.FIELDS: ("",)}
"""What columns with the namespace and the name of an end point begin with."""


def push_down(bounds: ScanBounds, filters: Iterable[Filter], table: TableName) -> ScanBounds:
    """The bounds within those filters that ranges of keys can follow; all filters hold at once."""
    for one in filters:
        bounds = _narrowed(bounds, one, table)
    return bounds


def _narrowed(bounds: ScanBounds, one: Filter, table: TableName) -> ScanBounds:
    match one:
        case EqualTo((column,), value) | EqualNullSafe((column,), value):
            if isinstance(value, str):
                return _said(bounds, column, table, value)
            return _timed(bounds, column, table, at_least=value, at_most=value)
        case In((column,), values) if column == _NAMES.get(table):
            return bounds.with_ids(frozenset(value for value in values if isinstance(value, str)))
        case GreaterThanOrEqual((column,), value):
            return _timed(bounds, column, table, at_least=value)
        case GreaterThan((column,), value):
            return _timed(bounds, column, table, at_least=value)
        case LessThanOrEqual((column,), value) | LessThan((column,), value):
            return _timed(bounds, column, table, at_most=value)
    return bounds


def _said(bounds: ScanBounds, column: str, table: TableName, value: str) -> ScanBounds:
    """A column that is one text."""
    if column == _NAMES.get(table):
        return bounds.with_ids(frozenset({value}))
    for head in _ENDS.get(table, ()):
        if column in (f"{head}namespace", f"{head}name"):
            return _among(bounds, head, DatasetFilter(**{column.removeprefix(head): value}))
    return bounds


def _among(bounds: ScanBounds, which: str, said: DatasetFilter) -> ScanBounds:
    match which:
        case "source_":
            return replace(bounds, sources=bounds.sources.narrow(said))
        case "destination_":
            return replace(bounds, destinations=bounds.destinations.narrow(said))
        case _:
            return replace(bounds, touched=bounds.either_end.narrow(said))


def _timed(
    bounds: ScanBounds, column: str, table: TableName, *, at_least: Any = None, at_most: Any = None
) -> ScanBounds:
    """Within the millisecond of either end; Spark is stricter where more was said."""
    if table not in _TIMED or column not in (START, START_MS):
        return bounds
    first_ms, last_ms = _milliseconds(at_least, column), _milliseconds(at_most, column)
    return bounds.with_window(
        start_ms=0 if first_ms is None else first_ms,
        stop_ms=START_LIMIT_MS if last_ms is None else last_ms + 1,
    )


def _milliseconds(value: Any, column: str) -> int | None:
    """The millisecond that a value lies in; None for what tells none."""
    if column == START_MS and isinstance(value, int):
        return value
    if column == START and isinstance(value, datetime) and value.tzinfo is not None:
        return (value - _EPOCH) // timedelta(milliseconds=1)
    return None
