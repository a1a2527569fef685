"""Names that an engine gives to columns of a query without an alias.

Spark and PostgreSQL derive the names from the expression, by rules observed on both (decision 59, and
their dialect files). Other engines use a number, or the text of the expression.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, SqlglotError, TokenError
from sqlglot.tokenizer_core import TokenType

from fll_hbase.sources.sql.dialects.facts import DialectFacts, IsTable

_parser_dialect = cache(Dialect.get_or_raise)
"""Returns a dialect of the SQL library by its name in the library, built once."""
_PREFIX = "fn__"
_NO_FUNCTIONS = {
    *("ALL", "AND", "ANY", "BY", "CAST", "EXISTS", "EXTRACT", "FILTER", "GROUP", "INTERVAL", "LIKE"),
    *("MATERIALIZED", "OFFSET", "OR", "ROW", "SETS", "SOME", "TRY_CAST", "UNION", "WITHIN"),
    *(type_.name for type_ in exp.DType if type_.name in ("DECIMAL", "VARCHAR", "CHAR", "NUMERIC")),
}
"""Words before a parenthesis that do not call a function, or call a function with special syntax."""


def generated_name(facts: DialectFacts, text: str, *, number: int, unnamed: int, is_table: IsTable) -> str:
    """Return the name that the dialect's engine gives to an expression, or "" if no rule here yields one.

    `number` is the position of the column from 0. `unnamed` counts the preceding columns without a name. A
    rule for expressions gives one without a name, or with invalid syntax, the dialect's `unnamed_column`.
    """
    if facts.numbered_columns:
        return facts.numbered_columns.format(unnamed if facts.counts_unnamed else number)
    if facts.name_expression is None or (facts.names_casts_only and "::" not in text):
        return ""
    dialect = _parser_dialect(facts.parser_name)
    try:
        node = _parse(facts, _prefix_functions(dialect, text)) or _parse(facts, text)
        name = facts.name_expression(node, is_table, _function) if node is not None else ""
        return name or facts.unnamed_column
    except (RecursionError, TokenError):
        # A long text is cut off, maybe inside a quote.
        return ""


def is_generated(facts: DialectFacts, name: str) -> bool:
    """Return whether a name is not an identifier, or is numbered by the engine, as `_c0` is."""
    if not name.isidentifier():
        return True
    pattern = facts.numbered_columns.format(r"\d+")
    return bool(pattern) and re.fullmatch(pattern, name) is not None


def _parse(facts: DialectFacts, text: str) -> exp.Expr | None:
    """Return the tree of a text, parsed as a SELECT list of one item, or None if it is anything else."""
    sql, dialect = f"SELECT {text}", _parser_dialect(facts.parser_name)
    try:
        tokens = list(facts.rewrite(dialect.tokenize(sql)))
        trees = dialect.parser(error_level=ErrorLevel.IMMEDIATE).parse(tokens, sql)
    except (SqlglotError, RecursionError):
        return None
    select = trees[0] if trees else None
    return select.expressions[0] if isinstance(select, exp.Select) and len(select.expressions) == 1 else None


def _prefix_functions(dialect: Dialect, text: str) -> str:
    """Return the text of an expression with `fn__` before the names of its functions.

    The parser replaces functions that it knows, which loses their names and arguments. It does not know names
    with a prefix. Functions with special syntax are unchanged. Raises TokenError.
    """
    parts: list[str] = []
    end = 0
    functions = dialect.parser_class.FUNC_TOKENS - {TokenType.IDENTIFIER}
    for token, following in pairwise(dialect.tokenize(text)):
        is_call = following.token_type is TokenType.L_PAREN and token.token_type in functions
        if is_call and token.text.upper() not in _NO_FUNCTIONS and token.text.isidentifier():
            parts += (text[end : token.start], _PREFIX)
            end = token.start
    return f"{''.join(parts)}{text[end:]}"


def _function(node: exp.Expr) -> str:
    """Return the name of a function in lower case, without the prefix that `_prefix_functions` adds."""
    return node.name.lower().removeprefix(_PREFIX)


@cache
def canonical_type(text: str) -> str:
    """Return a type in one spelling: `int` and `INTEGER` are equal, as are `varchar` and `character varying`.

    Other texts are returned in lower case, with single spaces.
    """
    try:
        return exp.DataType.build(text).sql().casefold()
    except (SqlglotError, ValueError):
        return " ".join(text.casefold().split())
