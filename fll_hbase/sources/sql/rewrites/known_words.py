"""Statements in words that the SQL library does not parse, as tokens of one that it does.

Only the parser sees the tokens of a rewritten statement; texts of expressions come from the original ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

from fll_hbase.sources.sql.script.statement_boundaries import word_at
from fll_hbase.sources.sql.script.tokens import closing_position, new_token

Tokens = Sequence[Token]

_T = TokenType
_BODY_STARTS = {"CALL", "COPY", "CREATE", "DELETE", "INSERT", "MERGE", "TRUNCATE", "UPDATE", "WITH"}
_SCHEDULED = {"PIPE", "TASK"}
_QUERY_STARTS = {"SELECT", "WITH"}
_PHRASES = {"FORMAT", "TITLE"}
_VIEW_OPTIONS = {"SCHEMABINDING", "ENCRYPTION", "VIEW_METADATA", ","}
_CREATE_MAX = 200
"""Tokens of a CREATE in front of its query that are searched."""
_OUTPUT_ENDS = {"SELECT", "VALUES", "FROM", "WHERE", "EXEC", "EXECUTE", "WITH"}


def with_known_words(tokens: Tokens, dialect_name: str) -> Tokens:
    """Return the tokens of a statement in words that the library parses."""
    for rewrite in (_replace, _altered_view, _schedule, _data_clause):
        tokens = rewrite(tokens)
    kinds = {token.token_type for token in tokens}
    for kind, rewrite_kind in _REWRITES_BY_KIND.items():
        tokens = rewrite_kind(tokens) if kind in kinds else tokens
    dialect_rewrite = _DIALECT_REWRITES.get(dialect_name)
    return dialect_rewrite(tokens) if dialect_rewrite else tokens


def _replace(tokens: Tokens) -> Tokens:
    """REPLACE TABLE is CREATE OR REPLACE TABLE; REPLACE of rows is an INSERT."""
    first = tokens[0]
    if len(tokens) < 2 or first.text.upper() != "REPLACE" or first.token_type is _T.IDENTIFIER:
        return tokens
    if tokens[1].token_type is not _T.TABLE:
        return [_word(_T.INSERT, first), *tokens[1:]]
    return [*(_word(kind, first) for kind in (_T.CREATE, _T.OR, _T.REPLACE)), *tokens[1:]]


def _altered_view(tokens: Tokens) -> Tokens:
    """ALTER VIEW … AS replaces the query of a view."""
    if [word_at(tokens, number) for number in (0, 1)] != ["ALTER", "VIEW"]:
        return tokens
    if not any(
        word_at(tokens, n - 1) == "AS" and word_at(tokens, n) in _QUERY_STARTS for n in _outer(tokens)
    ):
        return tokens
    return [*(_word(kind, tokens[0]) for kind in (_T.CREATE, _T.OR, _T.REPLACE)), *tokens[1:]]


def _schedule(tokens: Tokens) -> Tokens:
    """A task or pipe of Snowflake is the statement that it runs."""
    words = [word_at(tokens, number) for number in range(min(len(tokens), 6))]
    if words[:1] != ["CREATE"] or not _SCHEDULED & {*words[1:4]}:
        return tokens
    for number in range(2, len(tokens)):
        if word_at(tokens, number - 1) == "AS" and word_at(tokens, number) in _BODY_STARTS:
            return tokens[number:]
    return tokens


def _data_clause(tokens: Tokens) -> Tokens:
    """WITH [NO] DATA at the end of a materialized view says whether it is filled at once."""
    words = [word_at(tokens, number) for number in range(max(0, len(tokens) - 3), len(tokens))]
    if word_at(tokens, 0) != "CREATE" or words[-1:] != ["DATA"] or "WITH" not in words:
        return tokens
    return tokens[: len(tokens) - (len(words) - words.index("WITH"))]


def _created_pivot(tokens: Tokens) -> Tokens:
    """CREATE … AS PIVOT of DuckDB as a query of the PIVOT."""
    if word_at(tokens, 0) != "CREATE":
        return tokens
    for number in range(3, len(tokens)):
        if word_at(tokens, number - 1) == "AS" and word_at(tokens, number) in ("PIVOT", "UNPIVOT"):
            origin = tokens[number]
            opening = Token(_T.L_PAREN, "(", origin.line, origin.col, origin.start, origin.start)
            closing = Token(_T.R_PAREN, ")", origin.line, origin.col, origin.start, origin.start)
            return [*tokens[:number], _word(_T.FROM, origin), opening, *tokens[number:], closing]
    return tokens


def _output_clause(tokens: Tokens) -> Tokens:
    """OUTPUT … INTO of T-SQL behind all other clauses; last items are the columns, if any, and the table."""
    outer = _outer(tokens)
    start = next((n for n in outer if n and tokens[n].token_type is _T.RETURNING), 0)
    into = next((n for n in outer if start < n < len(tokens) - 1 and word_at(tokens, n) == "INTO"), 0)
    if not start or not into or any(word_at(tokens, n) in _OUTPUT_ENDS for n in outer if start < n < into):
        return tokens
    table = into + 2 if tokens[into + 1].token_type is _T.PARAMETER else into + 1
    while table + 2 < len(tokens) and tokens[table + 1].token_type is _T.DOT:
        table += 2
    stop = closing_position(tokens, table + 1)
    columns = tokens[table + 1 : stop + 1] if stop > table + 1 else ()
    comma = Token(_T.COMMA, ",", tokens[into].line, 1, tokens[into].start, tokens[into].start)
    items = [
        *tokens[start:into],
        *((comma, *columns) if columns else ()),
        comma,
        *tokens[into + 1 : table + 1],
    ]
    rest = tokens[(stop if columns else table) + 1 :]
    # The parser expects one name behind INTO, not a full one.
    return [*tokens[:start], *rest, *items, tokens[into], _word(_T.VAR, tokens[into])]


def _oracle_merge(tokens: Tokens) -> Tokens:
    """WHERE of a branch of Oracle's MERGE as its condition, and DELETE WHERE as a branch of its own."""
    if word_at(tokens, 0) != "MERGE":
        return tokens
    starts = [number for number in _outer(tokens) if word_at(tokens, number) == "WHEN"]
    if not starts:
        return tokens
    stops = [*starts[1:], len(tokens)]
    branches = [_oracle_branch(tokens[start:stop]) for start, stop in zip(starts, stops, strict=True)]
    return [*tokens[: starts[0]], *(token for branch in branches for token in branch)]


