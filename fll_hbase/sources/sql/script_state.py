"""State of a script while it is read: its tables and views, its writes, and its warnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from fll_hbase.errors import ERRORS_LISTED_MAX, ErrorList, FieldError
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.sources.sql.parser import Procedure, Script, Statement
from fll_hbase.sources.sql.provenance import (
    ColumnSet,
    NamedColumn,
    QueryResult,
    RowDependencies,
    merge_columns,
)
from fll_hbase.sources.sql.source_text import SourceText
from fll_hbase.sources.sql.table_schemas import TableSchemas
from fll_hbase.sources.validation import NAME_BYTES_MAX, Validator

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
    names that are not columns, `procedures` those that the script creates. `source_text` is that of the
    statement being read, `errors` are those of parts that are left out. `database` is the one that the last
    USE selected.
    """

    script: Script
    tables: TableSchemas
    source_text: SourceText = field(default_factory=lambda: SourceText("", ()))
    views: dict[str, QueryResult] = field(default_factory=dict)
    temporary: set[str] = field(default_factory=set)
    writes: list[TableWrite] = field(default_factory=list)
    database: str = ""
    variables: set[str] = field(default_factory=set)
    procedures: dict[str, Procedure] = field(default_factory=dict)
    errors: ErrorList = field(default_factory=ErrorList)
    _warned: set[str] = field(default_factory=set)
    _warnings: ErrorList = field(default_factory=ErrorList)

    def __post_init__(self) -> None:
        self.variables |= self.script.variables

    def begin(self, statement: Statement) -> None:
        """Take the texts of expressions from a statement, which is read next."""
        self.source_text = SourceText(statement.sql, statement.tokens)

    def leave_out(self, part: str, detail: str) -> None:
        """Add the error of a part that is left out: a warning, unless nothing else can be recorded."""
        self.errors.append(FieldError("sql", f"{part}: {detail}" if part else detail))
        self.warn(f"{part or 'a write'} is left out: {detail}")

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
        named = _with_valid_names(self, write)
        if named is None:
            return
        write, name = named, write.target.name.lower()
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

    def procedure(self, name: str) -> Procedure | None:
        """Return the procedure of the script with a name, whose qualifiers may be missing on either side."""
        exact = self.procedures.get(name)
        last = name.rpartition(".")[2]
        others = (item for key, item in self.procedures.items() if key.rpartition(".")[2] == last)
        return exact or next((item for item in others if "." not in name or "." not in item.name), None)

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


def _with_valid_names(script: ScriptState, write: TableWrite) -> TableWrite | None:
    """Return a write without fields of invalid names; None if a dataset or a source field has one.

    Anything can be quoted in SQL: names may be empty or longer than a key can be.
    """
    columns = [column for _, column in write.fields or ()]
    sources = {field for field, _ in write.dependencies.indirect}.union(
        *(column.direct for column in columns), *({field for field, _ in c.indirect} for c in columns)
    )
    datasets = {write.target, *write.dependencies.reads, *(field.dataset for field in sources)}
    names = {dataset.name for dataset in datasets} | {field.name for field in sources}
    detail = next(filter(None, map(_name_fault, sorted(names))), "")
    if detail:
        script.leave_out(f"the {write.verb} into {write.target.name[:100]!r}", detail)
        return None
    faults = {name: _name_fault(name) for name, _ in write.fields or ()}
    if not any(faults.values()):
        return write
    for name, fault in faults.items():
        if fault:
            script.leave_out(f"column {name[:100]!r} of {write.target.name!r}", fault)
    return replace(write, fields=[item for item in write.fields or () if not faults[item[0]]])


def _name_fault(name: str) -> str:
    """Return what is wrong with a name of a dataset or field, "" if nothing is."""
    validator = Validator()
    validator.name(name, "sql", bytes_max=NAME_BYTES_MAX)
    return next((error.detail for error in validator.errors), "")


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
