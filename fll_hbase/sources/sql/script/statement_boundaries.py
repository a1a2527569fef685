"""Boundaries of T-SQL statements, which need no `;`: a statement also ends before the next first word."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from fll_hbase.sources.sql.script.statement_tokens import is_alone_on_line, word_at

_T = TokenType
_CLOSING = {_T.L_PAREN: _T.R_PAREN, _T.L_BRACKET: _T.R_BRACKET, _T.CASE: _T.END}

_QUERY_STARTS = {"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE"}
_STARTS = _QUERY_STARTS | {
    *("ALTER", "BEGIN", "COMMIT", "CREATE", "DECLARE", "DENY", "DROP", "ELSE", "END", "EXEC", "EXECUTE"),
    *("FETCH", "GRANT", "IF", "PRINT", "RAISERROR", "RETURN", "REVOKE", "ROLLBACK", "SET", "THROW"),
    *("TRUNCATE", "USE", "WHILE", "WITH"),
}
"""First words of statements; all but THROW are reserved."""

_CONTINUED_AFTER = {"UNION", "ALL", "EXCEPT", "INTERSECT", "AS", "THEN", "FOR", "OR", "UPDATE"}
_OPERATORS = {_T.DOT, _T.COMMA, _T.EQ, _T.PLUS, _T.DASH, _T.STAR, _T.SLASH, _T.NEQ, _T.LT, _T.GT}
_PERMISSIONS = {"GRANT", "REVOKE", "DENY"}
# Words that may follow the first word of a statement once, as SELECT does in INSERT.
_CONTINUATIONS = {
    "INSERT": {"SELECT", "EXEC", "EXECUTE", "WITH"},
    "WITH": _QUERY_STARTS,
    "UPDATE": {"SET"},
    "ALTER": {"DROP", "ALTER", "SET", "CREATE", "WITH"},
    "DECLARE": {"SET"},
}
_OBJECTS = {"TABLE", "VIEW", "PROCEDURE", "PROC", "FUNCTION", "INDEX", "SCHEMA", "DATABASE", "COLUMN"}


def statement_end(tokens: Sequence[Token], start: int, stop: int) -> int:
    """Return the position after the statement at `start`: at its `;`, a separator or the next statement."""
    first_word = word_at(tokens, start)
    closing: list[TokenType] = []
    for number in range(start, stop):
        kind = tokens[number].token_type
        if kind is _T.SEMICOLON or (number > start and is_separator(tokens, number)):
            return number
        if closing and kind is closing[-1]:
            closing.pop()
        elif kind in _CLOSING:
            closing.append(_CLOSING[kind])
        elif not closing and number > start and _is_start(tokens, number):
            word = word_at(tokens, number)
            if not _continues(tokens, number, first_word):
                return number
            # VALUES completes INSERT, so a SELECT after it is another statement.
            first_word = word if word == "WITH" or first_word in _CONTINUATIONS else first_word
        elif not closing and first_word == "INSERT" and word_at(tokens, number) in ("VALUES", "DEFAULT"):
            first_word = "VALUES"
    return stop


def condition_end(tokens: Sequence[Token], start: int, stop: int) -> int:
    """Return the position after the condition of an IF or WHILE, or `start` if no statement follows."""
    depth = 0
    for number in range(start + 1, stop):
        kind = tokens[number].token_type
        depth += (kind in _CLOSING) - (kind in _CLOSING.values() and depth > 0)
        if not depth and _is_start(tokens, number):
            return number
    return start


def is_separator(tokens: Sequence[Token], number: int) -> bool:
    """Return whether a token is GO on a line of its own, which ends a batch."""
    return word_at(tokens, number) == "GO" and is_alone_on_line(tokens, number)


def _is_start(tokens: Sequence[Token], number: int) -> bool:
    """Return whether a word may begin a statement at this position."""
    word = word_at(tokens, number)
    if word not in _STARTS or tokens[number - 1].token_type in _OPERATORS:
        return False
    if word == "WITH":
        # WITH is a hint or an option such as `WITH SCHEMABINDING AS`, unless a common table expression
        # follows.
        query = tokens[number + 3 : number + 4]
        return word_at(tokens, number + 2) == "AS" and bool(query) and query[0].token_type is _T.L_PAREN
    return not (word == "FETCH" and word_at(tokens, number - 1) in ("ROW", "ROWS"))


def _continues(tokens: Sequence[Token], number: int, first_word: str) -> bool:
    """Return whether a word that may begin a statement belongs to the one that `first_word` began."""
    word, previous = word_at(tokens, number), word_at(tokens, number - 1)
    if previous in _CONTINUED_AFTER or word in _CONTINUATIONS.get(first_word, ()):
        return True
    if previous == "ON":
        # DELETE and UPDATE belong to a foreign key; SET NOCOUNT ON ends before the next statement.
        return word in ("DELETE", "UPDATE")
    if word == "IF":
        return first_word in ("DROP", "CREATE", "ALTER") and previous in _OBJECTS
    return first_word in _PERMISSIONS and previous in _PERMISSIONS
