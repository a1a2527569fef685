"""Source text of expressions and clauses, without comments and with literals as placeholders.

The script's tokens delimit the text, so that no new version of the SQL library changes it: texts describe
operations, which are part of a run's checksum. An item is one expression in a SELECT, SET or VALUES.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from fll_hbase.sources.sql.queries.column_provenance import truncate

_T = TokenType
# Placeholders for these keep the checksum of a job whose statement contains the current date.
_LITERALS = {
    *(_T.STRING, _T.NUMBER, _T.RAW_STRING, _T.NATIONAL_STRING, _T.UNICODE_STRING, _T.HEX_STRING),
    *(_T.BIT_STRING, _T.BYTE_STRING, _T.HEREDOC_STRING),
}
_JOIN_WORDS = {_T.LEFT, _T.RIGHT, _T.FULL, _T.SEMI, _T.ANTI, _T.NATURAL, _T.ASOF}
_ONE_SIDED = _JOIN_WORDS - {_T.FULL, _T.NATURAL}
_QUOTES = {"[", "]", "`"}
"""Around names in some dialects; where the dialect is unknown, each is a token of its own."""
_NAME_TOKENS_MAX = 15
"""Tokens of the longest name that is read: four quoted parts, with dots between them."""
_SET_QUANTIFIERS = {_T.DISTINCT, _T.ALL}
# IN (1, 2) and IN (1, 2, 3) are the same job.
_LIST_OF_LITERALS = re.compile(r"(\b[Ii][Nn] ?)\(\?(?:, ?\?)+\)")

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
    *(_T.FROM, _T.INTO, _T.UNION, _T.EXCEPT, _T.INTERSECT, _T.LIMIT, _T.FETCH, _T.WINDOW, _T.WHEN),
    *(_T.LATERAL, _T.JOIN, _T.INNER, _T.CROSS, _T.NATURAL, _T.FULL, _T.SORT_BY, _T.CLUSTER_BY),
    *(_T.DISTRIBUTE_BY, _T.RETURNING, _T.INSERT, _T.SEMICOLON, _T.USING, _T.THEN),
}
_ENDS_UNLESS_CALLED = {_T.LEFT, _T.RIGHT, _T.ANTI, _T.SEMI}
# CASE ... END counts as a bracket, since WHEN and THEN inside it do not end an item.
_CLOSING = {_T.L_PAREN: _T.R_PAREN, _T.L_BRACKET: _T.R_BRACKET, _T.L_BRACE: _T.R_BRACE, _T.CASE: _T.END}


@dataclass(slots=True)
class Span:
    """Tokens `first` (included) to `stop` (excluded) of an item or clause; `parent` is -1 at the top."""

    kind: str
    first: int
    stop: int
    parent: int


class SourceText:
    """Texts of the items and clauses of one script."""

    def __init__(self, sql: str, tokens: Sequence[Token]) -> None:
        self._sql = sql
        self._tokens = tokens
        self._spans = _SpanScanner(tokens).scan()
        self._token_starts = [token.start for token in tokens]
        # A span may begin after the last token.
        starts = [*self._token_starts, len(sql)]
        self._starts = [starts[span.first] for span in self._spans]

    def extract(
        self, kind: str, extent: tuple[int, int], *, alias_start: int = -1, keep_literals: bool = False
    ) -> str:
        """Return the text of the innermost item or clause of a kind around an extent, or "" if there is none.

        `extent` contains the offsets of the first and last character. The alias at `alias_start`, unless -1,
        and a leading DISTINCT are left out. Literals become `?` unless kept, and the text is cut to
        TEXT_CHARS_MAX characters.
        """
        span = self._innermost(kind, *extent)
        if span is None:
            return ""
        first, stop = span.first, span.stop
        if alias_start >= 0:
            alias = bisect_right(self._token_starts, alias_start) - 1
            first, stop = self._without_alias(first, stop, alias, extent[0])
        # DISTINCT belongs to the list, not to its first item.
        while first < stop and self._tokens[first].token_type in _SET_QUANTIFIERS:
            first += 1
        return self._text(first, stop, keep_literals=keep_literals)

    def full_text(self) -> str:
        """Return the whole text, without comments and line breaks, cut, with literals as `?`."""
        return self._text(0, len(self._tokens), keep_literals=False)

    def _without_alias(self, first: int, stop: int, alias: int, start: int) -> tuple[int, int]:
        """Return the bounds of the expression in `expression [AS] alias` or `alias = expression`."""
        if not first <= alias < stop:
            return first, stop
        if self._tokens[alias].start < start:
            while alias < stop and self._tokens[alias].token_type is not _T.EQ:
                alias += 1
            return alias + 1, stop
        stop = alias
        while stop > first and self._tokens[stop - 1].token_type in (_T.ALIAS, _T.L_PAREN):
            stop -= 1
        return first, stop

    def _innermost(self, kind: str, start: int, end: int) -> Span | None:
        """Return the smallest span of a kind around offsets `start` to `end`, or None if there is none."""
        number = bisect_right(self._starts, start) - 1
        while number >= 0:
            span = self._spans[number]
            if span.kind == kind and span.first < span.stop and end <= self._tokens[span.stop - 1].end:
                return span
            number = span.parent
        return None

    def _text(self, first: int, stop: int, *, keep_literals: bool) -> str:
        """Return the text of tokens, cut, without comments and line breaks, literals as `?` unless kept."""
        words: list[str] = []
        end = -1
        for token in self._tokens[first:stop]:
            if token.start <= end:
                continue
            if words and token.start > end + 1:
                words.append(" ")
            plain = keep_literals or token.token_type not in _LITERALS
            words.append(self._sql[token.start : token.end + 1] if plain else "?")
            end = token.end
        text = "".join(words)
        return truncate(text if keep_literals else _LIST_OF_LITERALS.sub(r"\1(?)", text))


class _SpanScanner:
    """Finds the items of lists and the extents of clauses in one pass over the tokens.

    `_open` has, for each open bracket, the number of the span that is open in it, or -1.
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._open = [-1]
        self._closing = [_T.SEMICOLON]
        self._spans: list[Span] = []

    def scan(self) -> list[Span]:
        """Return the spans in the order of their first tokens."""
        for number in range(len(self._tokens)):
            self._add(number)
        return self._spans

    def _add(self, number: int) -> None:
        """Begin or end spans at a token: at brackets, commas and the words of clauses."""
        kind = self._tokens[number].token_type
        if kind in _CLOSING:
            self._open_bracket(number, _CLOSING[kind])
        elif kind is self._closing[-1] and len(self._open) > 1:
            self._end(number)
            self._open.pop()
            self._closing.pop()
        elif kind is _T.COMMA:
            if self._open[-1] >= 0 and self._spans[self._open[-1]].kind in _LISTS.values():
                self._begin(self._end(number), number + 1)
        elif kind in _OPENING and not self._after_distinct(number):
            self._end(number)
            self._begin(_OPENING[kind], number + 1)
        elif self._is_end(number):
            self._end(number)

    def _open_bracket(self, number: int, closing: TokenType) -> None:
        """Open a bracket, which the next `closing` token ends; directly after VALUES, it begins a list."""
        is_values = number > 0 and self._tokens[number - 1].token_type is _T.VALUES
        self._open.append(-1)
        self._closing.append(closing)
        # Each row of VALUES is a separate list.
        if is_values:
            self._begin("VALUES", number + 1)

    def _begin(self, kind: str, first: int) -> None:
        """Begin a span at token `first`, as the open span of the innermost bracket."""
        parent = next((number for number in reversed(self._open) if number >= 0), -1)
        self._open[-1] = len(self._spans)
        self._spans.append(Span(kind, first, len(self._tokens), parent))

    def _end(self, stop: int) -> str:
        """End the open span of the innermost bracket before token `stop`; return its kind or ""."""
        number = self._open[-1]
        self._open[-1] = -1
        if number < 0:
            return ""
        self._spans[number].stop = stop
        return self._spans[number].kind

    def _is_end(self, number: int) -> bool:
        """Return whether a token ends the preceding item or clause."""
        kind = self._tokens[number].token_type
        if kind in _ENDS_UNLESS_CALLED:
            # LEFT(...) and RIGHT(...) are functions, not joins.
            following = self._tokens[number + 1 : number + 2]
            return bool(following) and following[0].token_type is not _T.L_PAREN
        return kind in _ENDS and not self._after_distinct(number)

    def _after_distinct(self, number: int) -> bool:
        """Return whether a token belongs to IS DISTINCT FROM or DISTINCT ON, which end no expression."""
        follows_distinct = number > 0 and self._tokens[number - 1].token_type is _T.DISTINCT
        return follows_distinct and self._tokens[number].token_type in (_T.FROM, _T.ON)


