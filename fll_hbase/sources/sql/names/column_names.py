"""Names that an engine gives to columns of a query without an alias.

Those of Spark and PostgreSQL follow from the expression, as both were seen to name it (decision 59); those of
the others are a number, or the text of the expression.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, SqlglotError, TokenError
from sqlglot.tokenizer_core import TokenType

from fll_hbase.sources.sql.dialects.facts import DialectFacts, ExpressionNames
from fll_hbase.sources.sql.names.spark_names import IsTable, spark_name

_POSTGRES_TYPES = {
    "INT": "int4",
    "BIGINT": "int8",
    "SMALLINT": "int2",
    "DOUBLE": "float8",
    "FLOAT": "float4",
    "BOOLEAN": "bool",
    "DECIMAL": "numeric",
    "CHAR": "bpchar",
    "TIMESTAMPTZ": "timestamptz",
}
_POSTGRES_NAMES: dict[type[exp.Expr], str] = {
    exp.Coalesce: "coalesce",
    exp.Nullif: "nullif",
    exp.Greatest: "greatest",
    exp.Least: "least",
    exp.Exists: "exists",
    exp.Array: "array",
    exp.Tuple: "row",
    exp.Extract: "extract",
    exp.AtTimeZone: "timezone",
    exp.Substring: "substring",
    exp.Interval: "interval",
    exp.CurrentDate: "current_date",
    exp.CurrentTimestamp: "current_timestamp",
    exp.Overlay: "overlay",
    exp.CurrentUser: "current_user",
    exp.CurrentTime: "current_time",
    exp.StrPosition: "position",
    exp.Localtime: "localtime",
    exp.Localtimestamp: "localtimestamp",
    exp.SessionUser: "session_user",
}

_PREFIX = "fn__"
_NO_FUNCTIONS = {
    *("ALL", "AND", "ANY", "AS", "BETWEEN", "BY", "CASE", "CAST", "DISTINCT", "ELSE", "EXISTS"),
    *("EXTRACT", "FILTER", "FROM", "GROUP", "IN", "INTERVAL", "IS", "LIKE", "NOT", "ON", "OR", "OVER", "ROW"),
    *("SELECT", "SOME", "THEN", "TRY_CAST", "USING", "WHEN", "WHERE", "WITHIN"),
    *(type_.name for type_ in exp.DType if type_.name in ("DECIMAL", "VARCHAR", "CHAR", "NUMERIC")),
}
"""Words in front of a parenthesis that call no function, or one with a syntax of its own."""


def generated_name(facts: DialectFacts, text: str, *, number: int, unnamed: int, is_table: IsTable) -> str:
    """Return the name that the engine of a dialect gives to an expression, "" if it has no rule for it.

    `number` is the position of the column from 0, `unnamed` counts the columns before it that have no name.
    """
    if facts.numbered_columns:
        return facts.numbered_columns.format(unnamed if facts.counts_unnamed else number)
    names = facts.expression_names
    if names is ExpressionNames.TEXT or (names is ExpressionNames.CASTS and "::" not in text):
        return ""
    dialect = _parser_dialect(facts.parser_name)
    try:
        node = _parse(dialect, _prefix_functions(dialect, text)) or _parse(dialect, text)
        if names is ExpressionNames.SPARK:
            return spark_name(node, is_table=is_table, function=_function) if node is not None else ""
        postgres_name = _postgres_name(node)[0] if node is not None else ""
        return postgres_name or ("?column?" if names is ExpressionNames.POSTGRES else "")
    except (RecursionError, TokenError):
        # A long text is cut, maybe inside of a quote.
        return ""


def is_generated(facts: DialectFacts, name: str) -> bool:
    """Return whether a name is a number that an engine gives, or no identifier at all."""
    if not name.isidentifier():
        return True
    pattern = facts.numbered_columns.format(r"\d+")
    return bool(pattern) and re.fullmatch(pattern, name) is not None


@cache
def _parser_dialect(name: str) -> Dialect:
    return Dialect.get_or_raise(name)


def _parse(dialect: Dialect, text: str) -> exp.Expr | None:
    """Parse the only item of a SELECT list; None for a text that is none."""
    sql = f"SELECT {text}"
    try:
        trees = dialect.parser(error_level=ErrorLevel.IMMEDIATE).parse(dialect.tokenize(sql), sql)
    except (SqlglotError, RecursionError):
        return None
    select = trees[0] if trees else None
    return select.expressions[0] if isinstance(select, exp.Select) and len(select.expressions) == 1 else None


def _prefix_functions(dialect: Dialect, text: str) -> str:
    """Return an expression with a prefix at the names of its functions.

    The parser replaces functions that it knows by others, and so loses their names and arguments; one with a
    prefix it does not know. Functions with a syntax of their own stay as they are.
    """
    parts: list[str] = []
    end = 0
    tokens = dialect.tokenize(text)
    for token, following in pairwise(tokens):
        is_call = following.token_type is TokenType.L_PAREN and token.text.upper() not in _NO_FUNCTIONS
        if is_call and token.token_type is not TokenType.IDENTIFIER and token.text.isidentifier():
            parts += (text[end : token.start], _PREFIX)
            end = token.start
    return f"{''.join(parts)}{text[end:]}"


def _postgres_name(node: exp.Expr) -> tuple[str, int]:
    """Return the name of an expression and its strength: 2, or 1 for one that a type or CASE gives, else 0.

    The rules are those of PostgreSQL's parser for a target without an alias.
    """
    match node:
        case exp.Column() | exp.Identifier():
            return node.name, 2
        case exp.Dot():
            return _postgres_name(node.expression)
        case exp.Anonymous() | exp.Trim():
            return _postgres_function(node), 2
        case exp.Cast():
            name, strength = _postgres_name(node.this)
            return (name, strength) if strength > 1 else (_postgres_type(node.to), 1)
        case exp.Case():
            default = node.args.get("default")
            name, strength = _postgres_name(default) if isinstance(default, exp.Expr) else ("", 0)
            return (name, strength) if strength > 1 else ("case", 1)
        case exp.Subquery():
            query = node.unnest()
            first = query.selects[0] if isinstance(query, exp.Query) and query.selects else query
            return (first.alias, 2) if first.alias else _postgres_name(first)
        case exp.Paren() | exp.Bracket() | exp.Collate() | exp.Window() | exp.Filter() | exp.WithinGroup():
            return _postgres_name(node.this)
    name = _POSTGRES_NAMES.get(type(node), "")
    return name, 2 if name else 0


def _postgres_function(node: exp.Expr) -> str:
    if isinstance(node, exp.Trim):
        return {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position")).upper(), "btrim")
    return "btrim" if _function(node) == "trim" else _function(node)


def _function(node: exp.Expr) -> str:
    return node.name.lower().removeprefix(_PREFIX)


def _postgres_type(type_: exp.DataType) -> str:
    name = type_.this.name if isinstance(type_.this, exp.DType) else str(type_.this)
    return _POSTGRES_TYPES.get(name, name.lower())
