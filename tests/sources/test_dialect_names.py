"""Dialects of engines, by the names that namespaces, adapters of dbt and JDBC have for them."""

from __future__ import annotations

import pytest

from fll_hbase.sources.dbt.document import FIXED_NAMESPACES
from fll_hbase.sources.dialect_names import ENGINES, dialect_of, scheme_of
from fll_hbase.sources.sql.parser import parse_script


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_has_a_dialect_of_the_parser(engine: str) -> None:
    dialect = dialect_of(engine)
    assert dialect is not None
    assert len(parse_script("select a from b", dialect).statements) == 1


def test_adapters_with_a_namespace_have_a_dialect() -> None:
    assert set(FIXED_NAMESPACES) <= set(ENGINES)


@pytest.mark.parametrize(
    ("url", "dialect"),
    [
        ("jdbc:oracle:thin:@db:1521:xe", "oracle"),
        ("jdbc:mariadb://db/shop", "mysql"),
        ("sqlserver://db:1433", "tsql"),
        ("bigquery", "bigquery"),
        ("jdbc:derby:memory:x", None),
    ],
)
def test_the_engine_of_a_url(url: str, dialect: str | None) -> None:
    assert dialect_of(scheme_of(url)) == dialect