def to_sql(node: exp.Expr, dialect: Dialect, *, keep_literals: bool = False) -> str:
    """Return an expression as the SQL library writes it, without comments, literals as `?` unless kept.

    This is for expressions that `SourceText.extract` cannot find, such as a part of an item. The text is cut
    to TEXT_CHARS_MAX characters. An expression that is nested too deeply becomes an ellipsis. A literal by
    itself, if kept, is neither quoted nor cut.
    """
    if isinstance(node, exp.Literal):
        return node.name if keep_literals else "?"

    try:
        if not keep_literals:
            node = node.transform(lambda part: exp.Var(this="?") if isinstance(part, exp.Literal) else part)
        return truncate(node.sql(dialect=dialect, comments=False, unsupported_level=ErrorLevel.IGNORE))
    except RecursionError:
        # The text is only a description, so a deep expression loses it instead of being refused.
        return "…"


def sql_literals(sql: str) -> tuple[str, ...]:
    """Return the literals of SQL of any dialect in their order, or its words if it has no valid tokens."""
    try:
        tokens = Dialect.get_or_raise("").tokenize(sql)
    except SqlglotError:
        return tuple(sql.split())
    return tuple(token.text for token in tokens if token.token_type in _LITERALS)


def sql_row_words(sql: str) -> Counter[str]:
    """Return how often SQL of any dialect has EXCEPT, INTERSECT, and words such as LEFT or SEMI before JOIN.

    They decide which rows a query has, and lineage has the same fields for each of them. Joins whose sides
    differ also count as `JOIN name`, by the last part of the name in lower case. Invalid SQL has no words.
    """
    try:
        tokens = Dialect.get_or_raise("").tokenize(sql)
    except SqlglotError:
        return Counter()
    kinds = [token.token_type for token in tokens]
    words = Counter(kind.name for kind in kinds if kind in (_T.EXCEPT, _T.INTERSECT))
    for number, kind in enumerate(kinds):
        if kind is _T.JOIN:
            # Such as LEFT OUTER JOIN, NATURAL LEFT JOIN and LEFT ANTI JOIN.
            joins = [word for word in kinds[max(number - 3, 0) : number] if word in _JOIN_WORDS]
            words.update(word.name for word in joins)
            if _ONE_SIDED.intersection(joins):
                words[f"JOIN {_last_part(tokens[number + 1 : number + 1 + _NAME_TOKENS_MAX])}"] += 1
    return words


def _last_part(tokens: Sequence[Token]) -> str:
    """Return the last part of the name with which tokens begin, in lower case, or "" without tokens."""
    parts = [token for token in tokens if token.text not in _QUOTES]
    last = 1
    while last + 1 < len(parts) and parts[last].token_type is _T.DOT:
        last += 2
    return parts[last - 1].text.casefold() if parts else ""
