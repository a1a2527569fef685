"""Files in words that the SQL library does not parse: OPENROWSET of T-SQL, LOAD DATA of BigQuery.

OPENROWSET becomes the function `read_files` with the columns behind the path, LOAD DATA a COPY.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from fll_hbase.sources.sql.token_parts import closing_position, new_token, split_at_commas
from fll_hbase.sources.sql.tsql_boundaries import word_at

Tokens = Sequence[Token]

_T = TokenType
_TEXTS = {_T.STRING, _T.NATIONAL_STRING, _T.RAW_STRING}
_LOADED_BEHIND = {"INTO", "OVERWRITE", "TEMP", "TEMPORARY", "TABLE"}


def with_read_files(tokens: Tokens) -> Tokens:
    """Return the tokens of a statement of T-SQL with `read_files` for each OPENROWSET of a file."""
    starts = [number for number in range(len(tokens)) if _is_bulk(tokens, number)]
    closings = _closings(tokens) if starts else {}
    result: list[Token] = []
    end = 0
    for start in starts:
        close = closings.get(start + 1, 0)
        if start < end or not close:
            # In the brackets of another one, or never closed.
            continue
        behind, columns = _columns(tokens, close + 1, closings)
        name = tokens[start]
        path = new_token(_T.STRING, tokens[start + 3].text, tokens[start + 3])
        result += [*tokens[end:start], new_token(_T.VAR, "read_files", name), tokens[start + 1], path]
        result += [item for column in columns for item in (new_token(_T.COMMA, ",", name), column)]
        result.append(tokens[close])
        end = behind
    return [*result, *tokens[end:]] if starts else tokens


def _is_bulk(tokens: Tokens, number: int) -> bool:
    words = [word_at(tokens, number), word_at(tokens, number + 2)]
    is_bulk = words == ["OPENROWSET", "BULK"] and number + 3 < len(tokens)
    return is_bulk and tokens[number + 3].token_type in _TEXTS


def _closings(tokens: Tokens) -> dict[int, int]:
    """Return the closing brackets by their opening ones; in one pass, since some may never be closed."""
    opened: list[int] = []
    closings: dict[int, int] = {}
    for number, token in enumerate(tokens):
        if token.token_type is _T.L_PAREN:
            opened.append(number)
        elif token.token_type is _T.R_PAREN and opened:
            closings[opened.pop()] = number
    return closings


def _columns(tokens: Tokens, start: int, closings: dict[int, int]) -> tuple[int, list[Token]]:
    """Return the columns of `WITH (a INT, …)` and the position behind it, or those of `AS r (a, b)`."""
    if word_at(tokens, start) == "WITH":
        close = closings.get(start + 1, 0)
        return (close + 1, _names(tokens[start + 2 : close])) if close else (start, [])
    alias = start + 1 if word_at(tokens, start) == "AS" else start
    close = closings.get(alias + 1, 0)
    return start, _names(tokens[alias + 2 : close])


def _names(columns: Tokens) -> list[Token]:
    return [column[0] for column in split_at_commas(columns) if column]


def with_copied_files(tokens: Tokens) -> Tokens:
    """Return `LOAD DATA INTO t (…) FROM FILES (uris = ['a'])` of BigQuery as `COPY INTO t (…) FROM 'a'`."""
    if [word_at(tokens, number) for number in (0, 1)] != ["LOAD", "DATA"]:
        return tokens
    files = next((n for n in range(3, len(tokens)) if _is_files(tokens, n)), 0)
    uris = next((n for n in range(files, len(tokens)) if files and word_at(tokens, n) == "URIS"), 0)
    if not uris:
        return tokens
    table = 2
    while word_at(tokens, table) in _LOADED_BEHIND:
        table += 1
    stop = table + 1
    while stop + 1 < files and tokens[stop].token_type is _T.DOT:
        stop += 2
    stop = max(stop, closing_position(tokens, stop) + 1) if tokens[stop].token_type is _T.L_PAREN else stop
    head = [new_token(_T.COPY, "COPY", tokens[0]), new_token(_T.INTO, "INTO", tokens[1])]
    from_ = tokens[files - 1]
    paths = [item for path in _paths(tokens, uris) for item in (new_token(_T.COMMA, ",", from_), path)]
    return [*head, *tokens[table:stop], from_, *paths[1:]]


def _is_files(tokens: Tokens, number: int) -> bool:
    return word_at(tokens, number) == "FILES" and word_at(tokens, number - 1) == "FROM"


def _paths(tokens: Tokens, start: int) -> Iterator[Token]:
    for token in tokens[start:]:
        if token.token_type is _T.R_BRACKET:
            break
        if token.token_type in _TEXTS:
            yield token
