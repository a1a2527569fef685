"""Parser of scripts: SQL text to syntax trees and tokens."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType
from sqlglot.tokens import Tokenizer

from fll_hbase.errors import FieldError, UnreadableDocument
from fll_hbase.sources.sql.statement_splitter import (
    CallTokens,
    ProcedureTokens,
    ScriptPart,
    split_statements,
)

DIALECTS = ("spark", "bigquery", "hive", "postgres", "snowflake", "trino", "tsql")
"""Supported dialects, each with golden cases; the first is the default."""

DEPTH_MAX = 1_000
"""Nesting of parentheses; the parser's time grows with the square of it."""

# The library logs the text of statements; the warnings of a document report what matters of them.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement: its tree, and the text and tokens that it was parsed from."""

    tree: exp.Expr
    sql: str
    tokens: Sequence[Token]


@dataclass(frozen=True, slots=True)
class Call:
    """A statement that calls a procedure, by its name in lower case, if the script creates that."""

    name: str
    statement: Statement


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure that the script creates: its statements, and its variables in lower case.

    `language` is that of a body which is not SQL and so is not read.
    """

    name: str
    variables: frozenset[str]
    statements: tuple[ScriptItem, ...]
    language: str = ""


@dataclass(frozen=True, slots=True)
class BrokenStatement:
    """A statement that cannot be parsed, with its error."""

    error: FieldError


ScriptItem: TypeAlias = Statement | Call | Procedure | BrokenStatement


@dataclass(frozen=True, slots=True)
class Script:
    """The statements of a text in its dialect, and the variables that its blocks declare, in lower case."""

    dialect: Dialect
    statements: tuple[ScriptItem, ...]
    variables: frozenset[str] = frozenset()


def parse_script(sql: str, dialect: str) -> Script:
    """Parse a text; what is not SQL of that dialect becomes broken statements.

    Raises UnreadableDocument with every error if no statement can be parsed.
    """
    parser_dialect = Dialect.get_or_raise(dialect)
    statements, variables = _StatementParser(parser_dialect, dialect).parse(sql)
    errors = [item.error for item in statements if isinstance(item, BrokenStatement)]
    if errors and len(errors) == len(statements):
        raise UnreadableDocument(errors)
    return Script(parser_dialect, statements, variables)


class _StatementParser:
    """Parses the statements of a text one by one, so that a broken one leaves the others as they are."""

    def __init__(self, dialect: Dialect, dialect_name: str) -> None:
        self._dialect = dialect
        self._dialect_name = dialect_name
        # The first error of a statement has a position; those that follow are mostly its consequences.
        self._parser = dialect.parser(error_level=ErrorLevel.IMMEDIATE)

    def parse(self, sql: str) -> tuple[tuple[ScriptItem, ...], frozenset[str]]:
        """Return the items of a text and its variables; one broken statement if it has no tokens."""
        try:
            tokens = _plain_tokenizer(type(self._dialect))(self._dialect).tokenize(sql)
            parts, variables = split_statements(tokens, self._dialect_name)
            items = (self._item(part, sql) for part in parts)
            return tuple(item for item in items if item is not None), variables
        except RecursionError:
            return (_broken("nested too deeply"),), frozenset()
        except SqlglotError as error:
            return (_broken(f"no {self._dialect_name} SQL: {_first_line(error)}"),), frozenset()

    def _item(self, part: ScriptPart, sql: str) -> ScriptItem | None:
        if isinstance(part, ProcedureTokens):
            # The body of a procedure of PostgreSQL or Snowflake is mostly a string of its own.
            body, variables = self.parse(part.text) if not part.language else ((), frozenset())
            items = (self._item(inner, sql) for inner in part.parts)
            body = (*body, *(item for item in items if item is not None))
            return Procedure(part.name, part.variables | variables, body, part.language)
        statement = self._statement(part.tokens, sql)
        if isinstance(part, CallTokens) and isinstance(statement, Statement):
            return Call(part.name, statement)
        return statement

    def _statement(self, tokens: Sequence[Token], sql: str) -> Statement | BrokenStatement | None:
        if _depth(tokens) > DEPTH_MAX:
            return _broken("nested too deeply")
        if tokens[0].token_type in self._dialect.tokenizer_class.COMMANDS:
            # The parser expects the text behind the first word of a command as one token.
            sql = sql[tokens[0].start : tokens[-1].end + 1]
            tokens = self._dialect.tokenize(sql)
        try:
            trees = self._trees(tokens, sql)
        except UnreadableDocument as error:
            return BrokenStatement(error.errors[0])
        return Statement(trees[0], sql, tokens) if trees else None

    def _trees(self, tokens: Sequence[Token], sql: str) -> list[exp.Expr]:
        """Parse the tokens of one statement. Raises UnreadableDocument."""
        try:
            trees = self._parser.parse([*_implied_words(tokens), *tokens], sql)
        except ParseError as error:
            raise _sql_error(_describe_position(error)) from error
        except RecursionError as error:
            raise _sql_error("nested too deeply") from error
        except Exception as error:  # the library fails in many ways on text that is not SQL
            detail = _first_line(error) or type(error).__name__
            raise _sql_error(f"no {self._dialect_name} SQL: {detail}") from error
        return [tree for tree in trees if isinstance(tree, exp.Expr)]


@cache
def _plain_tokenizer(dialect: type[Dialect]) -> type[Tokenizer]:
    """Return the tokenizer of a dialect without commands, which make one token of all up to the next `;`."""
    return type("PlainTokenizer", (dialect.tokenizer_class,), {"COMMANDS": set()})


def _implied_words(tokens: Sequence[Token]) -> list[Token]:
    """Return CREATE OR for a statement that begins with REPLACE TABLE, which the library does not parse."""
    first = tokens[0]
    if len(tokens) < 2 or first.text.upper() != "REPLACE" or tokens[1].token_type is not TokenType.TABLE:
        return []
    kinds = (TokenType.CREATE, TokenType.OR)
    return [Token(kind, kind.name, first.line, first.col, first.start, first.start) for kind in kinds]


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
        # The library shows its own objects behind some descriptions.
        description = re.split(r" (?:but got|for) <", details["description"])[0].rstrip(".")
        # The library reports the column of the last letter of the word.
        column = max(1, details["col"] - len(word) + 1)
        return f"line {details['line']} column {column}{near}: {description}"
    return _first_line(error)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:300]


def _broken(detail: str) -> BrokenStatement:
    return BrokenStatement(FieldError("sql", detail))


def _sql_error(detail: str) -> UnreadableDocument:
    return UnreadableDocument([FieldError("sql", detail)])