def _oracle_branch(branch: Tokens) -> Tokens:
    outer = list(_outer(branch))
    then = next((number for number in outer if word_at(branch, number) == "THEN"), 0)
    wheres = [number for number in outer if number > then and word_at(branch, number) == "WHERE"]
    if not then or not wheres:
        return branch
    deletes = [number for number in wheres if word_at(branch, number - 1) == "DELETE"]
    delete = deletes[0] if deletes else len(branch) + 1
    plain = next((number for number in wheres if number != delete), None)
    ends = [delete - 1, len(branch)]
    action = branch[then : min([*ends, plain if plain is not None else len(branch)])]
    condition = branch[plain + 1 : min(ends)] if plain is not None else ()
    result = [*branch[:then], *_and(condition, branch[then]), *action]
    if deletes:
        result += [*branch[:then], *_and(branch[delete + 1 :], branch[then]), branch[then]]
        result.append(_word(_T.DELETE, branch[delete - 1]))
    return result


def _and(condition: Tokens, origin: Token) -> list[Token]:
    if not condition:
        return []
    brackets = (Token(_T.L_PAREN, "(", origin.line, 1, origin.start, origin.start),)
    closing = Token(_T.R_PAREN, ")", origin.line, 1, origin.start, origin.start)
    return [_word(_T.AND, origin), *brackets, *condition, closing]


def _without_phrases(tokens: Tokens) -> Tokens:
    """Teradata's `(FORMAT 'x')` and `(TITLE 'x')` only show an expression; no other dialect has them."""
    kinds = [token.token_type for token in tokens]
    phrases = {
        number
        for number in range(1, len(tokens) - 3)
        if tokens[number + 1].text.upper() in _PHRASES
        and kinds[number] is _T.L_PAREN
        and kinds[number + 2 : number + 4] == [_T.STRING, _T.R_PAREN]
    }
    left_out = {number + offset for number in phrases for offset in range(4)}
    return [token for number, token in enumerate(tokens) if number not in left_out]


def _outer(tokens: Tokens) -> list[int]:
    """Return the positions of the tokens that are in no brackets and no CASE."""
    positions, depth = [], 0
    for number, token in enumerate(tokens):
        depth -= depth > 0 and token.token_type in (_T.R_PAREN, _T.END)
        if not depth:
            positions.append(number)
        depth += token.token_type in (_T.L_PAREN, _T.CASE)
    return positions


def _word(kind: TokenType, origin: Token) -> Token:
    return new_token(kind, kind.name, origin)


def _view_options(tokens: Tokens) -> Tokens:
    """`CREATE VIEW v WITH SCHEMABINDING AS …` of T-SQL, with CHECK OPTION at its end."""
    words = [word_at(tokens, number) for number in range(min(len(tokens), _CREATE_MAX))]
    if words[:1] != ["CREATE"] or "VIEW" not in words[1:4]:
        return tokens
    if [word_at(tokens, len(tokens) - number) for number in (3, 2, 1)] == ["WITH", "CHECK", "OPTION"]:
        tokens = tokens[:-3]
    for number, (word, following) in enumerate(pairwise(words)):
        if word == "WITH" and following in _VIEW_OPTIONS:
            stop = next(n for n in range(number + 1, len(tokens)) if word_at(tokens, n) not in _VIEW_OPTIONS)
            return [*tokens[:number], *tokens[stop:]]
    return tokens


def _tsql(tokens: Tokens) -> Tokens:
    return _output_clause(_view_options(tokens))


_REWRITES_BY_KIND: dict[TokenType, Callable[[Tokens], Tokens]] = {_T.STRING: _without_phrases}
"""Rewrites of statements that have a token of a kind, so that a long one without it costs nothing."""
_DIALECT_REWRITES: dict[str, Callable[[Tokens], Tokens]] = {
    "duckdb": _created_pivot,
    "oracle": _oracle_merge,
    "tsql": _tsql,
}
