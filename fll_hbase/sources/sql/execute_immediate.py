"""EXECUTE IMMEDIATE of a constant text, with the arguments of USING as variables of its bind names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from fll_hbase.sources.sql.cursors import RowTokens
from fll_hbase.sources.sql.token_parts import new_token, split_at_commas
from fll_hbase.sources.sql.tsql_boundaries import word_at

Tokens = Sequence[Token]

_T = TokenType
_TEXTS = {_T.STRING, _T.HEREDOC_STRING, _T.RAW_STRING, _T.NATIONAL_STRING}
_MODES = {"IN", "OUT"}
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|--[^\n]*")
_BIND_NAME = re.compile(r"(?<![:\w\]\"]):(\w+)")


def read_text(tokens: Tokens) -> str | None:
    """Return the text of `EXECUTE IMMEDIATE 'text' [USING …]`; None for any other statement."""
    words = [word_at(tokens, number) for number in (0, 1, 3)]
    is_constant = len(tokens) > 2 and tokens[2].token_type in _TEXTS
    is_whole = len(tokens) == 3 or words[2] == "USING"
    return tokens[2].text if words[:2] == ["EXECUTE", "IMMEDIATE"] and is_constant and is_whole else None


def read_bindings(tokens: Tokens) -> Iterator[RowTokens]:
    """Yield the values of the bind names of a text: of `:name` by position, of `@name` by `USING x AS name`.

    A `?` has no name, so that its value has no inputs.
    """
    arguments = tokens[4:]
    if len(arguments) > 1 and arguments[0].token_type is _T.L_PAREN:
        arguments = arguments[1:-1]
    names = _bind_names(tokens[2].text)
    for number, argument in enumerate(split_at_commas(arguments)):
        value: Tokens = argument
        alias = ""
        if len(argument) > 2 and word_at(argument, len(argument) - 2) == "AS":
            value, alias = argument[:-2], argument[-1].text.lower()
        while word_at(value, 0) in _MODES:
            value = value[1:]
        name = alias or (names[number] if number < len(names) else "")
        if value and name:
            yield RowTokens("", (name,), "", (new_token(_T.SELECT, "SELECT", value[0]), *value))


def _bind_names(text: str) -> list[str]:
    """Return the names of a text in their order; a block has each once, as its arguments do."""
    names = [name.lower() for name in _BIND_NAME.findall(_QUOTED.sub("", text))]
    is_block = text.lstrip()[:7].upper().startswith(("BEGIN", "DECLARE"))
    return list(dict.fromkeys(names)) if is_block else names
