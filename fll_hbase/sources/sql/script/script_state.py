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
"""Words that Spark accepts in front of a path in place of a database."""
_CLIENT_VARIABLES = ("${", "$(", ":{")
"""Starts of variables that a client replaces, in names of tables."""


class UnknownTarget(Exception):
    """A statement whose target cannot be determined; the message says why, and the statement is left out."""


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

    `views` are named queries. Those in `temporary` are no datasets of the run. `unqualified` are names of
    views and temporary tables, in lower case, that no database completes; `catalog` and `database`
    complete the others. `aliases` are the names of tables in other namespaces, `variables` names that are
    not columns, with the value that a query has assigned, `records` the rows of loops and cursors, all by
    name in lower case, and `procedures` those that the script creates; `call_depth` counts those being read,
    `calls` the functions read so far, `retained` the columns of all writes, `view_columns` those of temporary
    tables and views, and of records. No warnings are added while `is_silent`. `returned` is what RETURNING of
    the last write gives, `selected` the statement read last if it is a query, and `computed` the names of
    columns that tables compute, with what computes them of a write. `source_text` is that of the statement
    being read, `errors` are those of parts that are left out.
    """

    script: Script
    tables: TableSchemas
    source_text: SourceText = field(default_factory=lambda: SourceText("", ()))
    views: dict[Dataset, QueryResult] = field(default_factory=dict)
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
    _warned: set[str] = field(default_factory=set)
    _warnings: ErrorList = field(default_factory=ErrorList)

    def __post_init__(self) -> None:
        """Set the variables, catalog and database that the script begins with, and add its warnings."""
        self.variables |= dict.fromkeys(self.script.variables, GENERATED)
        self.catalog, self.database = self.tables.naming.catalog, self.tables.naming.schema
        for warning in self.script.warnings:
            self.warn(warning)

    def begin(self, statement: Statement) -> None:
        """Make `source_text` that of a statement, which is read next."""
        self.source_text = SourceText(statement.sql, statement.tokens)

    def leave_out(self, part: str, detail: str) -> None:
        """Add the error of a part that is left out: a warning, unless nothing else can be recorded."""
        self.errors.append(FieldError("sql", f"{part}: {detail}" if part else detail))
        self.warn(f"{part or 'a write'} is left out: {detail}")

    def warn(self, detail: str) -> None:
        """Add a warning once. One that is counted but not listed may be counted again."""
        if self.is_silent or detail in self._warned:
            return
        # Bounded like the list: a generated script can have any number of them.
        if len(self._warned) <= ERRORS_LISTED_MAX:
            self._warned.add(detail)
        self._warnings.append(FieldError("sql", detail))

    def write(self, write: TableWrite) -> None:
        """Add a write, without invalid names; a write into a temporary table extends its columns instead."""
        if write.fields and write.target in self.computed:
            write = replace(write, fields=[*write.fields, *self.computed[write.target][1](write)])
        # Before their inputs are looked at.
        columns = (column for _, column in write.fields or ())
        if write.target in self.temporary:
            self.keep_view(columns)
        else:
            self.retained += _derived(columns)
        checked = _with_valid_names(self, write)
        if checked is None:
            return
        write = checked
        # A temporary table is no dataset: its columns carry lineage on to what is made of it.
        if write.target not in self.temporary:
            self.writes.append(write)
            return
        view = self.views[write.target]
        merged = dict(view.columns.items)
        for column_name, column in write.fields or ():
            existing = merged.get(column_name)
            merged[column_name] = merge_columns([existing, column]) if existing else column
        self.views[write.target] = QueryResult(
            ColumnSet(tuple(merged.items()), is_complete=write.fields is not None),
            view.dependencies | write.dependencies,
        )

    def keep_view(self, columns: Iterable[ColumnProvenance]) -> None:
        """Count columns that statements behind the one that makes them read. Raises TooManyColumns."""
        self.view_columns += _derived(columns)

    @contextmanager
    def statement_columns(self, tokens: int) -> Iterator[None]:
        """Return a context in which a statement of so many tokens is read. What stays of it counts behind it.

        As many columns as it has tokens do not count: it may list them. Raises TooManyColumns.
        """
        retained, view_columns = self.retained, self.view_columns
        with derived_columns.part() as part:
            yield
            part.keep(self.retained - retained - tokens)
            part.keep_view(self.view_columns - view_columns - tokens)

    def procedure(self, name: str) -> Procedure | None:
        """Return the procedure of a name, whose qualifiers may be missing on either side, None if absent."""
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
        """Warnings so far, each at the member `sql` of the document."""
        return tuple(self._warnings)

    @property
    def facts(self) -> DialectFacts:
        """Facts of the dialect of the script."""
        return self.script.facts

    def table_parts(self, table: exp.Expr) -> list[str]:
        """Return the parts of a table name, folded and completed; a path is one part."""
        written = _name_parts(table, lambda identifier: identifier.name)
        # Spark reads files as parquet.`/path`.
        if len(written) == 2 and written[0].lower() in _FORMATS and "/" in written[1]:
            return written[1:]
        # A path has the case that it is written in.
        if len(written) == 1 and "/" in written[0]:
            return written
        parts = _name_parts(table, self.tables.naming.fold)
        if len(parts) == 2 and table.args.get("catalog") and self.facts.default_schema:
            # `db..table`: the schema between the dots is the default one.
            schema = self.database.split(".")[-1] or self.facts.default_schema
            return [parts[0], schema, parts[1]]
        if len(parts) == 1 and _can_complete(table) and parts[0].lower() not in self.unqualified:
            parts = [*self.database.split("."), *parts] if self.database else parts
        if len(parts) == 2 and self.catalog:
            parts = [self.catalog, *parts]
        return parts

    def dataset(self, table: exp.Expr) -> Dataset:
        """Return the dataset of a table and note its aliases; warn if its full name is unknown."""
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
        """Fold the names of columns in a tree as the engine does; tables are folded when resolved."""
        naming = self.tables.naming
        for identifier in tree.find_all(exp.Identifier) if naming.facts.folds_columns else ():
            if not isinstance(identifier.parent, exp.Table):
                identifier.set("this", naming.fold(identifier))


def _derived(columns: Iterable[ColumnProvenance]) -> int:
    """Count columns that a statement makes, and return how many they are. Raises TooManyColumns."""
    count = sum(1 + column.inputs_weight for column in columns)
    derived_columns.derive(count)
    return count


def temporary_mark(identifier: exp.Expr) -> str:
    """Return `#` or `##` of a temporary table of T-SQL, which the parser keeps as a flag, "" for others."""
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
    """Return whether a name is of a table, rather than a stage, variable or temporary table of T-SQL."""
    if not isinstance(table, exp.Table) or not isinstance(table.this, (exp.Identifier, exp.Dot)):
        return False
    return not temporary_mark(table.this) and not table.name.startswith(("#", "@"))


def _with_valid_names(script: ScriptState, write: TableWrite) -> TableWrite | None:
    """Return a write without fields of invalid names, or None if a dataset or a source field has one.

    Anything can be quoted in SQL: names may be empty or longer than a key can be.
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
    """Return what is wrong with a name of a dataset or field, "" if nothing is."""
    if script.script.has_halves and REPLACEMENT in name:
        return HALF
    validator = Validator()
    validator.name(name, "sql", bytes_max=NAME_BYTES_MAX)
    return next((error.detail for error in validator.errors), "")


def _name_parts(table: exp.Expr, name_of: Callable[[exp.Identifier], str]) -> list[str]:
    """Return the parts of a table's name, variables as written; temporary tables have their mark in front."""
    if not isinstance(table, exp.Table):
        return [table.name]
    # Those of a client, `${name}`, have a member for what is behind a colon.
    if isinstance(table.this, exp.Parameter) and "expression" not in table.this.args:
        # A table variable, which is another table than one of its name.
        return [f"@{table.this.name}"]
    if not isinstance(table.this, (exp.Identifier, exp.Dot, exp.Parameter)):
        return [table.name or table.this.name]
    parts = [
        # A variable of the client that is not replaced: its name is not that of a database.
        _variable_text(part)
        if isinstance(part, (exp.Parameter, exp.Placeholder))
        else name_of(part)
        if isinstance(part, exp.Identifier)
        else part.name
        for part in table.parts
    ]
    return [f"{temporary_mark(part)}{name}" for part, name in zip(table.parts, parts, strict=True)]
