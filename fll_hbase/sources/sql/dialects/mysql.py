"""MySQL and MariaDB, with RENAME TABLE, which ClickHouse has, too."""

from __future__ import annotations

import re

from sqlglot.tokenizer_core import Token, TokenType

from fll_hbase.sources.sql.dialects.facts import DialectFacts
from fll_hbase.sources.sql.script.statement_tokens import Tokens, new_token, word_at

_T = TokenType
_STARTS = {("EXCHANGE", "TABLES"), ("RENAME", "TABLE")}


def with_altered_tables(tokens: Tokens) -> Tokens:
    """Return a script's tokens with an ALTER TABLE for each pair in RENAME and EXCHANGE TABLES."""
    result: list[Token] = []
    end = 0
    for start in (number for number in range(len(tokens)) if _is_rename(tokens, number)):
        ends = (number for number in range(start, len(tokens)) if tokens[number].token_type is _T.SEMICOLON)
        stop = next(ends, len(tokens))
        words = [word_at(tokens, number) for number in range(start, stop)]
        # Without a second table, the statement stays as written, so that its own error is reported.
        if words[0] == "RENAME" or "AND" in words:
            result += [*tokens[end:start], *_altered(tokens[start:stop])]
            end = stop
    return [*result, *tokens[end:]] if end else tokens


def _is_rename(tokens: Tokens, number: int) -> bool:
    """Return whether RENAME TABLE or EXCHANGE TABLES begins at a position, first or directly after a `;`."""
    is_start = number == 0 or tokens[number - 1].token_type is _T.SEMICOLON
    return is_start and (word_at(tokens, number), word_at(tokens, number + 1)) in _STARTS


def _altered(statement: Tokens) -> list[Token]:
    """Return RENAME or EXCHANGE TABLES as ALTER TABLE statements, one for each pair of tables."""
    rename = statement[0]

    def token(kind: TokenType, text: str) -> Token:
        return new_token(kind, text, rename)

    head = [token(_T.ALTER, "ALTER"), token(_T.TABLE, "TABLE")]
    result = list(head)
    for item in statement[2:]:
        if item.token_type is _T.COMMA:
            result += [token(_T.SEMICOLON, ";"), *head]
        elif word_at([item], 0) == "ON":
            # ON CLUSTER only says where to execute the statement.
            break
        elif word_at([item], 0) == "AND":
            result += [token(_T.VAR, "SWAP"), token(_T.WITH, "WITH")]
        elif word_at([item], 0) == "TO":
            result += [token(_T.VAR, "RENAME"), item]
        else:
            result.append(item)
    return result


MYSQL = DialectFacts(
    name="mysql",
    is_database_before_table=True,
    name_parts=2,
    may_quote_names=True,
    has_text_aliases=True,
    client_command=re.compile(r"\s*(?:\\\.|source\s+\S+\s*$)", re.IGNORECASE),
    rewrite_script=with_altered_tables,
    declares_in_block=True,
    has_open_conflicts=True,
)
