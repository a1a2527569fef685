"""State of a script while it is read: its tables and views, its writes, and its warnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from fll_hbase.errors import ERRORS_LISTED_MAX, ErrorList, FieldError
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.sources.sql.parser import Script
from fll_hbase.sources.sql.provenance import (
    ColumnSet,
    NamedColumn,
    QueryResult,
    RowDependencies,
    merge_columns,
)
from fll_hbase.sources.sql.source_text import SourceText
from fll_hbase.sources.sql.table_schemas import TableSchemas

_FORMATS = {"parquet", "orc", "csv", "json", "text", "avro", "delta", "binaryfile", "iceberg"}
"""Words that Spark accepts in front of a path in place of a database."""


@dataclass(frozen=True, slots=True, eq=False)
class TableWrite:
    """Fields that one statement writes into a dataset.

    `fields` is None if they could not be determined, () if there are none; `unmapped` are
    fields that the statement reads without a known use.
    """

    verb: str
    target: Dataset
    fields: Sequence[NamedColumn] | None
    dependencies: RowDependencies
    unmapped: frozenset[DatasetField] = frozenset()


@dataclass(slots=True)
class ScriptState:
    """State shared by the statements of a script, which are read in order.

    `views` are named queries, by name in lower case; those in `temporary` are not datasets. `variables` are
    names that are not columns. `database` is the one that the last USE selected.
    """

    script: Script
    tables: TableSchemas
    views: dict[str, QueryResult] = field(default_factory=dict)
    temporary: set[str] = field(default_factory=set)
    writes: list[TableWrite] = field(default_factory=list)
    database: str = ""
    variables: set[str] = field(default_factory=set)
    source_text: SourceText = field(init=False)
    _warned: set[str] = field(default_factory=set)
    _warnings: ErrorList = field(default_factory=ErrorList)

    def __post_init__(self) -> None:
        self.source_text = SourceText(self.script.sql, self.script.tokens)

    def warn(self, detail: str) -> None:
        """Add a warning once; one that is counted but not listed may be counted again."""
        if detail in self._warned:
            return
        # Bounded like the list: a generated script can have any number of them.
        if len(self._warned) <= ERRORS_LISTED_MAX:
            self._warned.add(detail)
        self._warnings.append(FieldError("sql", detail))

    def write(self, write: TableWrite) -> None:
        """Add a write; a write into a temporary table extends its columns instead."""
        name = write.target.name.lower()
        # A temporary table is no dataset: its columns carry lineage on to what is made of it.
        if name not in self.temporary:
            self.writes.append(write)
            return
        view = self.views[name]
        columns = dict(view.columns.items)
        for column_name, column in write.fields or ():
            existing = columns.get(column_name)
            columns[column_name] = merge_columns([existing, column]) if existing else column
        self.views[name] = QueryResult(
            ColumnSet(tuple(columns.items()), is_complete=write.fields is not None),
            view.dependencies | write.dependencies,
        )

    @property
    def warnings(self) -> tuple[FieldError, ...]:
        """Warnings so far, each at the member `sql` of the document."""
        return tuple(self._warnings)

    @property
    def dialect_name(self) -> str:
        """Name of the dialect in lower case, e.g. `postgres`."""
        return type(self.script.dialect).__name__.lower()

    def table_name(self, table: exp.Expr) -> str:
        """Return the full name of a table, with the database of USE if it has none; a path stays a path."""
        parts = _name_parts(table)
        # Spark reads files as parquet.`/path`.
        if len(parts) == 2 and parts[0].lower() in _FORMATS and "/" in parts[1]:
            return parts[1]
        # Views of the script have no database, so USE does not complete their names.
        if len(parts) == 1 and self.database and parts[0].lower() not in self.views:
            return f"{self.database}.{parts[0]}"
        return ".".join(parts)

    def dataset(self, table: exp.Expr) -> Dataset:
        """Return the dataset of a table."""
        return self.tables.dataset(self.table_name(table))


def _name_parts(table: exp.Expr) -> list[str]:
    if not isinstance(table, exp.Table):
        return [table.name]
    if not isinstance(table.this, (exp.Identifier, exp.Dot)):
        return [table.name or table.this.name]
    # T-SQL names temporary tables `#name`; the parser keeps the mark as a flag.
    return [
        f"#{part.name}" if part.args.get("temporary") and not part.name.startswith("#") else part.name
        for part in table.parts
    ]
