"""Teradata, with BTEQ's commands."""

from __future__ import annotations

import re

from sqlglot.tokenizer_core import Token

from fll_hbase.sources.sql.dialects.facts import DialectFacts
from fll_hbase.sources.sql.script.statement_tokens import Tokens, closing_position, word_at

_STATEMENTS = {"CREATE", "DELETE", "INSERT", "MERGE", "REPLACE", "SEL", "SELECT", "UPDATE", "WITH"}
_TYPES = {"BIGINT", "BYTEINT", "CHAR", "DECIMAL", "FLOAT", "INTEGER", "NUMERIC", "SMALLINT", "VARCHAR"}
"""Reserved words, which cannot be column names."""


def without_phrases(tokens: Tokens) -> Tokens:
    """Return tokens without `LOCKING … FOR …`, and without casts such as `x (DECIMAL(18,2))`."""
    if word_at(tokens, 0) in ("LOCK", "LOCKING"):
        tokens = tokens[next((n for n in range(len(tokens)) if word_at(tokens, n) in _STATEMENTS), 0) :]
    end = 0
    result: list[Token] = []
    for number in range(1, len(tokens)):
        stop = closing_position(tokens, number - 1) if word_at(tokens, number) in _TYPES else 0
        if stop > number:
            result += tokens[end : number - 1]
            end = stop + 1
    return [*result, *tokens[end:]]


TERADATA = DialectFacts(
    name="teradata",
    fold=str.lower,
    name_parts=2,
    client_command=re.compile(r"\s*\.[a-zA-Z]"),
    rewrite=without_phrases,
    has_lateral_aliases=True,
)
