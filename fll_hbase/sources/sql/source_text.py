"""How is an expression written: its own text, without comments, with literals as placeholders.

The text is cut out of the script by its tokens, so that it does not depend on how a library writes SQL.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from sqlglot import exp
from sqlglot.errors import ErrorLevel
from sqlglot.tokenizer_core import Token, TokenType

from fll_hbase.sources.sql.provenance import cut
from fll_hbase.sources.sql.token_spans import Span, spans

_T = TokenType
_LITERALS = {
    *(_T.STRING, _T.NUMBER, _T.RAW_STRING, _T.NATIONAL_STRING, _T.UNICODE_STRING, _T.HEX_STRING),
    *(_T.BIT_STRING, _T.BYTE_STRING, _T.HEREDOC_STRING),
}
_SET_QUANTIFIERS = {_T.DISTINCT, _T.ALL}
_LIST_OF_LITERALS = re.compile(r"(\b[Ii][Nn] ?)\(\?(?:, ?\?)+\)")


class SourceText:
    """The texts of one script."""

    def __init__(self, sql: str, tokens: Sequence[Token]) -> None:
        self._sql = sql
        self._tokens = tokens
        self._spans = spans(tokens)
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
            while alias < stop and self._tokens[alias].token_type is not _T.EQ:
                alias += 1
            return alias + 1, stop
        stop = alias
        while stop > first and self._tokens[stop - 1].token_type in (_T.ALIAS, _T.L_PAREN):
            stop -= 1
        return first, stop

    def _innermost(self, kind: str, start: int, end: int) -> Span | None:
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


def rendered(node: exp.Expr, dialect: object, *, literals: bool = False) -> str:
    """An expression in the library's own writing, for what no item of the script is the text of."""
    if isinstance(node, exp.Literal):
        return node.name if literals else "?"

    def plain(part: exp.Expr) -> exp.Expr:
        return exp.Var(this="?") if isinstance(part, exp.Literal) else part

    try:
        shown = node if literals else node.transform(plain)
        return cut(shown.sql(dialect=dialect, comments=False, unsupported_level=ErrorLevel.IGNORE))  # type: ignore[arg-type]
    except RecursionError:
        return "…"
