"""Which columns have the tables: as Spark is told of them, and rows as the batches that it takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeAlias

import pyarrow as pa

from fll_hbase.spark.datasource.options import TableName

Row: TypeAlias = tuple[Any, ...]

BATCH_ROWS = 5_000
LAST_MS = 253_402_300_799_999
"""The end of the year 9999, which times go up to."""

_RUN = "run string"
_START = "start timestamp, start_ms bigint"
SCHEMAS = {
    TableName.RUNS: (
        f"{_RUN}, namespace string, application string, version string, type string, program string, "
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
"""Per table its columns, as DDL."""

_TYPES = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}


def to_batches(rows: Iterable[Row], ddl: str) -> Iterator[pa.RecordBatch]:
    """The rows by the thousand, in those columns."""
    left = iter(rows)
    schema = arrow_schema(ddl)
    while some := list(islice(left, BATCH_ROWS)):
        columns = zip(*some, strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def arrow_schema(ddl: str) -> pa.Schema:
    """Columns in the words of Arrow."""
    return pa.schema([(name, _TYPES[type_]) for name, type_ in (column.split() for column in ddl.split(","))])


def start_columns(start_ms: int) -> tuple[int | None, int]:
    """A start as the columns `start`, microseconds that count as a timestamp, and `start_ms`."""
    return start_ms * 1_000 if start_ms <= LAST_MS else None, start_ms
