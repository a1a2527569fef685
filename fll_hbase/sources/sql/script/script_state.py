"""State of a script while it is read: its tables and views, its writes, and its warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from sqlglot import exp

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.runtime.errors import ERRORS_LISTED_MAX, ErrorList, FieldError
from fll_hbase.sources import derived_columns
from fll_hbase.sources.sql.dialects.facts import DialectFacts
from fll_hbase.sources.sql.names.table_schemas import TableSchemas
from fll_hbase.sources.sql.parser import REPLACEMENT, Procedure, Script, Statement
from fll_hbase.sources.sql.queries.column_provenance import (
    GENERATED,
    ColumnProvenance,
    ColumnSet,
    NamedColumn,
    QueryResult,
    RowDependencies,
    merge_columns,
)
from fll_hbase.sources.sql.script.source_text import SourceText
from fll_hbase.sources.validation import HALF, NAME_BYTES_MAX, Validator

_FORMATS = {"parquet", "orc", "csv", "json", "text", "avro", "delta", "binaryfile", "iceberg"}
"""Words that Spark accepts before a path in place of a database."""
_CLIENT_VARIABLES = ("${", "$(", ":{")
"""Beginnings of variables in table names that a client replaces."""


class UnknownTarget(Exception):
    """A statement whose target cannot be determined and that is left out; the message says why."""


@dataclass(frozen=True, slots=True, eq=False)
class TableWrite:
    """Fields that one statement writes into a dataset.

    `fields` is None if unknown, () if there are none. `unmapped` are fields read for an unknown purpose.
    """

    verb: str
    target: Dataset
    fields: Sequence[NamedColumn] | None
    dependencies: RowDependencies
    unmapped: frozenset[DatasetField] = frozenset()


class Views(dict[Dataset, QueryResult]):
    """Views and temporary tables by dataset, also found by the last part of a name."""

    def __init__(self) -> None:
        super().__init__()
        self._by_last_part: dict[str, set[Dataset]] = {}

    def __setitem__(self, dataset: Dataset, rows: QueryResult) -> None:
        if dataset not in self:
            self._by_last_part.setdefault(_last_part(dataset.name), set()).add(dataset)
        super().__setitem__(dataset, rows)

    def ending_with(self, name: str) -> list[Dataset]:
        """Return the views whose names end with a part, in any case, with or without `#` or `@`."""
        return [dataset for dataset in self._by_last_part.get(_last_part(name), ()) if dataset in self]


@dataclass(slots=True)
class ScriptState:
    """State shared by the statements of a script, which are read in order. Names as keys are in lower case.

    Tables and views:

    - `views` are named queries; views in `temporary` are not datasets of the run.
    - `unqualified` are names of views and temporary tables that no database completes. `catalog` and
      `database` complete all other names.
    - `aliases` are the names of tables in other namespaces.
    - `computed` has the names of columns that tables compute, and a function that computes them for a write.

    Names in procedures:

    - `variables` are names that are not columns, with the value assigned by a query.
    - `records` are the rows of loops and cursors.
    - `procedures` are the procedures created by the script.

    Counts:

    - `call_depth` counts the procedures and functions being read, `calls` the functions read so far.
    - `retained` counts the columns of all writes, each with the weight of its inputs.
    - `view_columns` counts the columns of temporary tables and views, and of records.

    Statements:

    - `source_text` is the text of the statement being read, `selected` the last statement if it is a query.
    - `returned` is the result of RETURNING in the last write.
    - `errors` are the errors of parts that are left out. While `is_silent`, no warnings are added.
    """

    script: Script
    tables: TableSchemas
    source_text: SourceText = field(default_factory=lambda: SourceText("", ()))
    views: Views = field(default_factory=Views)
    temporary: set[Dataset] = field(default_factory=set)
    unqualified: set[str] = field(default_factory=set)
    writes: list[TableWrite] = field(default_factory=list)
    catalog: str = ""
    database: str = ""
    variables: dict[str, ColumnProvenance] = field(default_factory=dict)
    records: dict[str, QueryResult] = field(default_factory=dict)
    aliases: dict[Dataset, tuple[Dataset, ...]] = field(default_factory=dict)
    procedures: dict[str, Procedure] = field(default_factory=dict)
    errors: ErrorList = field(default_factory=ErrorList)
    returned: QueryResult = field(default_factory=lambda: QueryResult(ColumnSet(())))
    selected: Statement | None = None
    computed: dict[Dataset, tuple[frozenset[str], Callable[[TableWrite], Sequence[NamedColumn]]]] = field(
        default_factory=dict
    )
    call_depth: int = 0
    calls: int = 0
    retained: int = 0
    view_columns: int = 0
    is_silent: bool = False
    _unknown_rows: dict[Dataset, QueryResult] = field(default_factory=dict)
    _warned: set[str] = field(default_factory=set)
    _warnings: ErrorList = field(default_factory=ErrorList)

    def __post_init__(self) -> None:
        """Set the initial variables, catalog and database of the script, and add its warnings."""
        self.variables |= dict.fromkeys(self.script.variables, GENERATED)
        self.catalog, self.database = self.tables.naming.catalog, self.tables.naming.schema
        for warning in self.script.warnings:
            self.warn(warning)

    def begin(self, statement: Statement) -> None:
        """Make `source_text` the text of the statement to be read next."""
        self.source_text = SourceText(statement.sql, statement.tokens)

    def leave_out(self, part: str, detail: str) -> None:
        """Add a warning that a part is left out, and its error in case nothing can be recorded."""
        self.errors.append(FieldError("sql", f"{part}: {detail}" if part else detail))
        self.warn(f"{part or 'a write'} is left out: {detail}")

    def add_unknown_rows(self, dataset: Dataset) -> None:
        """Note that a view or temporary table, which `views` must have, also has rows of unknown source."""
        rows = self.views[dataset]
        # Many statements may add such rows, one after another.
        if self._unknown_rows.get(dataset) is not rows:
            self.views[dataset] = self._unknown_rows[dataset] = with_unknown_rows(rows)

    def warn(self, detail: str) -> None:
        """Add a warning once; a warning that is counted but not listed may be counted again."""
        if self.is_silent or detail in self._warned:
            return
        # Bounded like the list, since a generated script can have any number of warnings.
        if len(self._warned) <= ERRORS_LISTED_MAX:
            self._warned.add(detail)
        self._warnings.append(FieldError("sql", detail))

    def write(self, write: TableWrite) -> None:
        """Add a write with the columns that its table computes, but without columns that have invalid names.

        With an invalid name of a dataset or input, the whole write is left out. Both cases add warnings. A
        write into a temporary table is not added, but merged into its columns, which are then unknown if its
        fields are. Raises TooManyColumns.
        """
        if write.fields and write.target in self.computed:
            write = replace(write, fields=[*write.fields, *self.computed[write.target][1](write)])
        # Count the columns before examining their inputs.
        columns = (column for _, column in write.fields or ())
        if write.target in self.temporary:
            self.keep_view(columns)
        else:
            self.retained += _derived(columns)
        checked = _with_valid_names(self, write)
        if checked is None:
            return
        write = checked
        # A temporary table is not a dataset: its columns pass lineage on to what is made from them.
        if write.target not in self.temporary:
            self.writes.append(write)
            return
        view = self.views[write.target]
        merged = dict(view.columns.items)
        for column_name, column in write.fields or ():
            existing = merged.get(column_name) or view.columns.lookup(column_name)
            merged[column_name] = merge_columns([existing, column]) if existing else column
        listed = replace(view.columns, items=tuple(merged.items()))
        rows = QueryResult(listed, view.dependencies | write.dependencies)
        self.views[write.target] = rows if write.fields is not None else with_unknown_rows(rows)

    def keep_view(self, columns: Iterable[ColumnProvenance]) -> None:
        """Count columns that later statements read. Raises TooManyColumns."""
        self.view_columns += _derived(columns)

    @contextmanager
    def statement_columns(self, tokens: int) -> Iterator[None]:
        """Return a context for reading a statement of `tokens` tokens, which counts columns that remain.

        As many columns as tokens are free, since the statement may list them. Raises TooManyColumns.
        """
        retained, view_columns = self.retained, self.view_columns
        with derived_columns.part() as part:
            yield
            part.keep(self.retained - retained - tokens)
            part.keep_view(self.view_columns - view_columns - tokens)

    def procedure(self, name: str) -> Procedure | None:
        """Return the procedure of a name, where either side may lack qualifiers, or None if absent."""
        exact = self.procedures.get(name)
        last = name.rpartition(".")[2]
        others = (item for key, item in self.procedures.items() if key.rpartition(".")[2] == last)
        return exact or next((item for item in others if "." not in name or "." not in item.name), None)

    def variable(self, node: exp.Expr) -> ColumnProvenance | None:
        """Return the value of `@name`, `$name` or else the plain name, or None without such a variable."""
        name = node.name.lower()
        marked = (self.variables.get(f"{mark}{name}") for mark in ("@", "$", ""))
        return next((column for column in marked if column is not None), None)

    @property
    def warnings(self) -> tuple[FieldError, ...]:
        """Return the warnings so far, each at the member `sql` of the document."""
        return tuple(self._warnings)

    @property
    def facts(self) -> DialectFacts:
        """Return the facts of the script's dialect."""
        return self.script.facts

    def table_parts(self, table: exp.Expr) -> list[str]:
        """Return the parts of a table name, folded and completed; a path is one part."""
        written = _name_parts(table, lambda identifier: identifier.name)
        # Spark reads files as parquet.`/path`.
        if len(written) == 2 and written[0].lower() in _FORMATS and "/" in written[1]:
            return written[1:]
        # A path keeps its case.
        if len(written) == 1 and "/" in written[0]:
            return written
        parts = _name_parts(table, self.tables.naming.fold)
        if len(parts) == 2 and table.args.get("catalog") and self.facts.default_schema:
            # In `db..table`, the schema between the dots is the default schema.
            schema = self.database.split(".")[-1] or self.facts.default_schema
            return [parts[0], schema, parts[1]]
        if len(parts) == 1 and _can_complete(table) and parts[0].lower() not in self.unqualified:
            parts = [*self.database.split("."), *parts] if self.database else parts
        if len(parts) == 2 and self.catalog:
            parts = [self.catalog, *parts]
        return parts

    def dataset(self, table: exp.Expr) -> Dataset:
        """Return the dataset of a table and note its aliases; warn of a variable or an incomplete name.

        Raises the errors of `TableSchemas.schema`.
        """
        parts = self.table_parts(table)
        naming, name = self.tables.naming, ".".join(parts)
        if any(mark in name for mark in _CLIENT_VARIABLES):
            self.warn(f"table {name[:100]!r} contains an unset variable: send the SQL with the value")
        is_table = _can_complete(table) and "/" not in name
        is_named = is_table and name.lower() not in self.unqualified
        if is_named and naming.is_incomplete(parts):
            self.warn(f"table {name!r} lacks a catalog or schema of its name elsewhere; give `defaults`")
        mapped = naming.mapped(name, parts) if is_table else name
        written = ".".join(_name_parts(table, lambda identifier: identifier.name))
        dataset = self.tables.dataset(name, mapped=mapped, written="" if written == name else written)
        if is_named and naming.alias_namespaces:
            self.aliases[dataset] = naming.aliases(parts)
        return dataset

    def fold_columns(self, tree: exp.Expr) -> None:
        """Fold the names of columns in a tree, in place; names of tables are folded when resolved."""
        naming = self.tables.naming
        for identifier in tree.find_all(exp.Identifier) if naming.facts.folds_columns else ():
            if not isinstance(identifier.parent, exp.Table):
                identifier.set("this", naming.fold(identifier))


