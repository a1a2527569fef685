"""Parts of token lists: the bracket that closes, the items between commas, and tokens that are added."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

Tokens = Sequence[Token]

_T = TokenType


def new_token(kind: TokenType, text: str, origin: Token) -> Token:
    """Return a token that the text does not have, at the position of one that it has."""
    return Token(kind, text, origin.line, origin.col, origin.start, origin.start)


def split_at_commas(tokens: Tokens) -> list[list[Token]]:
    """Return the items between the commas that are in no brackets."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.token_type is _T.L_PAREN) - (token.token_type is _T.R_PAREN)
        if depth == 0 and token.token_type is _T.COMMA:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def closing_position(tokens: Tokens, start: int) -> int:
    """Return the position of the bracket that closes the one at `start`; `start` if none opens there."""
    if start >= len(tokens) or tokens[start].token_type is not _T.L_PAREN:
        return start
    depth = 0
    for number in range(start, len(tokens)):
        depth += (tokens[number].token_type is _T.L_PAREN) - (tokens[number].token_type is _T.R_PAREN)
        if not depth:
            return number
    return start
