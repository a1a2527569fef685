"""Parser of scripts: from SQL text to syntax trees and tokens."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice, pairwise
from typing import TypeAlias

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError, TokenError
from sqlglot.tokenizer_core import Token, TokenType
from sqlglot.tokens import Tokenizer

from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import FieldError, LineageError, TooLarge, UnreadableDocument
from fll_hbase.sources.sql.dialects import SUGGESTED, facts_of
from fll_hbase.sources.sql.dialects.facts import DialectFacts
from fll_hbase.sources.sql.script.complexity import find_excess
from fll_hbase.sources.sql.script.double_quotes import QUOTED_NAMES, has_quoted_names
from fll_hbase.sources.sql.script.known_words import with_known_words
from fll_hbase.sources.sql.script.parser_steps import ParserSteps, ParserStepsExceeded
from fll_hbase.sources.sql.script.row_cursors import RowTokens
from fll_hbase.sources.sql.script.script_text import (
    UnclosedPart,
    blank,
    find_unclosed,
    plain_starts,
    without_client_commands,
)
from fll_hbase.sources.sql.script.source_text import SourceText
from fll_hbase.sources.sql.script.statement_splitter import (
    FunctionTokens,
    ProcedureTokens,
    ScriptPart,
    split_statements,
)
from fll_hbase.sources.sql.script.statement_tokens import assigned_names

REPLACEMENT = "\ufffd"
"""Replaces lone surrogates in a script, since UTF-8 cannot encode them."""
_VARIABLE = re.compile(r"\$[{(][\w.:]{1,100}[})]")
_QUERY_START = re.compile(r"[\s(]*(?:SELECT|WITH)\b", re.IGNORECASE)
_HALF = re.compile("[\ud800-\udfff]")

_NO_STATEMENTS = (exp.Command, exp.Alias, exp.Condition, exp.Identifier)
"""Trees that the library returns for text that it does not understand or that is only an expression."""
SUGGESTED_MAX = 5
"""Maximum number of dialects that a statement's error names."""
SUGGESTED_SIZE_MAX = 2_000
"""Length of the longest statement that is tried in other dialects."""
CHARACTERS_MAX = 1_000_000
"""Length of the longest script, whose tokens occupy a processor for a second and need 200 MB."""

MALFORMED = (AttributeError, IndexError, KeyError, SqlglotError, TypeError, ValueError)
"""Errors of reading a tree that lacks a part, since the library accepts more than any grammar."""

# The library logs the text of statements; the warnings of a document report what is relevant.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


