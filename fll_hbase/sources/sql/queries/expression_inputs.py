"""Inputs of expressions: columns that provide the value, and columns that only influence it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from sqlglot import exp

from fll_hbase.model.datasets import DatasetField
from fll_hbase.sources.derived_columns import derive
from fll_hbase.sources.sql.queries.column_provenance import (
    ELEMENT,
    STEPS_MAX,
    UNKNOWN,
    ColumnProvenance,
    ColumnSet,
    IndirectInput,
    QueryResult,
    RowDependencies,
    as_indirect,
    merge_parts,
)
from fll_hbase.sources.sql.queries.scope import Resolver
from fll_hbase.sources.sql.queries.table_functions import CALLS, EXPLODE, look_up, makes_rows
from fll_hbase.sources.sql.script.source_text import to_sql

Operand: TypeAlias = tuple[exp.Expr, str]
"""A part of an expression and the kind of its influence, "" for a direct influence."""

QUERIES = (exp.Select, exp.SetOperation, exp.Subquery)

# GROUPING() tests how rows are grouped, and types and parameters of lambdas are not columns.
_NO_INPUTS = (exp.Grouping, exp.GroupingId, exp.DataType, exp.Lambda)

_SAME_FIELDS = (
    *(exp.Paren, exp.Order, exp.Limit, exp.Filter, exp.Window, exp.IgnoreNulls, exp.RespectNulls),
    *(exp.AnyValue, exp.ArgMax, exp.ArgMin, exp.First, exp.Last, exp.FirstValue, exp.LastValue, exp.ToMap),
)
"""Expressions that return one of the values of their first operand."""
_ACCESSES = (exp.Dot, exp.Bracket, exp.StructExtract, exp.JSONExtract, *CALLS)
_LISTS = (exp.Array, exp.ArrayAgg, exp.ArrayUniqueAgg)
_ORDERING = (exp.ArrayMax, exp.ArrayMin, exp.ArraySort, exp.Max, exp.Min)
_DISTINCT = (exp.ArrayDistinct, exp.ArrayUniqueAgg)
"""Functions that compare structs by all of their fields, to sort them or to remove duplicates."""
_GATHERED = (*_LISTS, *_ORDERING, *_DISTINCT)
_STRUCTURED = (
    *(exp.Struct, exp.VarMap, exp.Cast, exp.Column, exp.Dot, exp.Bracket),
    *(*QUERIES, *_GATHERED, *_SAME_FIELDS, *EXPLODE),
)
"""Expressions whose fields may be known."""


@dataclass(slots=True, eq=False)
class ExpressionInputs:
    """Inputs of an expression, and the offsets of its first and last character, -1 if unknown.

    `results` are the results of its queries, by the identity of their nodes.
    """

    direct: set[DatasetField] = field(default_factory=set)
    indirect: set[IndirectInput] = field(default_factory=set)
    steps: dict[str, ColumnProvenance] = field(default_factory=dict)
    dependencies: RowDependencies = field(default_factory=RowDependencies)
    results: dict[int, QueryResult] = field(default_factory=dict)
    unknown: bool = False
    start: int = -1
    end: int = -1

    @property
    def extent(self) -> tuple[int, int]:
        """Return the offsets of the first and last character."""
        return self.start, self.end

    def to_column(self, text: str, fields: Mapping[str, ColumnProvenance] | None = None) -> ColumnProvenance:
        """Return the column that the expression computes, with `text` and its first STEPS_MAX steps.

        An indirect input that belongs to no field in `fields` becomes an input of each.
        """
        steps = tuple(self.steps.items())[:STEPS_MAX]
        direct, indirect = frozenset(self.direct), frozenset(self.indirect)
        parts = _with_indirect(fields, indirect) if fields else {}
        column = ColumnProvenance(direct, indirect, text, steps, parts, unknown=self.unknown)
        derive(column.inputs_weight)
        return column

    def add_column(self, column: ColumnProvenance, kind: str, name: str = "") -> None:
        """Add a column to which the expression refers by `name`. With a `kind`, all of it is indirect."""
        # An unknown column that has only an indirect influence leaves the value known.
        self.unknown = self.unknown or (column.unknown and not kind)
        if kind:
            self.indirect |= as_indirect(column, kind)
            return
        self.direct |= column.direct
        self.indirect |= column.indirect
        # A column under its own name needs no step, because the text already contains it.
        if name and column.text not in ("", name):
            self.steps.setdefault(name, column)

    def add_query(self, result: QueryResult, kind: str) -> None:
        """Add a scalar query: its columns, as indirect inputs with a `kind`, and its row dependencies."""
        for column in result.columns.values():
            self.add_column(column, kind)
        if not result.columns.is_complete:
            self.add_column(_unlisted(result.columns), kind)
        self.add_rows_of(result)

    def add_rows_of(self, result: QueryResult) -> None:
        """Add the row dependencies of a query whose values are not used, as in EXISTS."""
        rows = result.dependencies
        self.indirect |= rows.indirect
        self.dependencies |= RowDependencies(clauses=rows.clauses, reads=rows.reads)

    def add_inputs(self, other: ExpressionInputs, column: ColumnProvenance, kind: str) -> None:
        """Add a part of the expression by its value, `column`, and steps, queries and extent in `other`."""
        self.add_column(column, kind)
        self.dependencies |= other.dependencies
        self.results |= other.results
        for name, step in other.steps.items() if not kind else ():
            self.steps.setdefault(name, step)
        if other.start >= 0:
            self.start = other.start if self.start < 0 else min(self.start, other.start)
            self.end = max(self.end, other.end)

    def extend_to(self, node: exp.Expr) -> None:
        """Extend the offsets to include a node, if the node has offsets."""
        if "start" in node.meta:
            start, end = node.meta["start"], node.meta["end"]
            self.start = start if self.start < 0 else min(self.start, start)
            self.end = max(self.end, end)


def _unlisted(columns: ColumnSet) -> ColumnProvenance:
    """Return the inputs of columns that are not listed: arguments of a function, else UNKNOWN."""
    column = columns.fallback("") if columns.fallback is not None else None
    is_any = column is not None and all(field.name for field in column.direct)
    return column if is_any and column is not None else UNKNOWN


def collect_inputs(resolver: Resolver, operands: Iterable[Operand]) -> ExpressionInputs:
    """Collect the inputs of expressions, iteratively, since long chains of operators parse to deep trees."""
    inputs = ExpressionInputs()
    stack = list(operands)[::-1]
    while stack:
        node, kind = stack.pop()
        # The extent of a nested query would include clauses that are not part of the item.
        if node.args.get("query") is None and not isinstance(node, QUERIES):
            inputs.extend_to(node)
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            _add_column(resolver, inputs, column_path(node), kind)
            for part in node.parts:
                inputs.extend_to(part)
        elif isinstance(node, (exp.Parameter, exp.Placeholder, exp.SessionParameter)):
            _add_parameter(resolver, inputs, node, kind)
        elif isinstance(node, exp.Columns) or star_of(node) is not None:
            _add_star(resolver, inputs, node, kind)
        elif isinstance(node, _ACCESSES):
            stack += list(_resolve_access(resolver, inputs, node, kind))[::-1]
        elif isinstance(node, QUERIES) or (isinstance(node, exp.Exists) and isinstance(node.this, QUERIES)):
            _add_query(resolver, inputs, node, kind)
        else:
            stack += list(_operands(node, kind, resolver.scope.windows))[::-1]
    return inputs


def clause_dependencies(
    resolver: Resolver, operands: Iterable[tuple[exp.Expr | None, str]], name: str
) -> RowDependencies:
    """Return the row dependencies of a clause such as `WHERE`, with its text, or none without an operand.

    Each operand, or None, comes with the kind of its influence, which must not be "".
    """
    inputs = collect_inputs(resolver, [(node, kind) for node, kind in operands if node is not None])
    text = resolver.script.source_text.extract(name, inputs.extent) if inputs.start >= 0 else ""
    clauses = (f"{name} {text}",) if text else ()
    return RowDependencies(frozenset(inputs.indirect), clauses) | inputs.dependencies


def column_path(node: exp.Expr) -> list[str]:
    """Return the parts of a column name, with qualifiers and the path below it; [] for anything else."""
    steps: list[str] = []
    while isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        steps.append(node.expression.name)
        node = node.this
    if not isinstance(node, exp.Column):
        return []
    # A column of a staged file has the form `s.$1`.
    parts = [f"${part.name}" if isinstance(part, exp.Parameter) else part.name for part in node.parts]
    return parts + steps[::-1]


def _element_path(node: exp.Expr) -> tuple[list[str], list[exp.Expr]] | None:
    """Return the path and indexes of `a[0].b`, a field of a column's elements, or None without an index."""
    steps: list[str] = []
    indexes: list[exp.Expr] = []
    while True:
        if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
            steps.append(node.expression.name)
        elif isinstance(node, exp.Bracket):
            indexes += node.expressions
        else:
            break
        node = node.this
    path = column_path(node)
    return ([*path, *steps[::-1]], indexes) if path and indexes else None


