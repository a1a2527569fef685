"""Capture and the SQL source read the same lineage of a query of Spark."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, reject, settings
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from fll_hbase.model.operations import InputField
from tests.engines.captured_query import Capture
from tests.engines.random_queries import SPARK, SPARK_STATEMENTS, queries
from tests.engines.recorded_query import record
from tests.support import profiles

Edges = tuple[frozenset[InputField], ...]

KIND_EXCEPTIONS = re.compile(r"\(SELECT| OVER |\bFILTER \(")
"""Queries with inputs that influence by two clauses: in capture what shapes the rows of a subquery, a window
or the values of an aggregate keeps its kind, in the SQL source it has the kind of the outer clause."""


@pytest.fixture(scope="module")
def capture(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Capture]:
    capture = Capture(spark, tmp_path_factory.mktemp("capture"))
    yield capture
    capture.close()


def judged(edges: Edges, query: str) -> list[set[tuple[object, ...]]]:
    """Return the inputs of each column and of all rows, with their kinds unless these may differ."""
    has_kinds = not KIND_EXCEPTIONS.search(query)
    return [
        {(item.origin, item.name, item.influence, item.kind if has_kinds else "") for item in inputs}
        for inputs in edges
    ]


def test_random_selects(capture: Capture) -> None:
    @settings(max_examples=profiles.QUERIES, suppress_health_check=list(HealthCheck))
    @given(queries(SPARK))
    def holds(query: str) -> None:
        recorded = record(query, SPARK.dialect, SPARK.tables())
        try:
            captured = capture.edges(query)
        except AnalysisException:
            reject()
        assert judged(captured, query) == judged(recorded.edges, query)
        assert recorded.warnings == ()

    holds()


STATEMENTS = (
    *SPARK_STATEMENTS,
    "SELECT id, map(k, v) AS m, named_struct('a', k, 'b', v).b AS b, nvl2(k, v, id) AS n FROM r",
    "SELECT id, if(k > 1, v, id) AS i, decode(k, 1, v, id) AS d, nullif(k, v) AS n FROM r",
    "SELECT id, lag(v, 1) OVER (PARTITION BY k ORDER BY id) AS l, row_number() OVER (ORDER BY v) AS n FROM r",
    "SELECT id, k FROM r EXCEPT SELECT id, k FROM s",
    "SELECT id FROM r INTERSECT ALL SELECT id FROM s",
    "SELECT coalesce(r.id, s.id) AS a, b.* FROM r FULL JOIN s USING (k) LEFT SEMI JOIN u ON r.v = u.v"
    " CROSS JOIN (SELECT n FROM u ORDER BY id LIMIT 1) AS b",
    "SELECT a.id, b.w FROM r AS a, LATERAL (SELECT w FROM s WHERE s.k = a.k ORDER BY w, id LIMIT 1) AS b",
    "SELECT stack(2, id, k, v, id) AS (a, b) FROM r",
    "SELECT k, collect_list(v) AS vs, max_by(v, id) AS m FROM r GROUP BY k SORT BY k",
)
"""What random queries do not have."""


@pytest.mark.parametrize("query", STATEMENTS, ids=range(len(STATEMENTS)))
def test_statement_of_spark(capture: Capture, query: str) -> None:
    recorded = record(query, "spark", SPARK.tables())
    assert judged(capture.edges(query), query) == judged(recorded.edges, query)
