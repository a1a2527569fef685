"""Statement splitter: from the tokens of a script to the tokens of its statements, procedures and calls.

Control flow is skipped, so that the statements inside it are read as if all of them were executed. In T-SQL,
statements also end without a `;` before the next first word.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot.tokenizer_core import Token, TokenType

from fll_hbase.sources.sql.dialects.facts import DialectFacts, StatementEnd
from fll_hbase.sources.sql.script import row_cursors
from fll_hbase.sources.sql.script.row_cursors import RowTokens
from fll_hbase.sources.sql.script.statement_tokens import is_alone_on_line, keyword, word_at

_T = TokenType
_BODY_TEXTS = {_T.STRING, _T.HEREDOC_STRING, _T.RAW_STRING, _T.NATIONAL_STRING}

# The words that end a condition, by the first word of its statement.
_CONDITIONS = {
    "IF": ("THEN",),
    "ELSEIF": ("THEN",),
    "ELSIF": ("THEN",),
    "WHEN": ("THEN",),
    "WHILE": ("DO", "LOOP"),
    "FOR": ("DO", "LOOP"),
    "FORALL": (),
    "UNTIL": ("END",),
}
_WITHOUT_LINEAGE = {
    *("BREAK", "CLOSE", "CONTINUE", "DEALLOCATE", "EXIT", "FETCH", "ITERATE", "LEAVE", "LET", "NULL", "OPEN"),
    *("PERFORM", "PRINT", "RAISE", "RAISERROR", "RETURN", "THROW"),
}
"""First words of procedure statements that write nothing."""
_CONTROL_WORDS = {"ELSE", "LOOP", "REPEAT", "EXCEPTION"}
_ENDED = {"IF", "LOOP", "WHILE", "FOR", "REPEAT", "CASE"}
_TRANSACTION = {"TRAN", "TRANSACTION", "WORK", "ISOLATION", "READ", "DISTRIBUTED", ""}
_BLOCK_KINDS = {"TRY", "CATCH", "ATOMIC"}
_MODIFIERS = {"OR", "REPLACE", "ALTER", "TEMP", "TEMPORARY", "AGGREGATE"}
_ROUTINES = {"PROCEDURE": True, "PROC": True, "FUNCTION": False, "MACRO": False, "TRIGGER": False}
"""Routines that a script can create, and whether CALL or EXECUTE runs them."""
_FROM = re.compile(r"\bFROM\b", re.IGNORECASE)
_PARAMETER_MODES = {"IN", "OUT", "INOUT", "OUTPUT", "VARIADIC"}
_SQL_LANGUAGES = {"", "SQL", "PLPGSQL"}
_CALLS = {"CALL", "EXEC", "EXECUTE"}
_RUN_FOR_ALL = {"DELETE", "INSERT", "MERGE", "UPDATE"}
_EXTERNAL = {"EXTERNAL", "LANGUAGE"}
"""Words after the AS of a routine whose body is elsewhere."""
_NO_DECLARATIONS = {
    *("ALTER", "COPY", "CREATE", "DELETE", "DROP", "INSERT", "MERGE", "SELECT", "TRUNCATE", "UPDATE", "WITH")
}
"""First words that cannot begin a declaration."""
_FORALL_MAX = 60
"""Tokens of FORALL before the statement that it runs for each element."""

_CLOSING = {_T.L_PAREN: _T.R_PAREN, _T.L_BRACKET: _T.R_BRACKET, _T.CASE: _T.END}

_QUERY_STARTS = {"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE"}
_STARTS = _QUERY_STARTS | {
    *("ALTER", "BEGIN", "COMMIT", "CREATE", "DECLARE", "DENY", "DROP", "ELSE", "END", "EXEC", "EXECUTE"),
    *("FETCH", "GRANT", "IF", "PRINT", "RAISERROR", "RETURN", "REVOKE", "ROLLBACK", "SET", "THROW"),
    *("TRUNCATE", "USE", "WHILE", "WITH"),
}
"""First words of T-SQL statements; all but THROW are reserved."""
_CONTINUED_AFTER = {"UNION", "ALL", "EXCEPT", "INTERSECT", "AS", "THEN", "FOR", "OR", "UPDATE"}
_OPERATORS = {_T.DOT, _T.COMMA, _T.EQ, _T.PLUS, _T.DASH, _T.STAR, _T.SLASH, _T.NEQ, _T.LT, _T.GT}
_PERMISSIONS = {"GRANT", "REVOKE", "DENY"}
# Words that may follow the first word of a statement once, as SELECT does in INSERT.
_CONTINUATIONS = {
    "INSERT": {"SELECT", "EXEC", "EXECUTE", "WITH"},
    "WITH": _QUERY_STARTS,
    "UPDATE": {"SET"},
    "ALTER": {"DROP", "ALTER", "SET", "CREATE", "WITH"},
    "DECLARE": {"SET"},
}
_OBJECTS = {"TABLE", "VIEW", "PROCEDURE", "PROC", "FUNCTION", "INDEX", "SCHEMA", "DATABASE", "COLUMN"}


@dataclass(frozen=True, slots=True)
class StatementTokens:
    """Tokens of one statement. `procedure` is the lower-case name in the script that it may call, or ""."""

    tokens: tuple[Token, ...]
    procedure: str


@dataclass(frozen=True, slots=True)
class ProcedureTokens:
    """A procedure: its lower-case name and variables, and its statements. Without a name it runs at once.

    `text` is a body that is a string, read after the parts. `language` is "" unless the body is not SQL.
    """

    name: str
    variables: frozenset[str]
    parts: tuple[ScriptPart, ...]
    text: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class FunctionTokens:
    """A function that reads tables: its name and parameters in lower case, and its query as tokens or text.

    If both are empty, its body is not a single query.
    """

    name: str
    parameters: tuple[str, ...]
    tokens: tuple[Token, ...]
    text: str


ScriptPart: TypeAlias = StatementTokens | ProcedureTokens | FunctionTokens | RowTokens


def split_statements(tokens: Sequence[Token], facts: DialectFacts) -> tuple[list[ScriptPart], frozenset[str]]:
    """Return the parts of a script, in order, and the variables that its blocks declare, in lower case.

    Left out are triggers, since statements do not run them, functions without a FROM, and statements of
    procedures that write nothing, such as PRINT.
    """
    splitter = _Splitter(tokens, facts)
    return splitter.parts_until(len(tokens)), frozenset(splitter.variables)


class _Splitter:
    """Reads the parts of a script in order; `_position` is always at the beginning of a statement."""

    def __init__(self, tokens: Sequence[Token], facts: DialectFacts) -> None:
        self._tokens = tokens
        self._facts = facts
        self._ends_by_word = facts.end is StatementEnd.NEXT_WORD
        self._position = 0
        self._blocks = 0
        self.variables: set[str] = set()
        self._declared_rows: list[ScriptPart] = []
        # Computed once: a search of the remaining tokens for each routine and declaration would be quadratic.
        self._begins = [number for number in range(len(tokens)) if self._word(number) == "BEGIN"]
        self._separators = [number for number in range(len(tokens)) if self._is_separator(number)]
        self._statements = [
            number
            for number in range(1, len(tokens))
            if tokens[number - 1].token_type is _T.SEMICOLON and self._word(number) in _NO_DECLARATIONS
        ]

    def parts_until(self, stop: int, *, blocks: int = -1) -> list[ScriptPart]:
        """Return the parts up to token `stop`, or only until exactly `blocks` blocks are open."""
        parts: list[ScriptPart] = []
        while self._position < stop and self._blocks != blocks:
            part = self._part(stop)
            parts += self._declared_rows
            self._declared_rows = []
            if part is not None:
                parts.append(part)
        return parts

    def _part(self, stop: int) -> ScriptPart | None:
        """Read a statement, or skip a word of control flow and return None."""
        start = self._label()
        word = self._word(start)
        if self._tokens[start].token_type is _T.SEMICOLON or self._is_separator(start):
            self._position += 1
        elif word == "BEGIN" and self._word(start + 1) not in _TRANSACTION:
            self._blocks += 1
            self._position += 2 if self._word(start + 1) in _BLOCK_KINDS else 1
        elif word == "END":
            self._end()
        elif word in _CONTROL_WORDS:
            self._position += 1
        elif word in _CONDITIONS and (behind := self._condition_end(start, stop)) > start:
            self._position = behind
            if row_cursors.is_count(self._tokens[start:behind]):
                self.variables.add(self._text(start + 1).lower())
            return row_cursors.read_loop(self._tokens[start:behind])
        elif (
            word == "DECLARE"
            and self._facts.has_declare_section
            and (begin := self._declarations_end(start, stop)) < stop
        ):
            self._declare(start, begin)
            self._position = begin
        elif (kind := self._routine_kind(start)) >= 0:
            return self._routine(start, kind, stop)
        else:
            return self._statement(start, stop)
        return None

    def _label(self) -> int:
        """Move past a label and return the position; `<<name>>` may qualify variables, as in `name.x`."""
        start, self._position = self._position, row_cursors.behind_label(self._tokens, self._position)
        if self._position > start + 2:
            self.variables.add(f"{self._text(start + 2).lower()}.")
        return self._position

    def _statement(self, start: int, stop: int) -> ScriptPart | None:
        """Read a statement and note the variables it declares; return None if it has no lineage, as PRINT."""
        end = self._statement_end(start, stop)
        self._position = row_cursors.handler_block(self._tokens, start, end)
        tokens = tuple(self._tokens[start:end])
        if self._facts.declares_in_block and self._word(start) == "DECLARE":
            self.variables |= row_cursors.declared_names(tokens)
            return row_cursors.read_statement(tokens)
        is_assignment = len(tokens) > 1 and tokens[1].token_type is _T.COLON_EQ
        if self._word(start) == "LET" and len(tokens) > 1:
            self.variables.add(tokens[1].text.lower())
        if (rows := row_cursors.read_statement(tokens)) is not None:
            return rows
        if is_assignment or self._word(start) in _WITHOUT_LINEAGE:
            return None
        if (body := self._body_run_at_once(tokens)) is not None:
            return ProcedureTokens("", frozenset(), (), body)
        if self._word(start) in _CALLS:
            return StatementTokens(tokens, self._name(start + 1))
        is_bare_call = self._facts.has_bare_calls and self._is_bare_call(start, end)
        return StatementTokens(tokens, self._name(start) if is_bare_call else "")

    def _is_bare_call(self, start: int, end: int) -> bool:
        """Return whether a statement consists of a name, optionally followed by arguments in parentheses."""
        behind = start + 2 * self._name(start).count(".") + 1
        is_name = self._tokens[start].token_type in (_T.VAR, _T.IDENTIFIER)
        has_arguments = behind < end and self._tokens[behind].token_type is _T.L_PAREN
        return is_name and (
            behind == end or (has_arguments and self._tokens[end - 1].token_type is _T.R_PAREN)
        )

    def _body_run_at_once(self, tokens: Sequence[Token]) -> str | None:
        """Return the constant text that DO, EXEC or EXECUTE [IMMEDIATE] runs, None for other statements."""
        words = [word_at(tokens, number) for number in range(min(4, len(tokens)))]
        is_do = words[0] == "DO" and {*words[1:]} <= {"", "LANGUAGE", *_SQL_LANGUAGES}
        is_exec = self._ends_by_word and words[0] in ("EXEC", "EXECUTE") and _is_constant_text(tokens)
        # The text does not name the arguments of USING.
        is_exec = is_exec or words[: len(tokens)] in (["EXECUTE", "IMMEDIATE", ""], ["EXECUTE", ""])
        texts = [token.text for token in tokens if token.token_type in _BODY_TEXTS]
        return texts[0] if texts and (is_exec or (is_do and len(texts) == 1)) else None

    def _statement_end(self, start: int, stop: int) -> int:
        """Return the position of a statement's end: its `;` or separator, or the next statement."""
        if self._ends_by_word:
            return _end_by_word(self._tokens, start, stop)
        ends = (n for n in range(start, stop) if self._tokens[n].token_type is _T.SEMICOLON)
        # In Oracle, `/` alone may end a statement.
        return min(next(ends, stop), _next_position(self._separators, start, stop))

    def _end(self) -> None:
        """Move past END and the word or name after it; close a block unless it ends an IF, loop or CASE."""
        following = self._word(self._position + 1)
        # In T-SQL, IF and WHILE after END begin the next statement.
        ends_control = following in _ENDED and not self._ends_by_word
        if not ends_control:
            self._blocks = max(0, self._blocks - 1)
        # In Oracle, the name of the ended block may follow END.
        self._position += 2 if ends_control or following in _BLOCK_KINDS else 1
        is_last = self._position + 1 == len(self._tokens) or self._word(self._position + 1) == ";"
        self._position += is_last and bool(self._word(self._position)) and not self._ends_by_word

    def _condition_end(self, start: int, stop: int) -> int:
        """Return the position after a condition, `start` if it has no end."""
        if self._ends_by_word:
            return _condition_end_by_word(self._tokens, start, stop)
        if self._word(start) == "FORALL":
            numbers = range(start + 1, min(stop, start + _FORALL_MAX))
            return next((number for number in numbers if self._word(number) in _RUN_FOR_ALL), start)
        for number in range(start + 1, stop):
            if self._tokens[number].token_type is _T.SEMICOLON:
                break
            if self._word(number) in _CONDITIONS[self._word(start)]:
                # The END of `UNTIL condition END REPEAT` is read as the end of a block.
                return number if self._word(number) == "END" else number + 1
        return start

    def _routine_kind(self, start: int) -> int:
        """Return the position of a word of _ROUTINES in a CREATE or ALTER at `start`, or -1 for others."""
        if self._word(start) not in ("CREATE", "ALTER"):
            return -1
        number = start + 1
        while self._word(number) in _MODIFIERS:
            number += 1
        return number if self._word(number) in _ROUTINES else -1

    def _routine(self, start: int, kind: int, stop: int) -> ProcedureTokens | FunctionTokens | None:
        """Read a routine and move past it; return None for a trigger, or a function that reads no table."""
        name, parameters = self._name(kind + 1), self._parameters(kind)
        outer, self.variables = self.variables, {*parameters}
        if self._ends_by_word:
            parts, text, language = self._body_of_batch(kind, stop), "", ""
        else:
            parts, text, language = self._body_of_block(kind, stop)
        variables, self.variables = frozenset(self.variables), outer
        if self._word(kind) == "TRIGGER":
            return None
        if not _ROUTINES[self._word(kind)]:
            words = {self._word(number) for number in range(kind, self._position)}
            if "FROM" not in words and not (_FROM.search(text) and not language):
                return None
            return FunctionTokens(name, tuple(parameters), self._returned(kind), text)
        return ProcedureTokens(name, variables, tuple(parts), text, language)

    def _body_of_batch(self, kind: int, stop: int) -> list[ScriptPart]:
        """Read the body of a T-SQL routine, which ends with its batch."""
        end = min(_next_position(self._separators, kind, stop), stop)
        # AS also follows EXECUTE, which names the user who runs the body.
        self._position = next(
            (n + 1 for n in range(kind, end) if self._word(n) == "AS" and self._word(n - 1) not in _CALLS),
            end,
        )
        parts = self.parts_until(end)
        self._blocks = 0
        return parts

    def _body_of_block(self, kind: int, stop: int) -> tuple[list[ScriptPart], str, str]:
        """Return the parts of a BEGIN … END body, else the text of a string, and its language, "" for SQL."""
        number, language, text, blocks = kind, "", "", -1
        while number < stop and self._tokens[number].token_type is not _T.SEMICOLON:
            if self._word(number) in ("BEGIN", "DECLARE"):
                self._position, blocks = number, self._blocks
                self._part(stop)
                # A section of declarations ends before BEGIN.
                if self._blocks == blocks and self._word(self._position) == "BEGIN":
                    self._part(stop)
                break
            if (
                self._facts.has_bare_calls
                and self._word(number) in ("AS", "IS")
                and self._word(number + 1) not in _EXTERNAL
                and (begin := self._declarations_end(number, stop)) < stop
            ):
                # These declarations begin without a keyword.
                self._declare(number, begin)
                number = begin
                continue
            if self._word(number) == "LANGUAGE":
                language = self._word(number + 1)
            if self._word(number - 1) == "AS" and self._tokens[number].token_type in _BODY_TEXTS:
                text = self._tokens[number].text
            number += 1
        language = "" if language in _SQL_LANGUAGES else language
        if blocks >= 0:
            return self.parts_until(stop, blocks=blocks), "", language
        self._position = number
        return [], text, language

    def _returned(self, kind: int) -> tuple[Token, ...]:
        """Return the query or `SELECT value` after a function's only RETURN or its AS, () if unclear.

        `kind` is the position of the word FUNCTION; the body has been read up to the current position.
        """
        words = [self._word(number) for number in range(kind, self._position)]
        starts = [number + 1 for number, word in enumerate(words) if word == "RETURN"]
        if (
            not starts
            and "AS" in words[:-1]
            and self._tokens[kind + words.index("AS") + 1].token_type not in _BODY_TEXTS
        ):
            starts = [words.index("AS") + 1]
        if len(starts) != 1 or "DECLARE" in words:
            return ()
        start = starts[0] + (words[starts[0] : starts[0] + 1] == ["TABLE"])
        stop = next((n for n in range(start, len(words)) if words[n] in (";", "END", "GO")), len(words))
        tokens = tuple(self._tokens[kind + start : kind + stop])
        first = next((word for word in words[start:stop] if word != "("), "")
        if tokens and first not in ("SELECT", "WITH", "FROM"):
            tokens = (keyword(_T.SELECT, tokens[0]), *tokens)
        return tokens

    def _parameters(self, kind: int) -> dict[str, None]:
        """Return the lower-case parameters in parentheses after a routine's name, with any `@`, in order."""
        names: dict[str, None] = {}
        depth, expects_name = 0, False
        for number in range(kind, len(self._tokens)):
            token_type = self._tokens[number].token_type
            depth += (token_type is _T.L_PAREN) - (token_type is _T.R_PAREN)
            is_body = depth == 0 and self._word(number) in ("AS", "BEGIN")
            if is_body or token_type is _T.SEMICOLON or (depth == 0 and token_type is _T.R_PAREN):
                break
            if depth == 1 and token_type in (_T.L_PAREN, _T.COMMA):
                expects_name = True
            elif expects_name and self._word(number) not in _PARAMETER_MODES:
                mark = "@" if self._tokens[number].token_type is _T.PARAMETER else ""
                names[f"{mark}{self._text(number + len(mark)).lower()}"] = None
                expects_name = False
        return names

    def _declarations_end(self, start: int, stop: int) -> int:
        """Return the position of BEGIN after declarations, or `stop` if a statement or nothing follows."""
        begin = _next_position(self._begins, start, stop)
        others = (
            _next_position(positions, start, stop) for positions in (self._statements, self._separators)
        )
        return begin if begin < min(others) else stop

    def _declare(self, start: int, stop: int) -> None:
        """Read the declarations between DECLARE and BEGIN; the first word of each is a variable."""
        firsts = (
            number
            for number in range(start + 1, stop)
            if number == start + 1 or self._tokens[number - 1].token_type is _T.SEMICOLON
        )
        self.variables |= {self._tokens[number].text.lower() for number in firsts}
        self._declared_rows += row_cursors.read_declarations(self._tokens[start + 1 : stop])

    def _name(self, number: int) -> str:
        """Return the dotted name at a position, in lower case."""
        parts = [self._text(number)]
        while number + 2 < len(self._tokens) and self._tokens[number + 1].token_type is _T.DOT:
            number += 2
            parts.append(self._text(number))
        return ".".join(parts).lower()

    def _is_separator(self, number: int) -> bool:
        """Return whether a token alone on its line ends a statement: `/` in Oracle, GO in T-SQL."""
        if self._facts.end is StatementEnd.SLASH and self._tokens[number].token_type is _T.SLASH:
            return is_alone_on_line(self._tokens, number)
        return self._ends_by_word and _is_go(self._tokens, number)

    def _text(self, number: int) -> str:
        """Return the text of a token, or "" beyond the end."""
        return self._tokens[number].text if number < len(self._tokens) else ""

    def _word(self, number: int) -> str:
        """Return a token's text in upper case; "" for quoted words, numbers and beyond the end."""
        return word_at(self._tokens, number)


