"""The parser stops inside of a statement: at the deadline, and after more steps than its tokens allow."""

from __future__ import annotations

from itertools import count

import pytest
from sqlglot.dialects.dialect import Dialect

from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import RequestCancelled, TooLarge
from fll_hbase.sources import sql
from fll_hbase.sources.sql.parser import CHARACTERS_MAX, Statement, parse_script
from fll_hbase.sources.sql.script.complexity import TYPES_MAX
from fll_hbase.sources.sql.script.parser_steps import STEPS_MIN, STEPS_PER_TOKEN, ParserSteps

LONG = f"INSERT INTO o SELECT {', '.join(['f(x)'] * 2_000)} FROM t"
DOUBLING = f"{'DATE(' * TYPES_MAX}x{')' * TYPES_MAX}"
"""An expression that the parser reads anew for each of its readings, which double with each type."""


@pytest.mark.parametrize("dialect", sql.DIALECTS)
def test_a_request_that_is_over_ends_a_statement(dialect: str) -> None:
    looks = count()
    with (
        deadline.limited(60, is_cancelled=lambda: next(looks) > 20),
        pytest.raises(RequestCancelled),
    ):
        parse_script(LONG, dialect)
    # Else the next look would be behind the statement, when it is parsed.
    assert next(looks) < 40


@pytest.mark.parametrize("dialect", ["spark", "postgres", "bigquery"])
def test_readings_that_double_are_too_many_steps(dialect: str) -> None:
    with pytest.raises(TooLarge, match="statement 1, line 1: takes too many steps to parse"):
        parse_script(f"INSERT INTO o SELECT {', '.join([DOUBLING] * 200)} FROM t", dialect)


def test_too_many_steps_cost_their_own_statement() -> None:
    doubling = f"INSERT INTO o SELECT {', '.join([DOUBLING] * 200)} FROM t"
    script = parse_script(f"{doubling}; INSERT INTO p SELECT x FROM t", "spark")
    assert [isinstance(item, Statement) for item in script.statements] == [False, True]


@pytest.mark.parametrize("dialect", sql.DIALECTS)
def test_steps_are_far_fewer_than_allowed(dialect: str) -> None:
    """But at least one for each column: a release of the library that asks for other facts fails."""
    plain = Dialect.get_or_raise("" if dialect == "ansi" else dialect)
    parser = ParserSteps(plain)
    for number in (500, 1_000):
        text = f"SELECT {', '.join(['f(x, y + 1)'] * number)} FROM t JOIN u ON t.a = u.a"
        tokens = plain.tokenize(text)
        parser.parse(tokens, text)
        assert number < parser.count < max(STEPS_MIN, STEPS_PER_TOKEN * len(tokens)) / 2


def test_a_long_text_is_refused() -> None:
    with pytest.raises(TooLarge, match="more than 1,000,000 characters"):
        parse_script(" " * (CHARACTERS_MAX + 1), "spark")
