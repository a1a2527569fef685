"""How is an expression written: its own text, without comments, with literals as placeholders.

The text is cut out of the script by its tokens, so that it does not depend on how a library writes SQL. A pass
over the tokens finds the items of each SELECT, SET and VALUES and the extent of each clause.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import ErrorLevel
from sqlglot.tokens import Token, TokenType

from fll_hbase.sources.sql.values import cut

_T = TokenType
_LISTS = {_T.SELECT: "SELECT", _T.SET: "SET", _T.VALUES: "VALUES"}
_CLAUSES = {
    _T.WHERE: "WHERE",
    _T.HAVING: "HAVING",
    _T.QUALIFY: "QUALIFY",
    _T.ON: "ON",
    _T.GROUP_BY: "GROUP BY",
    _T.ORDER_BY: "ORDER BY",
}
_ENDS = {
    *(_T.FROM, _T.INTO, _T.UNION, _T.EXCEPT, _T.INTERSECT, _T.LIMIT, _T.FETCH, _T.WINDOW, _T.WHEN, _T.LATERAL),
    *(_T.JOIN, _T.INNER, _T.CROSS, _T.NATURAL, _T.FULL, _T.SORT_BY, _T.CLUSTER_BY, _T.DISTRIBUTE_BY),
    *(_T.RETURNING, _T.INSERT, _T.SEMICOLON, _T.USING, _T.THEN),
}
_ENDS_UNLESS_CALLED = {_T.LEFT, _T.RIGHT, _T.ANTI, _T.SEMI}
_CLOSING = {_T.L_PAREN: _T.R_PAREN, _T.L_BRACKET: _T.R_BRACKET, _T.L_BRACE: _T.R_BRACE, _T.CASE: _T.END}
_LITERALS = {
    *(_T.STRING, _T.NUMBER, _T.RAW_STRING, _T.NATIONAL_STRING, _T.UNICODE_STRING, _T.HEX_STRING),
    *(_T.BIT_STRING, _T.BYTE_STRING, _T.HEREDOC_STRING),
}
_SET_QUANTIFIERS = {_T.DISTINCT, _T.ALL}
_LIST_OF_LITERALS = re.compile(r"(\b[Ii][Nn] ?)\(\?(?:, ?\?)+\)")


@dataclass(slots=True)
class _Span:
    """Tokens from `first` (in) to `stop` (out) of one item or clause, inside that of number `parent`."""

    kind: str
    first: int
    stop: int
    parent: int


class Texts:
    """The texts of one script."""

    def __init__(self, sql: str, tokens: Sequence[Token]) -> None:
        self._sql = sql
        self._tokens = tokens
        self._spans = _spans(tokens)
        self._starts = [self._start(span.first) for span in self._spans]
        self._token_starts = [token.start for token in tokens]

    def item(self, kind: str, place: tuple[int, int], *, alias_at: int = -1, literals: bool = False) -> str:
        """The text of the item or clause of this kind around what stands in `place`, empty if there is none.

        An alias that stands at `alias_at` is no part of it; `literals` leaves them as they are.
        """
        span = self._innermost(kind, *place)
        if span is None:
            return ""
        first, stop = span.first, span.stop
        if alias_at >= 0:
            alias = bisect_right(self._token_starts, alias_at) - 1
            first, stop = self._without_alias(first, stop, alias, place[0])
        while first < stop and self._tokens[first].token_type in _SET_QUANTIFIERS:
            first += 1
        return self._text(first, stop, literals=literals)

    def _without_alias(self, first: int, stop: int, alias: int, at: int) -> tuple[int, int]:
        if not first <= alias < stop:
            return first, stop
        if self._tokens[alias].start < at:
            return alias + 2, stop
        stop = alias
        while stop > first and self._tokens[stop - 1].token_type in (_T.ALIAS, _T.L_PAREN):
            stop -= 1
        return first, stop

    def _innermost(self, kind: str, start: int, end: int) -> _Span | None:
        number = bisect_right(self._starts, start) - 1
        while number >= 0:
            span = self._spans[number]
            if span.kind == kind and span.first < span.stop and end <= self._tokens[span.stop - 1].end:
                return span
            number = span.parent
        return None

    def _text(self, first: int, stop: int, *, literals: bool) -> str:
        words: list[str] = []
        last = -1
        for token in self._tokens[first:stop]:
            if token.start <= last:
                continue
            if words and token.start > last + 1:
                words.append(" ")
            plain = literals or token.token_type not in _LITERALS
            words.append(self._sql[token.start : token.end + 1] if plain else "?")
            last = token.end
        text = "".join(words)
        return cut(text if literals else _LIST_OF_LITERALS.sub(r"\1(?)", text))

    def _start(self, number: int) -> int:
        return self._tokens[number].start if number < len(self._tokens) else len(self._sql)


def rendered(node: exp.Expression, dialect: object, *, literals: bool = False) -> str:
    """An expression in the library's own writing, for what no item of the script is the text of."""
    if isinstance(node, exp.Literal):
        return node.name if literals else "?"

    def plain(part: exp.Expression) -> exp.Expression:
        return exp.Placeholder() if isinstance(part, exp.Literal) else part

    try:
        shown = node if literals else node.transform(plain)
        return cut(shown.sql(dialect=dialect, comments=False, unsupported_level=ErrorLevel.IGNORE))  # type: ignore[arg-type]
    except RecursionError:
        return "…"


def _spans(tokens: Sequence[Token]) -> list[_Span]:
    spans: list[_Span] = []
    opened, closing = [-1], [_T.SEMICOLON]

    def begin(kind: str, first: int) -> None:
        outer = next((number for number in reversed(opened) if number >= 0), -1)
        opened[-1] = len(spans)
        spans.append(_Span(kind, first, len(tokens), outer))

    def end(stop: int) -> str:
        if opened[-1] < 0:
            return ""
        span = spans[opened[-1]]
        span.stop, opened[-1] = stop, -1
        return span.kind

    for number, token in enumerate(tokens):
        kind = token.token_type
        if kind in _CLOSING:
            tuples = kind is _T.L_PAREN and number and tokens[number - 1].token_type is _T.VALUES
            opened.append(-1)
            closing.append(_CLOSING[kind])
            if tuples:
                begin("VALUES", number + 1)
        elif kind is closing[-1] and len(opened) > 1:
            end(number)
            opened.pop()
            closing.pop()
        elif kind is _T.COMMA:
            if opened[-1] >= 0 and spans[opened[-1]].kind in _LISTS.values():
                begin(end(number), number + 1)
        elif kind in _LISTS or kind in _CLAUSES:
            end(number)
            begin(_LISTS.get(kind) or _CLAUSES[kind], number + 1)
        elif _ends(tokens, number):
            end(number)
    return spans


def _ends(tokens: Sequence[Token], number: int) -> bool:
    """Whether a token ends the clause before it."""
    kind = tokens[number].token_type
    if kind in _ENDS_UNLESS_CALLED:
        return number + 1 < len(tokens) and tokens[number + 1].token_type is not _T.L_PAREN
    distinct_from = kind is _T.FROM and number > 0 and tokens[number - 1].token_type is _T.DISTINCT
    return kind in _ENDS and not distinct_from