def _add_query(resolver: Resolver, inputs: ExpressionInputs, node: exp.Expr, kind: str) -> None:
    """Add the inputs of a subquery's columns, or for EXISTS only the inputs that select its rows."""
    if isinstance(node, QUERIES):
        result = inputs.results[id(node)] = resolver.query(node)
        inputs.add_query(result, kind)
    else:
        inputs.add_rows_of(resolver.query(node.this))


def _add_parameter(resolver: Resolver, inputs: ExpressionInputs, node: exp.Expr, kind: str) -> None:
    """Add a variable's value, or `$1`, a column of a file or the only table; warn of client variables."""
    is_number = isinstance(node, exp.Parameter) and isinstance(node.this, exp.Literal)
    if is_number and resolver.script.facts.has_staged_columns:
        # The number refers to the only table, or else to a staged file.
        sources, number = resolver.scope.sources, int(node.name)
        is_listed = len(sources) == 1 and sources[0].columns.is_positional
        listed = sources[0].columns.items[number - 1 : number] if is_listed else ()
        for name, column in listed:
            inputs.add_column(column, kind, name)
        if not listed:
            _add_column(resolver, inputs, [f"${node.name}"], kind)
        return
    variable = resolver.script.variable(node)
    if variable is None and isinstance(node, exp.Parameter) and "expression" in node.args:
        resolver.script.warn(f"variable ${{{node.name[:100]}}} is not replaced; send the SQL with its value")
        variable = UNKNOWN
    if variable is not None:
        inputs.add_column(variable, kind)


