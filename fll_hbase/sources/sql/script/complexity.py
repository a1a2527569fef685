"""Statements that the parser would need too much time for, found by their tokens.

What a statement has many of is separated by commas, words or operators, which the parser reads in loops.
Anything else that is repeated, such as `[0]`, becomes a tree as deep as it is long, and often the parser
walks it again for each. It also tries several readings one after another: a join without a condition may be a
part of a later join, and a name of a type may be a function or a cast. Each one more that is nested doubles
its time, or more.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token, TokenType

TOKENS_MAX = 100_000
"""Tokens of a statement, which keep the parser busy for a second at most."""

RUN_MAX = 100
"""Tokens in a row, with brackets for two, without one of _SEPARATORS."""

PIPES_MAX = 50
"""Operators `|>`; the parser's time grows with the square of their number."""

PIVOTED_MAX = 10_000
"""Columns that the lists of a PIVOT make, one for each combination of their items; the parser makes all."""

DEPTH_MAX = 100
"""Nesting of brackets; the parser's time grows with the square of it."""

JOINS_MAX = 10
"""Joins in a row that have no condition yet."""

TYPES_MAX = 8
"""Nesting of brackets behind names of types, as in `DATE(DATE(x))`."""

_T = TokenType
_OPEN = {_T.L_PAREN, _T.L_BRACKET, _T.L_BRACE}
_CLOSE = {_T.R_PAREN, _T.R_BRACKET, _T.R_BRACE}
_SEPARATORS = {
    *(_T.COMMA, _T.AND, _T.OR, _T.PLUS, _T.DASH, _T.STAR, _T.SLASH, _T.DPIPE),
    *(_T.PIPE, _T.AMP, _T.DIV, _T.MOD, _T.APPLY, _T.LATERAL, _T.STRAIGHT_JOIN),
    *(_T.UNION, _T.EXCEPT, _T.INTERSECT, _T.JOIN, _T.WHEN, _T.THEN, _T.INTO, _T.PIPE_GT),
}
_SELECT, _PIPE, _PIVOT = _T.SELECT, _T.PIPE_GT, _T.PIVOT
_JOINS = {_T.JOIN, _T.STRAIGHT_JOIN}
_CONDITIONS = {_T.ON, _T.USING}
_UNCONDITIONAL = {_T.ARRAY, _T.CROSS, _T.NATURAL}
_NESTING = {_SELECT, *_OPEN, *_CLOSE, *_JOINS, *_CONDITIONS}
_RUNS = {*_OPEN, *_CLOSE, *_SEPARATORS}


def find_excess(tokens: Sequence[Token], dialect: Dialect) -> str:
    """Return what a statement has too much of, by bounds that keep the parser fast, or "" if it has not."""
    if len(tokens) > TOKENS_MAX:
        return f"has more than {TOKENS_MAX:,} words and signs"
    pivots = (number for number, token in enumerate(tokens) if token.token_type is _PIVOT)
    if any(_pivoted(tokens, number + 1) > PIVOTED_MAX for number in pivots):
        return f"a PIVOT makes more than {PIVOTED_MAX:,} columns"
    return _find_long_run(tokens) or _find_nesting(tokens, dialect)


def _pivoted(tokens: Sequence[Token], start: int) -> int:
    """Return how many columns a PIVOT makes at most, whose brackets begin at token `start`."""
    # The items so far of each open bracket. Those of a closed one belong to the product if it is a list.
    items: list[int] = []
    product = 1
    for token in islice(tokens, start, None):
        kind = token.token_type
        if kind in _OPEN:
            items.append(1)
        elif not items:
            break
        elif kind is _T.COMMA:
            items[-1] += 1
        elif kind in _CLOSE:
            closed = items.pop()
            product *= closed if len(items) < 2 else 1
    return product


def _find_long_run(tokens: Sequence[Token]) -> str:
    """Return that a statement has too long a run or too many pipes, or "" if it has not."""
    # The run so far in each open bracket.
    runs = [0]
    pipes = 0
    for token in tokens:
        kind = token.token_type
        # Most are none of these.
        if kind in _RUNS:
            if kind in _SEPARATORS:
                runs[-1] = 0
                pipes += kind is _PIPE
                continue
            if kind in _OPEN:
                runs[-1] += 1
                runs.append(-1)
            elif len(runs) > 1:
                runs.pop()
        runs[-1] += 1
        if runs[-1] > RUN_MAX:
            return f"has more than {RUN_MAX} words in a row without a comma, AND or another operator"
    return f"has more than {PIPES_MAX} operators |>" if pipes > PIPES_MAX else ""


def _find_nesting(tokens: Sequence[Token], dialect: Dialect) -> str:
    """Return "nested too deeply" or too many joins, or "" if neither."""
    types = dialect.parser_class.TYPE_TOKENS
    # For each open bracket, whether a type stands before it, and the joins in it without a condition.
    is_type, joins = [False], [0]
    types_open = 0
    previous = _T.SEMICOLON
    for token in tokens:
        kind = token.token_type
        if kind in _NESTING:
            if kind in _OPEN:
                is_type.append(previous in types)
                joins.append(0)
                types_open += is_type[-1]
            elif kind in _CLOSE and len(joins) > 1:
                types_open -= is_type.pop()
                joins.pop()
            else:
                joins[-1] = _unconditional_joins(joins[-1], kind, previous)
            if types_open > TYPES_MAX or len(joins) - 1 > DEPTH_MAX:
                return "nested too deeply"
            if joins[-1] > JOINS_MAX:
                return f"more than {JOINS_MAX} joins in a row have no condition; write CROSS JOIN"
        previous = kind
    return ""


def _unconditional_joins(joins: int, kind: TokenType, previous: TokenType) -> int:
    """Return how many joins have no condition yet after a token of this kind behind `previous`."""
    if kind is _SELECT:
        return 0
    if kind in _JOINS and previous not in _UNCONDITIONAL:
        return joins + 1
    return max(joins - 1, 0) if kind in _CONDITIONS else joins
