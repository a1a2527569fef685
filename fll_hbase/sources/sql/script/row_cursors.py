"""Cursors, loops over queries, FETCH and assignments of procedures: names that represent a query's rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

from fll_hbase.sources.sql.script.statement_tokens import Tokens, keyword, outer_positions, word_at

_T = TokenType
_QUERY_STARTS = {"SELECT", "WITH"}
_DECLARING = {"CURSOR", "DECLARE", "LET", "OPEN", "SET"}
_BEFORE_QUERY = {"FOR", "IS", "AS", "IN"}
_FETCH_WORDS = {"NEXT", "PRIOR", "FIRST", "LAST", "FROM", "IN"}
_LABELLED = {"BEGIN", "FOR", "LOOP", "REPEAT", "WHILE"}
_HANDLER_MAX = 20
"""Tokens from DECLARE to the BEGIN of a handler."""
_FETCH_INTO = {"INTO", "BULK COLLECT INTO"}
"""INTO of a FETCH, which is a single token with BULK COLLECT."""


@dataclass(frozen=True, slots=True)
class RowTokens:
    """Names, in lower case, that represent the rows of the query `tokens` or of the cursor `cursor`.

    `record` contains the columns, as in `r.id`; `variables` contain the columns by position.
    """

    record: str
    variables: tuple[str, ...]
    cursor: str
    tokens: tuple[Token, ...]


def read_loop(head: Tokens) -> RowTokens | None:
    """Return the record of a head such as `FOR r IN query LOOP`, of a query or cursor, or None for others.

    The last token of `head` is LOOP or DO. A loop of numbers has no record.
    """
    if word_at(head, 0) != "FOR" or len(head) < 4 or word_at(head, 2) not in ("IN", "AS"):
        return None
    return _rows_of(head[1].text.lower(), (), head[3:-1])


def is_count(head: Tokens) -> bool:
    """Return whether the variable of a loop counts: `FORALL i ...`, `FOR i IN 1 .. n` or `IN 1 TO n`."""
    if word_at(head, 0) == "FORALL":
        return True
    is_range = ".." in "".join(token.text for token in head[3:]) or "TO" in (word_at(head, n) for n in (4, 5))
    return word_at(head, 0) == "FOR" and word_at(head, 3) != "EXECUTE" and is_range


def read_declarations(tokens: Tokens) -> Iterator[RowTokens]:
    """Yield the cursors, and variables with a value that names something, between DECLARE and BEGIN."""
    for declaration in _split(tokens, _T.SEMICOLON):
        rows = _cursor(declaration) or _assignment(declaration)
        if rows is not None:
            yield rows


def read_statement(tokens: Tokens) -> RowTokens | None:
    """Return the rows of a FETCH, cursor or assignment in a procedure, or None for constants and others."""
    first = word_at(tokens, 0)
    if first == "FETCH":
        return _fetch(tokens)
    if first == "LET" or (len(tokens) > 1 and tokens[1].token_type is _T.COLON_EQ):
        return _cursor(tokens) or _assignment(tokens[1:] if first == "LET" else tokens)
    return _cursor(tokens) if first in _DECLARING else None


def behind_label(tokens: Tokens, start: int) -> int:
    """Return the position after a label (`<<name>>`, or `name:` before a loop or BEGIN), or else `start`."""
    kinds = [token.token_type for token in tokens[start : start + 5]]
    if kinds[:2] == [_T.VAR, _T.COLON] and word_at(tokens, start + 2) in _LABELLED:
        return start + 2
    is_marked = kinds[:2] + kinds[3:] == [_T.LT, _T.LT, _T.GT, _T.GT] and start + 5 < len(tokens)
    return start + 5 if is_marked else start


def handler_block(tokens: Tokens, start: int, end: int) -> int:
    """Return where to continue after a statement: at BEGIN in `DECLARE … HANDLER FOR … BEGIN`, or `end`."""
    words = [word_at(tokens, number) for number in range(start, min(end, start + _HANDLER_MAX))]
    is_handler = words[:1] == ["DECLARE"] and words[2:3] == ["HANDLER"] and "BEGIN" in words
    return start + words.index("BEGIN") if is_handler else end


def declared_names(tokens: Tokens) -> set[str]:
    """Return the lower-case variables of MySQL's `DECLARE a, b INT`, empty for DECLARE alone."""
    names = {tokens[1].text.lower()} if len(tokens) > 1 else set()
    number = 2
    while number + 1 < len(tokens) and tokens[number].token_type is _T.COMMA:
        names.add(tokens[number + 1].text.lower())
        number += 2
    return names