def _derived(columns: Iterable[ColumnProvenance]) -> int:
    """Count columns, each with the weight of its inputs, and return the count. Raises TooManyColumns."""
    count = sum(1 + column.inputs_weight for column in columns)
    derived_columns.derive(count)
    return count


def _last_part(name: str) -> str:
    """Return the last part of a name in lower case, without the mark of a temporary table."""
    return name.rpartition(".")[2].lstrip("#@").lower()


def with_unknown_rows(rows: QueryResult) -> QueryResult:
    """Return the rows of a table that also has rows of an unknown source: any column may be from there."""
    items = ((name, replace(column, unknown=True, origin=None)) for name, column in rows.columns.items)
    return QueryResult(replace(rows.columns, items=tuple(items), is_complete=False), rows.dependencies)


def temporary_mark(identifier: exp.Expr) -> str:
    """Return the `#` or `##` that the parser removed from a temporary table's name, "" for other names."""
    if identifier.name.startswith("#"):
        return ""
    return "##" if identifier.args.get("global_") else "#" * bool(identifier.args.get("temporary"))


def _variable_text(variable: exp.Expr) -> str:
    """Return a variable as its client writes it: `${name}` or `${space:name}` (Hive), `:{name}` (psql)."""
    if isinstance(variable, exp.Placeholder):
        return f":{{{variable.name}}}"
    name = variable.args.get("expression")
    return f"${{{variable.name}:{name.name}}}" if isinstance(name, exp.Expr) else f"${{{variable.name}}}"


