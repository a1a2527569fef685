"""Lineage that the SQL source records of a query: its columns, the inputs of each, and those of all rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fll_hbase.model.operations import InputField, Read, Transform, Write
from tests.support import sql_readings

Column = tuple[str, str]
"""Names of a table and of one of its columns."""

Schema = Mapping[str, Sequence[str]]
"""The columns of each table, in order."""

OUTPUT = "judged_output"
"""The name of the view of each query."""


@dataclass(frozen=True)
class RecordedQuery:
    """The lineage of one query; `warnings` are those of its reading, with unknown relations among them."""

    columns: tuple[str, ...]
    inputs: tuple[frozenset[Column], ...]
    """Direct and indirect inputs of each column."""
    rows: frozenset[Column]
    """Indirect inputs of all columns."""
    warnings: tuple[str, ...]
    edges: tuple[frozenset[InputField], ...] = ()
    """Inputs of each column and, at the end, of all rows, with their kinds."""

    @property
    def all_inputs(self) -> frozenset[Column]:
        """All inputs, whatever they decide."""
        return self.rows.union(*self.inputs)


def record(query: str, dialect: str, schema: Schema) -> RecordedQuery:
    """Read `CREATE VIEW … AS query`. Raises InputError if it records nothing."""
    document = {name: list(columns) for name, columns in schema.items()}
    reading = sql_readings.read(f"CREATE VIEW {OUTPUT} AS {query}", dialect=dialect, schema=document)
    operations = reading.operations.info.operations
    tables = {
        operation.name: operation.source.name for operation in operations if isinstance(operation, Read)
    }
    transforms = {operation.name: operation for operation in operations if isinstance(operation, Transform)}
    (write,) = (operation for operation in operations if isinstance(operation, Write))
    written = [item for item in write.inputs if item.origin in transforms]
    edges = [transforms[item.origin].inputs for item in written]
    rows = [item for item in write.inputs if item.origin in tables]
    unknown = [f"unknown relation to {origin}" for origin in write.unknown_origins or ()]
    return RecordedQuery(
        tuple(item.name for item in written),
        tuple(_columns(tables, inputs) for inputs in edges),
        _columns(tables, rows),
        (*map(str, reading.warnings), *unknown),
        tuple(frozenset(inputs) for inputs in (*edges, rows)),
    )


def _columns(tables: Mapping[str, str], inputs: Iterable[InputField]) -> frozenset[Column]:
    return frozenset((tables[item.origin], item.name) for item in inputs)