def _cursor(tokens: Tokens) -> RowTokens | None:
    """Read `CURSOR c IS query`, `c CURSOR FOR query` or `OPEN c FOR query`, or return None."""
    words = [word_at(tokens, number) for number in range(min(len(tokens), 8))]
    is_open = words[:1] == ["OPEN"]
    if "CURSOR" not in words and not is_open:
        return None
    start = 0 if is_open else words.index("CURSOR")
    name = start + 1 if start == 0 else int(words[0] in _DECLARING)
    query = next(
        (n for n in outer_positions(tokens) if n > start and word_at(tokens, n) in _BEFORE_QUERY), -1
    )
    if query < 0 or name >= len(tokens):
        return None
    return _rows_of(_name(tokens, name), (), tokens[query + 1 :])


def _fetch(tokens: Tokens) -> RowTokens | None:
    """Read `FETCH [NEXT FROM] c INTO a, b`, where a single variable is also the record, or return None."""
    words = [word_at(tokens, number) for number in range(len(tokens))]
    into = next((number for number, word in enumerate(words) if word in _FETCH_INTO), -1)
    if into < 0:
        return None
    cursor = next((n for n in range(1, into) if words[n] not in _FETCH_WORDS), into)
    variables = tuple(_name(part, 0) for part in _split(tokens[into + 1 :], _T.COMMA) if part)
    record = variables[0] if len(variables) == 1 else ""
    return RowTokens(record, variables, _name(tokens, cursor), ())


def _assignment(tokens: Tokens) -> RowTokens | None:
    """Read `name [type] := value`, or with DEFAULT for `:=`; return None if the value names nothing."""
    behind = next(
        (
            number + 1
            for number in outer_positions(tokens)
            if number and (tokens[number].token_type is _T.COLON_EQ or word_at(tokens, number) == "DEFAULT")
        ),
        len(tokens),
    )
    value = tokens[behind:]
    if not any(_may_name(token) for token in value):
        return None
    name = _name(tokens, 0)
    inner = value[1:-1] if value[0].token_type is _T.L_PAREN else value
    if word_at(inner, 0) in _QUERY_STARTS:
        return RowTokens(name, (name,), "", tuple(inner))
    return RowTokens("", (name,), "", (keyword(_T.SELECT, value[0]), *value))


def _rows_of(record: str, variables: tuple[str, ...], tokens: Tokens) -> RowTokens | None:
    """Return the rows of a query, maybe in parentheses, or of a cursor, or None for anything else."""
    is_wrapped = bool(tokens) and tokens[0].token_type is _T.L_PAREN
    inner = tokens[1:-1] if is_wrapped else tokens
    if word_at(inner, 0) in _QUERY_STARTS:
        return RowTokens(record, variables, "", tuple(inner))
    is_cursor = len(tokens) == 1 or (len(tokens) > 2 and tokens[1].token_type is _T.L_PAREN)
    if is_wrapped or not is_cursor or not _may_name(tokens[0]):
        return None
    return RowTokens(record, variables, tokens[0].text.lower(), ())


def _may_name(token: Token) -> bool:
    """Return whether a token may be a name or a variable, or begins a query."""
    return token.token_type in (_T.VAR, _T.IDENTIFIER, _T.SELECT, _T.PARAMETER)


def _name(tokens: Tokens, number: int) -> str:
    """Return the lower-case name at a position, `@name` with `@`, `:name` without `:`; "" at the end."""
    if number >= len(tokens):
        return ""
    if tokens[number].token_type is _T.PARAMETER and number + 1 < len(tokens):
        return f"@{tokens[number + 1].text.lower()}"
    # Snowflake and some clients write variables as `:name`.
    if tokens[number].token_type is _T.COLON and number + 1 < len(tokens):
        return tokens[number + 1].text.lower()
    return tokens[number].text.lower()


def _split(tokens: Tokens, separator: TokenType) -> Iterator[Tokens]:
    """Yield the tokens between separators, even those inside parentheses; a part may be empty."""
    start = 0
    for number, token in enumerate(tokens):
        if token.token_type is separator:
            yield tokens[start:number]
            start = number + 1
    yield tokens[start:]
