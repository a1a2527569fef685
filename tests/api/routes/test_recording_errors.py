"""Refused documents: their status, and the paths of their errors."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from api import create_app
from fll_hbase.keys import layout
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Put, Table
from tests.api.conftest import MakeClient, MakeTable
from tests.support.api_client import (
    assert_problem,
    batch,
    error_paths,
    is_store_empty,
    path,
    record,
    record_new,
    send,
)
from tests.support.lineage_documents import (
    Json,
    copying,
    encoded,
    first_design,
    input_fields,
    reading,
    run,
    transforming,
    worked,
    writing,
)
from tests.support.wrong_documents import ABSENT, WRONG, WRONG_FIRST_DESIGN, stated, with_wrong


@pytest.fixture(scope="session")
def engine() -> str:
    """SQLite alone: what is wrong here is refused before the store is read."""
    return "sqlite"


@pytest.mark.slow
@pytest.mark.parametrize(("position", "value"), WRONG, ids=stated)
def test_what_is_wrong_in_shape_is_400_at_its_place(client: FlaskClient, position: str, value: Any) -> None:
    assert error_paths(record(client, with_wrong(worked(), position, value)), 400) == [position]
    assert is_store_empty(client)


@pytest.mark.parametrize(("position", "value"), WRONG_FIRST_DESIGN, ids=stated)
def test_likewise_in_the_first_designs_form(client: FlaskClient, position: str, value: Any) -> None:
    assert error_paths(record(client, with_wrong(first_design(), position, value)), 400) == [position]
    assert is_store_empty(client)


@pytest.mark.parametrize("value", [None, [], "0b6f…", 5])
def test_a_run_is_an_object(client: FlaskClient, value: Any) -> None:
    result = error_paths(record(client, with_wrong(worked(), "run", value)), 400)
    assert result[0] == "run"
    assert all(position.startswith("run") for position in result)
    assert is_store_empty(client)


def test_an_input_of_the_first_design_is_a_source_or_a_field_but_not_both(client: FlaskClient) -> None:
    both = {"field": {"name": "body"}, "source": {"name": "user_data"}}
    answer = record(client, with_wrong(first_design(), "operations.1.inputs.0", both))
    assert error_paths(answer, 400) == ["operations.1.inputs.0"]


@pytest.mark.parametrize("body", [b"[]", b"null", b"5", b'"run"', b"true", b"[{}]"])
def test_a_document_is_an_object(client: FlaskClient, body: bytes) -> None:
    assert len(error_paths(send(client, body), 400)) == 1
    assert is_store_empty(client)


@pytest.mark.parametrize("kind", ["scan", "", 5, None, "FILTER", ["filter"]])
def test_an_unknown_kind_is_400(client: FlaskClient, kind: Any) -> None:
    shaping = {"origin": "read", "name": "body", "influence": "indirect", "kind": kind}
    answer = record(client, with_wrong(worked(), "operations.1.inputs.0", shaping))
    assert error_paths(answer, 400) == ["operations.1.inputs.0.kind"]


def test_every_fault_of_shape_is_reported_at_once(client: FlaskClient) -> None:
    wrong = {
        "namespace": "other",
        "run.application": ABSENT,
        "run.version": 1,
        "run.state": "DONE",
        "run.startTime": -1,
        "operations.0.source.name": "",
        "operations.0.outputs.0": 5,
        "operations.1.name": ABSENT,
        "operations.1.inputs.0.influence": "maybe",
        "operations.2.type": "SPLIT",
        "operations.3.destination": "people",
        "operations.3.inputs.0.origin": ABSENT,
        "operations.3.inputs.1": 5,
    }
    document = worked()
    for position, value in wrong.items():
        document = with_wrong(document, position, value)
    assert error_paths(record(client, document), 400) == sorted(wrong)


def test_an_empty_document_misses_all_that_is_required(client: FlaskClient) -> None:
    assert error_paths(send(client, b"{}"), 400) == ["operations", "run"]


def test_faults_of_shape_are_reported_before_those_of_lineage(client: FlaskClient) -> None:
    document = {"run": run(start_ms=-1), "operations": [transforming("t", input_fields("nowhere", "x"), "x")]}
    assert error_paths(record(client, document), 400) == ["run.startTime"]


NO_LINEAGE: dict[str, tuple[list[Json], list[str]]] = {
    "no operations": ([], ["operations", "operations"]),
    "no READ": ([writing("w", "b")], ["operations"]),
    "no WRITE": ([reading("r", "a", "x")], ["operations"]),
    "two of one name": (
        [reading("r", "a", "x"), reading("r", "c", "x"), writing("w", "b", *input_fields("r", "x"))],
        ["operations.1.name"],
    ),
    "an origin that is no operation": (
        [reading("r", "a", "x"), writing("w", "b", *input_fields("r", "x"), *input_fields("R", "x"))],
        ["operations.1.inputs.1"],
    ),
    "an origin that is a WRITE": (
        [
            reading("r", "a", "x"),
            writing("w", "b", *input_fields("r", "x")),
            writing("v", "c", *input_fields("w", "x")),
        ],
        ["operations.2.inputs.0"],
    ),
    "an operation that feeds itself": (
        [reading("r", "a", "x"), transforming("t", input_fields("t", "y"), "y"), writing("w", "b")],
        ["operations.1"],
    ),
    "a cycle": (
        [
            reading("r", "a", "x"),
            writing("w", "b", *input_fields("t", "y")),
            transforming("t", [*input_fields("r", "x"), *input_fields("u", "z")], "y"),
            transforming("u", input_fields("t", "y"), "z"),
        ],
        ["operations.2"],
    ),
    "a cycle of influence alone": (
        [
            reading("r", "a", "x"),
            writing("w", "b"),
            transforming("t", input_fields("u", "z", influence="indirect"), "y"),
            transforming("u", input_fields("t", "y", influence="indirect"), "z"),
        ],
        ["operations.2"],
    ),
    "a WRITE that feeds itself": (
        [reading("r", "a", "x"), writing("w", "b", *input_fields("w", "x"))],
        ["operations.1", "operations.1.inputs.0"],
    ),
}


@pytest.mark.parametrize("name", NO_LINEAGE)
def test_what_makes_no_lineage_is_422_at_its_place(client: FlaskClient, name: str) -> None:
    operations, expected = NO_LINEAGE[name]
    assert error_paths(record(client, {"run": run(), "operations": operations}), 422) == expected
    assert is_store_empty(client)


def test_every_fault_of_lineage_is_reported_at_once(client: FlaskClient) -> None:
    operations = [
        transforming("t", [*input_fields("nowhere", "x"), *input_fields("u", "x")], "x"),
        transforming("u", input_fields("t", "x"), "x"),
        transforming("self", input_fields("self", "x"), "x"),
        writing("w", "b", *input_fields("t", "x")),
        writing("w", "c"),
        writing("v", "d", *input_fields("w", "x"), *input_fields("also nowhere", "x")),
    ]
    result = error_paths(record(client, {"run": run(), "operations": operations}), 422)
    assert result == [
        "operations",
        "operations.0",
        "operations.0.inputs.0",
        "operations.2",
        "operations.4.name",
        "operations.5.inputs.0",
        "operations.5.inputs.1",
    ]
    assert is_store_empty(client)


def test_a_refused_run_leaves_what_it_recorded_before(client: FlaskClient) -> None:
    (checksum,) = record_new(client, copying("a", "b", "x"))
    refused = copying("a", "b", "x")
    refused["operations"].pop()
    assert_problem(record(client, refused), 422)
    again = record(client, copying("a", "b", "x"))
    assert again.json == {"checksum": checksum, "run": "r1", "recorded": False}


def test_a_document_of_the_very_limit_is_taken_and_one_byte_more_is_413(make_client: MakeClient) -> None:
    raw = encoded(worked())
    assert send(make_client(document_bytes_max=len(raw)), raw).status_code == 201
    small = make_client(document_bytes_max=len(raw) - 1)
    assert_problem(send(small, raw), 413)
    assert is_store_empty(small)


class TestWhatCannotBeStored:
    """Well-formed lineage that the store must not take."""

    def test_an_operation_that_no_cell_holds_is_413_and_leaves_no_trace(self, client: FlaskClient) -> None:
        huge = copying("a", "b", "x")
        huge["operations"][0]["description"] = "x" * (9 * 2**20)
        assert_problem(record(client, huge), 413)
        assert is_store_empty(client)
        others = (
            encoded(copying("c", "d", "x", run=run("r2"))),
            encoded(copying("e", "f", "x", run=run("r3"))),
        )
        answers = batch(client, others[0] + encoded(huge) + others[1])
        assert [payload["status"] for payload in answers] == [201, 413, 201]
        assert_problem(client.get(path("ns1", "endpoints", "a", "fields")), 404)

    def test_one_checksum_for_two_contents_is_409(self, make_table: MakeTable) -> None:
        table = make_table()
        client = create_app(LineageStore(table)).test_client()
        checksum, other = record_new(client, copying("a", "b", "x"), copying("c", "d", "y", run=run("r2")))
        forge(table, checksum, other)
        fresh = create_app(LineageStore(table)).test_client()
        assert_problem(record(fresh, copying("a", "b", "x", run=run("r3"))), 409)
        answers = batch(
            fresh, encoded(copying("a", "b", "x", run=run("r4")), copying("e", "f", "x", run=run("r5")))
        )
        assert [payload["status"] for payload in answers] == [409, 201]
        assert_problem(record(fresh, copying("a", "b", "x", run=run("r3"))), 409)


def forge(table: Table, checksum: str, other: str) -> None:
    """Put the content of another checksum where the first has its own."""
    cells = table.get(layout.content_row(other))
    row = layout.content_row(checksum)
    table.write([[Put(row, column, cell.value) for column, cell in cells.items()]])


@pytest.mark.parametrize(
    "media_type",
    [
        "text/plain",
        "application/xml",
        "application/x-www-form-urlencoded",
        "application/x-ndjson",
        "json",
        "*/*",
    ],
)
def test_another_media_type_is_415(client: FlaskClient, media_type: str) -> None:
    assert_problem(send(client, encoded(worked()), Content_Type=media_type), 415)
    assert is_store_empty(client)


@pytest.mark.parametrize(
    "media_type",
    [
        "application/json",
        "application/json; charset=utf-8",
        'Application/JSON;charset="UTF-8"',
        "application/json; profile=x",
    ],
)
def test_json_however_it_is_spelt(client: FlaskClient, media_type: str) -> None:
    assert send(client, encoded(worked()), Content_Type=media_type).status_code == 201


def test_another_charset_is_415(client: FlaskClient) -> None:
    answer = send(client, encoded(worked()), Content_Type="application/json; charset=latin-1")
    assert_problem(answer, 415)


@pytest.mark.parametrize("encoding", ["br", "deflate", "zstd", "gzip, gzip", "gzip, br"])
def test_another_content_encoding_is_415(client: FlaskClient, encoding: str) -> None:
    assert_problem(send(client, encoded(worked()), Content_Encoding=encoding), 415)
    assert is_store_empty(client)
