"""The package has the names of the queries that clients ask."""

from __future__ import annotations

import pytest

from fll_hbase import queries
from fll_hbase.queries.query import Query


@pytest.mark.parametrize("name", queries.__all__)
def test_each_name_is_a_query(name: str) -> None:
    query = getattr(queries, name)
    assert issubclass(query, Query)
    assert query.__name__ == name


def test_another_name_is_an_error_with_that_name() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Lineages'"):
        _ = queries.Lineages  # type: ignore[attr-defined]
