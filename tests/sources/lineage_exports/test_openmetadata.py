"""Edges of OpenMetadata become job events with the names of live clients, or errors that name the fault."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.runtime.errors import InputError
from fll_hbase.sources.lineage_exports.openmetadata import ExportSettings, read_lineage, split_name
from tests.support import openmetadata_lineage as lineages
from tests.support import sql_readings

SERVICES = {"pg": "postgres://db:5432", "my": "mysql://my:3306"}
SETTINGS = ExportSettings("catalogue", SERVICES)


def events(document: Any, settings: ExportSettings = SETTINGS) -> list[dict[str, Any]]:
    return [json.loads(item) for item in read_lineage(lineages.line(document), settings)]


def fault(document: Any) -> str:
    with pytest.raises(InputError) as caught:
        events(document)
    return str(caught.value)


def test_equal_lineage_gives_equal_events() -> None:
    assert events(lineages.shop()) == events(lineages.shop())
    assert [event["job"]["name"] for event in events(lineages.shop())] == [
        "airflow.nightly",
        "pg.shop.mart.daily",
    ]


@pytest.mark.parametrize(
    ("service", "namespace", "name", "dialect"),
    [
        ("pg", "postgres://db:5432", "shop.public.t", "postgres"),
        ("pg", "mysql://my:3306", "default.shop.t", "mysql"),
        ("pg", "hive://m:9083", "default.shop.t", "hive"),
        ("pg", "snowflake://acc", "DB.PUBLIC.T", "snowflake"),
        ("pg", "bigquery", "project.set.t", "bigquery"),
    ],
)
def test_a_table_has_the_name_that_sql_gives_it(
    service: str, namespace: str, name: str, dialect: str
) -> None:
    table = name.removeprefix("default.")
    reading = sql_readings.read(
        f"INSERT INTO {table} (id) SELECT id FROM b", dialect=dialect, datasetNamespace=namespace
    )
    (expected,) = reading.operations.info.destinations
    source, target = f"{service}.{name}_source", f"{service}.{name}"
    document = lineages.lineage(target, lineages.edge(source, target), nodes=(lineages.node(source),))
    (event,) = events(document, ExportSettings("catalogue", {service: namespace}))
    (output,) = event["outputs"]
    assert (output["namespace"], output["name"]) == (expected.namespace, expected.name)


def test_an_edge_without_a_time_has_that_of_the_file() -> None:
    edge = lineages.edge("pg.a.b.s", "pg.a.b.t", updatedAt=None)
    document = lineages.lineage("pg.a.b.t", edge, nodes=(lineages.node("pg.a.b.s"),))
    assert "updatedAt: missing: record a file" in fault(document)
    (event,) = events(document, ExportSettings("catalogue", SERVICES, 1_772_359_200_000))
    assert event["eventTime"] == "2026-03-01T10:00:00.000Z"


def test_a_column_of_another_table_is_refused() -> None:
    document = lineages.shop()
    pairs = document["upstreamEdges"][0]["lineageDetails"]["columnsLineage"]
    pairs[0]["fromColumns"] = ["pg.shop.public.other.x"]
    path = "upstreamEdges.0.lineageDetails.columnsLineage.0.fromColumns.0"
    assert fault(document) == f"{path}: is not a column of this end of the edge"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a.b", ("a", "b")),
        ('a."b.c".d', ("a", "b.c", "d")),
        ('"a ""q"""', ('a "q"',)),
        ('a"b', ()),
        ("a..b", ()),
        ("", ()),
    ],
)
def test_names_are_split(text: str, parts: tuple[str, ...]) -> None:
    assert split_name(text) == parts


@pytest.mark.parametrize("count", [10, 1_000, pytest.param(50_000, marks=pytest.mark.long)])
def test_wide_edges(count: int) -> None:
    pairs = [(f"c{number}", f"d{number}", "") for number in range(count)]
    edge = lineages.edge("pg.a.b.s", "pg.a.b.t", *pairs)
    document = lineages.lineage("pg.a.b.t", edge, nodes=(lineages.node("pg.a.b.s"),))
    (event,) = events(document)
    assert len(event["outputs"][0]["facets"]["columnLineage"]["fields"]) == count


@pytest.mark.parametrize("document", [[], 7, {}, {"upstreamEdges": 7}, {"upstreamEdges": [7]}])
def test_other_json_is_refused(document: Any) -> None:
    assert fault(document)


_JSON: st.SearchStrategy[Any] = (
    st.none() | st.integers() | st.text(max_size=3) | st.just([]) | st.just({}) | st.just(["a", 1])
)


@given(st.data())
def test_any_change_gives_events_or_input_errors(data: st.DataObject) -> None:
    document = lineages.shop()
    target: Any = document
    while isinstance(target, (dict, list)) and target:
        key = data.draw(st.sampled_from(sorted(target) if isinstance(target, dict) else range(len(target))))
        if not isinstance(target[key], (dict, list)) or not target[key] or data.draw(st.integers(0, 3)) == 0:
            target[key] = data.draw(_JSON)
            break
        target = target[key]
    try:
        converted = events(document)
    except InputError:
        return
    assert len(converted) <= 3
