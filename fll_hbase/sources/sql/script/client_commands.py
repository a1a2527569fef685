"""Commands of the clients that run scripts: lines without `;`, which would cost the statement behind."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fll_hbase.sources.sql.dialects.facts import DialectFacts

_DELIMITER = re.compile(r"\s*DELIMITER\s+(\S+)\s*$", re.IGNORECASE)
_IGNORED = re.compile(r"\s*(?:--.*)?$")
_ENDED = re.compile(r"(?:;|^\s*/|^\s*GO)\s*(?:--.*)?$", re.IGNORECASE)


def without_client_commands(sql: str, facts: DialectFacts) -> str:
    """Return a script with spaces in place of the commands of its client; offsets and lines stay as they are.

    A command is a line in front of a statement, never one within it. With `DELIMITER //` of MySQL, `//` at
    the end of a line becomes `;` and a space.
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
    """Yield lines with `;` for the delimiters that DELIMITER commands set; the commands become blank."""
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


def _blank(line: str) -> str:
    """Return a line with a space for each character, line ends kept."""
    return re.sub(r"[^\r\n]", " ", line)