def star_of(node: exp.Expr) -> exp.Star | None:
    """Return the star of `*`, `t.*` or `f(x).*`, or None for anything else."""
    star = node.this if isinstance(node, exp.Column) else node
    star = star.expression if isinstance(star, exp.Dot) else star
    return star if isinstance(star, exp.Star) else None


def _add_star(resolver: Resolver, inputs: ExpressionInputs, node: exp.Expr, kind: str) -> None:
    """Add all columns that a star in an expression selects, as in `struct(*)`, or none for `COUNT(*)`."""
    # COUNT(*) counts rows, and does not use the value of any column.
    if isinstance(node.parent, exp.Count):
        return
    columns = resolver.star_reader(resolver, node)
    for _, column in columns.items:
        inputs.add_column(column, kind)
    if not columns.is_complete:
        inputs.add_column(UNKNOWN, kind)


def _add_column(resolver: Resolver, inputs: ExpressionInputs, path: list[str], kind: str) -> None:
    """Add the column of a dotted name (`path`) to the inputs, under the last part of the name."""
    inputs.add_column(resolver.column(path), kind, path[-1])


def _resolve_access(
    resolver: Resolver, inputs: ExpressionInputs, node: exp.Expr, kind: str
) -> Iterator[Operand]:
    """Add a field of a column or an element of a variable; yield the operands of other expressions."""
    path = column_path(node)
    inner, member = (node.this, node.expression.name) if isinstance(node, exp.Dot) else (node, "")
    if not path and (column := _element(resolver, inner, member)) is not None:
        inputs.add_column(column, kind)
        return
    if not isinstance(node, exp.Dot):
        yield from _resolve_function(resolver, inputs, node, kind)
        return
    if not path and (elements := _element_path(node)) is not None:
        path, indexes = elements
        yield from ((index, kind) for index in indexes)
    if path:
        inputs.extend_to(node.expression)
        for name in node.find_all(exp.Identifier):
            inputs.extend_to(name)
        _add_column(resolver, inputs, path, kind)
    elif isinstance(node.expression, exp.Identifier):
        _add_member(resolver, inputs, node, [node.expression.name], kind)
    else:
        yield from ((part, kind) for part in (_owner(resolver, node), node.expression) if part is not None)


