"""Scopes: the tables and aliases to which names of a query refer, and the resolution of column names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeAlias

from sqlglot import exp

from fll_hbase.sources.sql.parser import Statement
from fll_hbase.sources.sql.queries.column_provenance import (
    GENERATED,
    UNKNOWN,
    ColumnProvenance,
    ColumnSet,
    NamedColumn,
    QueryResult,
    RowDependencies,
    TableSource,
    merge_columns,
    merge_dependencies,
)
from fll_hbase.sources.sql.script.script_state import ScriptState

_HIERARCHY = {"connect_by_iscycle", "connect_by_isleaf", "level"}
"""Columns of a query with CONNECT BY that do not belong to a table."""
_SEQUENCE_VALUES = {"currval", "nextval"}


_SCANNED_TABLES_MAX = 8
CALLS_MAX, CALLS_NESTED_MAX = 1_000, 20
"""Limits of calls of the script's functions whose queries are read, and of their nesting."""


class AliasPrecedence(Enum):
    """Precedence of the aliases of a SELECT list over columns of tables.

    Aliases come after all columns (LAST), after listed columns but before columns of a table with unknown
    columns (BEFORE_UNKNOWN), or before all columns (FIRST).
    """

    LAST = "last"
    BEFORE_UNKNOWN = "before unknown"
    FIRST = "first"


