"""SELECT lists: names and provenance of the columns they return, with stars expanded."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from sqlglot import exp

from fll_hbase.sources.derived_columns import counted
from fll_hbase.sources.sql.names.column_names import generated_name
from fll_hbase.sources.sql.queries.column_provenance import (
    ColumnFallback,
    ColumnProvenance,
    ColumnSet,
    NamedColumn,
    RowDependencies,
    merge_columns,
)
from fll_hbase.sources.sql.queries.expression_inputs import ExpressionInputs, collect_inputs, column_path
from fll_hbase.sources.sql.queries.scope import Resolver
from fll_hbase.sources.sql.script.source_text import to_sql

_SELECTING_STARS = (exp.Like, exp.ILike, exp.SimilarTo)
_WITH_POSITION = (exp.Posexplode, exp.PosexplodeOuter)
_EXPLODE = (exp.Explode, exp.ExplodeOuter)


class SelectList:
    """Columns of one SELECT, built expression by expression; also resolves values outside of a SELECT."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._script = resolver.script
        self._items: list[NamedColumn] = []
        self._fallbacks: list[ColumnFallback] = []
        self._is_complete = self._is_ordered = True
        self._extent = (-1, -1)
        self._unnamed = 0
        self._has_columns = resolver.script.facts.has_columns
        self.dependencies = RowDependencies()

    def columns(self) -> ColumnSet:
        """Return all columns so far, in order; complete unless a star had unknown columns."""
        fallback = self._fallbacks[0] if len(self._fallbacks) == 1 else None
        # A name behind two stars could be of either table.
        if len(self._fallbacks) > 1:
            fallback = _ambiguous
        return ColumnSet(tuple(self._items), fallback, self._is_complete, self._is_ordered)

    def add(self, node: exp.Expr) -> None:
        """Add the columns of the next expression of the list: several for a star or a generator, else one."""
        star = node.this if isinstance(node, exp.Column) else node
        if isinstance(star, exp.Star) and star.args.get("ilike") is None:
            self._expand_star(star, column_path(node)[:-1])
        elif isinstance(star, exp.Star) or self._selects_columns(node.unalias()):
            self._leave_out_columns()
        elif isinstance(node, exp.Aliases):
            names = [name.name for name in node.expressions]
            columns = self.resolve_generator(node.this, len(names), node)
            for name, column in zip(names, columns, strict=True):
                self._append(name, column, is_alias=True)
        elif isinstance(node, exp.QueryTransform):
            self._add_transform(node)
        elif isinstance(node, _WITH_POSITION):
            column = self.resolve(node)
            self._append("pos", column)
            self._append("col", column)
        else:
            column = self.resolve(node)
            self._append(self._column_name(node), column, is_alias=isinstance(node, exp.Alias))

    def resolve(self, node: exp.Expr, kind: str = "SELECT") -> ColumnProvenance:
        """Return the provenance of one expression with its own text, and add its row dependencies.

        `kind` is the list in the script that it is an item of: `SELECT`, `SET` or `VALUES`. A name that
        cannot be resolved makes the column `unknown`.
        """
        value = node.unalias()
        column = self._plain_column(value)
        if column is not None:
            return column
        inputs = self._collect([value])
        self._extent = inputs.extent
        column = inputs.to_column(self._text(node, self._extent, kind))
        return replace(column, parts=dict(self._parts(value))) if isinstance(value, exp.Struct) else column

    def resolve_assignment(self, value: exp.Expr, name: exp.Expr) -> ColumnProvenance:
        """Return the right side of `name = value` in a SET, with its text in the script."""
        column = self._plain_column(value)
        if column is not None:
            return column
        inputs = self._collect([value])
        last_part = name.parts[-1] if isinstance(name, exp.Column) else name
        start = last_part.meta.get("start", -1)
        # A value without columns has no extent: search right behind the name.
        extent = inputs.extent if inputs.start >= 0 else (start + 1, start + 1)
        text = self._script.source_text.extract("SET", extent, alias_start=start) if start >= 0 else ""
        return inputs.to_column(text or to_sql(value, self._script.script.dialect))

    def resolve_any(self, nodes: list[exp.Expr], kind: str = "VALUES") -> ColumnProvenance:
        """Return a column that is any of several expressions, with the text of the first.

        Without expressions it is a column without fields and text. Row dependencies are added to the list's.
        """
        inputs = self._collect(nodes)
        if not nodes:
            return inputs.to_column("")
        first = collect_inputs(self._resolver, [(nodes[0], "")]) if len(nodes) > 1 else inputs
        return inputs.to_column(self._text(nodes[0], first.extent, kind))

    def resolve_generator(self, node: exp.Expr, count: int, item: exp.Expr) -> list[ColumnProvenance]:
        """Return `count` columns of a generator: of `stack` each from its own arguments, else from all."""
        column = self.resolve(item if isinstance(item, exp.Aliases) else node)
        if not isinstance(node, exp.Stack) or not node.this.is_int:
            return [column] * count
        # stack(n, ...) fills n rows with `width` columns, value by value.
        width = max(1, -(-len(node.expressions) // max(1, int(node.this.name))))
        return [
            replace(merge_columns(map(self.resolve, node.expressions[number::width])), text=column.text)
            if number < width
            else column
            for number in range(count)
        ]

    def _plain_column(self, value: exp.Expr) -> ColumnProvenance | None:
        """Return the column that an expression merely names, its text by default the name; else None."""
        path = column_path(value)
        if not path:
            return None
        column = self._resolver.column(path)
        return column if column.text else replace(column, text=".".join(path))

    def _collect(self, nodes: Iterable[exp.Expr]) -> ExpressionInputs:
        """Return the inputs of expressions together, with direct influence; add their row dependencies."""
        inputs = collect_inputs(self._resolver, [(node, "") for node in nodes])
        self.dependencies |= inputs.dependencies
        return inputs

    def _append(self, name: str, column: ColumnProvenance, *, is_alias: bool = False) -> None:
        """Add a column to the list; an alias becomes visible in the scope, the first of a name wins."""
        self._items.append((name, column))
        if is_alias:
            self._resolver.scope.aliases.setdefault(name.lower(), column)

    def _add_transform(self, node: exp.QueryTransform) -> None:
        """Add the columns of Hive's TRANSFORM: an external script computes each from all inputs."""
        inputs = self._collect(node.expressions)
        column = inputs.to_column(self._text(node, inputs.extent, "SELECT"))
        schema = node.args.get("schema")
        for name in [field.name for field in schema.expressions] if schema else ["key", "value"]:
            self._append(name, column, is_alias=True)

    def _expand_star(self, star: exp.Star, table: list[str]) -> None:
        """Add the columns of a star to the list, see `_starred`."""
        self._items += counted(self._starred(star, table))

    def _starred(self, star: exp.Star, table: list[str]) -> Iterator[NamedColumn]:
        """Yield the known columns of a star, changed by its EXCEPT, REPLACE and RENAME; case is ignored.

        `table` is the qualifier split at its dots: `a.b.*` is ["a", "b"], `*` is []. A table with unknown
        columns, or a qualifier without a table, adds a warning, and `columns` is no longer complete. Names
        in EXCEPT, REPLACE or RENAME that the star does not have are ignored.
        """
        excluded = {node.name.lower() for node in _argument_list(star, "except_") if not _qualifier(node)}
        replaced = {node.alias.lower(): self.resolve(node) for node in _argument_list(star, "replace")}
        names = {node.this.name.lower(): node.alias for node in _argument_list(star, "rename")}
        without = {
            (*_qualifier(node), node.name.lower())
            for node in _argument_list(star, "except_")
            if _qualifier(node)
        }
        for name, column in self._star_columns(table, without):
            if name.lower() not in excluded:
                column = replaced.get(name.lower(), _with_text(name, column))
                yield names.get(name.lower(), name), column

    def _selects_columns(self, value: exp.Expr) -> bool:
        """Return whether an expression selects several columns: with COLUMNS, APPLY or `* LIKE 'a%'`."""
        if isinstance(value, (exp.Apply, exp.Columns)):
            return True
        if isinstance(value, _SELECTING_STARS) and isinstance(value.this, exp.Star):
            return True
        if not self._has_columns:
            return False
        parts = value.walk(prune=lambda part: isinstance(part, exp.Query))
        return any(isinstance(part, exp.Columns) and not part.args.get("unpack") for part in parts)

    def _leave_out_columns(self) -> None:
        """Warn that what COLUMNS selects is unknown; the list is incomplete then."""
        self._script.warn("COLUMNS: which columns it selects is not known; they are left out")
        self._is_complete = False

    def _star_columns(
        self, table: list[str], without: Collection[tuple[str, ...]] = ()
    ) -> Iterator[NamedColumn]:
        """Yield the columns of a star except `without`, each the end of a table's name and a column.

        Warns of an absent table or unknown columns; then this list is incomplete.
        """
        scope = self._resolver.scope
        source = scope.source(table) if table else None
        if table and source is None:
            self._script.warn(f"'{'.'.join(table)}.*': no table of that name; its columns are left out")
            self._is_complete = False
            return
        # Columns of USING and NATURAL JOIN come first, and once.
        keys = {} if table else scope.join_keys
        yield from keys.values()
        for expanded in [source] if source else scope.sources:
            columns = expanded.columns
            if not columns.is_complete:
                name = repr(expanded.dotted_name) if expanded.name else "a function"
                self._script.warn(f"'*': the columns of {name} are not known; give them in `schema`")
            self._is_complete = self._is_complete and columns.is_complete
            self._is_ordered = self._is_ordered and columns.is_ordered
            if columns.fallback is not None:
                self._fallbacks.append(columns.fallback)
            dropped = {name for *suffix, name in without if expanded.name[-len(suffix) :] == tuple(suffix)}
            yield from (
                item
                for item in columns.items
                if item[0].lower() not in keys and item[0].lower() not in dropped
            )

    def _column_name(self, node: exp.Expr) -> str:
        """Return the name of the column just resolved: alias, column name, the engine's, or its text."""
        value = node
        # Parentheses around a column change nothing.
        while isinstance(value, exp.Paren):
            value = value.this
        name = node.alias if isinstance(node, exp.Alias) else (column_path(value) or [""])[-1]
        if name:
            return name
        if isinstance(value, _EXPLODE):
            return "col"
        text = self._text(node, self._extent, "SELECT", keep_literals=True)
        generated = generated_name(
            self._script.facts,
            text,
            number=len(self._items),
            unnamed=self._unnamed,
            is_table=lambda table: self._resolver.scope.source([table]) is not None,
        )
        self._unnamed += 1
        return generated or text

    def _text(
        self, node: exp.Expr, extent: tuple[int, int], kind: str, *, keep_literals: bool = False
    ) -> str:
        """Return the text of an item without its alias, from the script or else as the library writes it."""
        alias = node.args.get("alias") or next(iter(_argument_list(node, "expressions")), None)
        has_alias = isinstance(node, (exp.Alias, exp.Aliases)) and isinstance(alias, exp.Expr)
        start = alias.meta.get("start", -1) if has_alias and alias is not None else -1
        # An expression without columns is located by its alias.
        extent = extent if extent[0] >= 0 else (start, start)
        text = ""
        if extent[0] >= 0:
            source_text = self._script.source_text
            text = source_text.extract(kind, extent, alias_start=start, keep_literals=keep_literals)
        return text or to_sql(node.unalias(), self._script.script.dialect, keep_literals=keep_literals)

    def _parts(self, struct: exp.Expr) -> Iterator[NamedColumn]:
        """Yield the fields of a struct by their names in lower case; one without a name is left out."""
        for part in struct.expressions:
            if isinstance(part, exp.PropertyEQ):
                yield part.name.lower(), self._part(part.expression)
            elif part.alias_or_name:
                yield part.alias_or_name.lower(), self._part(part.unalias())

    def _part(self, value: exp.Expr) -> ColumnProvenance:
        """Return the provenance of a field of a struct, which is not an item of a list in the script."""
        column = self.resolve(value)
        return (
            column if column_path(value) else replace(column, text=to_sql(value, self._script.script.dialect))
        )


def expand_star(resolver: Resolver, node: exp.Expr) -> ColumnSet:
    """Return the columns of `*`, `t.*` or COLUMNS inside an expression; warn of unknown ones."""
    select_list = SelectList(resolver)
    select_list.add(node)
    return select_list.columns()


def _with_text(name: str, column: ColumnProvenance) -> ColumnProvenance:
    """Return a column of a table with its name as its text, a computed column as it is."""
    return replace(column, text=name) if not column.text and column.origin is not None else column


def _qualifier(node: exp.Expr) -> tuple[str, ...]:
    """Return the table in front of a column, split at its dots and in lower case; () without one."""
    return tuple(part.name.lower() for part in node.parts[:-1]) if isinstance(node, exp.Column) else ()


def _argument_list(node: exp.Expr, name: str) -> Iterable[exp.Expr]:
    """Return the items of an argument of a node, a single one as a list; [] if it is missing."""
    argument = node.args.get(name) or []
    return argument if isinstance(argument, list) else [argument]


def _ambiguous(_: str) -> None:
    """Return no column: several tables with unknown columns could have it."""
    return