def _can_complete(table: exp.Expr) -> bool:
    """Return whether a name belongs to a table, not to a stage, variable or temporary table of T-SQL."""
    if not isinstance(table, exp.Table) or not isinstance(table.this, (exp.Identifier, exp.Dot)):
        return False
    return not temporary_mark(table.this) and not table.name.startswith(("#", "@"))


def _with_valid_names(script: ScriptState, write: TableWrite) -> TableWrite | None:
    """Return a write without fields with invalid names, or None if a dataset or source field has one; warn.

    SQL can quote anything: names may be empty or longer than a key allows.
    """
    columns = [column for _, column in write.fields or ()]
    sources = {field for field, _ in write.dependencies.indirect}.union(
        *(column.direct for column in columns), *({field for field, _ in c.indirect} for c in columns)
    )
    datasets = {write.target, *write.dependencies.reads, *(field.dataset for field in sources)}
    names = {dataset.name for dataset in datasets} | {field.name for field in sources}
    detail = next(filter(None, (_name_fault(script, name) for name in sorted(names))), "")
    if detail:
        script.leave_out(f"the {write.verb} into {write.target.name[:100]!r}", detail)
        return None
    faults = {
        name: _name_fault(script, name) for name in dict.fromkeys(name for name, _ in write.fields or ())
    }
    if not any(faults.values()):
        return write
    for name, fault in faults.items():
        if fault:
            script.leave_out(f"column {name[:100]!r} of {write.target.name!r}", fault)
    return replace(write, fields=[item for item in write.fields or () if not faults[item[0]]])