class StatementTooLarge(TooLarge):
    """A text without a readable statement, in which a statement is too much for the parser."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement: its tree, its tokens, and `sql`, the text of their offsets, mostly the whole script.

    `caution` says why the text may have another meaning, "" if it cannot. `procedure` is the lower-case name
    of a procedure in the script that it calls, else "".
    """

    tree: exp.Expr
    sql: str
    tokens: Sequence[Token]
    caution: str = ""
    procedure: str = ""


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure that the script creates: its statements, and its variables in lower case.

    A block without a name runs where it is. `language` is "" unless the body is not SQL and not read.
    """

    name: str
    variables: frozenset[str]
    statements: tuple[ScriptItem, ...]
    language: str


@dataclass(frozen=True, slots=True)
class Function:
    """A function in the script that reads tables: its lower-case parameters, and its query if known."""

    parameters: tuple[str, ...]
    query: Statement | None


@dataclass(frozen=True, slots=True)
class BrokenStatement:
    """A statement that cannot be parsed, with its error. `exceeds` means that it is too much for the parser.

    `assigned` are the names that it may set, as returned by `assigned_names`. `record` is the name of its
    rows. `tokens` are its tokens, or () for a query of rows.
    """

    error: FieldError
    exceeds: bool = False
    assigned: frozenset[str] = frozenset()
    record: str = ""
    tokens: Sequence[Token] = ()


@dataclass(frozen=True, slots=True)
class Rows:
    """Names in a procedure that represent the rows of a query or of a cursor (see `RowTokens`).

    `query` is None if the rows come from `cursor`, or if the query cannot be parsed and has no `record`.
    """

    record: str
    variables: tuple[str, ...]
    cursor: str
    query: Statement | None


ScriptItem: TypeAlias = Statement | Procedure | Rows | BrokenStatement


@dataclass(frozen=True, slots=True)
class Script:
    """The statements of a text in its dialect, and the variables that its blocks declare, in lower case.

    `functions` are keyed by the last part of their names, in lower case. `has_halves` means that the text had
    lone surrogates, which were replaced by REPLACEMENT. `warnings` are about how the whole text is read.
    """

    dialect: Dialect
    facts: DialectFacts
    statements: tuple[ScriptItem, ...]
    variables: frozenset[str]
    has_halves: bool
    warnings: tuple[str, ...]
    functions: Mapping[str, Function]


def parse_script(sql: str, dialect: str) -> Script:
    """Parse a text. Text that is not SQL of the dialect becomes broken statements.

    An empty text has no statements. If all statements are broken, raises UnreadableDocument with every error,
    or StatementTooLarge with the first statement that is too much for the parser. Also raises TooLarge for
    more than CHARACTERS_MAX characters, and the errors of `deadline.check`.
    """
    if len(sql) > CHARACTERS_MAX:
        raise TooLarge(f"sql: has more than {CHARACTERS_MAX:,} characters; send it in parts")
    has_halves = not sql.isascii() and _HALF.search(sql) is not None
    sql = _HALF.sub(REPLACEMENT, sql) if has_halves else sql
    # Editors put a byte order mark at the beginning of files. The space keeps offsets unchanged.
    sql = f" {sql[1:]}" if sql.startswith("\ufeff") else sql
    facts = facts_of(dialect)
    sql = without_client_commands(sql, facts)
    parser = _StatementParser(facts)
    statements, variables = parser.parse(sql)
    errors = [item.error for item in statements if isinstance(item, BrokenStatement)]
    if errors and len(errors) == len(statements):
        for number, item in enumerate(statements, 1):
            if isinstance(item, BrokenStatement) and item.exceeds:
                raise StatementTooLarge(f"sql: statement {number}, {item.error.detail}")
        raise UnreadableDocument(errors)
    warnings = (QUOTED_NAMES,) if parser.has_quoted_names else ()
    return Script(parser.dialect, facts, statements, variables, has_halves, warnings, parser.functions)


def without_literals(sql: str, *, dialect: str) -> str:
    """Return a text with `?` for literals, without comments, cut to TEXT_CHARS_MAX characters.

    Line breaks become spaces, and a list of literals after IN a single `?`. A text that cannot be split into
    words, or has more than CHARACTERS_MAX characters, becomes "", since its literals are unknown.
    """
    if not sql or len(sql) > CHARACTERS_MAX:
        return ""
    text = _HALF.sub(REPLACEMENT, sql)
    library_dialect = Dialect.get_or_raise(facts_of(dialect).parser_name)
    try:
        tokens = _plain_tokenizer(type(library_dialect))(library_dialect).tokenize(text)
    except SqlglotError:
        return ""
    return SourceText(text, tokens).full_text()


def _reads(dialect: str, statement: str) -> bool:
    """Return whether a text is one statement in a dialect, but not a procedure, call or mere expression."""
    parser = _StatementParser(facts_of(dialect))
    parser.has_suggested = True
    items, _ = parser.parse(statement)
    item = items[0] if len(items) == 1 else None
    return isinstance(item, Statement) and not item.procedure and not isinstance(item.tree, _NO_STATEMENTS)


class _StatementParser:
    """Parses the statements of a text separately, so that a broken statement does not affect the others.

    `has_quoted_names` means that double quotes enclose names (see `double_quotes`). `has_suggested` means
    that no further error has to name other dialects.
    """

    def __init__(self, facts: DialectFacts) -> None:
        self._facts = facts
        self.dialect = Dialect.get_or_raise(facts.parser_name)
        self._parser = ParserSteps(self.dialect)
        self._tokenizer = _plain_tokenizer(type(self.dialect))(self.dialect)
        self.functions: dict[str, Function] = {}
        self.has_quoted_names = False
        self.has_suggested = False

    def parse(self, sql: str) -> tuple[tuple[ScriptItem, ...], frozenset[str]]:
        """Return the items of a text and its variables, and add its functions to `functions`.

        A text that cannot be split into tokens, or is nested too deeply, is one broken statement. Raises the
        errors of `deadline.check`.
        """
        try:
            tokens = self._tokens(sql)
            if not self.has_quoted_names and has_quoted_names(tokens, sql, self._facts):
                # The engine has one setting for all statements.
                self.has_quoted_names = True
                self._tokenizer = _plain_tokenizer(type(self.dialect), has_quoted_names=True)(self.dialect)
                tokens = self._tokens(sql)
            parts, variables = split_statements(self._facts.rewrite_script(tokens), self._facts)
            items = (self._item(part, sql) for part in parts)
            return tuple(item for item in items if item is not None), variables
        except RecursionError:
            return (BrokenStatement(FieldError("sql", "nested too deeply"), exceeds=True),), frozenset()
        except SqlglotError as error:
            return (_broken(f"no {self._facts.name} SQL: {_first_line(error)}"),), frozenset()

    def _tokens(self, sql: str) -> list[Token]:
        """Return the tokens of a text, with two tokens, UNKNOWN and `;`, for each unclosed part.

        Raises SqlglotError and the errors of `deadline.check`.
        """
        tokens = self._closed_tokens(sql)
        if tokens is not None:
            return tokens
        parts = find_unclosed(sql, lambda text: self._closed_tokens(text) is not None)
        errors = [token for part in parts for token in _unclosed_tokens(part)]
        return sorted([*self._tokenizer.tokenize(blank(sql, parts)), *errors], key=lambda token: token.start)

    def _closed_tokens(self, sql: str) -> list[Token] | None:
        """Return the tokens of a text, or None if a quote or comment is not closed.

        The library reports only open quotes, so append a `;`, which does not become a token after an open
        comment. Raises the errors of `deadline.check`, since a text with open quotes is read several times.
        """
        deadline.check()
        try:
            tokens = self._tokenizer.tokenize(f"{sql}\n;")
        except TokenError:
            return None
        return tokens[:-1] if tokens and tokens[-1].start > len(sql) else None

    def _item(self, part: ScriptPart, sql: str) -> ScriptItem | None:
        """Parse a part of a script; return None if it is empty or, added to `functions`, a function."""
        # Parsing takes most of the time for a long script.
        deadline.check()
        if isinstance(part, ProcedureTokens):
            # The body of a procedure in PostgreSQL or Snowflake is usually a string.
            body, variables = self.parse(part.text) if not part.language else ((), frozenset())
            items = (self._item(inner, sql) for inner in part.parts)
            body = (*(item for item in items if item is not None), *body)
            return Procedure(part.name, part.variables | variables, body, part.language)
        if isinstance(part, FunctionTokens):
            self._add_function(part, sql)
            return None
        if isinstance(part, RowTokens):
            query = self._statement(part.tokens, sql) if part.tokens else None
            if isinstance(query, BrokenStatement) and part.record:
                return replace(query, assigned=frozenset(part.variables), record=part.record)
            parsed = query if isinstance(query, Statement) else None
            return Rows(part.record, part.variables, part.cursor, parsed)
        statement = self._statement(part.tokens, sql)
        if isinstance(statement, BrokenStatement):
            assigned = frozenset(assigned_names(part.tokens))
            return replace(statement, assigned=assigned, tokens=part.tokens)
        if part.procedure and isinstance(statement, Statement):
            return replace(statement, procedure=part.procedure)
        return statement

    def _add_function(self, part: FunctionTokens, sql: str) -> None:
        """Add a function to `functions`, with its query, which is None unless its body is one valid query."""
        has_suggested, self.has_suggested = self.has_suggested, True
        items = self.parse(part.text)[0] if _QUERY_START.match(part.text) else ()
        query = self._statement(part.tokens, sql) if part.tokens else items[0] if len(items) == 1 else None
        self.has_suggested = has_suggested
        body = query if isinstance(query, Statement) and isinstance(query.tree, exp.Query) else None
        self.functions[part.name.rpartition(".")[2]] = Function(part.parameters, body)

    def _statement(self, tokens: Sequence[Token], sql: str) -> Statement | BrokenStatement | None:
        """Parse the tokens, at least one, of a statement; return None for a lone `;`, which is empty."""
        if tokens[0].token_type is TokenType.UNKNOWN:
            return _broken(tokens[0].text)
        if (broken := _broken_by_variable(tokens, sql)) is not None:
            return broken
        excess = find_excess(tokens, self.dialect)
        if excess:
            return _excessive(tokens, excess)
        rewritten = with_known_words(tokens, self._facts)
        if rewritten[0].token_type in self.dialect.tokenizer_class.COMMANDS:
            # The parser expects the text after the first word of a command as a single token.
            sql = sql[rewritten[0].start : rewritten[-1].end + 1]
            tokens = rewritten = self.dialect.tokenize(sql)
        try:
            trees = self._trees(rewritten, sql)
        except ParserStepsExceeded:
            return _excessive(tokens, "takes too many steps to parse")
        except UnreadableDocument as error:
            return _broken_template(tokens, sql) or self._broken_here(error.errors[0], tokens, sql)
        if trees and isinstance(trees[0], exp.Command) and trees[0].name.upper() == "CREATE":
            # The library skips parts of a CREATE that it cannot read.
            detail = f"line {tokens[0].line}: CREATE has a part that is not understood"
            broken = self._broken_here(FieldError("sql", detail), tokens, sql)
            return broken if broken.error.detail != detail else Statement(trees[0], sql, tokens)
        return Statement(trees[0], sql, tokens, _caution(tokens)) if trees else None

    def _broken_here(self, error: FieldError, tokens: Sequence[Token], sql: str) -> BrokenStatement:
        """Return a broken statement; the first short one names up to SUGGESTED_MAX dialects that accept it.

        Short statements have at most SUGGESTED_SIZE_MAX characters.
        """
        text = sql[tokens[0].start : tokens[-1].end + 1]
        if self.has_suggested or len(text) > SUGGESTED_SIZE_MAX:
            return BrokenStatement(error)
        self.has_suggested = True
        others = list(islice((name for name in SUGGESTED if _reads(name, text)), SUGGESTED_MAX))
        if not others:
            return BrokenStatement(error)
        hint = f"read as {self._facts.name}, but valid in {', '.join(others)}: give `dialect`"
        return BrokenStatement(replace(error, detail=f"{error.detail} ({hint})"))

    def _trees(self, tokens: Sequence[Token], sql: str) -> list[exp.Expr]:
        """Parse a statement. Raises UnreadableDocument, ParserStepsExceeded, or as `deadline.check` does."""
        try:
            trees = self._parser.parse(tokens, sql)
        except (LineageError, ParserStepsExceeded):
            # A LineageError here comes from the deadline.
            raise
        except ParseError as error:
            raise _sql_error(_describe_position(error)) from error
        except RecursionError as error:
            raise _sql_error("nested too deeply") from error
        except Exception as error:  # the library fails in many ways on text that is not SQL
            detail = _first_line(error) or type(error).__name__
            raise _sql_error(f"no {self._facts.name} SQL: {detail}") from error
        return [tree for tree in trees if isinstance(tree, exp.Expr)]


@cache
def _plain_tokenizer(dialect: type[Dialect], *, has_quoted_names: bool = False) -> type[Tokenizer]:
    """Return the tokenizer of a dialect without commands, which make one token of the text up to a `;`.

    With `has_quoted_names`, double quotes enclose names.
    """
    members: dict[str, object] = {"COMMANDS": set()}
    if has_quoted_names:
        members["QUOTES"] = [quote for quote in dialect.tokenizer_class.QUOTES if quote != '"']
        members["IDENTIFIERS"] = [*dialect.tokenizer_class.IDENTIFIERS, '"']
    return type("PlainTokenizer", (dialect.tokenizer_class,), members)


def _unclosed_tokens(part: UnclosedPart) -> list[Token]:
    """Return two tokens in place of an unclosed part: UNKNOWN, with the error as its text, and `;`."""
    detail = f"line {part.first_line}: a quote or comment is not closed"
    if part.last_line > part.first_line:
        detail = f"{detail}; left out up to line {part.last_line}"
    kinds = ((TokenType.UNKNOWN, detail), (TokenType.SEMICOLON, ";"))
    return [Token(kind, text, part.first_line, 1, part.start, part.start) for kind, text in kinds]


def _caution(tokens: Sequence[Token]) -> str:
    """Return a warning if a quoted text contains the beginning of another statement, else ""."""
    for token in tokens:
        if token.end - token.start > len(token.text) and ";" in token.text and any(plain_starts(token.text)):
            return f"line {token.line}: a quoted text has a statement in it; a quote may not be closed"
    return ""


def _describe_position(error: ParseError) -> str:
    """Return line, column, word and reason of a parse error, or its first line if it has no position."""
    details = error.errors[0] if error.errors else {}
    if details.get("line"):
        word = details.get("highlight") or ""
        near = f", near {word[:100]!r}" if word else ""
        # The library shows its own objects after some descriptions.
        description = re.split(r" (?:but got|for) <", details["description"])[0].rstrip(".")
        # The library reports the column of the word's last letter.
        column = max(1, details["col"] - len(word) + 1)
        return f"line {details['line']} column {column}{near}: {description}"
    return _first_line(error)


def _first_line(error: Exception) -> str:
    """Return the first line of an error's message, at most 300 characters, or "" if it has none."""
    return (str(error).splitlines() or [""])[0][:300]


