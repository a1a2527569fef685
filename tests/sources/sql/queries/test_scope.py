"""Calls of a script's functions: an error in a function's query changes nothing after its statement."""

from __future__ import annotations

from fll_hbase.sources.sql.queries.scope import CALLS_NESTED_MAX
from tests.support.sql_readings import direct, read

FUNCTIONS = """
CREATE FUNCTION broken(a INT) RETURNS INT LANGUAGE sql AS 'SELECT dictGet(''d..'', ''b'', x) FROM t';
CREATE FUNCTION best(i INT) RETURNS INT LANGUAGE sql AS 'SELECT max(x) FROM t WHERE y = i';
"""


def test_an_error_in_a_function_costs_only_its_statement() -> None:
    calls = "CREATE TABLE p AS SELECT broken(b) AS k FROM s;" * (CALLS_NESTED_MAX + 2)
    reading = read(f"{FUNCTIONS}{calls} INSERT INTO o (k, l) SELECT a, best(b) FROM s", dialect="postgres")
    # Here `a` is the column, not the parameter of the function.
    assert direct(reading) == {"o.k": {"s.a"}, "o.l": {"t.x"}}
