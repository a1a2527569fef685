"""Synonyms: `CREATE SYNONYM name FOR target` of Oracle, T-SQL and others, other names of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from sqlglot.tokenizer_core import Token, TokenType

from fll_hbase.sources.sql.tsql_boundaries import word_at

Tokens = Sequence[Token]
SynonymTokens: TypeAlias = tuple[Tokens, Tokens]
"""The name of a synonym, and the table that it names."""

SYNONYM = "SYNONYM"
"""Kind of object that a CREATE creates."""
_MODIFIERS_MAX = 6


def find_synonym(tokens: Tokens) -> SynonymTokens | None:
    """Return the names of a CREATE SYNONYM, None for any other statement."""
    if word_at(tokens, 0) != "CREATE":
        return None
    words = [word_at(tokens, number) for number in range(min(len(tokens), _MODIFIERS_MAX))]
    if SYNONYM not in words[1:]:
        return None
    start = words.index(SYNONYM) + 1
    stop = next((number for number in range(start, len(tokens)) if word_at(tokens, number) == "FOR"), start)
    name, target = tokens[start:stop], tokens[stop + 1 :]
    return (name, target) if name and target else None


def with_query(table: Tokens) -> Tokens:
    """Return the tokens of a query of a table, which the library parses."""
    origin = table[0]
    words = ((TokenType.SELECT, "SELECT"), (TokenType.STAR, "*"), (TokenType.FROM, "FROM"))
    head = [Token(kind, text, origin.line, origin.col, origin.start, origin.start) for kind, text in words]
    return [*head, *table]
