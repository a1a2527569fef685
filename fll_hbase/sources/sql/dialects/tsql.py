"""T-SQL: statements that need no `;`, OUTPUT, options of views, and sqlcmd."""

from __future__ import annotations

import re
from itertools import pairwise

from sqlglot.tokenizer_core import TokenType

from fll_hbase.sources.sql.dialects.facts import DialectFacts, StatementEnd
from fll_hbase.sources.sql.script.statement_tokens import (
    Tokens,
    closing_position,
    keyword,
    new_token,
    outer_positions,
    word_at,
)

_T = TokenType
_VIEW_OPTIONS = {"SCHEMABINDING", "ENCRYPTION", "VIEW_METADATA", ","}
_CREATE_MAX = 200
"""Number of tokens of a CREATE that are searched for the options of a view."""
_OUTPUT_ENDS = {"SELECT", "VALUES", "FROM", "WHERE", "EXEC", "EXECUTE", "WITH"}


_METHOD = re.compile(
    r"value|query|exist|nodes|ST[A-Z]\w*|Get(?:Ancestor|Descendant|Level|ReparentedValue)|IsDescendantOf|ToString"
)


def is_method(_: str, function: str) -> bool:
    """Return whether a function is a method, in exact case, of XML, spatial or hierarchical values."""
    return _METHOD.fullmatch(function) is not None


def with_known_clauses(tokens: Tokens) -> Tokens:
    """Return a statement without options of a view, and with OUTPUT … INTO after all other clauses.

    The last items of OUTPUT are then any columns and the table, and a placeholder follows INTO.
    """
    tokens = _view_options(tokens)
    outer = outer_positions(tokens)
    start = next((n for n in outer if n and tokens[n].token_type is _T.RETURNING), 0)
    into = next((n for n in outer if start < n < len(tokens) - 1 and word_at(tokens, n) == "INTO"), 0)
    if not start or not into or any(word_at(tokens, n) in _OUTPUT_ENDS for n in outer if start < n < into):
        return tokens
    table = into + 2 if tokens[into + 1].token_type is _T.PARAMETER else into + 1
    while table + 2 < len(tokens) and tokens[table + 1].token_type is _T.DOT:
        table += 2
    stop = closing_position(tokens, table + 1)
    columns = tokens[table + 1 : stop + 1] if stop > table + 1 else ()
    comma = new_token(_T.COMMA, ",", tokens[into])
    listed = (comma, *columns) if columns else ()
    items = [*tokens[start:into], *listed, comma, *tokens[into + 1 : table + 1]]
    rest = tokens[(stop if columns else table) + 1 :]
    # The parser expects a single name after INTO, not a dotted name.
    return [*tokens[:start], *rest, *items, tokens[into], keyword(_T.VAR, tokens[into])]


def _view_options(tokens: Tokens) -> Tokens:
    """Remove the options of T-SQL's CREATE VIEW, and WITH CHECK OPTION at its end."""
    words = [word_at(tokens, number) for number in range(min(len(tokens), _CREATE_MAX))]
    if words[:1] != ["CREATE"] or "VIEW" not in words[1:4]:
        return tokens
    if [word_at(tokens, len(tokens) - number) for number in (3, 2, 1)] == ["WITH", "CHECK", "OPTION"]:
        tokens = tokens[:-3]
    for number, (word, following) in enumerate(pairwise(words)):
        if word == "WITH" and following in _VIEW_OPTIONS:
            ends = (n for n in range(number + 1, len(tokens)) if word_at(tokens, n) not in _VIEW_OPTIONS)
            return [*tokens[:number], *tokens[next(ends, len(tokens)) :]]
    return tokens


TSQL = DialectFacts(
    name="tsql",
    default_schema="dbo",
    client_command=re.compile(r"\s*(?::(?:setvar|r|connect|on|out|error)\b|!!)", re.IGNORECASE),
    rewrite=with_known_clauses,
    end=StatementEnd.NEXT_WORD,
    pseudo_columns=frozenset({"$action", "$identity", "$rowguid"}),
    has_values_first=True,
    changes_queries=True,
    is_method=is_method,
)
