"""DuckDB, with its PIVOT as a statement."""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from fll_hbase.sources.sql.dialects.facts import DialectFacts
from fll_hbase.sources.sql.script.statement_tokens import Tokens, keyword, new_token, word_at

_T = TokenType


def with_created_pivot(tokens: Tokens) -> Tokens:
    """Return CREATE … AS PIVOT or UNPIVOT as CREATE … AS FROM (PIVOT …), and other statements unchanged."""
    if word_at(tokens, 0) != "CREATE":
        return tokens
    for number in range(3, len(tokens)):
        if word_at(tokens, number - 1) == "AS" and word_at(tokens, number) in ("PIVOT", "UNPIVOT"):
            origin = tokens[number]
            opening, closing = (new_token(_T.L_PAREN, "(", origin), new_token(_T.R_PAREN, ")", origin))
            return [*tokens[:number], keyword(_T.FROM, origin), opening, *tokens[number:], closing]
    return tokens


def is_method(name: str, _: str) -> bool:
    """Return whether `name.f()` is DuckDB's chain of functions, and not a function of a schema."""
    return name.lower() not in ("main", "temp", "pg_catalog", "information_schema")


DUCKDB = DialectFacts(
    name="duckdb",
    fold=str.lower,
    rewrite=with_created_pivot,
    has_lateral_aliases=True,
    has_whole_rows=True,
    has_columns=True,
    pivots_joins=True,
    unnests_structs=True,
    is_method=is_method,
)
