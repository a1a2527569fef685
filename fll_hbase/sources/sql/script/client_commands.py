"""Commands of the clients that run scripts: lines without `;`, which would cost the statement behind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_PSQL = re.compile(r"\s*\\[a-zA-Z!?]")
# A line that ends with `;` is rather one of a block of PL/SQL, such as `col NUMBER;` or `EXIT WHEN x;`.
_SQLPLUS = re.compile(
    r"""\s*(?: @@?\s*\S | (?:EXIT|QUIT)\s*;?\s*$ | (?!.*;\s*$)(?:
    (?:PRO|PROMPT|SPO|SPOOL|WHENEVER|REM|REMARK|DEF|DEFINE|UNDEF|UNDEFINE|COL|COLUMN|CONN|CONNECT|ACC|ACCEPT
    |EXIT|QUIT|CLEAR|TTITLE|BTITLE|VAR|VARIABLE|PAUSE|HOST)\b
    |SET\s+(?:SERVEROUTPUT|ECHO|FEEDBACK|FEED|DEFINE|DEF|VERIFY|VER|HEADING|HEA|PAGESIZE|PAGES|LINESIZE|LIN
    |TIMING|TIMI|TERMOUT|TERM|TRIMSPOOL|TRIMS|TRIMOUT|SQLBLANKLINES|AUTOCOMMIT|AUTO|NUMWIDTH|LONG|SCAN
    |COLSEP)\b ))""",
    re.IGNORECASE | re.VERBOSE,
)
_COMMANDS = {
    "mysql": re.compile(r"\s*(?:\\\.|source\s+\S+\s*$)", re.IGNORECASE),
    "oracle": _SQLPLUS,
    "postgres": _PSQL,
    "redshift": _PSQL,
    "teradata": re.compile(r"\s*\.[a-zA-Z]"),
    "tsql": re.compile(r"\s*(?::(?:setvar|r|connect|on|out|error)\b|!!)", re.IGNORECASE),
}
"""A line of a client's command, by dialect: psql, SQL*Plus, BTEQ, sqlcmd, mysql."""

_DELIMITER = re.compile(r"\s*DELIMITER\s+(\S+)\s*$", re.IGNORECASE)
_IGNORED = re.compile(r"\s*(?:--.*)?$")
_ENDED = re.compile(r"(?:;|^\s*/|^\s*GO)\s*(?:--.*)?$", re.IGNORECASE)


def without_client_commands(sql: str, dialect_name: str) -> str:
    """Return a script with spaces in place of the commands of its client; offsets and lines stay as they are.

    A command is a line in front of a statement, never one within it. `DELIMITER //` of MySQL makes `//` at
    the end of a line a `;`.
    """
    command = _COMMANDS.get(dialect_name)
    if command is None:
        return sql
    lines = sql.splitlines(keepends=True)
    if dialect_name == "mysql" and any(map(_DELIMITER.match, lines)):
        lines = list(_with_semicolons(lines))
    return "".join(_blank_commands(lines, command.match))


def _blank_commands(lines: list[str], is_command: Callable[[str], object]) -> Iterator[str]:
    is_ended = True
    for line in lines:
        if is_ended and is_command(line):
            yield _blank(line)
            continue
        if not _IGNORED.match(line):
            is_ended = _ENDED.search(line) is not None
        yield line


def _with_semicolons(lines: list[str]) -> Iterator[str]:
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
    return re.sub(r"[^\r\n]", " ", line)
