"""Variables that a client or session replaces in the text of a script before any statement is parsed.

`SET hivevar:db=sales` and `${db}` of Hive and Spark, `:setvar db sales` and `$(db)` of sqlcmd,
`DEFINE db = sales` and `&db` of SQL*Plus, `\\set db sales` and `:db` of psql. Only what the script itself
sets is replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

GROWTH_MAX = 4
"""Times its length to which a text may grow by its variables."""
_VALUE_MAX = 1_000
_NAMESPACES = r"(?:hivevar:|hiveconf:|system:|env:)?"


@dataclass(frozen=True, slots=True)
class _Syntax:
    """Patterns by which a client sets a variable (groups `name`, `value`) and refers to it (`ref`)."""

    setting: str
    reference: str


_HIVE = _Syntax(
    rf"(?:^|(?<=;))[ \t]*set[ \t]+{_NAMESPACES}(?P<name>[\w.]+)[ \t]*=[ \t]*(?P<value>[^;\n]*)(?:;|$)",
    rf"\$\{{{_NAMESPACES}(?P<ref>[\w.]+)\}}",
)
_PSQL = _Syntax(
    r"^[ \t]*\\set[ \t]+(?P<name>\w+)[ \t]+(?P<value>[^\n]*)$",
    r"(?<![:\w]):(?P<quote>['\"]?)(?P<ref>\w+)(?P=quote)(?!\w)",
)
_SYNTAXES = {
    "databricks": _HIVE,
    "hive": _HIVE,
    "oracle": _Syntax(
        r"^[ \t]*def(?:ine)?[ \t]+(?P<name>\w+)[ \t]*=[ \t]*(?P<value>[^\n]*)$",
        r"&&?(?P<ref>\w+)\.?",
    ),
    "postgres": _PSQL,
    "redshift": _PSQL,
    "spark": _HIVE,
    "tsql": _Syntax(
        r"^[ \t]*:setvar[ \t]+(?P<name>\w+)[ \t]+(?P<value>[^\n]*)$",
        r"\$\((?P<ref>\w+)\)",
    ),
}
_PATTERNS = {
    dialect: re.compile(f"(?:{syntax.setting})|(?:{syntax.reference})", re.IGNORECASE | re.MULTILINE)
    for dialect, syntax in _SYNTAXES.items()
}
_QUOTES = "'\""


def with_client_variables(sql: str, dialect_name: str) -> str:
    """Return a script with the values of the variables that it sets, each as of the line that refers to it.

    Lines stay as they are. A variable that is not set stays, and so does all if the text would grow too long.
    """
    pattern = _PATTERNS.get(dialect_name)
    if pattern is None or not any(mark in sql for mark in ("${", "$(", "&", "\\set")):
        return sql
    size_max = GROWTH_MAX * len(sql) + _VALUE_MAX
    parts: list[str] = []
    size = 0
    for part in _parts(sql, pattern):
        size += len(part)
        if size > size_max:
            return sql
        parts.append(part)
    return "".join(parts)


def _parts(sql: str, pattern: re.Pattern[str]) -> Iterator[str]:
    values: dict[str, str] = {}
    end = 0
    for match in pattern.finditer(sql):
        yield sql[end : match.start()]
        end = match.end()
        if match["name"] is None:
            yield _value(match, values)
            continue
        # A value may refer to variables that are set in front of it.
        # Stripped here: a pattern for it would take the square of the blanks of a line.
        written = match["value"].strip().removesuffix(";").rstrip()[: 2 * _VALUE_MAX]
        value = pattern.sub(lambda inner: _value(inner, values), written)[:_VALUE_MAX]
        values[match["name"].lower()] = _unquoted(value)
        yield match[0]
    yield sql[end:]


def _value(match: re.Match[str], values: dict[str, str]) -> str:
    value = values.get((match["ref"] or "").lower())
    if value is None:
        return match[0]
    quote = match["quote"] if "quote" in match.re.groupindex else ""
    return f"{quote}{value}{quote}"


def _unquoted(value: str) -> str:
    """Return the value of `DEFINE db = 'sales'` and `:setvar db "sales"`, whose quotes are not part of it."""
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in _QUOTES
    return value[1:-1] if is_quoted else value