def _resolve_function(
    resolver: Resolver, inputs: ExpressionInputs, node: exp.Expr, kind: str
) -> Iterator[Operand]:
    """Add the field or column that a function or index looks up; yield the operands of other functions."""
    if kind != "join" and makes_rows(node):
        rows = collect_inputs(resolver, [(node, "join")])
        inputs.dependencies |= RowDependencies(frozenset(rows.indirect))
    lookup = look_up(resolver.script, node) if isinstance(node, exp.Anonymous) else None
    if names := _member_names(node):
        _add_member(resolver, inputs, node, names, kind)
    elif (result := resolver.call(node)) is not None:
        inputs.add_query(result, kind)
    elif lookup is None:
        yield from _operands(node, kind, resolver.scope.windows)
    else:
        for column in lookup.columns:
            inputs.add_column(column, kind)
        inputs.dependencies |= RowDependencies(reads=frozenset((lookup.table,)))
        yield from ((key, kind or "conditional") for key in lookup.keys)
        yield from ((default, kind) for default in lookup.defaults)


def _owner(resolver: Resolver, node: exp.Dot) -> exp.Expr | None:
    """Return the expression before a method, or None for `schema.function(...)`, which has no column."""
    owner = node.this
    names: list[str] = []
    while isinstance(owner, exp.Dot) and isinstance(owner.expression, exp.Identifier):
        names.append(owner.expression.name)
        owner = owner.this
    if not isinstance(owner, exp.Identifier):
        return owner if isinstance(owner, exp.Expr) else None
    names = [*names, owner.name][::-1]
    is_of_table = len(names) > 1 and any(
        scope.source(names[:stop]) for scope in resolver.scope.enclosing() for stop in range(1, len(names))
    )
    is_listed = any(scope.columns_named(names[0]) for scope in resolver.scope.enclosing())
    is_method = is_listed or resolver.script.facts.is_method(names[0], node.expression.name)
    return exp.column(*names[::-1]) if is_of_table or (is_method and len(names) == 1) else None


def _element(resolver: Resolver, node: exp.Expr, member: str) -> ColumnProvenance | None:
    """Return the value of `name(i)` or `name(i).member` if `name` is a variable, else None."""
    name = node.name.lower() if isinstance(node, exp.Anonymous) else ""
    if not name or name not in resolver.script.variables:
        return None
    if not member:
        return resolver.script.variables[name]
    record = resolver.script.records.get(name)
    return (record.columns.lookup(member) if record is not None else None) or UNKNOWN


