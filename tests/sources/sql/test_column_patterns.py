"""COLUMNS of a pattern: which patterns are matched, and that none takes long."""

from __future__ import annotations

import pytest
from sqlglot import exp

from fll_hbase.sources.sql.column_patterns import alias_of_match, column_selector, safe_pattern


def columns(pattern: str) -> exp.Columns:
    return exp.Columns(this=exp.Literal.string(pattern))


@pytest.mark.parametrize(
    ("pattern", "selected"),
    [
        ("^amt_.*", {"amt_a", "amt_b"}),
        ("(id|x)", {"id", "x"}),
        ("_[ab]$", {"amt_a", "amt_b"}),
        (r"\w_b", {"amt_b"}),
        ("", {"id", "amt_a", "amt_b", "x"}),
        ("AMT", set()),
    ],
)
def test_selected(pattern: str, selected: set[str]) -> None:
    selector = column_selector(columns(pattern))
    assert selector is not None
    assert {name for name in ("id", "amt_a", "amt_b", "x") if selector(name)} == selected


@pytest.mark.parametrize(
    "pattern",
    ["(a|a)*b", "(a+)+$", "a?a?a?aaa", "(?=a)", r"(a)\1", "a" * 201, "[a", "(" * 100, "a{2}{3}b{4}", r"\pL"],
)
def test_not_matched(pattern: str) -> None:
    """Patterns that may take time without end, or that engines read in other ways."""
    assert safe_pattern(pattern) is None
    assert column_selector(columns(pattern)) is None


@pytest.mark.parametrize(
    ("alias", "name"),
    [(r"max_\1", "max_a"), (r"\0_x", "amt_a_x"), (r"\2", ""), ("plain", "plain")],
)
def test_alias(alias: str, name: str) -> None:
    assert alias_of_match(alias, columns("amt_(.)"), "amt_a") == name
