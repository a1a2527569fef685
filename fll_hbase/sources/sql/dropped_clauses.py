"""Clauses that change no lineage and that the SQL library does not parse, left out of the tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from fll_hbase.sources.sql.tsql_boundaries import word_at

Tokens = Sequence[Token]

_T = TokenType
_VIEW_OPTIONS = {"SCHEMABINDING", "ENCRYPTION", "VIEW_METADATA", ","}
_CREATE_MAX = 200
"""Tokens of a CREATE in front of its query that are searched."""


def without_dropped_clauses(tokens: Tokens, dialect_name: str) -> Tokens:
    """Return the tokens of a statement without the clauses of its dialect that change no lineage."""
    rule = _RULES.get(dialect_name)
    return rule(tokens) if rule else tokens


def _view_options(tokens: Tokens) -> Tokens:
    """`CREATE VIEW v WITH SCHEMABINDING AS …` of T-SQL, with CHECK OPTION at its end."""
    if word_at(tokens, 0) != "CREATE" or "VIEW" not in _words(tokens, 1, 4):
        return tokens
    if _words(tokens, len(tokens) - 3, len(tokens)) == ["WITH", "CHECK", "OPTION"]:
        tokens = tokens[:-3]
    for number in range(2, min(len(tokens), _CREATE_MAX)):
        if word_at(tokens, number) == "WITH" and word_at(tokens, number + 1) in _VIEW_OPTIONS:
            stop = number + 1
            while word_at(tokens, stop) in _VIEW_OPTIONS:
                stop += 1
            return [*tokens[:number], *tokens[stop:]]
    return tokens


def _error_log(tokens: Tokens) -> Tokens:
    """`LOG ERRORS INTO t REJECT LIMIT n` at the end of a statement of Oracle."""
    for number in range(len(tokens) - 1):
        if word_at(tokens, number) == "LOG" and word_at(tokens, number + 1) == "ERRORS":
            return tokens[:number]
    return tokens


def _grace_period(tokens: Tokens) -> Tokens:
    """`GRACE PERIOD INTERVAL '1' HOUR` and `WHEN STALE …` of a materialized view of Trino."""
    if word_at(tokens, 0) != "CREATE":
        return tokens
    for number in range(2, min(len(tokens), _CREATE_MAX)):
        if word_at(tokens, number - 1) == "AS":
            break
        if _words(tokens, number, number + 3) == ["GRACE", "PERIOD", "INTERVAL"]:
            tokens = [*tokens[:number], *tokens[number + 5 :]]
        if _words(tokens, number, number + 2) == ["WHEN", "STALE"]:
            tokens = [*tokens[:number], *tokens[number + 3 :]]
    return tokens


def _expectations(tokens: Tokens) -> Tokens:
    """`CONSTRAINT c EXPECT (…) ON VIOLATION …` behind the columns of a table of Databricks."""
    if word_at(tokens, 0) != "CREATE":
        return tokens
    for number in range(2, min(len(tokens), _CREATE_MAX)):
        if word_at(tokens, number) == "CONSTRAINT" and word_at(tokens, number + 2) == "EXPECT":
            opening = tokens[number - 1].token_type is _T.L_PAREN
            depth, stop = 1, number
            while stop < len(tokens) and depth:
                kind = tokens[stop].token_type
                depth += (kind is _T.L_PAREN) - (kind is _T.R_PAREN)
                stop += 1
            # With the bracket or the comma in front.
            return [*tokens[: number - 1], *tokens[stop if opening else stop - 1 :]]
    return tokens


def _words(tokens: Tokens, start: int, stop: int) -> list[str]:
    return [word_at(tokens, number) for number in range(start, stop)]


_RULES: dict[str, Callable[[Tokens], Tokens]] = {
    "databricks": _expectations,
    "spark": _expectations,
    "oracle": _error_log,
    "trino": _grace_period,
    "tsql": _view_options,
}
