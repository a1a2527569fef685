"""Where in a script are the items of its lists and the extents of its clauses: one pass over the tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

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
_OPENING = {**_LISTS, **_CLAUSES}
_ENDS = {
    *(
        _T.FROM,
        _T.INTO,
        _T.UNION,
        _T.EXCEPT,
        _T.INTERSECT,
        _T.LIMIT,
        _T.FETCH,
        _T.WINDOW,
        _T.WHEN,
        _T.LATERAL,
    ),
    *(_T.JOIN, _T.INNER, _T.CROSS, _T.NATURAL, _T.FULL, _T.SORT_BY, _T.CLUSTER_BY, _T.DISTRIBUTE_BY),
    *(_T.RETURNING, _T.INSERT, _T.SEMICOLON, _T.USING, _T.THEN),
}
_ENDS_UNLESS_CALLED = {_T.LEFT, _T.RIGHT, _T.ANTI, _T.SEMI}
_CLOSING = {_T.L_PAREN: _T.R_PAREN, _T.L_BRACKET: _T.R_BRACKET, _T.L_BRACE: _T.R_BRACE, _T.CASE: _T.END}


@dataclass(slots=True)
class Span:
    """Tokens from `first` (in) to `stop` (out) of one item or clause, inside that of number `parent`."""

    kind: str
    first: int
    stop: int
    parent: int


def spans(tokens: Sequence[Token]) -> list[Span]:
    """Items and clauses in the order they begin in; `parent` is -1 where there is none."""
    marks = _Marks(tokens)
    for number in range(len(tokens)):
        marks.add(number)
    return marks.found


class _Marks:
    """What is open at a token: for each bracket the item or clause in it, and what closes the bracket."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._opened = [-1]
        self._closing = [_T.SEMICOLON]
        self.found: list[Span] = []

    def add(self, number: int) -> None:
        """The next token."""
        kind = self._tokens[number].token_type
        if kind in _CLOSING:
            self._deeper(number, _CLOSING[kind])
        elif kind is self._closing[-1] and len(self._opened) > 1:
            self._end(number)
            self._opened.pop()
            self._closing.pop()
        elif kind is _T.COMMA:
            if self._opened[-1] >= 0 and self.found[self._opened[-1]].kind in _LISTS.values():
                self._begin(self._end(number), number + 1)
        elif kind in _OPENING and not self._after_distinct(number):
            self._end(number)
            self._begin(_OPENING[kind], number + 1)
        elif self._ends(number):
            self._end(number)

    def _deeper(self, number: int, closing: TokenType) -> None:
        values = number > 0 and self._tokens[number - 1].token_type is _T.VALUES
        self._opened.append(-1)
        self._closing.append(closing)
        if values:
            self._begin("VALUES", number + 1)

    def _begin(self, kind: str, first: int) -> None:
        outer = next((number for number in reversed(self._opened) if number >= 0), -1)
        self._opened[-1] = len(self.found)
        self.found.append(Span(kind, first, len(self._tokens), outer))

    def _end(self, stop: int) -> str:
        number = self._opened[-1]
        self._opened[-1] = -1
        if number < 0:
            return ""
        self.found[number].stop = stop
        return self.found[number].kind

    def _ends(self, number: int) -> bool:
        """Whether a token ends the clause before it."""
        kind = self._tokens[number].token_type
        if kind in _ENDS_UNLESS_CALLED:
            after = self._tokens[number + 1 : number + 2]
            return bool(after) and after[0].token_type is not _T.L_PAREN
        return kind in _ENDS and not self._after_distinct(number)

    def _after_distinct(self, number: int) -> bool:
        """IS DISTINCT FROM and DISTINCT ON are inside of an expression or item."""
        words = (_T.FROM, _T.ON)
        after = number > 0 and self._tokens[number - 1].token_type is _T.DISTINCT
        return after and self._tokens[number].token_type in words
