"""Repeated parts of a statement cost in proportion to their number, in every dialect."""

from __future__ import annotations

import pytest

from fll_hbase.sources.sql import DIALECTS
from tests.support.parser_calls import count_parser_calls
from tests.support.profiles import PROFILE

FRAMES = ("INSERT INTO o SELECT x{} FROM t", "INSERT INTO o SELECT x FROM {} t", "{}")
UNITS = (
    *(
        "[0]",
        ".b",
        "::int",
        ":a",
        "(x)",
        " AT TIME ZONE x",
        " COLLATE c",
        " -> x",
        " IS NULL",
        " LIKE x",
        "'a'",
    ),
    *(
        " NOT",
        " -",
        " CASE",
        " EXISTS",
        " FROM",
        " SELECT",
        " WITH",
        " INTERVAL",
        " x",
        " 1",
        " f(",
        " (",
        " [",
    ),
    *(", x", " + 1", " || x", " AND x", " OR NOT x", ", f(x) OVER (PARTITION BY x)", ", CAST(x AS INT)"),
    *(
        " |> SELECT x",
        " |> SELECT x, y",
        " UNION ALL SELECT x",
        " JOIN t ON x = y",
        " CROSS JOIN t",
        " JOIN t",
    ),
    *(
        ", DATE(DATE(DATE(x)))",
        ", CASE WHEN x THEN y END",
        " FROM t",
        " FROM(SELECT x",
        ";SELECT x",
        " BEGIN",
    ),
    *(
        " PIVOT (a FOR b IN (c))",
        " WHEN x THEN y",
        " IN (x)",
        " BETWEEN x AND y",
        ", (SELECT x)",
        ", x[0][0]",
    ),
)
SIZES = (10, 400)
"""Repetitions: some, and more than a statement may have without a comma between them."""
DIALECTS_STEP = 1 if PROFILE == "long" else len(DIALECTS)


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_twice_as_many_cost_less_than_three_times(size: int) -> None:
    keys = [
        (dialect, frame, unit)
        for number, (frame, unit) in enumerate((frame, unit) for frame in FRAMES for unit in UNITS)
        for dialect in DIALECTS[number % DIALECTS_STEP :: DIALECTS_STEP]
    ]
    cases = [
        (dialect, frame.format(unit * count)) for dialect, frame, unit in keys for count in (size, 2 * size)
    ]
    calls = count_parser_calls(cases)
    pairs = zip(keys, calls[::2], calls[1::2], strict=True)
    assert {key: (once, twice) for key, once, twice in pairs if twice > 3 * once + 1_000} == {}
