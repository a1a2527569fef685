"""Statements in words that the SQL library does not parse, as tokens of one that it does.

Only the parser sees the tokens of a rewritten statement; texts of expressions come from the original ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from fll_hbase.sources.sql.bulk_files import with_copied_files, with_read_files
from fll_hbase.sources.sql.dropped_clauses import without_dropped_clauses
from fll_hbase.sources.sql.pipe_operators import with_known_operators
from fll_hbase.sources.sql.plsql_collections import with_inserted_record
from fll_hbase.sources.sql.token_parts import closing_position, new_token
from fll_hbase.sources.sql.tsql_boundaries import word_at

Tokens = Sequence[Token]

_T = TokenType
_BODY_STARTS = {"CALL", "COPY", "CREATE", "DELETE", "INSERT", "MERGE", "TRUNCATE", "UPDATE", "WITH"}
_SCHEDULED = {"PIPE", "TASK"}
_QUERY_STARTS = {"SELECT", "WITH"}
_IF_NOT_EXISTS = {"IF", "NOT", "EXISTS"}
_STREAM_MAX = 60
"""Tokens of a statement that may be CREATE STREAM."""
_PHRASES = {"FORMAT", "TITLE"}
_BEFORE_TABLE = {"FROM", "INTO", "JOIN", "OVERWRITE", "TABLE", "UPDATE", "USING", "VIEW"}
_OUTPUT_ENDS = {"SELECT", "VALUES", "FROM", "WHERE", "EXEC", "EXECUTE", "WITH"}


def with_known_words(tokens: Tokens, dialect_name: str) -> Tokens:
    """Return the tokens of a statement in words that the library parses."""
    for rewrite in (_replace, _altered_view, _schedule, _stream, _evolution, _partition, _data_clause):
        tokens = rewrite(tokens)
    kinds = {token.token_type for token in tokens}
    for kind, rewrite_kind in _REWRITES_BY_KIND.items():
        tokens = rewrite_kind(tokens) if kind in kinds else tokens
    tokens = without_dropped_clauses(tokens, dialect_name)
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


def _stream(tokens: Tokens) -> Tokens:
    """A stream of Snowflake has the columns of its table, as a view of all of them."""
    words = [word_at(tokens, number) for number in range(len(tokens))] if len(tokens) < _STREAM_MAX else []
    # Not the last word: a table follows.
    if (
        words[:1] != ["CREATE"]
        or "STREAM" not in words[1:4]
        or "ON" not in words[:-1]
        or "TABLE" in words[1:4]
    ):
        return tokens
    stream, on = words.index("STREAM"), words.index("ON")
    name = [token for token in tokens[stream + 1 : on] if word_at([token], 0) not in _IF_NOT_EXISTS]
    table = on + 3 if words[on + 1] == "EXTERNAL" else on + 2
    stop = table + 1
    while stop + 1 < len(tokens) and tokens[stop].token_type is _T.DOT:
        stop += 2
    kinds = (_T.CREATE, _T.OR, _T.REPLACE, _T.VIEW)
    head = [*(_word(kind, tokens[0]) for kind in kinds), *name, _word(_T.ALIAS, tokens[on])]
    star = Token(_T.STAR, "*", tokens[on].line, 1, tokens[on].start, tokens[on].start)
    query = [_word(_T.SELECT, tokens[on]), star, _word(_T.FROM, tokens[on])]
    return [*head, *query, *tokens[table:stop]]


def _schedule(tokens: Tokens) -> Tokens:
    """A task or pipe of Snowflake is the statement that it runs."""
    words = [word_at(tokens, number) for number in range(min(len(tokens), 6))]
    if words[:1] != ["CREATE"] or not _SCHEDULED & {*words[1:4]}:
        return tokens
    for number in range(2, len(tokens)):
        if word_at(tokens, number - 1) == "AS" and word_at(tokens, number) in _BODY_STARTS:
            return tokens[number:]
    return tokens


def _evolution(tokens: Tokens) -> Tokens:
    """MERGE and INSERT of Databricks may have WITH SCHEMA EVOLUTION, which changes no lineage."""
    if [word_at(tokens, number) for number in (1, 2, 3)] == ["WITH", "SCHEMA", "EVOLUTION"]:
        return [tokens[0], *tokens[4:]]
    return tokens


def _partition(tokens: Tokens) -> Tokens:
    """IF NOT EXISTS behind the PARTITION of an INSERT changes no lineage."""
    if word_at(tokens, 0) not in ("INSERT", "FROM", "WITH"):
        return tokens
    numbers = (number for number in range(len(tokens)) if word_at(tokens, number) == "PARTITION")
    for number in numbers:
        end = closing_position(tokens, number + 1)
        if [word_at(tokens, end + offset) for offset in (1, 2, 3)] == ["IF", "NOT", "EXISTS"]:
            return [*tokens[: end + 1], *tokens[end + 4 :]]
    return tokens


def _data_clause(tokens: Tokens) -> Tokens:
    """WITH [NO] DATA at the end of a materialized view says whether it is filled at once."""
    words = [word_at(tokens, number) for number in range(max(0, len(tokens) - 3), len(tokens))]
    if word_at(tokens, 0) != "CREATE" or words[-1:] != ["DATA"] or "WITH" not in words:
        return tokens
    return tokens[: len(tokens) - (len(words) - words.index("WITH"))]


def _remove_duplicates(tokens: Tokens) -> Tokens:
    """MERGE … REMOVE DUPLICATES of Redshift replaces rows by those of the source that match them."""
    words = [word_at(tokens, number) for number in range(max(0, len(tokens) - 2), len(tokens))]
    if word_at(tokens, 0) != "MERGE" or words != ["REMOVE", "DUPLICATES"]:
        return tokens
    origin = tokens[-1]
    star = Token(_T.STAR, "*", origin.line, origin.col, origin.start, origin.start)

    def branch(*kinds: TokenType) -> list[Token]:
        matched = Token(_T.VAR, "MATCHED", origin.line, origin.col, origin.start, origin.start)
        head = [_word(kind, origin) for kind in (_T.WHEN, *kinds)]
        return [*head, matched, _word(_T.THEN, origin)]

    update, insert = _word(_T.UPDATE, origin), _word(_T.INSERT, origin)
    return [*tokens[:-2], *branch(), update, star, *branch(_T.NOT), insert, star]


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


def _load_data(tokens: Tokens) -> Tokens:
    """LOAD DATA of MySQL as that of Hive: the file and the table."""
    words = [word_at(tokens, number) for number in range(len(tokens))]
    if words[:1] != ["LOAD"] or "INFILE" not in words[:5] or "TABLE" not in words:
        return tokens
    file, table = words.index("INFILE"), words.index("TABLE")
    stop = table + 2
    while stop + 1 < len(tokens) and tokens[stop].token_type is _T.DOT:
        stop += 2
    inpath = Token(_T.VAR, "INPATH", tokens[file].line, 1, tokens[file].start, tokens[file].end)
    into = [_word(_T.INTO, tokens[table]), *tokens[table:stop]]
    return [tokens[0], tokens[1], inpath, *tokens[file + 1 : file + 2], *into]


def _oracle_merge(tokens: Tokens) -> Tokens:
    """WHERE of a branch of Oracle's MERGE as its condition, and DELETE WHERE as a branch of its own."""
    tokens = with_inserted_record(tokens)
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


