"""Statements that the parser would need too much time for, found by their tokens.

The parser tries several readings one after another: a join without a condition may be a part of a later join,
and a name of a type may be a function or a cast. Each one more that is nested doubles its time, or more.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token, TokenType

DEPTH_MAX = 1_000
"""Nesting of parentheses; the parser's time grows with the square of it."""

JOINS_MAX = 10
"""Joins in a row that have no condition yet."""

TYPES_MAX = 8
"""Nesting of brackets behind names of types, as in `DATE(DATE(x))`."""

_OPEN = {TokenType.L_PAREN, TokenType.L_BRACKET}
_CLOSE = {TokenType.R_PAREN, TokenType.R_BRACKET}
_JOINS = {TokenType.JOIN, TokenType.STRAIGHT_JOIN}
_CONDITIONS = {TokenType.ON, TokenType.USING}
_UNCONDITIONAL = {TokenType.ARRAY, TokenType.CROSS, TokenType.NATURAL}


def find_excess(tokens: Sequence[Token], dialect: Dialect) -> str:
    """Return "nested too deeply" or too many joins, by bounds that keep the parser fast; "" if neither."""
    types = dialect.parser_class.TYPE_TOKENS
    # For each open bracket, whether a type stands before it, and the joins in it without a condition.
    is_type, joins = [False], [0]
    types_open = 0
    previous = TokenType.SEMICOLON
    for token in tokens:
        kind = token.token_type
        if kind in _OPEN:
            is_type.append(previous in types)
            joins.append(0)
            types_open += is_type[-1]
        elif kind in _CLOSE and len(joins) > 1:
            types_open -= is_type.pop()
            joins.pop()
        elif kind is TokenType.SELECT:
            joins[-1] = 0
        elif kind in _JOINS and previous not in _UNCONDITIONAL:
            joins[-1] += 1
        elif kind in _CONDITIONS:
            joins[-1] = max(joins[-1] - 1, 0)
        if types_open > TYPES_MAX or len(joins) - 1 > DEPTH_MAX:
            return "nested too deeply"
        if joins[-1] > JOINS_MAX:
            return f"more than {JOINS_MAX} joins in a row have no condition; write CROSS JOIN"
        previous = kind
    return ""
