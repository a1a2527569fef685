"""What has a script said so far: its tables and views, its writes, and what could not be resolved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from fll_hbase.errors import FieldError
from fll_hbase.model.operations import Dataset, DatasetField
from fll_hbase.sources.sql.parser import Script
from fll_hbase.sources.sql.provenance import ColumnSet, RowDependencies, ColumnProvenance, QueryResult, merged
from fll_hbase.sources.sql.source_text import SourceText
from fll_hbase.sources.sql.table_schemas import TableSchemas

WARNINGS_MAX = 100

_FORMATS = {"parquet", "orc", "csv", "json", "text", "avro", "delta", "binaryfile", "iceberg"}
"""Words that in Spark stand before a path instead of a database."""


@dataclass(frozen=True, slots=True, eq=False)
class TableWrite:
    """What one statement writes into one end point; `fields` is None where it could not be told.

    `seen` are fields that are read then, though it is not known what for.
    """

    verb: str
    target: Dataset
    fields: Sequence[tuple[str, ColumnProvenance]] | None
    effects: RowDependencies
    seen: frozenset[DatasetField] = frozenset()


def _no_change(session: ScriptState, node: exp.Expr, scope: Any) -> QueryResult:
    """A statement inside a query, of which nothing is known."""
    return QueryResult(ColumnSet((), complete=False))


@dataclass(slots=True)
class ScriptState:
    """The state of a script while its statements are read one after the other.

    `views` are queries under a name, of which those in `temporary` are no end points; `change` reads a
    statement that writes inside a query and gives what it returns. `variables` are no columns.
    """

    script: Script
    tables: TableSchemas
    texts: SourceText
    views: dict[str, QueryResult] = field(default_factory=dict)
    temporary: set[str] = field(default_factory=set)
    writings: list[TableWrite] = field(default_factory=list)
    database: str = ""
    variables: set[str] = field(default_factory=set)
    change: Callable[[ScriptState, exp.Expr, Any], QueryResult] = field(default=_no_change)
    _warnings: dict[str, None] = field(default_factory=dict)

    def warn(self, detail: str) -> None:
        """Something that could not be resolved, told once."""
        if len(self._warnings) < WARNINGS_MAX:
            self._warnings[detail] = None
        elif len(self._warnings) == WARNINGS_MAX:
            self._warnings["there is more that could not be resolved; it is not told"] = None

    def write(self, writing: TableWrite) -> None:
        """Keep a write; what goes into a temporary table is read out of it again."""
        name = writing.target.name.lower()
        if name not in self.temporary:
            self.writings.append(writing)
            return
        before = self.views[name]
        columns = dict(before.columns.named)
        for field_, made in writing.fields or ():
            columns[field_] = merged([columns[field_], made]) if field_ in columns else made
        self.views[name] = QueryResult(
            ColumnSet(tuple(columns.items()), complete=writing.fields is not None),
            before.effects | writing.effects,
        )

    @property
    def warnings(self) -> tuple[FieldError, ...]:
        return tuple(FieldError("sql", detail) for detail in self._warnings)

    @property
    def spoken(self) -> str:
        """The dialect's word."""
        return type(self.script.dialect).__name__.lower()

    def name(self, table: exp.Expr) -> str:
        """The full name of a table, with the database that USE named, if any; a path is its own name."""
        parts = _parts(table)
        if len(parts) == 2 and parts[0].lower() in _FORMATS and "/" in parts[1]:
            return parts[1]
        if len(parts) == 1 and self.database and parts[0].lower() not in self.views:
            return f"{self.database}.{parts[0]}"
        return ".".join(parts)

    def end_point(self, table: exp.Expr) -> Dataset:
        """The end point that a table is."""
        return self.tables.dataset(self.name(table))


def _parts(table: exp.Expr) -> list[str]:
    if not isinstance(table, exp.Table):
        return [table.name]
    if not isinstance(table.this, (exp.Identifier, exp.Dot)):
        return [table.name or table.this.name]
    return [
        f"#{part.name}" if part.args.get("temporary") and not part.name.startswith("#") else part.name
        for part in table.parts
    ]