def _broken(detail: str) -> BrokenStatement:
    """Return a broken statement with an error at the member `sql` of the document."""
    return BrokenStatement(FieldError("sql", detail))


def _excessive(tokens: Sequence[Token], detail: str) -> BrokenStatement:
    """Return a statement that is too much for the parser as broken, located by its first line."""
    return BrokenStatement(FieldError("sql", f"line {tokens[0].line}: {detail}"), exceeds=True)


def _broken_by_variable(tokens: Sequence[Token], sql: str) -> BrokenStatement | None:
    """Return a statement as broken if it has sqlcmd's `$(name)`, a function to the parser, else None."""
    is_variable = any(
        token.text == "$" and following.token_type is TokenType.L_PAREN
        for token, following in pairwise(tokens)
    )
    return _broken_template(tokens, sql) if is_variable else None


def _broken_template(tokens: Sequence[Token], sql: str) -> BrokenStatement | None:
    """Return a statement as broken if it is a template or has a variable such as `${name}`, else None."""
    text = sql[tokens[0].start : tokens[-1].end + 1]
    if (variable := _VARIABLE.search(text)) is not None:
        return _broken(f"line {tokens[0].line}: has a variable, {variable[0]}; send the SQL with its value")
    if "{{" not in text and "{%" not in text:
        return None
    return _broken(f"line {tokens[0].line}: is a template ({{{{ }}}}, {{% %}}); send the SQL that it gives")


def _sql_error(detail: str) -> UnreadableDocument:
    """Return an exception with one error, at the member `sql` of the document."""
    return UnreadableDocument([FieldError("sql", detail)])