@dataclass(slots=True, eq=False)
class Scope:
    """Names to which one query can refer.

    `queries` are common table expressions, by lower-case name. `join_keys` are columns of USING and NATURAL
    JOIN, which both sides share, and `aliases` the columns selected so far, both by lower-case name. `later`
    are aliases that may be used before they are selected. `windows` are named windows, by lower-case name.
    `inferred` are names attributed to the only table with unknown columns. With `has_hierarchy`, the query
    has CONNECT BY.
    """

    queries: Mapping[str, QueryResult]
    parent: Scope | None = None
    sources: list[TableSource] = field(default_factory=list)
    join_keys: dict[str, NamedColumn] = field(default_factory=dict)
    aliases: dict[str, ColumnProvenance] = field(default_factory=dict)
    later: dict[str, Callable[[], ColumnProvenance]] = field(default_factory=dict)
    windows: dict[str, exp.Expr] = field(default_factory=dict)
    alias_precedence: AliasPrecedence = AliasPrecedence.LAST
    inferred: set[str] = field(default_factory=set)
    has_hierarchy: bool = False
    _dependencies: list[RowDependencies] = field(default_factory=list)
    _by_last_part: dict[str, list[TableSource]] = field(default_factory=dict)
    _by_column: dict[str, list[TableSource]] = field(default_factory=dict)
    _open: list[TableSource] = field(default_factory=list)
    _indexed: int = 0

    def __post_init__(self) -> None:
        """Index the initial tables of the scope."""
        for source in self.sources:
            self.add_qualified(source)

    @property
    def dependencies(self) -> RowDependencies:
        """Return the row dependencies of the tables and joins of this scope."""
        return merge_dependencies(self._dependencies)

    def add_dependencies(self, dependencies: RowDependencies) -> None:
        """Add the row dependencies of a table or join."""
        self._dependencies.append(dependencies)

    def add(self, source: TableSource) -> None:
        """Add a table to which names can refer."""
        self.sources.append(source)
        self.add_qualified(source)

    def add_qualified(self, source: TableSource) -> None:
        """Let qualified names find the columns of a table; unqualified names find them only after `add`."""
        self._by_last_part.setdefault(source.name[-1] if source.name else "", []).append(source)

    def alias(self, name: str) -> ColumnProvenance | None:
        """Return the column of a lower-case alias, or None if unknown or inside its own expression."""
        if name in self.later:
            self.aliases[name] = self.later.pop(name)()
        return self.aliases.get(name)

    def remove_from(self, start: int) -> None:
        """Remove the tables from number `start` on, counted from 0."""
        for source in self.sources[start:]:
            self._by_last_part[source.name[-1] if source.name else ""].remove(source)
        del self.sources[start:]
        self._by_column, self._open, self._indexed = {}, [], 0

    def columns_named(self, name: str) -> list[ColumnProvenance]:
        """Return the listed columns of a name, ignoring case, one per table of this scope that has it."""
        sources: Iterable[TableSource] = self.sources
        # A few tables may be wide, and are scanned faster than indexed. Many tables are faster to index.
        if len(self.sources) > _SCANNED_TABLES_MAX:
            self._index_columns()
            sources = self._by_column.get(name.lower(), ())
        return [column for source in sources if (column := source.columns.get(name)) is not None]

    def open_sources(self) -> list[TableSource]:
        """Return the tables of this scope that may have unlisted columns."""
        if len(self.sources) <= _SCANNED_TABLES_MAX:
            return [source for source in self.sources if source.columns.fallback is not None]
        self._index_columns()
        return self._open

    def _index_columns(self) -> None:
        """Index the columns of the tables added since the last call."""
        # Tables are added one by one, and names are resolved in between, so index only the new tables.
        for source in self.sources[self._indexed :]:
            for name in dict.fromkeys(name.lower() for name, _ in source.columns.items):
                self._by_column.setdefault(name, []).append(source)
            if source.columns.fallback is not None:
                self._open.append(source)
        self._indexed = len(self.sources)

    def enclosing(self) -> Iterator[Scope]:
        """Yield this scope and the scopes of enclosing queries, from the inside out."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def source(self, parts: Sequence[str]) -> TableSource | None:
        """Return the first table of a name whose leading parts may be missing, or None if it is unknown."""
        suffix = tuple(part.lower() for part in parts)
        candidates = self._by_last_part.get(suffix[-1], ())
        return next((source for source in candidates if source.name[-len(suffix) :] == suffix), None)


@dataclass(frozen=True, slots=True, eq=False)
class Resolver:
    """Resolves the names and queries of one scope of a script.

    Expressions contain queries and queries contain expressions, so their modules would import each other.
    These functions avoid that: `query_reader` reads a query in an expression. `statement_reader` reads a
    statement that writes inside a WITH, and the result of its RETURNING. `star_reader` reads `*`, `t.*` or
    COLUMNS, and `value_reader` an expression.
    """

    script: ScriptState
    scope: Scope
    query_reader: Reader
    statement_reader: Reader
    star_reader: StarReader
    value_reader: ValueReader

    def in_scope(self, scope: Scope) -> Resolver:
        """Return the resolver of another scope of the same script."""
        readers = self.query_reader, self.statement_reader, self.star_reader, self.value_reader
        return Resolver(self.script, scope, *readers)

    def query(self, node: exp.Expr) -> QueryResult:
        """Resolve a query whose enclosing scope is this one."""
        return self.query_reader(self, node)

    def query_of(self, statement: Statement) -> QueryResult:
        """Resolve the query of another text than the current statement's, outside any scope."""
        outer = self.script.source_text
        self.script.begin(statement)
        try:
            self.script.fold_columns(statement.tree)
            return self.in_scope(Scope({})).query(statement.tree)
        finally:
            self.script.source_text = outer

    def call(self, node: exp.Expr | None) -> QueryResult | None:
        """Return the result of a call to a function of the script, or None for anything else.

        Without a readable query, or with more than CALLS_MAX calls before it or CALLS_NESTED_MAX calls and
        procedures around it, its columns are unknown, with a warning.
        """
        script = self.script
        name = node.name.lower() if isinstance(node, exp.Anonymous) else ""
        function = script.script.functions.get(name)
        if function is None or node is None:
            return None
        if function.query is None or script.call_depth > CALLS_NESTED_MAX or script.calls > CALLS_MAX:
            script.warn(f"the columns that the function {name[:100]!r} of the script reads are unknown")
            return QueryResult(ColumnSet((), lambda _: UNKNOWN, is_complete=False))
        arguments = [self.value_reader(self, argument) for argument in node.expressions]
        outer = script.variables
        script.calls += 1
        script.call_depth += 1
        script.variables = {**outer, **dict(zip(function.parameters, arguments, strict=False))}
        try:
            return self.query_of(function.query)
        finally:
            # After an error, the script goes on with its next statement.
            script.variables = outer
            script.call_depth -= 1

    def column(self, parts: Sequence[str]) -> ColumnProvenance:
        """Resolve a column name, split at its dots, from the innermost scope outwards.

        Warns and returns UNKNOWN if it is absent or ambiguous.
        """
        if len(parts) > 1 and parts[-1].lower() in _SEQUENCE_VALUES and self.script.facts.has_sequences:
            return GENERATED
        # The longest prefix that is a table wins: `a.b.c` is column c of a.b rather than field b.c of a.
        for stop in range(len(parts) - 1, 0, -1):
            for scope in self.scope.enclosing():
                source = scope.source(parts[:stop])
                if source is not None:
                    return self._qualified(source, parts[stop], parts[stop + 1 :])
        if len(parts) > 1 and (value := self._script_value(parts)) is not None:
            return value
        for scope in self.scope.enclosing():
            column = self._unqualified(scope, parts[0])
            if isinstance(column, str):
                self.script.warn(f"column {'.'.join(parts)!r}: {column}")
                return UNKNOWN
            if column is not None:
                return self.script.tables.nested_column(column, parts[1:])
        self.script.warn(f"column {'.'.join(parts)!r}: {_not_found(self.scope)}")
        return UNKNOWN

    def _script_value(self, parts: Sequence[str]) -> ColumnProvenance | None:
        """Return a field of a record or the variable in `label.name`; the label is a variable `label.`."""
        first, variables = parts[0].lower(), self.script.variables
        record = self.script.records.get(first)
        if record is not None:
            return self._qualified(TableSource((first,), record.columns), parts[1], parts[2:])
        return variables.get(parts[1].lower()) if f"{first}." in variables and len(parts) == 2 else None

    def _qualified(self, source: TableSource, name: str, path: Sequence[str]) -> ColumnProvenance:
        """Return a column of a table, or its field at `path`, or warn and return UNKNOWN if absent."""
        column = source.columns.lookup(name)
        if column is None:
            self.script.warn(f"column {name!r}: {source.dotted_name!r} is not known to have it")
            return UNKNOWN
        return self.script.tables.nested_column(column, path)

    def _unqualified(self, scope: Scope, name: str) -> ColumnProvenance | str | None:
        """Return the column, the reason why it is ambiguous, or None if the scope lacks that name."""
        # Most engines hide aliases from subqueries of the same SELECT.
        is_visible = scope is self.scope or self.script.facts.has_aliases_first
        alias = scope.alias(name.lower()) if is_visible else None
        is_first = scope.alias_precedence is AliasPrecedence.FIRST
        if alias is not None and (is_first or self.script.facts.has_aliases_first):
            return alias
        if name.lower() in scope.join_keys:
            return scope.join_keys[name.lower()][1]
        columns = scope.columns_named(name)
        if len(columns) > 1:
            return f"{len(columns)} relations have one"
        if columns:
            return columns[0]
        if scope.sources and self._is_pseudo(scope, name.lower()):
            return GENERATED
        row = scope.source([name]) if self.script.facts.has_whole_rows else None
        return self._inferred(scope, name, alias) if row is None else _whole_row(row, name)

    def _is_pseudo(self, scope: Scope, name: str) -> bool:
        """Return whether a lower-case name is computed by the engine, as `rownum` is."""
        is_of_hierarchy = scope.has_hierarchy and name in _HIERARCHY
        return is_of_hierarchy or name in self.script.facts.pseudo_columns

    def _inferred(
        self, scope: Scope, name: str, alias: ColumnProvenance | None
    ) -> ColumnProvenance | str | None:
        """Return a variable, else the column of the only table with unknown columns, or else the alias.

        Return a text if that is unclear. Before unknown columns, an alias may take precedence.
        """
        candidates = scope.open_sources()
        if name.lower() in self.script.variables:
            return self.script.variables[name.lower()]
        if not candidates:
            return alias
        if len(candidates) > 1:
            names = ", ".join(repr(source.dotted_name) for source in candidates)
            return f"{names} may contain it: name its table, or give `schema`"
        # A column used before the alias was defined is known to belong to the table.
        if alias is not None and name.lower() not in scope.inferred:
            if scope.alias_precedence is AliasPrecedence.BEFORE_UNKNOWN:
                return alias
            if self.script.facts.has_lateral_aliases:
                return "may be one of the table or the alias before it; give `schema`"
        # A reference to an outer query is as likely as a column of the table here.
        outer = [source for around in scope.enclosing() if around is not scope for source in around.sources]
        if any(source.columns.get(name) for source in outer):
            return "a query around has one, and the table here may have; name its table, or give `schema`"
        scope.inferred.add(name.lower())
        return candidates[0].columns.lookup(name) or "its source is unknown"


Reader: TypeAlias = Callable[[Resolver, exp.Expr], QueryResult]
StarReader: TypeAlias = Callable[[Resolver, exp.Expr], ColumnSet]
ValueReader: TypeAlias = Callable[[Resolver, exp.Expr], ColumnProvenance]


def variable_name(node: exp.Expr) -> str:
    """Return the lower-case name of a variable, with the `@` of T-SQL and MySQL."""
    return f"@{node.name.lower()}" if isinstance(node, exp.Parameter) else node.name.lower()


def _whole_row(source: TableSource, name: str) -> ColumnProvenance | str:
    """Return the column that has all columns of a table as inputs, or the reason why it is unknown."""
    if source.columns.is_complete:
        return replace(merge_columns(source.columns.values()), parts=dict(source.columns.items))
    column = source.columns.lookup(name)
    # For a table, that would be a column with the name of the table.
    if column is None or (column.origin is not None and column.origin.name == name):
        return "is the row of a table whose columns are not known; give `schema`"
    return column


def _not_found(scope: Scope) -> str:
    """Return why a column was not found: the scope has no table, or no table is known to have the column."""
    if not scope.sources:
        return "no table can contain it"
    return f"unknown in {', '.join(repr(source.dotted_name) for source in scope.sources)}"