def _dashed_names(tokens: Tokens) -> Tokens:
    """Projects of BigQuery have dashes without quotes: `FROM my-project.d.t`, which is no SQL elsewhere."""
    result: list[Token] = []
    number = 0
    brackets: list[bool] = []
    while number < len(tokens):
        kind, previous = tokens[number].token_type, word_at(tokens, number - 1)
        if kind is _T.L_PAREN:
            brackets.append(word_at(tokens, number + 1) in {*_QUERY_STARTS, "FROM"})
        elif kind is _T.R_PAREN and brackets:
            brackets.pop()
        # FROM in the brackets of a function, as in `extract(DAY FROM a-b.c)`, has a value behind it.
        is_table = previous in _BEFORE_TABLE and (previous != "FROM" or not brackets or brackets[-1])
        end = _dashed_end(tokens, number) if is_table else number
        first, last = tokens[number], tokens[end]
        text = "".join(token.text for token in tokens[number : end + 1])
        joined = Token(_T.IDENTIFIER, text, first.line, last.col, first.start, last.end)
        result.append(joined if end > number else first)
        number = end + 1
    return result


def _dashed_end(tokens: Tokens, start: int) -> int:
    """Return the position of the last part of a name with dashes and no blanks, in front of a dot."""
    end = start
    while (
        end + 2 < len(tokens)
        and tokens[end + 1].token_type is _T.DASH
        and tokens[end + 1].start == tokens[end].end + 1
        and tokens[end + 2].start == tokens[end + 1].end + 1
    ):
        end += 2
    return end if end + 1 < len(tokens) and tokens[end + 1].token_type is _T.DOT else start


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


def _bound_numbers(tokens: Tokens) -> Tokens:
    """Return `:1` of a text that EXECUTE IMMEDIATE runs as a `:name`."""
    is_bound = [
        number > 0 and token.token_type is _T.NUMBER and tokens[number - 1].token_type is _T.COLON
        for number, token in enumerate(tokens)
    ]
    if not any(is_bound):
        return tokens
    pairs = zip(tokens, is_bound, strict=True)
    return [
        Token(_T.VAR, token.text, token.line, token.col, token.start, token.end) if bound else token
        for token, bound in pairs
    ]


def _oracle(tokens: Tokens) -> Tokens:
    return _oracle_merge(_bound_numbers(tokens))


def _tsql(tokens: Tokens) -> Tokens:
    return _output_clause(with_read_files(tokens))


_REWRITES_BY_KIND: dict[TokenType, Callable[[Tokens], Tokens]] = {
    _T.STRING: _without_phrases,
    _T.DASH: _dashed_names,
    _T.PIPE_GT: with_known_operators,
}
"""Rewrites of statements that have a token of a kind, so that a long one without it costs nothing."""
_DIALECT_REWRITES: dict[str, Callable[[Tokens], Tokens]] = {
    "bigquery": with_copied_files,
    "duckdb": _created_pivot,
    "mysql": _load_data,
    "oracle": _oracle,
    "redshift": _remove_duplicates,
    "tsql": _tsql,
}
