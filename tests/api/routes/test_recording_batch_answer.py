"""Batches: one answer for each line, in order, however the bytes arrive."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from flask.testing import FlaskClient

from api.routes.recording import SPOOLED_BYTES_MAX
from tests.api.conftest import MakeClient
from tests.support.api_client import (
    ALL,
    assert_problem,
    assert_problem_body,
    batch,
    get_json,
    is_store_empty,
    lineage,
    lines,
    path,
    record,
    record_new,
    send,
)
from tests.support.lineage_documents import Json, copying, encoded, first_design, run, worked
from tests.support.raw_http import Server, answer, chunk, head

ROUTE = "lineage/batch"
NDJSON = "application/x-ndjson"


def numbered(number: int, *fields: str) -> Json:
    """A small document with a run of its own."""
    return copying("a", "b", *(fields or ("x",)), run=run(f"r{number}"))


def reported(answers: list[Any]) -> list[int]:
    """The status of each line; problems must be sound."""
    for payload in answers:
        if payload["status"] >= 400:
            assert_problem_body(payload, payload["status"])
    return [payload["status"] for payload in answers]


def runs_stored(client: FlaskClient) -> set[str]:
    """Every run that touched end point `a`."""
    return {listed["run"] for listed in get_json(client, "ns1", "endpoints", "a", "runs", **ALL)["runs"]}


def test_each_line_is_answered_as_it_would_be_alone(client: FlaskClient, make_client: MakeClient) -> None:
    documents = [worked(), first_design(), numbered(1), {"run": run()}, {**numbered(2), "operations": []}]
    alone = [record(client, document) for document in documents]
    answers = batch(make_client(), encoded(*documents))
    assert answers == [{"status": first.status_code, **first.json} for first in alone]
    assert reported(answers) == [201, 201, 201, 400, 422]


def test_a_bad_line_does_not_stop_the_others(client: FlaskClient) -> None:
    body = encoded(numbered(1)) + b"{\n" + encoded(numbered(2)) + b"\xff\n[]\nnull\n" + encoded(numbered(3))
    answers = batch(client, body)
    assert reported(answers) == [201, 400, 201, 400, 400, 400, 201]
    assert [payload.get("run") for payload in answers] == ["r1", None, "r2", None, None, None, "r3"]
    assert runs_stored(client) == {"r1", "r2", "r3"}


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\n\n", b"\r\n\r\n", b" \n", b"\n  \t\n"])
def test_blank_lines_are_skipped_and_crlf_ends_lines_too(client: FlaskClient, ending: bytes) -> None:
    answers = batch(client, ending + encoded(numbered(1), numbered(2), ending=ending) + ending)
    assert reported(answers) == [201, 201]


def test_the_last_line_needs_no_end(client: FlaskClient) -> None:
    assert reported(batch(client, encoded(numbered(1), numbered(2)).rstrip())) == [201, 201]


@pytest.mark.parametrize("body", [b"", b"\n", b"\r\n \n"])
def test_a_batch_of_nothing_answers_nothing(client: FlaskClient, body: bytes) -> None:
    assert batch(client, body) == []


@pytest.mark.slow
def test_lines_may_look_like_anything_inside_texts(client: FlaskClient) -> None:
    name = "line\u2028separator\x85\x0b\x0c\x1c end"
    raw = json.dumps(copying(name, "b", "x"), ensure_ascii=False).encode().replace(b"\x0b", b"\\u000b")
    body = raw.replace(b"\x0c", b"\\f").replace(b"\x1c", b"\\u001c") + b"\n" + encoded(numbered(2))
    assert reported(batch(client, body)) == [201, 201]
    assert lineage(client, name) != []


@pytest.mark.parametrize("media_type", [NDJSON, "application/jsonl", "application/json"])
def test_three_media_types_are_taken(client: FlaskClient, media_type: str) -> None:
    answers = batch(client, encoded(numbered(1), numbered(2)), Content_Type=media_type)
    assert reported(answers) == [201, 201]


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/ndjson+x", "multipart/form-data; boundary=x"]
)
def test_others_are_415(client: FlaskClient, media_type: str) -> None:
    assert_problem(send(client, encoded(numbered(1)), ROUTE, Content_Type=media_type), 415)
    assert is_store_empty(client)


def test_the_same_run_twice_is_recorded_once(client: FlaskClient) -> None:
    first, again = batch(client, encoded(numbered(1), numbered(1)))
    assert (first["status"], first["recorded"]) == (201, True)
    assert (again["status"], again["recorded"]) == (200, False)


def test_the_last_of_one_run_in_a_batch_replaces_the_others(client: FlaskClient) -> None:
    answers = batch(client, encoded(numbered(1, "x"), numbered(2, "z"), numbered(1, "y"), numbered(1, "y")))
    assert reported(answers) == [201, 201, 200, 200]
    assert [payload.get("replaced", False) for payload in answers] == [False, False, True, False]
    assert [payload["recorded"] for payload in answers] == [True, True, True, False]
    (entry,) = lineage(client, "a")
    assert [pair["from"] for pair in entry["fieldmap"]] == ["y", "z"]


def test_warnings_stand_in_their_lines(client: FlaskClient) -> None:
    plain, warned = batch(client, encoded(numbered(1), {**numbered(2), "colour": "red"}))
    assert "warnings" not in plain
    assert [warning["at"] for warning in warned["warnings"]] == ["colour"]


def test_a_dry_run_stores_nothing_and_reports_each_line(client: FlaskClient) -> None:
    body = encoded(worked(), {"run": run()}) + b"{\n" + encoded(first_design())
    alone = [record(client, document, dryRun="true").json for document in (worked(), first_design())]
    answers = batch_dry_run(client, body)
    assert reported(answers) == [200, 400, 400, 200]
    assert [answers[0], answers[3]] == [{"status": 200, **first} for first in alone]
    assert is_store_empty(client)


def batch_dry_run(client: FlaskClient, body: bytes) -> list[Any]:
    answered = client.post(path("ns1", *ROUTE.split("/"), dryRun="true"), data=body, content_type=NDJSON)
    assert answered.status_code == 200
    return lines(answered.data)


def test_unknown_parameters_are_400_before_anything_is_read(client: FlaskClient) -> None:
    answered = client.post(path("ns1", *ROUTE.split("/"), dry="true"), data=encoded(numbered(1)))
    assert_problem(answered, 400)
    assert is_store_empty(client)


def test_a_gzipped_batch(client: FlaskClient) -> None:
    body = gzip.compress(encoded(*map(numbered, range(50))))
    assert reported(batch(client, body, Content_Encoding="gzip")) == [201] * 50


def test_what_comes_before_a_broken_end_of_gzip_is_recorded_and_the_break_reported(
    client: FlaskClient,
) -> None:
    complete = gzip.compress(encoded(numbered(1), numbered(2)))
    answers = batch(client, complete[:-8], Content_Encoding="gzip")
    assert reported(answers)[-1] == 400
    stored = {payload["run"] for payload in answers if payload["status"] == 201}
    assert runs_stored(client) == stored if stored else is_store_empty(client)


def test_no_gzip_at_all_is_one_problem(client: FlaskClient) -> None:
    assert reported(batch(client, encoded(numbered(1), numbered(2)), Content_Encoding="gzip")) == [400]
    assert is_store_empty(client)


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_a_line_of_the_very_limit_is_taken_and_a_longer_one_is_413(
    make_client: MakeClient, ending: bytes
) -> None:
    raw = encoded(numbered(1), ending=b"")
    padding = b'{"padding": "%s"}' % (b"x" * 5000)
    body = ending.join([raw, b" " + raw, padding, encoded(numbered(2), ending=b""), b""])
    client = make_client(document_bytes_max=len(raw))
    assert reported(batch(client, body)) == [201, 413, 413, 201]
    assert runs_stored(client) == {"r1", "r2"}


def test_a_long_last_line_without_an_end_is_413_too(make_client: MakeClient) -> None:
    client = make_client(document_bytes_max=500)
    assert reported(batch(client, encoded(numbered(1)) + b"x" * 300_000)) == [201, 413]


def test_a_batch_that_says_it_is_too_long_is_413_and_not_begun(make_client: MakeClient) -> None:
    body = encoded(numbered(1), numbered(2))
    client = make_client(batch_bytes_max=len(body) - 1)
    assert_problem(send(client, body, ROUTE), 413)
    assert is_store_empty(client)
    assert reported(batch(make_client(batch_bytes_max=len(body)), body)) == [201, 201]


def test_a_batch_that_turns_out_too_long_is_reported_where_it_ends(make_client: MakeClient) -> None:
    body = encoded(*map(numbered, range(20)))
    client = make_client(batch_bytes_max=len(body) - 1)
    answers = batch(client, gzip.compress(body), Content_Encoding="gzip")
    assert reported(answers) == [201] * 19 + [413]
    assert len(runs_stored(client)) == 19


@pytest.mark.slow
def test_many_lines_are_answered_in_order(client: FlaskClient) -> None:
    count = 4500
    body = b"".join(
        b"not JSON\n" if number % 1000 == 999 else encoded(numbered(number)) for number in range(count)
    )
    answers = batch(client, body)
    assert len(answers) == count
    for number, payload in enumerate(answers):
        assert payload["status"] == 400 if number % 1000 == 999 else payload["run"] == f"r{number}"
    assert len(runs_stored(client)) == 1000, "a page of the list"


@pytest.mark.slow
def test_answers_longer_than_memory_should_hold_come_whole(make_client: MakeClient) -> None:
    count = 50_000
    answered = send(make_client(batch_errors_max=count), b"[]\n" * count, ROUTE)
    assert answered.content_length == len(answered.data) > SPOOLED_BYTES_MAX
    assert answered.data.count(b"\n") == count
    assert set(answered.data.splitlines()) == {answered.data.splitlines()[0]}
    assert_problem_body(json.loads(answered.data.splitlines()[0]), 400)


def test_remembered_operations_are_recorded_as_ever(client: FlaskClient) -> None:
    checksums = record_new(client, worked(run="alone"))
    answers = batch(client, encoded(*(worked(run=f"again {number}") for number in range(10))))
    assert reported(answers) == [201] * 10
    assert {payload["checksum"] for payload in answers} == set(checksums)


@pytest.mark.slow
def test_a_client_that_sends_all_before_it_reads_is_answered(server: Server) -> None:
    target = path("batch of one server", *ROUTE.split("/"))
    pieces = [chunk(encoded(*(numbered(10 * part + number) for number in range(10)))) for part in range(300)]
    with server.connected() as connection:
        connection.sendall(head("POST", target, Content_Type=NDJSON, Transfer_Encoding="chunked"))
        connection.sendall(b"".join([*pieces, chunk(b"")]))
        payload = answer(connection, "POST")
    assert payload.status == 200
    assert reported(lines(payload.body)) == [201] * 3000


def test_a_line_split_over_chunks_is_one_line(server: Server) -> None:
    target = path("chunks of one server", *ROUTE.split("/"))
    body = encoded(worked(run="chunked 1"), worked(run="chunked 2"))
    with server.connected() as connection:
        connection.sendall(head("POST", target, Content_Type=NDJSON, Transfer_Encoding="chunked"))
        for begin in range(0, len(body), 7):
            connection.sendall(chunk(body[begin : begin + 7]))
        connection.sendall(chunk(b""))
        assert reported(lines(answer(connection, "POST").body)) == [201, 201]
