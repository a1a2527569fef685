"""Which statements are in a script: text to syntax trees, or one clear fault with its place."""

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
"""Those that have golden cases; the first is the default."""

DEPTH_MAX = 1_000

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # what it would log of a statement, warnings say


@dataclass(frozen=True, slots=True)
class Script:
    """A text in its dialect, with its tokens and the trees of its statements."""

    sql: str
    dialect: Dialect
    tokens: tuple[Token, ...]
    statements: tuple[exp.Expr, ...]


def parse(sql: str, dialect: str) -> Script:
    """The statements of a text; raises UnreadableDocument for what is no SQL of that dialect."""
    spoken = Dialect.get_or_raise(dialect)
    try:
        tokens = spoken.tokenize(sql)
        if _depth(tokens) > DEPTH_MAX:
            raise _fault("nested too deeply")
        trees = spoken.parser(error_level=ErrorLevel.IMMEDIATE).parse(tokens, sql)
    except UnreadableDocument:
        raise
    except ParseError as error:
        raise _fault(_place(error)) from error
    except SqlglotError as error:
        raise _fault(f"no {dialect} SQL: {_first_line(error)}") from error
    except RecursionError as error:
        raise _fault("nested too deeply") from error
    except Exception as error:
        raise _fault(f"no {dialect} SQL: {_first_line(error) or type(error).__name__}") from error
    return Script(sql, spoken, tuple(tokens), tuple(tree for tree in trees if isinstance(tree, exp.Expr)))


def _depth(tokens: Sequence[Token]) -> int:
    """How deep parentheses stand inside one another: the parser's time grows with the square of it."""
    deepest = depth = 0
    for token in tokens:
        if token.token_type is TokenType.L_PAREN:
            depth += 1
            deepest = max(deepest, depth)
        elif token.token_type is TokenType.R_PAREN:
            depth -= 1
    return deepest


def _place(error: ParseError) -> str:
    said = error.errors[0] if error.errors else {}
    if said.get("line"):
        word = said.get("highlight") or ""
        near = f", near {word[:100]!r}" if word else ""
        column = max(1, said["col"] - len(word) + 1)  # it tells that of the last letter
        return f"line {said['line']} column {column}{near}: {said['description'].rstrip('.')}"
    return _first_line(error)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:300]


def _fault(detail: str) -> UnreadableDocument:
    return UnreadableDocument([FieldError("sql", detail)])