def field_column(resolver: Resolver, value: exp.Expr) -> ColumnProvenance:
    """Return the provenance, without row dependencies, of an expression that is not an item of a list."""
    path = column_path(value)
    if path:
        return resolver.column(path).with_text(".".join(path))
    inputs = collect_inputs(resolver, [(value, "")])
    text = to_sql(value, resolver.script.script.dialect)
    return inputs.to_column(text, struct_fields(resolver, value, inputs))


def _member_names(node: exp.Expr) -> list[str]:
    """Return the names in `s['a']`, `struct_extract(s, 'a')` and `s:a.b`, or [] for any other access."""
    if isinstance(node, exp.JSONExtract):
        keys = node.expression.expressions if node.args.get("variant_extract") else ()
        return [str(key.this) for key in keys if isinstance(key, exp.JSONPathKey)]
    if isinstance(node, CALLS):
        return []
    keys = node.expressions if isinstance(node, exp.Bracket) else [node.expression]
    return [key.name for key in keys if key.is_string] if len(keys) == 1 else []


def _add_member(
    resolver: Resolver, inputs: ExpressionInputs, node: exp.Expr, names: Sequence[str], kind: str
) -> None:
    """Add the field of a struct, or the whole struct if the field is unknown."""
    struct = collect_inputs(resolver, [(node.this, "")])
    path = column_path(node.this)
    if path:
        column = resolver.column(path)
    else:
        column = struct.to_column("", struct_fields(resolver, node.this, struct))
    inputs.add_inputs(struct, resolver.script.tables.nested_column(column, names), kind)


def struct_fields(
    resolver: Resolver, node: exp.Expr, inputs: ExpressionInputs
) -> Mapping[str, ColumnProvenance]:
    """Return the fields of the struct that an expression returns, in order, or {} if they are unknown.

    A list has its elements as its only field, ELEMENT. `inputs` are the inputs of the enclosing expression.
    """
    if not isinstance(node, _STRUCTURED):
        return {}
    if isinstance(node, (exp.Struct, exp.VarMap)):
        return dict(_built_fields(resolver, node))
    if isinstance(node, exp.Cast):
        return _cast_fields(node.to, struct_fields(resolver, node.this, inputs))
    if isinstance(node, QUERIES):
        result = inputs.results.get(id(node))
        items = result.columns.items if result is not None else ()
        is_struct = node.unnest().args.get("kind") == "STRUCT"
        return dict(items) if is_struct else items[0][1].parts if len(items) == 1 else {}
    if isinstance(node, _GATHERED):
        return _gathered_fields(resolver, node, inputs)
    if path := column_path(node):
        return resolver.column(path).parts
    if isinstance(node, _SAME_FIELDS):
        return struct_fields(resolver, node.this, inputs)
    if isinstance(node, exp.Dot):
        return {}
    fields = struct_fields(resolver, node.this, inputs)
    is_slice = any(isinstance(index, exp.Slice) for index in node.expressions)
    return fields if is_slice or ELEMENT not in fields else fields[ELEMENT].parts


def _built_fields(resolver: Resolver, struct: exp.Expr) -> Iterator[tuple[str, ColumnProvenance]]:
    """Yield the fields of `STRUCT(a, b AS c)` or of a map; a field without a name has its number, from 1."""
    if isinstance(struct, exp.VarMap):
        keys, values = (struct.args[name].expressions for name in ("keys", "values"))
        if all(key.is_string for key in keys):
            yield from (
                (key.name, field_column(resolver, value)) for key, value in zip(keys, values, strict=False)
            )
        return
    is_named = not resolver.script.facts.numbers_fields
    for number, part in enumerate(struct.expressions, 1):
        is_pair = isinstance(part, exp.PropertyEQ)
        name = part.name if is_pair else part.alias_or_name if is_named else ""
        yield name or str(number), field_column(resolver, part.expression if is_pair else part.unalias())


