"""Arrow batches of rows, in columns given as Spark DDL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame

Row: TypeAlias = tuple[Any, ...]
ReadRows: TypeAlias = Callable[[Iterator[dict[str, Any]]], Iterable[Row]]

# As spark.sql.execution.arrow.maxRecordsPerBatch in session.py.
BATCH_ROWS = 5_000

_TYPES = {
    "array<string>": pa.list_(pa.string()),
    "binary": pa.binary(),
    "bigint": pa.int64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}


def to_batches(rows: Iterable[Row], ddl: str) -> Iterator[pa.RecordBatch]:
    """Yield rows as batches of up to BATCH_ROWS rows, in the columns of `ddl`, or no batch for no rows."""
    remaining = iter(rows)
    while chunk := list(islice(remaining, BATCH_ROWS)):
        yield to_batch(chunk, ddl)


def map_rows(frame: DataFrame, read: ReadRows, ddl: str) -> DataFrame:
    """Return a lazy frame of the rows that `read` makes from a partition's rows, given by column name."""
    return frame.mapInArrow(partial(_map_rows, read=read, ddl=ddl), ddl)


def _map_rows(batches: Iterator[pa.RecordBatch], *, read: ReadRows, ddl: str) -> Iterator[pa.RecordBatch]:
    """Yield, on a worker, batches of the rows that `read` makes from all rows of the batches."""
    return to_batches(read(row for batch in batches for row in batch.to_pylist()), ddl)


def to_batch(rows: Sequence[Row], ddl: str) -> pa.RecordBatch:
    """Return rows of one length, at least one, as a batch in the columns of `ddl`, or raise ValueError."""
    schema = arrow_schema(ddl)
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def arrow_schema(ddl: str) -> pa.Schema:
    """Return the Arrow schema of DDL such as `run string, start_ms bigint`. Raises KeyError for others."""
    return pa.schema([(name, _TYPES[kind]) for name, kind in (column.split() for column in ddl.split(","))])
