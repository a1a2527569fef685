"""Double quotes: whether a script has names in them where its dialect has strings by default.

Spark and Databricks read names with `spark.sql.ansi.doubleQuotedIdentifiers`, Hive with `standard` quoted
identifiers, MySQL with ANSI_QUOTES. A script does not always set that; a text where only a name can stand
shows it. Read as strings, the columns of such a script would have no inputs.
"""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from fll_hbase.sources.sql.dialects.facts import DialectFacts
from fll_hbase.sources.sql.script.statement_tokens import Tokens, word_at

_T = TokenType
QUOTED_NAMES = (
    "texts in double quotes are read as names, since one occurs where only a name is valid: "
    "give `dialect` if the script is not of this dialect"
)
"""The warning about a script that is read so."""

_QUERY_STARTS = {"SELECT", "WITH", "FROM"}
_BEFORE_TABLE = {"JOIN", "INTO", "UPDATE", "OVERWRITE"}
_WITH_PATHS = {"COPY", "EXPORT", "IMPORT", "LIST", "LOAD", "SHOW"}
"""Statements with texts behind FROM or INTO."""


def has_quoted_names(tokens: Tokens, sql: str, facts: DialectFacts) -> bool:
    """Return whether a text in double quotes stands where only a name can, if the dialect allows both."""
    if not facts.may_quote_names or '"' not in sql:
        return False
    statement = 0
    brackets: list[bool] = []
    for number, token in enumerate(tokens):
        if token.token_type is _T.SEMICOLON:
            statement, brackets = number + 1, []
        elif token.token_type is _T.L_PAREN:
            brackets.append(word_at(tokens, number + 1) in _QUERY_STARTS)
        elif token.token_type is _T.R_PAREN and brackets:
            brackets.pop()
        elif token.token_type is _T.STRING and sql[token.start : token.start + 1] == '"':
            # FROM in the brackets of a function, as in `trim(BOTH 'x' FROM "a")`, has a value behind it.
            is_query = not brackets or brackets[-1]
            if _is_name(tokens, number, facts, first=statement, is_query=is_query):
                return True
    return False


def _is_name(tokens: Tokens, number: int, facts: DialectFacts, *, first: int, is_query: bool) -> bool:
    """Return whether a text in double quotes is a name, judged by the tokens around it."""
    around = (*tokens[max(0, number - 1) : number], *tokens[number + 1 : number + 2])
    if any(token.token_type is _T.DOT for token in around):
        return True
    previous = word_at(tokens, number - 1) if number else ""
    if word_at(tokens, first) in _WITH_PATHS:
        return False
    if previous == "FROM":
        return is_query
    if previous == "AS":
        # The class of a function, `CREATE FUNCTION f AS "a.B"`, is a string.
        words = {word_at(tokens, position) for position in range(first, min(first + 6, number))}
        return not facts.has_text_aliases and not words & {"FUNCTION", "MACRO"}
    return previous in _BEFORE_TABLE
