"""Double quotes: whether they enclose names in a script, although its dialect has strings by default.

Spark and Databricks read names with `spark.sql.ansi.doubleQuotedIdentifiers`, Hive with `standard` quoted
identifiers, MySQL with ANSI_QUOTES. A script may lack that setting, but a quoted text where only a name is
possible shows it. If they were read as strings, the script's columns would have no inputs.
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
"""The warning about a script whose quoted texts are read as names."""

_QUERY_STARTS = {"SELECT", "WITH", "FROM"}
_BEFORE_TABLE = {"JOIN", "INTO", "UPDATE", "OVERWRITE"}
_WITH_PATHS = {"COPY", "EXPORT", "IMPORT", "LIST", "LOAD", "SHOW"}
"""Statements with texts after FROM or INTO."""


def has_quoted_names(tokens: Tokens, sql: str, facts: DialectFacts) -> bool:
    """Return whether a double-quoted text is where only a name is possible, if the dialect allows both."""
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
            # FROM in a function's brackets, as in `trim(BOTH 'x' FROM "a")`, precedes a value.
            is_query = not brackets or brackets[-1]
            if _is_name(tokens, number, facts, first=statement, is_query=is_query):
                return True
    return False


def _is_name(tokens: Tokens, number: int, facts: DialectFacts, *, first: int, is_query: bool) -> bool:
    """Return whether a double-quoted text is a name, judged by the tokens around it."""
    around = (*tokens[max(0, number - 1) : number], *tokens[number + 1 : number + 2])
    if any(token.token_type is _T.DOT for token in around):
        return True
    previous = word_at(tokens, number - 1) if number else ""
    if word_at(tokens, first) in _WITH_PATHS:
        return False
    if previous == "FROM":
        return is_query
    if previous == "AS":
        # A function's class, as in `CREATE FUNCTION f AS "a.B"`, is a string.
        words = {word_at(tokens, position) for position in range(first, min(first + 6, number))}
        return not facts.has_text_aliases and not words & {"FUNCTION", "MACRO"}
    return previous in _BEFORE_TABLE
