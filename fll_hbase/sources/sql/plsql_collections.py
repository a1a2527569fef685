"""Collections of PL/SQL: an element has the columns of the query that fills its collection.

`FORALL i IN 1 .. l.COUNT INSERT …` is the INSERT, and `l(i).id` in it is `l.id`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from fll_hbase.sources.sql.token_parts import new_token
from fll_hbase.sources.sql.tsql_boundaries import word_at

Tokens = Sequence[Token]

_T = TokenType
_RUN_FOR_ALL = {"DELETE", "EXECUTE", "INSERT", "MERGE", "UPDATE", "WITH"}
_HEAD_MAX = 60
"""Tokens of FORALL in front of its statement."""


def statement_of_forall(tokens: Tokens, start: int, stop: int) -> int:
    """Return where the statement begins that `FORALL i IN …` runs; `start` if there is none."""
    positions = range(start + 1, min(stop, start + _HEAD_MAX))
    return next((number for number in positions if word_at(tokens, number) in _RUN_FOR_ALL), start)


def without_indexes(tokens: Tokens, indexes: Collection[str], variables: Collection[str]) -> Tokens:
    """Return tokens with `name(i)` as `name`, for variables and the indexes of loops, both in lower case."""
    if not indexes:
        return tokens
    result: list[Token] = []
    number = 0
    while number < len(tokens):
        token = tokens[number]
        result.append(token)
        number += 1
        is_collection = token.token_type is _T.VAR and token.text.lower() in variables
        if is_collection and _is_index(tokens[number : number + 3], indexes):
            number += 3
    return tuple(result)


def with_inserted_record(tokens: Tokens) -> Tokens:
    """Return the tokens of `INSERT INTO t VALUES r`, whose values are a record, as one of a query of it."""
    if word_at(tokens, 0) != "INSERT":
        return tokens
    for number in range(2, len(tokens) - 1):
        record = tokens[number + 1]
        if tokens[number].token_type is _T.VALUES and record.token_type is _T.VAR:
            words = ((_T.SELECT, "SELECT"), (_T.STAR, "*"), (_T.FROM, "FROM"), (_T.TABLE, "TABLE"))
            head = [new_token(*word, record) for word in (*words, (_T.L_PAREN, "("))]
            closing = new_token(_T.R_PAREN, ")", record)
            return [*tokens[:number], *head, record, closing, *tokens[number + 2 :]]
    return tokens


def _is_index(tokens: Tokens, indexes: Collection[str]) -> bool:
    kinds = [token.token_type for token in tokens]
    is_wrapped = len(kinds) == 3 and kinds[0] is _T.L_PAREN and kinds[2] is _T.R_PAREN
    return is_wrapped and tokens[1].text.lower() in indexes