def _name_fault(script: ScriptState, name: str) -> str:
    """Return what is wrong with the name of a dataset or field, or "" if it is valid."""
    if script.script.has_halves and REPLACEMENT in name:
        return HALF
    validator = Validator()
    validator.name(name, "sql", bytes_max=NAME_BYTES_MAX)
    return next((error.detail for error in validator.errors), "")


def _name_parts(table: exp.Expr, name_of: Callable[[exp.Identifier], str]) -> list[str]:
    """Return the parts of a table's name, with variables as written and temporary tables with their mark."""
    if not isinstance(table, exp.Table):
        return [table.name]
    # A client's variable, `${name}`, has a member for the part after a colon.
    if isinstance(table.this, exp.Parameter) and "expression" not in table.this.args:
        # A table variable is distinct from a table of the same name.
        return [f"@{table.this.name}"]
    if not isinstance(table.this, (exp.Identifier, exp.Dot, exp.Parameter)):
        return [table.name or table.this.name]
    parts = [
        # A client's variable that is not replaced is not the name of a database.
        _variable_text(part)
        if isinstance(part, (exp.Parameter, exp.Placeholder))
        else name_of(part)
        if isinstance(part, exp.Identifier)
        else part.name
        for part in table.parts
    ]
    return [f"{temporary_mark(part)}{name}" for part, name in zip(table.parts, parts, strict=True)]
