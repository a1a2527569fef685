"""FROM clauses: queries in texts, which are parsed while the statement is read."""

from __future__ import annotations

import itertools

import pytest

from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import RequestCancelled
from tests.support.sql_readings import direct, read


def test_a_request_that_is_cancelled_has_no_reading() -> None:
    text = "CREATE TABLE o AS SELECT a FROM TABLE(c.system.query(query => 'SELECT a FROM s'))"
    looks = itertools.count()
    with deadline.limited(1_000, is_cancelled=lambda: next(looks) < 0):
        read(text, dialect="trino")
    for number in range(next(looks)):
        later = itertools.count(-number)
        cancelled = deadline.limited(1_000, is_cancelled=lambda later=later: next(later) >= 0)
        with cancelled, pytest.raises(RequestCancelled):
            read(text, dialect="trino")


def test_a_table_in_parentheses_keeps_its_pivot_and_its_unknown_columns() -> None:
    text = "CREATE TABLE o AS SELECT * FROM (t) PIVOT (SUM(v) FOR q IN ('a', 'b'))"
    assert direct(read(text, schema={"t": ["k", "v", "q"]})) == {
        "o.k": {"t.k"},
        "o.a": {"t.v"},
        "o.b": {"t.v"},
    }
    assert direct(read("INSERT INTO o (c) SELECT a.c FROM (t) AS a")) == {"o.c": {"t.c"}}