def _cast_fields(
    type_: exp.DataType, fields: Mapping[str, ColumnProvenance]
) -> Mapping[str, ColumnProvenance]:
    """Return fields, by position, under the names in the type of a cast, or {} if the numbers differ."""
    names = [part.name for part in type_.expressions if isinstance(part, exp.ColumnDef)]
    return dict(zip(names, fields.values(), strict=True)) if len(names) == len(fields) else {}


def _list_fields(
    resolver: Resolver, node: exp.Expr, inputs: ExpressionInputs
) -> Mapping[str, ColumnProvenance]:
    """Return the elements of a list whose items have the same field names, or {} if these are unknown."""
    items = node.expressions if isinstance(node, exp.Array) else [node.this]
    parts = merge_parts([struct_fields(resolver, item, inputs) for item in items])
    if not parts:
        return {}
    element = collect_inputs(resolver, [(item, "") for item in items if not isinstance(item, QUERIES)])
    return {ELEMENT: element.to_column("", parts)}


def _gathered_fields(
    resolver: Resolver, node: exp.Expr, inputs: ExpressionInputs
) -> Mapping[str, ColumnProvenance]:
    """Return the fields of a list, or of the structs that a function compares and returns."""
    read = _list_fields if isinstance(node, _LISTS) else struct_fields
    fields = read(resolver, node if isinstance(node, _LISTS) else node.this, inputs)
    if isinstance(node, (exp.ArrayMax, exp.ArrayMin)):
        fields = fields[ELEMENT].parts if ELEMENT in fields else {}
    if not fields or not isinstance(node, (*_ORDERING, *_DISTINCT)):
        return fields
    # Each field depends on everything that is compared.
    compared = collect_inputs(resolver, [(node.this, "sort" if isinstance(node, _ORDERING) else "group_by")])
    return _with_indirect(fields, frozenset(compared.indirect))


def _with_indirect(
    fields: Mapping[str, ColumnProvenance], indirect: frozenset[IndirectInput]
) -> Mapping[str, ColumnProvenance]:
    """Return fields, each with the indirect inputs that do not already belong to any of them."""
    others = indirect.difference(*(column.indirect for column in fields.values()))
    result = dict(fields)
    for name, column in fields.items() if others else ():
        parts = _with_indirect(column.parts, column.indirect | others)
        result[name] = replace(column, indirect=column.indirect | others, parts=parts)
    return result


def _operands(node: exp.Expr, kind: str, windows: Mapping[str, exp.Expr]) -> Iterator[Operand]:
    """Yield the operands of an expression with their kinds; `windows` are the query's named windows.

    GROUPING and types have none, and a lambda has only its body.
    """
    special = _SPECIAL.get(type(node))
    if special is not None:
        yield from special(node, kind)
    elif isinstance(node, exp.Window):
        yield from _window(node, kind, windows)
    elif not isinstance(node, _NO_INPUTS):
        for operand in node.iter_expressions():
            yield operand, kind
    elif isinstance(node, exp.Lambda):
        yield node.this, kind


def _arguments(node: exp.Expr, kind: str, *names: str) -> Iterator[Operand]:
    """Yield the expressions in the named arguments of a node, or their items, with `kind`."""
    for name in names:
        argument = node.args.get(name)
        for operand in argument if isinstance(argument, list) else [argument]:
            if isinstance(operand, exp.Expr):
                yield operand, kind


def _with_roles(*roles: tuple[str, tuple[str, ...]]) -> Callable[[exp.Expr, str], Iterator[Operand]]:
    """Return a function that yields the operands in named arguments, with a kind for each role."""

    def operands(node: exp.Expr, kind: str) -> Iterator[Operand]:
        for role, names in roles:
            yield from _arguments(node, kind or role, *names)

    return operands


def _coalesce(node: exp.Expr, kind: str) -> Iterator[Operand]:
    """Yield the operands of COALESCE: each may be the value, and all but the last are also conditional."""
    operands = list(_arguments(node, kind, "this", "expressions"))
    yield from operands
    if not kind:
        yield from ((operand, "conditional") for operand, _ in operands[:-1])


