"""Items of SELECT lists with several columns: stars of structs, and generators."""

from __future__ import annotations

import pytest

from fll_hbase.model.hop_operations import copied_inputs
from fll_hbase.model.operations import Transform
from tests.support.sql_readings import direct, read, warnings


def test_an_error_before_a_star_is_reported() -> None:
    broken = "CREATE TABLE p AS SELECT (dictGet('d..', 'b', c)).* FROM s"
    text = f"INSERT INTO o (k) SELECT a FROM s; {broken}; CREATE TABLE q AS SELECT far.a FROM s, t"
    reported = warnings(read(text, dialect="postgres", schema={"s": ["a"], "t": ["b"]}))
    assert "statement 2 is left out" in reported
    assert "'far.a'" in reported


@pytest.mark.parametrize(
    "query",
    [
        "SELECT posexplode(l) AS (p) FROM s",
        "SELECT p FROM s LATERAL VIEW posexplode(l) x AS p",
        "SELECT p FROM s, LATERAL posexplode(s.l) AS x(p)",
    ],
)
def test_a_generator_with_fewer_names_than_columns(query: str) -> None:
    assert direct(read(f"CREATE TABLE o AS {query}")) == {"o.p": {"s.l"}}


@pytest.mark.parametrize("value", ["a | b", "a | b | c", "k = a | b"])
def test_a_bitwise_or_copies_nothing(value: str) -> None:
    reading = read(f"INSERT INTO o (x) SELECT {value} FROM s", schema={"s": ["a", "b", "c", "k"]})
    (transform,) = (item for item in reading.operations.info.operations if isinstance(item, Transform))
    assert not copied_inputs(transform).inputs
