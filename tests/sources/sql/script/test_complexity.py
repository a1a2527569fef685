"""Statements for which the parser's time doubles with each more of something are refused, others are read."""

from __future__ import annotations

from contextlib import suppress

import pytest

from fll_hbase.runtime.errors import TooLarge, UnreadableDocument
from fll_hbase.sources.sql.parser import Statement, parse_script
from fll_hbase.sources.sql.script.complexity import JOINS_MAX, PIPES_MAX, RUN_MAX, TOKENS_MAX, TYPES_MAX
from tests.support.work import count_calls

COUNT = 60
"""So many would take the parser years."""

EXCESSES = {
    "joins": "SELECT a.x FROM t a " + "".join(f" JOIN t{number}" for number in range(COUNT)),
    "left joins": "SELECT a.x FROM t a " + "".join(f" LEFT JOIN t{number}" for number in range(COUNT)),
    "joins in a subquery": f"SELECT x FROM (SELECT 1 FROM t{' JOIN t' * COUNT}) s JOIN u ON s.x = u.x",
    "joins behind conditions": f"SELECT x FROM t{' JOIN t ON 1 = 1' * COUNT}{' JOIN t' * COUNT}",
    "laterals": f"SELECT x FROM t{' JOIN LATERAL (SELECT 1)' * COUNT}",
    "types as functions": f"SELECT {'DATE(' * COUNT}x{')' * COUNT} FROM t",
    "structs": f"SELECT {'STRUCT(' * COUNT}x{')' * COUNT} FROM t",
    "arrays": f"SELECT {'ARRAY[' * COUNT}x{']' * COUNT} FROM t",
    "unclosed": f"SELECT {'STRUCT(' * COUNT}x FROM t",
    "indexes": f"SELECT x{'[0]' * RUN_MAX} FROM t",
    "members": f"SELECT x{'.b' * RUN_MAX} FROM t",
    "nested indexes": f"SELECT {'x[' * 2 * COUNT}0{']' * 2 * COUNT} FROM t",
    "pipes": f"SELECT x FROM t{' |> SELECT x, y' * (PIPES_MAX + 1)}",
    "tokens": f"SELECT x{', x' * (TOKENS_MAX // 2)} FROM t",
}


@pytest.mark.parametrize("name", EXCESSES)
@pytest.mark.parametrize("dialect", ["spark", "mysql"])
def test_excesses_are_refused_at_once(name: str, dialect: str) -> None:
    with pytest.raises(TooLarge, match=r"statement 1, line 1: (nested too deeply|.*more than [1-9])"):
        parse_script(f"INSERT INTO o {EXCESSES[name]}", dialect)


def test_an_excess_costs_its_own_statement() -> None:
    script = parse_script(f"INSERT INTO o {EXCESSES['joins']}; INSERT INTO p SELECT x FROM t", "spark")
    assert [isinstance(item, Statement) for item in script.statements] == [False, True]


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT a.x FROM t a{' JOIN t ON a.x = t.x' * COUNT}",
        f"SELECT a.x FROM t a{' JOIN t USING (x)' * COUNT}",
        f"SELECT a.x FROM t a{' CROSS JOIN t' * COUNT}",
        f"SELECT a.x FROM t a{' NATURAL JOIN t' * COUNT}",
        f"SELECT a.x FROM t a{' JOIN t' * JOINS_MAX}",
        " UNION ALL ".join(["SELECT x FROM t JOIN u"] * COUNT),
        f"SELECT {'DATE(' * TYPES_MAX}x{')' * TYPES_MAX} FROM t",
        f"SELECT {'COALESCE(' * COUNT}x{', 1)' * COUNT} FROM t",
        f"SELECT {', '.join(['DATE(x)'] * COUNT)} FROM t",
        f"SELECT x{'[0]' * 40} FROM t",
        f"SELECT {', '.join(['x[0][0].b'] * RUN_MAX)} FROM t",
        f"SELECT {' || '.join(['x'] * RUN_MAX)} FROM t",
        f"SELECT {' & x | '.join(['x'] * RUN_MAX)} FROM t",
        f"SELECT {' % '.join(['x'] * RUN_MAX)} FROM t",
        f"SELECT {' DIV '.join(['x'] * RUN_MAX)} FROM t",
        f"SELECT y FROM t a{' LATERAL VIEW explode(b) t AS x' * COUNT}",
        f"SELECT x FROM t{' |> SELECT x, y' * PIPES_MAX}",
    ],
)
def test_others_are_read(query: str) -> None:
    script = parse_script(f"INSERT INTO o {query}", "spark")
    assert [isinstance(item, Statement) for item in script.statements] == [True]


@pytest.mark.parametrize(
    ("dialect", "part"),
    [
        ("tsql", " CROSS APPLY x.nodes('/a/b') AS T(c)"),
        ("tsql", " OUTER APPLY f(a.x) AS T"),
        ("hive", " LATERAL VIEW explode(b) t AS x"),
        ("postgres", " CROSS JOIN LATERAL f(a.x) s"),
        ("mysql", " STRAIGHT_JOIN t ON a.x = t.x"),
    ],
)
def test_what_joins_rows_of_a_table_separates(dialect: str, part: str) -> None:
    script = parse_script(f"INSERT INTO o SELECT a.x FROM t a{part * COUNT}", dialect)
    assert [isinstance(item, Statement) for item in script.statements] == [True]


@pytest.mark.parametrize(
    "part", [" CROSS APPLY f(a.x) AS T", " LATERAL VIEW f(b) t AS x", " LATERAL", " APPLY"]
)
@pytest.mark.parametrize("dialect", ["tsql", "hive"])
def test_the_work_of_many_is_linear(dialect: str, part: str) -> None:
    def parse(count: int) -> None:
        with suppress(UnreadableDocument, TooLarge):
            parse_script(f"INSERT INTO o SELECT a.x FROM t a{part * count}", dialect)

    parse(1)
    assert count_calls(lambda: parse(2_000)) < 3 * count_calls(lambda: parse(1_000))
