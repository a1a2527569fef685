"""Text of a script before it is split into tokens: unclosed quotes and comments, and commands of clients.

A script with an unclosed quote is cut where a statement clearly ends: at a `;` at the end of a line, if the
next line begins with the first word of a statement. A statement whose quote is never closed is left out, and
the others are read. Commands of clients are lines without `;`, which would break the next statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from fll_hbase.sources.sql.dialects.facts import DialectFacts

_FIRST_WORDS = {
    *("ALTER", "ANALYZE", "BEGIN", "CACHE", "CALL", "COMMENT", "COMMIT", "COPY", "CREATE", "DECLARE"),
    *("DELETE", "DROP", "EXEC", "EXECUTE", "FROM", "GRANT", "INSERT", "LOAD", "MERGE", "REPLACE", "SELECT"),
    *("SET", "TRUNCATE", "UPDATE", "USE", "WITH"),
}
_LAST_LINE = re.compile(r";\s*(?:--.*|/\*[^*]*\*/\s*)?$")
_COMMENT_LINE = re.compile(r"\s*(?:--.*|/\*[^*]*\*/\s*)?$")
_BATCH_END = re.compile(r"\s*GO\s*$", re.IGNORECASE)
_FIRST_WORD = re.compile(r"\s*([A-Za-z]+)\b")
_LEAD = re.compile(r"\s*(?:--.*\n\s*)*")
"""Blanks and comments before a statement."""
_ROUTINE = re.compile(r"\b(?:PROCEDURE|FUNCTION|DO|IMMEDIATE)\b|\$\$", re.IGNORECASE)
"""Words before a string that may contain statements."""
_DELIMITER = re.compile(r"\s*DELIMITER\s+(\S+)\s*$", re.IGNORECASE)
_IGNORED = re.compile(r"\s*(?:--.*)?$")
_ENDED = re.compile(r"(?:;|^\s*/|^\s*GO)\s*(?:--.*)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class UnclosedPart:
    """A part of a text, by offsets from `start` to `stop` (excluded), and by its lines, counted from 1."""

    start: int
    stop: int
    first_line: int
    last_line: int


def find_unclosed(sql: str, is_closed: Callable[[str], bool]) -> list[UnclosedPart]:
    """Return the parts of a text that is not closed as a whole, in order; call this only for such a text.

    `is_closed` returns whether a text closes all quotes and comments. The total length of the texts passed to
    it is a small multiple of the length of `sql`. Each piece between offsets of `plain_starts` is judged
    alone. An open piece is a part from its first open statement on, unless a routine begins in it and the
    text is closed again at the end of the next open piece.
    """
    starts = [0, *plain_starts(sql)]
    pieces = list(zip(starts, [*starts[1:], len(sql)], strict=True))
    open_numbers = [number for number, (start, stop) in enumerate(pieces) if not is_closed(sql[start:stop])]
    ranges: list[tuple[int, int]] = []
    read_up_to = 0
    for number, following in zip(open_numbers, [*open_numbers[1:], -1], strict=True):
        start, stop = pieces[number]
        if start < read_up_to:
            continue
        if following > 0 and _ROUTINE.search(sql, start, stop):
            # The body of a routine may be a string with several statements.
            read_up_to = pieces[following][1]
            if is_closed(sql[start:read_up_to]):
                continue
        read_up_to = stop
        ranges.append((_first_open(sql, start, stop, is_closed), stop))
    return list(_with_lines(sql, ranges))


def _first_open(sql: str, start: int, stop: int, is_closed: Callable[[str], bool]) -> int:
    """Return where the first unclosed statement of a piece begins, or `start` if each seems closed.

    Any `;` ends a statement here, even in a quote, so the offset may be too early. Blanks and `--` comments
    before the statement do not belong to it.
    """
    position = start
    while position < stop:
        end = sql.find(";", position, stop) + 1 or stop
        if not is_closed(sql[position:end]):
            lead = _LEAD.match(sql, position, end)
            return lead.end() if lead else position
        position = end
    return start


def _with_lines(sql: str, ranges: Iterable[tuple[int, int]]) -> Iterator[UnclosedPart]:
    """Yield each range of offsets, given in order, with its first and last line number, from 1."""
    line, position = 1, 0
    for start, stop in ranges:
        first_line = line + sql.count("\n", position, start)
        # A line end at the end of the part still belongs to its last line.
        line, position = first_line + sql.count("\n", start, stop - 1), stop - 1
        yield UnclosedPart(start, stop, first_line, line)


def plain_starts(sql: str) -> Iterator[int]:
    """Yield the offsets of lines that clearly begin a statement: after a line that ends with `;`, or GO.

    Such a line begins with the first word of a statement. Only blank lines and comments may be in between.
    """
    is_ended, offset = False, 0
    for line in sql.splitlines(keepends=True):
        word = _FIRST_WORD.match(line)
        if is_ended and word and word[1].upper() in _FIRST_WORDS:
            yield offset
        if not _COMMENT_LINE.match(line):
            is_ended = bool(_LAST_LINE.search(line) or _BATCH_END.match(line))
        offset += len(line)


def blank(sql: str, parts: Sequence[UnclosedPart]) -> str:
    """Return a text with the parts, given in order, replaced by spaces; offsets and lines stay unchanged."""
    pieces, position = [], 0
    for part in parts:
        pieces += [sql[position : part.start], _blank(sql[part.start : part.stop])]
        position = part.stop
    return "".join([*pieces, sql[position:]])


def without_client_commands(sql: str, facts: DialectFacts) -> str:
    """Return a script with its client's commands replaced by spaces; offsets and lines stay unchanged.

    A command is a line before a statement, never a line within it. After MySQL's `DELIMITER //`, `//` at the
    end of a line becomes `;` and a space.
    """
    command = facts.client_command
    if command is None:
        return sql
    lines = sql.splitlines(keepends=True)
    if facts.declares_in_block and any(map(_DELIMITER.match, lines)):
        lines = list(_with_semicolons(lines))
    is_ended = True
    for number, line in enumerate(lines):
        if is_ended and command.match(line):
            lines[number] = _blank(line)
        elif not _IGNORED.match(line):
            is_ended = _ENDED.search(line) is not None
    return "".join(lines)


def _with_semicolons(lines: list[str]) -> Iterator[str]:
    """Yield lines with `;` in place of delimiters set by DELIMITER commands; the commands become blank."""
    delimiter = ";"
    for line in lines:
        text = line.rstrip()
        if match := _DELIMITER.match(line):
            delimiter = match[1]
            yield _blank(line)
        elif delimiter != ";" and text.endswith(delimiter):
            start = len(text) - len(delimiter)
            yield f"{line[:start]};{' ' * (len(delimiter) - 1)}{line[len(text) :]}"
        else:
            yield line


def _blank(text: str) -> str:
    """Return a text with each character except line ends replaced by a space."""
    return re.sub(r"[^\r\n]", " ", text)
