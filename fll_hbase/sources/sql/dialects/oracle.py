"""Oracle: upper-case names, PL/SQL, SQL*Plus, and MERGE whose branches have a WHERE."""

from __future__ import annotations

import re

from sqlglot.tokenizer_core import Token, TokenType

from fll_hbase.sources.sql.dialects.facts import DialectFacts, StatementEnd
from fll_hbase.sources.sql.script.statement_tokens import Tokens, keyword, new_token, outer_positions, word_at

_T = TokenType
# A line that ends with `;` is more likely PL/SQL, such as `col NUMBER;` or `EXIT WHEN x;`.
_SQLPLUS = re.compile(
    r"""\s*+(?: @@?\s*\S | (?:EXIT|QUIT)\s*;?\s*$ | (?!.*;\s*$)(?:
    (?:PRO|PROMPT|SPO|SPOOL|WHENEVER|REM|REMARK|DEF|DEFINE|UNDEF|UNDEFINE|COL|COLUMN|CONN|CONNECT|ACC|ACCEPT
    |EXIT|QUIT|CLEAR|TTITLE|BTITLE|VAR|VARIABLE|PAUSE|HOST)\b
    |SET\s+(?:SERVEROUTPUT|ECHO|FEEDBACK|FEED|DEFINE|DEF|VERIFY|VER|HEADING|HEA|PAGESIZE|PAGES|LINESIZE|LIN
    |TIMING|TIMI|TERMOUT|TERM|TRIMSPOOL|TRIMS|TRIMOUT|SQLBLANKLINES|AUTOCOMMIT|AUTO|NUMWIDTH|LONG|SCAN
    |COLSEP)\b ))""",
    re.IGNORECASE | re.VERBOSE,
)


def with_branch_conditions(tokens: Tokens) -> Tokens:
    """Return a MERGE with the WHERE of each branch moved into its WHEN; return other statements unchanged.

    DELETE WHERE becomes a branch of its own after the branch that contains it.
    """
    if word_at(tokens, 0) != "MERGE":
        return tokens
    starts = [number for number in outer_positions(tokens) if word_at(tokens, number) == "WHEN"]
    if not starts:
        return tokens
    stops = [*starts[1:], len(tokens)]
    branches = [_branch(tokens[start:stop]) for start, stop in zip(starts, stops, strict=True)]
    return [*tokens[: starts[0]], *(token for branch in branches for token in branch)]


def _branch(branch: Tokens) -> Tokens:
    """Rewrite a branch of MERGE: its WHERE joins the WHEN, and a DELETE WHERE becomes another branch."""
    outer = outer_positions(branch)
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
        result.append(keyword(_T.DELETE, branch[delete - 1]))
    return result


def _and(condition: Tokens, origin: Token) -> list[Token]:
    """Return the tokens of `AND (condition)` at the position of `origin`; [] for an empty condition."""
    if not condition:
        return []
    opening, closing = new_token(_T.L_PAREN, "(", origin), new_token(_T.R_PAREN, ")", origin)
    return [keyword(_T.AND, origin), opening, *condition, closing]


ORACLE = DialectFacts(
    name="oracle",
    fold=str.upper,
    folds_columns=True,
    has_exact_quotes=True,
    client_command=_SQLPLUS,
    rewrite=with_branch_conditions,
    end=StatementEnd.SLASH,
    has_declare_section=True,
    has_bare_calls=True,
    pseudo_columns=frozenset({"rowid", "rownum", "sysdate", "systimestamp", "uid", "user"}),
    has_sequences=True,
    selects_into_variables=True,
)
