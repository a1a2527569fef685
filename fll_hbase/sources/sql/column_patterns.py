"""COLUMNS of DuckDB and ClickHouse: which columns of a star a pattern, a list or a condition selects.

A pattern comes from a client, so only those are matched that take little time for any name: without groups
that are repeated, and with few repetitions.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

PATTERN_MAX = 200
NAME_MAX = 256
REPETITIONS_MAX = 2
_REPETITION = re.compile(r"(?<!\\)[*+?{]")
_UNSAFE = re.compile(r"\)[*+?{]|\(\?|\\[1-9A-Zabefghpuxz]")
"""Repeated groups, extensions, back references and escapes that differ between engines."""

Selector = Callable[[str], bool]


def column_selector(node: exp.Columns) -> Selector | None:
    """Return whether COLUMNS selects a column of a name; None if that is not known."""
    selected = node.this
    if isinstance(selected, exp.Literal) and selected.is_string:
        pattern = safe_pattern(selected.name)
        return (lambda name: _search(pattern, name) is not None) if pattern is not None else None
    if isinstance(selected, exp.Array) and all(
        isinstance(item, exp.Literal) for item in selected.expressions
    ):
        names = {item.name.lower() for item in selected.expressions}
        return lambda name: name.lower() in names
    if isinstance(selected, exp.Lambda) and len(selected.expressions) == 1:
        return _condition(selected.this, selected.expressions[0].name)
    return None


def columns_in(value: exp.Expr) -> exp.Columns | None:
    """Return the COLUMNS that makes several columns of an expression, or `* LIKE 'a%'` as one; else None."""
    if isinstance(value, exp.Columns):
        return value
    if isinstance(value, (exp.Like, exp.ILike)) and isinstance(value.this, exp.Star):
        name = exp.to_identifier("name")
        condition = exp.Like(this=name, expression=value.expression.copy())
        return exp.Columns(this=exp.Lambda(this=condition, expressions=[name.copy()]))
    if isinstance(value, exp.SimilarTo) and isinstance(value.this, exp.Star):
        return exp.Columns(this=exp.Literal.string(f"^({value.expression.name})$"))
    parts = value.walk(prune=lambda part: isinstance(part, exp.Query))
    return next(
        (part for part in parts if isinstance(part, exp.Columns) and not part.args.get("unpack")), None
    )


def alias_of_match(alias: str, node: exp.Columns, name: str) -> str:
    """Return the alias of a column, in which `\\1` is the first group of the pattern that selects it."""
    pattern = safe_pattern(node.this.name) if isinstance(node.this, exp.Literal) and "\\" in alias else None
    match = _search(pattern, name) if pattern is not None else None
    if match is None:
        return alias
    groups = (match[0], *match.groups())

    def group(reference: re.Match[str]) -> str:
        number = int(reference[1])
        return (groups[number] or "") if number < len(groups) else ""

    return re.sub(r"\\([0-9])", group, alias)


def safe_pattern(text: str) -> re.Pattern[str] | None:
    """Return the compiled pattern, None for one that could take long or is not one."""
    if len(text) > PATTERN_MAX or len(_REPETITION.findall(text)) > REPETITIONS_MAX or _UNSAFE.search(text):
        return None
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError):
        return None


def like(pattern: str) -> Selector:
    """Return whether a name matches a pattern of LIKE in any case, without a regular expression."""
    segments = [segment.lower() for segment in pattern.split("%")]

    def matches(name: str) -> bool:
        name = name.lower()
        if len(segments) == 1:
            return _fits(name, segments[0])
        first, *middle, last = segments
        if len(name) < len(first) + len(last) or not _fits(name[: len(first)], first):
            return False
        if last and not _fits(name[-len(last) :], last):
            return False
        rest = name[len(first) : len(name) - len(last)]
        for segment in middle:
            starts = range(len(rest) - len(segment) + 1)
            start = next((n for n in starts if _fits(rest[n : n + len(segment)], segment)), -1)
            if start < 0:
                return False
            rest = rest[start + len(segment) :]
        return True

    return matches


def _condition(body: exp.Expr, parameter: str) -> Selector | None:
    """Return the condition `c LIKE 'pattern'` on the name of a column."""
    is_like = isinstance(body, (exp.Like, exp.ILike)) and body.this.name == parameter
    pattern = body.expression if is_like else None
    return like(pattern.name) if isinstance(pattern, exp.Literal) else None


def _search(pattern: re.Pattern[str], name: str) -> re.Match[str] | None:
    return pattern.search(name[:NAME_MAX])


def _fits(text: str, segment: str) -> bool:
    """Return whether a text has the letters of a pattern, in which `_` is any letter."""
    return len(text) == len(segment) and all(b in ("_", a) for a, b in zip(text, segment, strict=True))
