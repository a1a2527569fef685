"""Commands of the clients that run scripts: lines without `;`, which would break the next statement."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fll_hbase.sources.sql.dialects.facts import DialectFacts

_DELIMITER = re.compile(r"\s*DELIMITER\s+(\S+)\s*$", re.IGNORECASE)
_IGNORED = re.compile(r"\s*(?:--.*)?$")
_ENDED = re.compile(r"(?:;|^\s*/|^\s*GO)\s*(?:--.*)?$", re.IGNORECASE)


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


def _blank(line: str) -> str:
    """Return a line with each character except its line end replaced by a space."""
    return re.sub(r"[^\r\n]", " ", line)
