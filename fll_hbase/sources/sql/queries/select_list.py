"""SELECT lists: names and provenance of their columns, with stars expanded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sqlglot import exp

from fll_hbase.sources.derived_columns import counted
from fll_hbase.sources.sql.names.column_names import generated_name
from fll_hbase.sources.sql.queries.column_provenance import (
    ELEMENT,
    ColumnFallback,
    ColumnProvenance,
    ColumnSet,
    NamedColumn,
    RowDependencies,
    merge_columns,
)
from fll_hbase.sources.sql.queries.expression_inputs import (
    ExpressionInputs,
    collect_inputs,
    column_path,
    field_column,
    star_of,
    struct_fields,
)
from fll_hbase.sources.sql.queries.scope import Resolver
from fll_hbase.sources.sql.queries.table_functions import EXPLODE, WITH_POSITION
from fll_hbase.sources.sql.script.source_text import to_sql

_SELECTING_STARS = (exp.Like, exp.ILike, exp.SimilarTo)


class SelectList:
    """Builds the columns of one SELECT, expression by expression, and resolves values outside a SELECT."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self.script = resolver.script
        self._items: list[NamedColumn] = []
        self._fallbacks: list[ColumnFallback] = []
        self._is_complete = self._is_ordered = True
        self._extent = (-1, -1)
        self._unnamed = 0
        self._has_columns = resolver.script.facts.has_columns
        self.dependencies = RowDependencies()

    def columns(self) -> ColumnSet:
        """Return all columns so far, in order, which are complete unless a star had unknown columns."""
        # With two stars, a name could belong to either table.
        fallback = (
            self._fallbacks[0] if len(self._fallbacks) == 1 else (lambda _: None) if self._fallbacks else None
        )
        return ColumnSet(tuple(self._items), fallback, self._is_complete, self._is_ordered)

    def add(self, node: exp.Expr) -> None:
        """Add the columns of the next item: several for a star or generator, none for COLUMNS, else one.

        Warns of columns that are left out since they are unknown.
        """
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier) and node.name:
            # Most items are columns.
            self._append(node.name, self.resolve(node))
            return
        # Inside its own expression, the name of an alias refers to a column.
        self._resolver.scope.later.pop(node.alias.lower() if isinstance(node, exp.Alias) else "", None)
        star = star_of(node)
        if star is not None and star.args.get("ilike") is None:
            self._items += counted(self._starred(star, node))
        elif star is not None or self._selects_columns(node.unalias()):
            self.script.warn("COLUMNS: the selected columns are unknown and left out")
            self._is_complete = False
        elif isinstance(node, exp.Aliases):
            names = [name.name for name in node.expressions]
            columns = self.resolve_generator(node.this, len(names), node)
            for name, column in zip(names, columns, strict=True):
                self._append(name, column, is_alias=True)
        elif isinstance(node, exp.QueryTransform):
            self._add_transform(node)
        elif isinstance(node, WITH_POSITION):
            position, column = self.resolve_generator(node, 2, node)
            self._append("pos", position)
            self._append("col", column)
        elif not self._add_fields(node):
            column = self.resolve(node)
            self._append(self._column_name(node), column, is_alias=isinstance(node, exp.Alias))

    def resolve(self, node: exp.Expr, kind: str = "SELECT") -> ColumnProvenance:
        """Return the provenance of one expression with its own text, and add its row dependencies.

        `kind` is the list that contains it: `SELECT`, `SET` or `VALUES`. An unknown name makes it `unknown`.
        """
        value = node.unalias()
        column = self._plain_column(value)
        if column is not None:
            return column
        inputs = self._collect([value])
        self._extent = inputs.extent
        fields = struct_fields(self._resolver, value, inputs)
        return inputs.to_column(self._text(node, self._extent, kind), fields)

    def resolve_assignment(self, value: exp.Expr, name: exp.Expr) -> ColumnProvenance:
        """Return the right side of `name = value` in a SET, with its text in the script."""
        column = self._plain_column(value)
        if column is not None:
            return column
        inputs = self._collect([value])
        last_part = name.parts[-1] if isinstance(name, exp.Column) else name
        start = last_part.meta.get("start", -1)
        # A value without columns has no extent, so search directly after the name.
        extent = inputs.extent if inputs.start >= 0 else (start + 1, start + 1)
        text = self.script.source_text.extract("SET", extent, alias_start=start) if start >= 0 else ""
        return inputs.to_column(_alternative(text or to_sql(value, self.script.script.dialect), value))

    def resolve_any(self, nodes: list[exp.Expr]) -> ColumnProvenance:
        """Return a column whose value is any of several expressions, with the text of the first.

        Without expressions, the column has no fields and text. Row dependencies are added to the list's.
        """
        inputs = self._collect(nodes)
        if not nodes:
            return inputs.to_column("")
        first = collect_inputs(self._resolver, [(nodes[0], "")]) if len(nodes) > 1 else inputs
        return inputs.to_column(self._text(nodes[0], first.extent, "VALUES"))

    def resolve_generator(self, node: exp.Expr, count: int, item: exp.Expr) -> list[ColumnProvenance]:
        """Return the first `count` columns of a generator, for WITH_POSITION with the position first.

        `stack` gives each column its own arguments, other functions give each column all arguments.
        If the elements are structs, each column is a field, or a single column has all fields.
        """
        column = self.resolve(item if isinstance(item, exp.Aliases) else node)
        fields = column.parts.get(ELEMENT, column).parts
        if isinstance(node, WITH_POSITION):
            both = [replace(column, parts={}), replace(column, parts=fields)]
            return [*both, *[column] * (count - 2)][:count]
        if 1 < len(fields) <= count <= len(fields) + 1:
            return [*fields.values(), column][:count]
        if fields:
            return [replace(column, parts=fields)] * count
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
        """Return the column that an expression merely names, with the name as default text, else None."""
        path = column_path(value)
        return self._resolver.column(path).with_text(".".join(path)) if path else None

    def _collect(self, nodes: Iterable[exp.Expr]) -> ExpressionInputs:
        """Return the combined direct inputs of expressions; add their row dependencies."""
        inputs = collect_inputs(self._resolver, [(node, "") for node in nodes])
        self.dependencies |= inputs.dependencies
        return inputs

    def _append(self, name: str, column: ColumnProvenance, *, is_alias: bool = False) -> None:
        """Add a column; the first alias of a name becomes visible in the scope."""
        self._items.append((name, column))
        if is_alias:
            self._resolver.scope.aliases.setdefault(name.lower(), column)

    def _add_fields(self, node: exp.Expr) -> bool:
        """Add the fields of `inline(l)`, `untuple(t)` or DuckDB's `unnest(s)`. Return False for others."""
        value = node.unalias()
        if not isinstance(value, (exp.Anonymous, *EXPLODE)):
            return False
        is_tuple = isinstance(value, exp.Anonymous) and value.name.lower() == "untuple"
        is_struct = isinstance(value, EXPLODE) and self.script.facts.unnests_structs
        if not (is_tuple or is_struct or isinstance(value, exp.Inline)):
            return False
        column = self.resolve(value.expressions[0] if is_tuple else value.this if is_struct else value)
        if is_struct and (ELEMENT in column.parts or not column.parts):
            return False
        fields = column.parts.get(ELEMENT, column).parts
        if not fields:
            text = to_sql(value, self.script.script.dialect)[:100]
            self.script.warn(f"{text}: the fields of the argument are unknown and left out")
            self._is_complete = False
        for name, field in counted(fields.items()):
            tuple_name = f"{node.alias}.{name}" if node.alias else f"tupleElement({column.text}, '{name}')"
            self._append(tuple_name if is_tuple else name, field)
        return True

    def _add_transform(self, node: exp.QueryTransform) -> None:
        """Add the columns of Hive's TRANSFORM, an external script that computes each from all inputs."""
        inputs = self._collect(node.expressions)
        column = inputs.to_column(self._text(node, inputs.extent, "SELECT"))
        schema = node.args.get("schema")
        for name in [field.name for field in schema.expressions] if schema else ["key", "value"]:
            self._append(name, column, is_alias=True)

    def _starred(self, star: exp.Star, item: exp.Expr) -> Iterator[NamedColumn]:
        """Yield a star's known columns, changed by EXCEPT, REPLACE and RENAME, whose names ignore case.

        `item` is the star with its qualifier. A table or struct with unknown columns adds a warning, and
        `columns` is then incomplete. Names in EXCEPT, REPLACE or RENAME that the star lacks are ignored.
        """
        replaced = {node.alias.lower(): self.resolve(node) for node in _argument_list(star, "replace")}
        names = {node.this.name.lower(): node.alias for node in _argument_list(star, "rename")}
        without = {(*_qualifier(node), node.name.lower()) for node in _argument_list(star, "except_")}
        for name, column in self._star_columns(item, without):
            if (name.lower(),) not in without:
                column = replaced.get(name.lower(), column.with_text(name) if column.origin else column)
                yield names.get(name.lower(), name), column

    def _selects_columns(self, value: exp.Expr) -> bool:
        """Return whether an expression selects several columns, by COLUMNS, APPLY or `* LIKE 'a%'`."""
        if isinstance(value, (exp.Apply, exp.Columns)):
            return True
        if isinstance(value, _SELECTING_STARS) and isinstance(value.this, exp.Star):
            return True
        if not self._has_columns:
            return False
        parts = value.walk(prune=lambda part: isinstance(part, exp.Query))
        return any(isinstance(part, exp.Columns) and not part.args.get("unpack") for part in parts)

    def _star_columns(self, item: exp.Expr, without: set[tuple[str, ...]]) -> Iterator[NamedColumn]:
        """Yield the columns of a star except `without`, each given by the end of a table's name and a column.

        Warns of an absent table or unknown columns, and marks this list as incomplete.
        """
        scope = self._resolver.scope
        table = column_path(item)[:-1]
        source = scope.source(table) if table else None
        if source is None and not isinstance(item, exp.Star):
            yield from self._members(item, table)
            return
        # Columns of USING and NATURAL JOIN come first, and once.
        keys = {} if table else scope.join_keys
        yield from keys.values()
        for expanded in [source] if source else scope.sources:
            columns = expanded.columns
            if not columns.is_complete:
                name = repr(expanded.dotted_name) if expanded.name else "a function"
                self.script.warn(f"'*': the columns of {name} are not known; give them in `schema`")
            self._is_complete = self._is_complete and columns.is_complete
            self._is_ordered = self._is_ordered and columns.is_ordered
            if columns.fallback is not None:
                self._fallbacks.append(columns.fallback)
            hidden = {name for *suffix, name in without if expanded.name[-len(suffix) :] == tuple(suffix)}
            hidden |= keys.keys()
            yield from (item for item in columns.items if item[0].lower() not in hidden)

    def _members(self, item: exp.Expr, path: list[str]) -> tuple[NamedColumn, ...]:
        """Return the fields of the struct before a star; warn if they are unknown."""
        was_silent, self.script.is_silent = self.script.is_silent, True
        try:
            struct = self._resolver.column(path) if path else field_column(self._resolver, item.this)
        finally:
            # After an error, the statement is left out with a warning.
            self.script.is_silent = was_silent
        members = self.script.tables.members(struct)
        if not members:
            name = ".".join(path) or to_sql(item.this, self.script.script.dialect)[:100]
            self.script.warn(f"'{name}.*': no table or struct has this name and known columns; left out")
            self._is_complete = False
        return members

    def _column_name(self, node: exp.Expr) -> str:
        """Return the name of the column just resolved: alias, column name, the engine's name, or its text."""
        # Parentheses around a column have no effect.
        value = node.unnest()
        name = node.alias if isinstance(node, exp.Alias) else (column_path(value) or [""])[-1]
        if name:
            return name
        if isinstance(value, EXPLODE) and self.script.facts.exploded_column:
            return self.script.facts.exploded_column
        text = self._text(node, self._extent, "SELECT", keep_literals=True)
        generated = generated_name(
            self.script.facts,
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
        """Return the text of an item without its alias, from the script or else as printed by the library."""
        alias = node.args.get("alias") or next(iter(_argument_list(node, "expressions")), None)
        has_alias = isinstance(node, (exp.Alias, exp.Aliases)) and isinstance(alias, exp.Expr)
        start = alias.meta.get("start", -1) if has_alias and alias is not None else -1
        # An expression without columns is located by its alias.
        extent = extent if extent[0] >= 0 else (start, start)
        text = ""
        if extent[0] >= 0:
            source_text = self.script.source_text
            text = source_text.extract(kind, extent, alias_start=start, keep_literals=keep_literals)
        value = node.unalias()
        return _alternative(
            text or to_sql(value, self.script.script.dialect, keep_literals=keep_literals), value
        )


def _alternative(text: str, value: exp.Expr) -> str:
    """Return the text of an expression, in parentheses if its `|` would read as several alternatives."""
    return f"({text})" if " | " in text and value.find(exp.BitwiseOr) else text


def expand_star(resolver: Resolver, node: exp.Expr) -> ColumnSet:
    """Return the columns of `*`, `t.*` or COLUMNS inside an expression; warn of unknown columns."""
    select_list = SelectList(resolver)
    select_list.add(node)
    return select_list.columns()


def _qualifier(node: exp.Expr) -> tuple[str, ...]:
    """Return the table before a column, split at its dots and in lower case, or () without a table."""
    return tuple(part.name.lower() for part in node.parts[:-1]) if isinstance(node, exp.Column) else ()


def _argument_list(node: exp.Expr, name: str) -> Iterable[exp.Expr]:
    """Return the items of a node's argument, [item] for a single item, or [] if it is missing."""
    argument = node.args.get(name) or []
    return argument if isinstance(argument, list) else [argument]
