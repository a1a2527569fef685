"""Pipe syntax: operators that the SQL library does not parse, as SELECT with a changed star.

`|> DROP a` is `|> SELECT * EXCEPT (a)`, `|> SET a = x` is `|> SELECT * REPLACE (x AS a)`, and
`|> RENAME a AS b` is `|> SELECT * RENAME (a AS b)`.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from fll_hbase.sources.sql.token_parts import split_at_commas
from fll_hbase.sources.sql.tsql_boundaries import word_at

Tokens = Sequence[Token]

_T = TokenType
_STAR_CLAUSES = {"DROP": (_T.EXCEPT, "EXCEPT"), "SET": (_T.REPLACE, "REPLACE"), "RENAME": (_T.VAR, "RENAME")}


def with_known_operators(tokens: Tokens) -> Tokens:
    """Return the tokens of a statement with the operators that the library parses."""
    result: list[Token] = []
    number = 0
    while number < len(tokens):
        result.append(tokens[number])
        number += 1
        clause = _STAR_CLAUSES.get(word_at(tokens, number)) if _is_pipe(tokens, number - 1) else None
        if clause is not None:
            stop = _operator_end(tokens, number)
            result += _changed_star(tokens[number], clause, tokens[number + 1 : stop])
            number = stop
    return result


def _changed_star(origin: Token, clause: tuple[TokenType, str], items: Tokens) -> list[Token]:
    def token(kind: TokenType, text: str) -> Token:
        return Token(kind, text, origin.line, origin.col, origin.start, origin.start)

    parts = split_at_commas(items)
    if clause[1] == "REPLACE":
        # `name = value` as `value AS name`.
        parts = [[*part[2:], token(_T.ALIAS, "AS"), *part[:1]] for part in parts if len(part) > 2]
    elif clause[1] == "RENAME":
        parts = [[part[0], token(_T.ALIAS, "AS"), part[-1]] for part in parts if part]
    listed = [item for part in parts for item in (token(_T.COMMA, ","), *part)][1:]
    head = [token(_T.SELECT, "SELECT"), token(_T.STAR, "*"), token(*clause), token(_T.L_PAREN, "(")]
    return [*head, *listed, token(_T.R_PAREN, ")")]


def _is_pipe(tokens: Tokens, number: int) -> bool:
    return tokens[number].token_type is _T.PIPE_GT


def _operator_end(tokens: Tokens, start: int) -> int:
    """Return the position of the next pipe of the same query, or of the bracket that closes it."""
    depth = 0
    for number in range(start, len(tokens)):
        kind = tokens[number].token_type
        if depth == 0 and kind in (_T.PIPE_GT, _T.R_PAREN, _T.SEMICOLON):
            return number
        depth += (kind is _T.L_PAREN) - (kind is _T.R_PAREN)
    return len(tokens)
