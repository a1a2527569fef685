"""Parser of scripts: SQL text to syntax trees and tokens."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from fll_hbase.errors import FieldError, UnreadableDocument

DIALECTS = ("spark", "bigquery", "hive", "postgres", "snowflake", "trino", "tsql")
"""Supported dialects, each with golden cases; the first is the default."""

DEPTH_MAX = 1_000
"""Nesting of parentheses; the parser's time grows with the square of it."""

# The library logs the text of statements; the warnings of a document report what matters of them.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True)
class Script:
    """A text in its dialect, with its tokens and the trees of its statements."""

    sql: str
    dialect: Dialect
    tokens: tuple[Token, ...]
    statements: tuple[exp.Expr, ...]


def parse_script(sql: str, dialect: str) -> Script:
    """Parse a text; raises UnreadableDocument with the position for what is not SQL of that dialect."""
    parser_dialect = Dialect.get_or_raise(dialect)
    try:
        tokens = parser_dialect.tokenize(sql)
        if _depth(tokens) > DEPTH_MAX:
            raise _sql_error("nested too deeply")
        # The first error has a position; those that follow are mostly its consequences.
        trees = parser_dialect.parser(error_level=ErrorLevel.IMMEDIATE).parse(tokens, sql)
    except UnreadableDocument:
        raise
    except ParseError as error:
        raise _sql_error(_describe_position(error)) from error
    except SqlglotError as error:
        raise _sql_error(f"no {dialect} SQL: {_first_line(error)}") from error
    except RecursionError as error:
        raise _sql_error("nested too deeply") from error
    except Exception as error:  # the library fails in many ways on text that is not SQL
        raise _sql_error(f"no {dialect} SQL: {_first_line(error) or type(error).__name__}") from error
    statements = tuple(tree for tree in trees if isinstance(tree, exp.Expr))
    return Script(sql, parser_dialect, tuple(tokens), statements)


def _depth(tokens: Sequence[Token]) -> int:
    """Return the deepest nesting of parentheses."""
    deepest = depth = 0
    for token in tokens:
        if token.token_type is TokenType.L_PAREN:
            depth += 1
            deepest = max(deepest, depth)
        elif token.token_type is TokenType.R_PAREN:
            depth -= 1
    return deepest


def _describe_position(error: ParseError) -> str:
    details = error.errors[0] if error.errors else {}
    if details.get("line"):
        word = details.get("highlight") or ""
        near = f", near {word[:100]!r}" if word else ""
        # The library reports the column of the last letter of the word.
        column = max(1, details["col"] - len(word) + 1)
        return f"line {details['line']} column {column}{near}: {details['description'].rstrip('.')}"
    return _first_line(error)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:300]


def _sql_error(detail: str) -> UnreadableDocument:
    return UnreadableDocument([FieldError("sql", detail)])