def _decode(node: exp.Expr, kind: str) -> Iterator[Operand]:
    """Yield the operands of DECODE(value, search, result, ..., default): value and searches conditional."""
    value, *rest = node.expressions
    yield value, kind or "conditional"
    for number, operand in enumerate(rest):
        is_result = number % 2 == 1 or number == len(rest) - 1
        yield operand, kind if is_result else kind or "conditional"


def _within_group(node: exp.Expr, kind: str) -> Iterator[Operand]:
    """Yield the operands of WITHIN GROUP: sort keys are a percentile's value, but only sort a list."""
    yield from _arguments(node, kind, "this")
    is_value = isinstance(node.this, (exp.PercentileCont, exp.PercentileDisc, exp.Mode))
    for operand in node.args["expression"].expressions:
        yield operand, kind if is_value else kind or "sort"


def _comprehension(node: exp.Expr, kind: str) -> Iterator[Operand]:
    """Yield the operands of `[value for name in list if condition]`; the name is an element, not a column."""
    bound = {node.args[name].name for name in ("expression", "position") if node.args.get(name)}

    def hide(part: exp.Expr) -> exp.Expr:
        return exp.Null() if isinstance(part, exp.Column) and part.name in bound and not part.table else part

    yield from _arguments(node, kind, "iterator")
    yield node.this.transform(hide), kind
    if isinstance(node.args.get("condition"), exp.Expr):
        yield node.args["condition"].transform(hide), kind


def _conditional_aggregate(node: exp.Expr, kind: str) -> Iterator[Operand]:
    """Yield the arguments of a function; the last of ClickHouse's `sumIf(value, condition)` is a filter."""
    *values, last = node.expressions or [node]
    is_conditional = bool(values) and str(node.this).endswith("If")
    yield from ((value, kind) for value in (values if is_conditional else node.expressions))
    if is_conditional:
        yield last, kind or "filter"


def _window(node: exp.Window, kind: str, windows: Mapping[str, exp.Expr]) -> Iterator[Operand]:
    """Yield a window's function with `kind`, then PARTITION BY and ORDER BY, including named windows."""
    yield from _arguments(node, kind, "this")
    window: exp.Expr | None = node
    # A window may extend a named window, and in invalid SQL named windows may form a cycle.
    seen: set[str] = set()
    while window is not None:
        yield from _arguments(window, kind or "window", "partition_by", "order", "spec")
        alias = window.args.get("alias")
        name = alias.name.lower() if isinstance(alias, exp.Expr) else ""
        window = windows.get(name) if name not in seen else None
        seen.add(name)


_IF = _with_roles(("conditional", ("this",)), ("", ("true", "false")))
# In all other expressions, every operand provides the value.
_SPECIAL: dict[type[exp.Expr], Callable[[exp.Expr, str], Iterator[Operand]]] = {
    exp.ArraySort: _with_roles(("", ("this",)), ("sort", ("expression",))),
    exp.Case: _with_roles(("conditional", ("this",)), ("", ("ifs", "default"))),
    exp.If: _IF,
    exp.Nvl2: _IF,
    exp.Coalesce: _coalesce,
    exp.Nullif: _with_roles(("", ("this",)), ("conditional", ("this", "expression"))),
    exp.DecodeCase: _decode,
    exp.Filter: _with_roles(("", ("this",)), ("filter", ("expression",))),
    exp.Order: _with_roles(("", ("this",)), ("sort", ("expressions",))),
    exp.WithinGroup: _within_group,
    exp.HavingMax: _with_roles(("", ("this",)), ("conditional", ("expression",))),
    exp.CombinedAggFunc: _conditional_aggregate,
    exp.In: _with_roles(("", ("this", "expressions", "unnest", "field")), ("conditional", ("query",))),
    exp.Comprehension: _comprehension,
}