def _is_constant_text(tokens: Sequence[Token]) -> bool:
    """Return whether `EXEC ('text')` or `EXEC sp_executesql N'text'` runs one constant text."""
    kinds = [token.token_type for token in tokens]
    if kinds[1:2] == [_T.L_PAREN]:
        return len(kinds) == 4 and kinds[2] in _BODY_TEXTS
    procedure = word_at(tokens, 1) == "SP_EXECUTESQL"
    return procedure and len(kinds) > 2 and kinds[2] in _BODY_TEXTS


def _next_position(positions: Sequence[int], start: int, default: int) -> int:
    """Return the first of sorted positions from `start` on, or `default` if there is none."""
    index = bisect_left(positions, start)
    return positions[index] if index < len(positions) else default


def _end_by_word(tokens: Sequence[Token], start: int, stop: int) -> int:
    """Return the position after a T-SQL statement at `start`: at its `;`, a GO or the next first word."""
    first_word = word_at(tokens, start)
    closing: list[TokenType] = []
    for number in range(start, stop):
        kind = tokens[number].token_type
        if kind is _T.SEMICOLON or (number > start and _is_go(tokens, number)):
            return number
        if closing and kind is closing[-1]:
            closing.pop()
        elif kind in _CLOSING:
            closing.append(_CLOSING[kind])
        elif not closing and number > start and _is_start(tokens, number):
            word = word_at(tokens, number)
            if not _continues(tokens, number, first_word):
                return number
            # VALUES completes INSERT, so a SELECT after it is another statement.
            first_word = word if word == "WITH" or first_word in _CONTINUATIONS else first_word
        elif not closing and first_word == "INSERT" and word_at(tokens, number) in ("VALUES", "DEFAULT"):
            first_word = "VALUES"
    return stop


