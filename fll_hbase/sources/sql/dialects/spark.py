"""Spark, Databricks, which derives from it, and Hive, the ancestor of both.

A column without an alias is named by the expression as Spark prints it (as seen in Spark 4). An expression
whose printed form is unknown here has no name, and the caller chooses another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from fll_hbase.sources.sql.dialects.facts import DialectFacts, FunctionName, IsTable

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.EQ: "=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.And: "AND",
    exp.Or: "OR",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
    exp.Is: "IS",
}
_PATTERNS: dict[type[exp.Expr], tuple[str, ...]] = {
    **{kind: (f"({{}} {sign} {{}})", "this", "expression") for kind, sign in _OPERATORS.items()},
    exp.Between: ("between({}, {}, {})", "this", "low", "high"),
    exp.DPipe: ("concat({}, {})", "this", "expression"),
    exp.Filter: ("{} FILTER (WHERE {})", "this", "expression"),
    exp.Like: ("{} LIKE {}", "this", "expression"),
    exp.NEQ: ("(NOT ({} = {}))", "this", "expression"),
    exp.Paren: ("{}", "this"),
    exp.RegexpLike: ("RLIKE({}, {})", "this", "expression"),
    exp.Where: ("{}", "this"),
}
"""Printed forms of expressions, with the names of their operands."""
_CASTS = {"bigint", "boolean", "date", "double", "float", "int", "smallint", "string", "timestamp", "tinyint"}
"""Functions of one argument that are casts."""
_TIME_FORMAT = "yyyy-MM-dd HH:mm:ss"
_DEFAULTS = {
    ("from_unixtime", 1): _TIME_FORMAT,
    ("unix_timestamp", 1): _TIME_FORMAT,
    ("split", 2): "-1",
    ("months_between", 2): "true",
    ("percentile_approx", 2): "10000",
    ("regexp_replace", 3): "1",
}
"""Last arguments added by Spark, by function and number of arguments."""
_RANKINGS = {"row_number": "row_number", "rank": "RANK", "dense_rank": "DENSE_RANK"}
_ALL_ROWS = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
_PRECEDING = "BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"


def spark_name(node: exp.Expr, is_table: IsTable, function: FunctionName) -> str:
    """Return the column name that Spark gives an expression (for a cast, its column's), or "" if unknown."""
    value = node
    while isinstance(value, exp.Paren):
        value = value.this
    if isinstance(value, exp.Anonymous) and function(value) in _CASTS and len(value.expressions) == 1:
        value = exp.Cast(this=value.expressions[0])
    if isinstance(value, exp.Cast) and isinstance(value.this.unnest(), exp.Column):
        value = value.this.unnest()
    if isinstance(value, (exp.Column, exp.Dot)):
        return value.name or value.expression.name
    return _Printer(is_table, function).text(value)


class _Printer:
    """Prints expressions, or "" for an expression with a part whose printed form is unknown."""

    def __init__(self, is_table: IsTable, function: FunctionName) -> None:
        self._is_table = is_table
        self._function = function

    def text(self, node: object) -> str:
        """Return an expression as Spark prints it in column names, or "" if unknown."""
        if not isinstance(node, exp.Expr):
            return ""
        if type(node) in _CONSTANTS:
            return _CONSTANTS[type(node)]
        if type(node) in _METHODS:
            return _METHODS[type(node)](self, node)
        pattern, *names = _PATTERNS.get(type(node), ("",))
        text = self._fill(pattern, *map(node.args.get, names))
        return f"(NOT {text})" if text and node.args.get("negate") else text

    def column(self, node: exp.Column) -> str:
        """Return the dotted name of a column, without a first part that is a table of the query."""
        parts = [part.name for part in node.parts]
        return ".".join(parts[1:] if len(parts) > 1 and self._is_table(parts[0]) else parts)

    def literal(self, node: exp.Expr) -> str:
        """Return a number, word or text without quotes, and TRUE and FALSE in lower case."""
        return node.sql().lower() if isinstance(node, exp.Boolean) else node.name

    def negative(self, node: exp.Expr) -> str:
        """Return `-1` for a literal, `(- x)` for any other operand."""
        return self._fill("-{}" if isinstance(node.this, exp.Literal) else "(- {})", node.this)

    def negation(self, node: exp.Expr) -> str:
        """Return `(NOT x)`, or `(x IS NOT y)` for a negated IS."""
        if isinstance(node.this, exp.Is):
            return self._fill("({} IS NOT {})", node.this.this, node.this.expression)
        return self._fill("(NOT {})", node.this)

    def in_list(self, node: exp.Expr) -> str:
        """Return `(x IN (a, b))`, or "" for IN with a query or if a text is unknown."""
        values, this = self._list(node.expressions), self.text(node.this)
        return f"({this} IN ({values}))" if this and values else ""

    def distinct(self, node: exp.Expr) -> str:
        """Return `DISTINCT a, b`, or "" if a text is unknown."""
        return self._list(node.expressions, "DISTINCT ")

    def item(self, node: exp.Expr) -> str:
        """Return `x[i]`, or "" if there is not exactly one index."""
        return self._fill("{}[{}]", node.this, *node.expressions) if len(node.expressions) == 1 else ""

    def cast(self, node: exp.Cast) -> str:
        """Return `CAST(x AS TYPE)`, or `TYPE 'text'` for a cast of a string."""
        type_ = node.to.sql("spark").replace(", ", ",")
        # The parser reads `DATE '2026-11-21'` as a cast of a text.
        if isinstance(node.this, exp.Literal) and node.this.is_string:
            return f"{type_} '{node.this.name}'"
        return self._fill(f"CAST({{}} AS {type_})", node.this)

    def call(self, node: exp.Expr) -> str:
        """Return a function call with any last argument that Spark adds, and IF in parentheses."""
        name, arguments = self._function(node), [self.text(argument) for argument in node.expressions]
        if not all(arguments):
            return ""
        arguments += [value for key, value in _DEFAULTS.items() if key == (name, len(arguments))]
        return f"(IF({', '.join(arguments)}))" if name == "if" else f"{name}({', '.join(arguments)})"

    def case(self, node: exp.Expr) -> str:
        """Return a CASE. Spark prints each WHEN of a CASE with an operand as a comparison."""
        operand, default = node.args.get("this"), node.args.get("default")
        parts = ["CASE"]
        for branch in node.args["ifs"]:
            condition = branch.this if operand is None else exp.EQ(this=operand, expression=branch.this)
            parts.append(self._fill("WHEN {} THEN {}", condition, branch.args["true"]))
        if default is not None:
            parts.append(self._fill("ELSE {}", default))
        return " ".join([*parts, "END"]) if all(parts) else ""

    def window(self, node: exp.Expr) -> str:
        """Print a window with its own or Spark's default frame, or "" for named windows, lag and lead."""
        function, order = self._function(node.this), node.args.get("order")
        if node.args.get("alias") or not isinstance(node.this, exp.Anonymous) or function in ("lag", "lead"):
            return ""
        ranking = _RANKINGS.get(function)
        frame = f"{'ROWS' if ranking else 'RANGE'} {_PRECEDING}" if order is not None else _ALL_ROWS
        parts = [f"{ranking}()" if ranking else self.text(node.this), "OVER"]
        clauses = []
        if node.args.get("partition_by"):
            clauses.append(self._list(node.args["partition_by"], "PARTITION BY "))
        if order is not None:
            clauses.append(self._list(order.expressions, "ORDER BY "))
        clauses.append(_frame(node.args.get("spec")) or frame)
        return f"{' '.join(parts)} ({' '.join(clauses)})" if all((*parts, *clauses)) else ""

    def sort_key(self, node: exp.Expr) -> str:
        """Return a key of ORDER BY with its direction and position of nulls, as in `x ASC NULLS FIRST`."""
        is_descending = bool(node.args.get("desc"))
        direction = "DESC" if is_descending else "ASC"
        nulls = "FIRST" if node.args.get("nulls_first", not is_descending) else "LAST"
        return self._fill(f"{{}} {direction} NULLS {nulls}", node.this)

    def _list(self, nodes: Sequence[exp.Expr], prefix: str = "") -> str:
        """Return the texts of nodes, joined by `, `; "" if there are none or any text is unknown."""
        texts = [self.text(node) for node in nodes]
        return prefix + ", ".join(texts) if texts and all(texts) else ""

    def _fill(self, pattern: str, *nodes: object) -> str:
        """Fill the texts of nodes into a pattern; return "" if any text is unknown."""
        texts = [self.text(node) for node in nodes]
        return pattern.format(*texts) if all(texts) else ""


_CONSTANTS: dict[type[exp.Expr], str] = {
    exp.CurrentDate: "current_date()",
    exp.CurrentTimestamp: "current_timestamp()",
    exp.Exists: "exists()",
    exp.Null: "NULL",
    exp.Star: "1",
    exp.Subquery: "scalarsubquery()",
}
_METHODS: dict[type[exp.Expr], Callable[[_Printer, Any], str]] = {
    exp.Anonymous: _Printer.call,
    exp.Boolean: _Printer.literal,
    exp.Bracket: _Printer.item,
    exp.Case: _Printer.case,
    exp.Cast: _Printer.cast,
    exp.Column: _Printer.column,
    exp.Distinct: _Printer.distinct,
    exp.In: _Printer.in_list,
    exp.Literal: _Printer.literal,
    exp.Neg: _Printer.negative,
    exp.Not: _Printer.negation,
    exp.Ordered: _Printer.sort_key,
    exp.TryCast: _Printer.cast,
    exp.Var: _Printer.literal,
    exp.Window: _Printer.window,
}


def _frame(spec: exp.Expr | None) -> str:
    """Return the frame of a window as `ROWS BETWEEN ... AND ...` in upper case, or "" for None."""
    if spec is None:
        return ""
    bounds = []
    for name in ("start", "end"):
        bound, direction = spec.args.get(name), spec.args.get(f"{name}_side")
        text = bound.sql("spark") if isinstance(bound, exp.Expr) else str(bound or "CURRENT ROW")
        bounds.append(f"{text} {direction}".upper() if direction else text.upper())
    return f"{str(spec.args.get('kind')).upper()} BETWEEN {bounds[0]} AND {bounds[1]}"


SPARK = DialectFacts(
    name="spark",
    fold=str.lower,
    is_database_before_table=True,
    name_expression=spark_name,
    may_quote_names=True,
    has_lateral_aliases=True,
    pivots_joins=True,
    pseudo_columns=frozenset({"_metadata"}),
    exploded_column="col",
    values_column="col{}",
)

DATABRICKS = replace(
    SPARK,
    name="databricks",
    pseudo_columns=SPARK.pseudo_columns | {"_change_type", "_commit_timestamp", "_commit_version"},
    values_column="column{}",
)
HIVE = DialectFacts(
    name="hive",
    moves_exchanged=True,
    fold=str.lower,
    folds_columns=True,
    is_database_before_table=True,
    name_parts=2,
    numbered_columns="_c{}",
    may_quote_names=True,
    pseudo_columns=frozenset({"block__offset__inside__file", "input__file__name"}),
    exploded_column="col",
    values_column="col{}",
)
