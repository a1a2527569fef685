"""Schemas of queries parse what the contract allows, and describe bodies as they are encoded."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from flask.testing import FlaskClient

from api import create_app
from api.openapi.query_schemas import body_schema, parameter_schema
from fll_hbase.model.datasets import Dataset, DatasetMetadata, Field
from fll_hbase.queries.catalogue import Datasets, Fields, Namespaces
from fll_hbase.queries.diff import DatasetDiff, Diff
from fll_hbase.queries.history import History
from fll_hbase.queries.programs import Program, Programs, ProgramsAnswer
from fll_hbase.queries.query import Query
from fll_hbase.queries.reports.field_report import Consumption, Provenance
from fll_hbase.queries.runs import RunCounts
from fll_hbase.queries.search import Search
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table

QUERIES: tuple[type[Query[Any]], ...] = (
    Consumption,
    Provenance,
    History,
    Diff,
    DatasetDiff,
    Programs,
    RunCounts,
    Namespaces,
    Datasets,
    Fields,
    Search,
)
NOT_A_TIME = (
    "'-1' is not a time: give epoch seconds, ISO 8601 such as `2026-11-01` or `2026-11-01T06:00:00Z`,"
    " `now`, or a sum such as `now-1d+30m` (units s m h d w)"
)
LIST = "/v3/namespaces/ns/endpoints/d/fields"


@pytest.fixture(scope="module")
def client() -> FlaskClient:
    store = LineageStore(open_table("sqlite:///:memory:"))
    store.put_metadata([DatasetMetadata(Dataset("ns", "d"), fields=(Field("a"), Field("b")))])
    return create_app(store).test_client()


@pytest.mark.parametrize("path", [LIST, f"{LIST}?prefix=", "/v3/namespaces/ns/endpoints?prefix="])
def test_an_empty_prefix_is_that_of_all(client: FlaskClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    assert all(answer.json.values())


@pytest.mark.parametrize(
    ("path", "parameter", "detail"),
    [
        (f"{LIST}?q=", "q", "Shorter than minimum length 1."),
        (f"{LIST}?cursor=", "cursor", "invalid cursor; omit it to start at the first page"),
        ("/v3/search?q=", "q", "Shorter than minimum length 1."),
        ("/v3/search?q=a&cursor=", "cursor", "invalid cursor; omit it to start at the first page"),
        ("/v3/search?q=a&kind=", "kind", "Must be one of: endpoint, field."),
        ("/v3/search", "q", "Missing data for required field."),
        ("/v3/namespaces?limit=", "limit", "'' is not a whole number"),
        ("/v3/namespaces?limit=0", "limit", "Must be greater than or equal to 1."),
        ("/v3/namespaces/ns/endpoints/d/programs?field=", "field", "Shorter than minimum length 1."),
        (
            "/v3/namespaces/ns/endpoints/d/programs?failed=yes",
            "failed",
            "'yes' is neither `true` nor `false`",
        ),
        ("/v3/namespaces/ns/endpoints/d/programs?start=now&end=now-1d", "start", "is after end"),
        # Of one time that is invalid the order of both is unknown.
        ("/v3/namespaces/ns/endpoints/d/programs?start=-1&end=0", "start", NOT_A_TIME),
    ],
)
def test_what_is_refused(client: FlaskClient, path: str, parameter: str, detail: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 400
    assert answer.json["errors"] == [{"at": parameter, "detail": detail}]


@pytest.mark.parametrize("query", QUERIES)
def test_every_parameter_is_in_the_schema(query: type[Query[Any]]) -> None:
    fields = parameter_schema(query)().fields
    assert {field.data_key for field in fields.values()} == {item.name for item in query.url_parameters()}


def test_a_schema_has_the_members_of_an_encoded_body() -> None:
    program = Program(
        namespace="ns",
        application="a",
        program="p",
        type="spark",
        direction="both",
        runs=1,
        failed=0,
        first_start=1,
        last_start=2,
        last_run="r",
    )
    body = ProgramsAnswer(
        programs=(program,),
        programs_with_unknown_columns=(program,),
        failed_only=0,
        truncated=True,
        truncated_by=("runs_max=1",),
        retained_from=1,
    )
    members = msgspec.json.decode(msgspec.json.encode(body))
    fields = body_schema(ProgramsAnswer)().fields.values()
    assert {field.data_key for field in fields} == members.keys()
    assert {field.data_key for field in fields if field.required} == {"programs", "failedOnly", "truncated"}
    nested = body_schema(Program)().fields.values()
    assert {field.data_key for field in nested if field.required} == members["programs"][0].keys()
