"""Tokens of statements: their words, tokens outside brackets, and additional tokens."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

Tokens = Sequence[Token]

_T = TokenType
_ASSIGNING = {"DECLARE", "FETCH", "LET", "SELECT", "SET", "WITH"}
_INTO = {_T.INTO, _T.BULK_COLLECT_INTO}
_BEFORE_CHANGED = {"COPY", "EXISTS", "INSERT", "INTO", "MERGE", "OVERWRITE", "TABLE", "UPDATE", "VIEW"}
"""Words before the name of the table that a statement changes."""
_BETWEEN = {_T.COMMA, _T.COLON, _T.PARAMETER}
"""Tokens between the variables after INTO."""
_QUOTED = {_T.STRING, _T.IDENTIFIER, _T.NATIONAL_STRING, _T.RAW_STRING, _T.HEREDOC_STRING, _T.NUMBER}


def word_at(tokens: Sequence[Token], number: int) -> str:
    """Return a token's text in upper case; "" for quoted names, texts and numbers, and outside the tokens."""
    if not 0 <= number < len(tokens) or tokens[number].token_type in _QUOTED:
        return ""
    return tokens[number].text.upper()


def is_alone_on_line(tokens: Sequence[Token], number: int) -> bool:
    """Return whether no other token is on the line of a token."""
    line = tokens[number].line
    is_first = number == 0 or tokens[number - 1].line < line
    return is_first and (number + 1 == len(tokens) or tokens[number + 1].line > line)


def new_token(kind: TokenType, text: str, origin: Token) -> Token:
    """Return a token that is not in the text, at the start of the token `origin`."""
    return Token(kind, text, origin.line, origin.col, origin.start, origin.start)


def keyword(kind: TokenType, origin: Token) -> Token:
    """Return a word that is not in the text, spelled like its kind, at the start of `origin`."""
    return new_token(kind, kind.name, origin)


def outer_positions(tokens: Tokens) -> list[int]:
    """Return the positions of tokens outside parentheses and CASE … END, and of the outermost delimiters."""
    positions, depth = [], 0
    for number, token in enumerate(tokens):
        depth -= depth > 0 and token.token_type in (_T.R_PAREN, _T.END)
        if not depth:
            positions.append(number)
        depth += token.token_type in (_T.L_PAREN, _T.CASE)
    return positions


def closing_position(tokens: Tokens, start: int) -> int:
    """Return the position of the `)` that closes the `(` at `start`, or `start` without such a pair."""
    if start >= len(tokens) or tokens[start].token_type is not _T.L_PAREN:
        return start
    depth = 0
    for number in range(start, len(tokens)):
        depth += (tokens[number].token_type is _T.L_PAREN) - (tokens[number].token_type is _T.R_PAREN)
        if not depth:
            return number
    return start


def assigned_names(tokens: Tokens) -> set[str]:
    """Return the lower-case names that an assignment, DECLARE, FETCH, SELECT or WITH may set, else none.

    Such names precede `=` or `:=`, follow INTO, begin a DECLARE, or have an `@` in it. They include any `@`.
    """
    names: set[str] = set()
    first, is_into = word_at(tokens, 0), False
    if first not in _ASSIGNING and not (len(tokens) > 1 and tokens[1].token_type is _T.COLON_EQ):
        return names
    for number, token in enumerate(tokens):
        kind, previous = token.token_type, tokens[number - 1].token_type if number else None
        is_into = kind in _INTO or (is_into and (kind in _BETWEEN or previous in _INTO | _BETWEEN))
        is_declared = first == "DECLARE" and (number == 1 or previous is _T.PARAMETER)
        following = tokens[number + 1].token_type if number + 1 < len(tokens) else None
        if (is_into and kind not in _BETWEEN) or is_declared or following in (_T.EQ, _T.COLON_EQ):
            names.add(f"{'@' * (previous is _T.PARAMETER)}{token.text.lower()}")
    return names


def changed_tables(tokens: Tokens) -> set[str]:
    """Return the last parts of names after INTO, TABLE and the like, in lower case, without `#` or `@`."""
    names: set[str] = set()
    for number in range(1, len(tokens)):
        if word_at(tokens, number - 1) in _BEFORE_CHANGED:
            last = number + (tokens[number].token_type in (_T.HASH, _T.PARAMETER))
            while last + 2 < len(tokens) and tokens[last + 1].token_type is _T.DOT:
                last += 2
            names.add(tokens[min(last, len(tokens) - 1)].text.lstrip("#@").lower())
    return names