def _condition_end_by_word(tokens: Sequence[Token], start: int, stop: int) -> int:
    """Return the position after the condition of an IF or WHILE, or `start` if no statement follows."""
    depth = 0
    for number in range(start + 1, stop):
        kind = tokens[number].token_type
        depth += (kind in _CLOSING) - (kind in _CLOSING.values() and depth > 0)
        if not depth and _is_start(tokens, number):
            return number
    return start


def _is_go(tokens: Sequence[Token], number: int) -> bool:
    """Return whether a token is GO on a line of its own, which ends a batch."""
    return word_at(tokens, number) == "GO" and is_alone_on_line(tokens, number)


def _is_start(tokens: Sequence[Token], number: int) -> bool:
    """Return whether a word may begin a statement at this position."""
    word = word_at(tokens, number)
    if word not in _STARTS or tokens[number - 1].token_type in _OPERATORS:
        return False
    if word == "WITH":
        # WITH is a hint or an option, as `WITH SCHEMABINDING AS`, unless a common table expression follows.
        query = tokens[number + 3 : number + 4]
        return word_at(tokens, number + 2) == "AS" and bool(query) and query[0].token_type is _T.L_PAREN
    return not (word == "FETCH" and word_at(tokens, number - 1) in ("ROW", "ROWS"))


def _continues(tokens: Sequence[Token], number: int, first_word: str) -> bool:
    """Return whether a word that may begin a statement belongs to the one that `first_word` began."""
    word, previous = word_at(tokens, number), word_at(tokens, number - 1)
    if previous in _CONTINUED_AFTER or word in _CONTINUATIONS.get(first_word, ()):
        return True
    if previous == "ON":
        # DELETE and UPDATE belong to a foreign key; SET NOCOUNT ON ends before the next statement.
        return word in ("DELETE", "UPDATE")
    if word == "IF":
        return first_word in ("DROP", "CREATE", "ALTER") and previous in _OBJECTS
    return first_word in _PERMISSIONS and previous in _PERMISSIONS
