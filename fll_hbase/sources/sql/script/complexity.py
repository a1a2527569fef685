"""Statements that would take the parser too much time, found by their tokens.

Commas, words or operators separate whatever a normal statement repeats, and the parser reads such lists in
loops. Any other repetition, such as `[0]`, becomes a tree as deep as it is long, which the parser often walks
again for each level. It also tries several readings in turn: a join without a condition may be a part of a
later join, and a type's name a function or a cast. Each level of nesting at least doubles the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token, TokenType

TOKENS_MAX = 100_000
"""Tokens of a statement, which occupy the parser for a second at most."""

RUN_MAX = 100
"""Consecutive tokens without one of _SEPARATORS; a bracketed part counts as two."""

PIPES_MAX = 50
"""Operators `|>`; the parser's time is quadratic in their number."""

PIVOTED_MAX = 10_000
"""Columns made by the lists of a PIVOT, one per combination of their items; the parser makes all of them."""

DEPTH_MAX = 100
"""Nesting of brackets; the parser's time is quadratic in it."""

JOINS_MAX = 10
"""Consecutive joins that have no condition yet."""

TYPES_MAX = 8
"""Nesting of brackets after type names, as in `DATE(DATE(x))`."""

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
    """Return which bound a statement exceeds, or "". The bounds keep the parser fast."""
    if len(tokens) > TOKENS_MAX:
        return f"has more than {TOKENS_MAX:,} words and signs"
    pivots = (number for number, token in enumerate(tokens) if token.token_type is _PIVOT)
    if any(_pivoted(tokens, number + 1) > PIVOTED_MAX for number in pivots):
        return f"a PIVOT makes more than {PIVOTED_MAX:,} columns"
    return _find_long_run(tokens) or _find_nesting(tokens, dialect)


def _pivoted(tokens: Sequence[Token], start: int) -> int:
    """Return the largest possible number of columns from the PIVOT whose brackets begin at token `start`."""
    # The number of items so far in each open bracket. A closed list multiplies the product.
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
    """Return the error of a run that is too long, or of too many pipes, or ""."""
    # The length of the run so far in each open bracket.
    runs = [0]
    pipes = 0
    for token in tokens:
        kind = token.token_type
        # Most tokens are in no such set.
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
    """Return "nested too deeply", an error of too many joins, or ""."""
    types = dialect.parser_class.TYPE_TOKENS
    # For each open bracket: whether a type precedes it, and the joins in it without a condition.
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
    """Return how many joins have no condition yet after a token of this kind that follows `previous`."""
    if kind is _SELECT:
        return 0
    if kind in _JOINS and previous not in _UNCONDITIONAL:
        return joins + 1
    return max(joins - 1, 0) if kind in _CONDITIONS else joins
