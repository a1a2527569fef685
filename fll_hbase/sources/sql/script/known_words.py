"""Statements in words that the SQL library cannot parse, rewritten into words that it can.

Only the parser sees the tokens of a rewritten statement; texts of expressions come from the original tokens.
"""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from fll_hbase.sources.sql.dialects.facts import DialectFacts
from fll_hbase.sources.sql.script.statement_tokens import Tokens, keyword, new_token, outer_positions, word_at

_T = TokenType
_BODY_STARTS = {"CALL", "COPY", "CREATE", "DELETE", "INSERT", "MERGE", "TRUNCATE", "UPDATE", "WITH"}
_SCHEDULED = {"PIPE", "TASK"}
_QUERY_STARTS = {"SELECT", "WITH"}
_ARGUMENT_STARTS = {_T.L_PAREN, _T.COMMA, _T.FARROW}
_STORAGE = {"STORED", "VIRTUAL"}
_INTO = {_T.INTO, _T.BULK_COLLECT_INTO}
_PHRASES = {"FORMAT", "TITLE"}


def with_known_words(tokens: Tokens, facts: DialectFacts) -> Tokens:
    """Return a statement's tokens in words that the library parses."""
    for rewrite in _REWRITES:
        tokens = rewrite(tokens)
    # T-SQL's OUTPUT … INTO is the same token, but its INTO is followed by a table.
    tokens = tokens if facts.changes_queries else _returned(tokens)
    # This check is fast for long statements without texts.
    if any(token.token_type is _T.STRING for token in tokens):
        tokens = _without_phrases(tokens)
    return facts.rewrite(tokens)


def _replace(tokens: Tokens) -> Tokens:
    """Return REPLACE TABLE as CREATE OR REPLACE TABLE, REPLACE of rows as INSERT, others unchanged."""
    first = tokens[0]
    if len(tokens) < 2 or first.text.upper() != "REPLACE" or first.token_type is _T.IDENTIFIER:
        return tokens
    if tokens[1].token_type is not _T.TABLE:
        return [keyword(_T.INSERT, first), *tokens[1:]]
    return [*(keyword(kind, first) for kind in (_T.CREATE, _T.OR, _T.REPLACE)), *tokens[1:]]


def _altered_view(tokens: Tokens) -> Tokens:
    """Return ALTER VIEW … AS query as CREATE OR REPLACE VIEW, other statements unchanged."""
    if [word_at(tokens, number) for number in (0, 1)] != ["ALTER", "VIEW"]:
        return tokens
    outer = outer_positions(tokens)
    if not any(word_at(tokens, n - 1) == "AS" and word_at(tokens, n) in _QUERY_STARTS for n in outer):
        return tokens
    return [*(keyword(kind, tokens[0]) for kind in (_T.CREATE, _T.OR, _T.REPLACE)), *tokens[1:]]


def _schedule(tokens: Tokens) -> Tokens:
    """Return the statement that a task or pipe of Snowflake runs, all other statements unchanged."""
    words = [word_at(tokens, number) for number in range(min(len(tokens), 6))]
    if words[:1] != ["CREATE"] or not _SCHEDULED & {*words[1:4]}:
        return tokens
    for number in range(2, len(tokens)):
        if word_at(tokens, number - 1) == "AS" and word_at(tokens, number) in _BODY_STARTS:
            return tokens[number:]
    return tokens


def _data_clause(tokens: Tokens) -> Tokens:
    """Return a CREATE without WITH [NO] DATA at its end, which says whether it is filled at once."""
    words = [word_at(tokens, number) for number in range(max(0, len(tokens) - 3), len(tokens))]
    if word_at(tokens, 0) != "CREATE" or words[-1:] != ["DATA"] or "WITH" not in words:
        return tokens
    return tokens[: len(tokens) - (len(words) - words.index("WITH"))]


def _data_source(tokens: Tokens) -> Tokens:
    """Return a CREATE … USING a.b.c, a data source's class, as USING c."""
    if word_at(tokens, 0) != "CREATE":
        return tokens
    start = stop = next((n for n, token in enumerate(tokens, 1) if token.token_type is _T.USING), len(tokens))
    while stop + 2 < len(tokens) and tokens[stop + 1].token_type is _T.DOT:
        stop += 2
    return [*tokens[:start], *tokens[stop:]] if stop > start else tokens


def _computed_columns(tokens: Tokens) -> Tokens:
    """Return a CREATE TABLE without computed columns' VIRTUAL and STORED, which some dialects reject."""
    if word_at(tokens, 0) != "CREATE" or "TABLE" not in (word_at(tokens, 1), word_at(tokens, 2)):
        return tokens
    left_out = {
        number + 1
        for number, token in enumerate(tokens)
        if token.token_type is _T.R_PAREN
        and word_at(tokens, number + 1) in _STORAGE
        and word_at(tokens, number + 2) not in ("AS", "BY")
    }
    return [token for number, token in enumerate(tokens) if number not in left_out] if left_out else tokens


def _returned(tokens: Tokens) -> Tokens:
    """Return `RETURNING a, b [BULK COLLECT] INTO x, y` with all variables as one name, `x,y`."""
    if all(token.token_type is not _T.RETURNING for token in tokens):
        return tokens
    outer = outer_positions(tokens)
    start = next((n for n in outer if tokens[n].token_type is _T.RETURNING), len(tokens))
    into = next((n for n in outer if n > start and tokens[n].token_type in _INTO), 0)
    if not into:
        return tokens
    first = into + 2 if word_at(tokens, into + 1) == "STRICT" else into + 1
    names = "".join(token.text for token in tokens[first:] if token.token_type is not _T.COLON)
    return [*tokens[:into], keyword(_T.INTO, tokens[into]), new_token(_T.IDENTIFIER, names, tokens[into])]


def _table_arguments(tokens: Tokens) -> Tokens:
    """Return `f(TABLE t)` as `f((SELECT * FROM t))`."""
    result: list[Token] = []
    end = 0
    for number, token in enumerate(tokens):
        if token.token_type is not _T.TABLE or not 0 < number < len(tokens) - 1:
            continue
        is_argument = tokens[number - 1].token_type in _ARGUMENT_STARTS
        if not is_argument or tokens[number + 1].token_type not in (_T.VAR, _T.IDENTIFIER):
            continue
        stop = number + 2
        while stop + 1 < len(tokens) and tokens[stop].token_type is _T.DOT:
            stop += 2
        opening, star, closing = (
            new_token(kind, text, token)
            for kind, text in ((_T.L_PAREN, "("), (_T.STAR, "*"), (_T.R_PAREN, ")"))
        )
        words = (keyword(_T.SELECT, token), star, keyword(_T.FROM, token))
        result += [*tokens[end:number], opening, *words, *tokens[number + 1 : stop], closing]
        end = stop
    return [*result, *tokens[end:]] if end else tokens


def _without_phrases(tokens: Tokens) -> Tokens:
    """Return tokens without `(FORMAT 'x')` and `(TITLE 'x')`, which only Teradata has."""
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


_REWRITES = (
    *(_replace, _altered_view, _schedule, _data_clause, _data_source, _computed_columns, _table_arguments),
)
