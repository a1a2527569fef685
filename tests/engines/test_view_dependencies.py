"""Views in PostgreSQL have the columns, and depend on the columns, that the SQL source records of them."""

from __future__ import annotations

import re
from dataclasses import replace

import psycopg
import pytest
from hypothesis import HealthCheck, given, reject, settings

from fll_hbase.runtime.errors import InputError
from tests.engines import catalog_views, view_judge
from tests.engines.databases import REFUSED, TYPES
from tests.engines.golden_selects import GoldenSelect, golden_selects
from tests.engines.random_queries import POSTGRES, queries
from tests.engines.recorded_query import record
from tests.engines.view_judge import EngineView
from tests.support import profiles

OTHERWISE_WRONG = {"42601", "42P01", "42701", "42702", "42703"}
"""States of errors that no other types of the columns prevent: syntax, unknown or ambiguous names."""

GOLDEN_JUDGED_MIN = 140
GOLDEN_EXCEPTIONS = {
    "SELECT id, e.x FROM t, UNNEST(ARRAY[a, b]) AS e(x), JSONB_TO_RECORD(js) AS j(k INT)": (
        "jsonb_to_record has one row whatever its argument"
    ),
    **dict.fromkeys(
        (
            "SELECT id, (SELECT COUNT(*) FROM UNNEST(t.xs)) AS c, "
            "ARRAY(SELECT * FROM GENERATE_SERIES(0, t.n - 1)) AS r FROM t",
            "SELECT id, ARRAY(SELECT * FROM GENERATE_SERIES(-24, CAST(CEIL(t.n) AS INT))) AS hours FROM t",
            "SELECT id, (SELECT * FROM JSONB_ARRAY_ELEMENTS(t.js) LIMIT 1) AS c FROM t",
        ),
        "a warning: which columns the function returns is not known, so all are taken",
    ),
}

CATALOG_EXCEPTIONS = {"pg_seclabels": "a warning: tableoid is not recorded"}
CATALOG_VIEWS_MIN = 134
CATALOG_UNKNOWN_MAX = 33
"""Views of functions of the server: what they return is unknown, with a warning."""

UNKNOWN = re.compile(r"sql: the sources of the columns of \w+\(\) are unknown")


@pytest.fixture(scope="module")
def selects() -> list[GoldenSelect]:
    """The SELECTs of the golden cases."""
    return golden_selects()


def differences(select: GoldenSelect, postgres: psycopg.Connection) -> list[str] | None:
    """Return how a golden SELECT differs; None if PostgreSQL takes it with no types of its columns."""
    for types in select.typings():
        try:
            with view_judge.tables(postgres, types):
                view = view_judge.judge(postgres, select.text)
        except psycopg.Error as error:
            if error.sqlstate in OTHERWISE_WRONG:
                return None
            continue
        return view.differences(record(select.text, "postgres", select.tables))
    return None


def test_golden_selects(postgres: psycopg.Connection, selects: list[GoldenSelect]) -> None:
    judged = {select.text: differences(select, postgres) for select in selects}
    different = {text: faults for text, faults in judged.items() if faults and text not in GOLDEN_EXCEPTIONS}
    assert different == {}
    assert {text for text in GOLDEN_EXCEPTIONS if not judged[text]} == set()
    assert sum(faults is not None for faults in judged.values()) >= GOLDEN_JUDGED_MIN


def test_catalog_views(postgres: psycopg.Connection) -> None:
    catalog = catalog_views.read_catalog(postgres)
    different, unknown = {}, 0
    with view_judge.tables(postgres, catalog.copied):
        postgres.execute(catalog_views.FUNCTIONS.encode())
        for name, text in catalog.views.items():
            view = view_judge.judge(postgres, text)
            try:
                recorded = record(text, "postgres", catalog.columns)
            except InputError as error:
                different[name] = [str(error)]
                continue
            if recorded.warnings and all(map(UNKNOWN.search, recorded.warnings)):
                unknown += 1
                recorded_names = tuple(column for column in view.columns if column in recorded.columns)
                view, recorded = replace(view, columns=recorded_names), replace(recorded, warnings=())
            if faults := view.differences(recorded):
                different[name] = faults
    assert {name: faults for name, faults in different.items() if name not in CATALOG_EXCEPTIONS} == {}
    assert different.keys() == CATALOG_EXCEPTIONS.keys() & catalog.views.keys()
    assert len(catalog.views) >= CATALOG_VIEWS_MIN
    assert unknown <= CATALOG_UNKNOWN_MAX


def test_random_selects(postgres: psycopg.Connection) -> None:
    """The context of the tables is opened once, for all examples."""

    @settings(max_examples=profiles.QUERIES * 4, suppress_health_check=list(HealthCheck))
    @given(queries(POSTGRES))
    def holds(query: str) -> None:
        try:
            view = view_judge.judge(postgres, query)
        except REFUSED:
            reject()
        judged = view if view.is_exact else replace(view, used=frozenset())
        assert judged.differences(record(query, "postgres", TYPES)) == []

    with view_judge.tables(postgres, TYPES):
        holds()


QUERY = "SELECT r.id, sum(s.w) FROM r JOIN s ON r.k = s.k WHERE r.v > 1 GROUP BY r.id"


@pytest.fixture
def view(postgres: psycopg.Connection) -> EngineView:
    with view_judge.tables(postgres, TYPES):
        return view_judge.judge(postgres, QUERY)


def test_the_judge_accepts_a_right_reading(view: EngineView) -> None:
    assert view.differences(record(QUERY, "postgres", TYPES)) == []


def test_the_judge_sees_another_name(view: EngineView) -> None:
    recorded = record(QUERY, "postgres", TYPES)
    assert view.differences(replace(recorded, columns=("id", "total"))) == [
        "columns ('id', 'total'), PostgreSQL has ('id', 'sum')"
    ]


def test_the_judge_sees_what_is_missing(view: EngineView) -> None:
    recorded = record(QUERY, "postgres", TYPES)
    for source in recorded.all_inputs:
        fewer = replace(
            recorded,
            rows=recorded.rows - {source},
            inputs=tuple(inputs - {source} for inputs in recorded.inputs),
        )
        assert view.differences(fewer) == [f"missing {[source]}"]


def test_the_judge_sees_what_is_invented(view: EngineView) -> None:
    recorded = record(QUERY, "postgres", TYPES)
    assert view.differences(replace(recorded, rows=recorded.rows | {("s", "id")})) == [
        "invented [('s', 'id')]"
    ]


def test_the_judge_sees_a_warning(view: EngineView) -> None:
    assert view.differences(replace(record(QUERY, "postgres", TYPES), warnings=("w",))) == ["warning: w"]


def test_the_plan_names_only_what_is_used(postgres: psycopg.Connection) -> None:
    query = "SELECT q.a FROM (SELECT r.id AS a, r.k AS b FROM r) AS q"
    with view_judge.tables(postgres, TYPES):
        view = view_judge.judge(postgres, query)
    assert (view.used, view.references) == ({("r", "id")}, {("r", "id"), ("r", "k")})
