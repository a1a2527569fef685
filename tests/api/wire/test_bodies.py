"""Bytes that are not a document: one clear problem each, never a 500, and nothing stored."""

from __future__ import annotations

import gzip
import json
import socket
import zlib
from collections.abc import Callable

import pytest
from flask.testing import FlaskClient

from tests.api.conftest import DOCUMENT_BYTES_MAX, MakeClient
from tests.support.api_client import (
    ALL,
    assert_problem,
    assert_problem_body,
    batch,
    error_paths,
    get_json,
    is_store_empty,
    lines,
    record_new,
    send,
)
from tests.support.lineage_documents import Json, copying, encoded, run, worked
from tests.support.raw_http import Server, answer, chunk, head

pytestmark = pytest.mark.slow

MIB = 2**20


@pytest.fixture(scope="session")
def engine() -> str:
    """SQLite alone: what is wrong here is refused before the store is read."""
    return "sqlite"


OPERATIONS = json.dumps(worked()["operations"])
RUN = json.dumps(worked()["run"])
BODY_READERS = json.dumps(worked())


def text(run: str = RUN, operations: str = OPERATIONS, more: str = "") -> bytes:
    """The contract's example, written out with other parts; none spans lines."""
    return f'{{"run": {run}, "operations": {operations}{more}}}'.encode("utf-8", "surrogatepass")


def in_run(member: str) -> bytes:
    return text(run=f"{RUN[:-1]}, {member}}}")


def in_operations(previous: str, following: str) -> bytes:
    assert OPERATIONS.count(previous) >= 1
    return text(operations=OPERATIONS.replace(previous, following, 1))


NOT_ONE_THING: dict[str, bytes] = {
    "NaN": text(more=', "x": NaN'),
    "Infinity": text(more=', "x": [Infinity]'),
    "-Infinity": in_run('"x": -Infinity'),
    "NaN as a start": BODY_READERS.replace("1442863938000", "NaN").encode(),
    "NaN in operations": in_operations('"name": "read"', '"name": "read", "x": NaN'),
    "a high surrogate": in_run('"x": "\\ud83d"'),
    "a low surrogate": text(more=', "x": "\\uDE00"'),
    "surrogates the wrong way round": text(more=', "x": "\\ude00\\ud83d"'),
    "a surrogate in a member's name": text(more=', "\\ud800": 1'),
    "a surrogate in the run's id": in_run('"run": "\\ud800"').replace(b'"run": "0b6f\\u2026", ', b""),
    "a surrogate in operations": in_operations('"name": "parse"', '"name": "\\udfff"'),
    "a surrogate as bytes": text(more=', "x": "\ud800"'),
    "run twice": text(more=f', "run": {RUN}'),
    "operations twice": text(more=f', "operations": {OPERATIONS}'),
    "other operations first": f'{{"operations": [], {text().decode()[1:]}'.encode(),
    "other operations last": text(more=', "operations": []'),
    "operations twice, once escaped": text(more=f', "operati\\u006fns": {OPERATIONS}'),
    "an unknown member twice": text(more=', "x": 1, "x": 1'),
    "a member of run twice": in_run('"startTime": 1442863938000'),
    "an unknown member of run twice": in_run('"x": 1, "x": 2'),
    "a member of an unknown object twice": text(more=', "x": [{"y": {"z": 1, "z": 1}}]'),
    "a member of an operation twice": in_operations('"name": "read"', '"name": "read", "name": "read"'),
    "a member of a source twice": in_operations('"name": "user_data"', '"name": "user_data", "name": "x"'),
    "a member of an input twice": in_operations('"origin": "read"', '"origin": "read", "origin": "read"'),
    "deep arrays": text(more=f', "x": {"[" * 100_000}{"]" * 100_000}'),
    "deep objects": text(more=', "x": ' + '{"x": ' * 100_000 + "1" + "}" * 100_000),
    "deep operations": text(operations="[" * 100_000 + "]" * 100_000),
    "deep run": text(run="[" * 100_000 + "]" * 100_000),
    "deep and never closed": text(more=', "x": ' + "[" * 100_000),
    "a byte that is no UTF-8": text(more=', "x": "?"').replace(b"?", b"\xff"),
    "a cut character": text(more=', "x": "?"').replace(b"?", b"\xf0\x9f\x98"),
    "an overlong character": text(more=', "x": "?"').replace(b"?", b"\xc0\xaf"),
    "no UTF-8 in operations": OPERATIONS.join(['{"run": ' + RUN + ', "operations": ', "}"])
    .encode()
    .replace(b"user_data", b"user\xffdata"),
    "a byte order mark": b"\xef\xbb\xbf" + text(),
    "UTF-16": BODY_READERS.encode("utf-16-le"),
    "UTF-32": BODY_READERS.encode("utf-32-be"),
    "a number too long to read": BODY_READERS.replace("1442863938000", "9" * 10_000).encode(),
    "an unknown number too long to read": text(more=f', "x": {"9" * 10_000}'),
    "no document": b"  ",
    "half a document": text()[:-1],
    "a document and a half": text() + b"{",
    "two documents": text() + text(),
    "a comma too many": text(more=","),
    "single quotes": text().replace(b'"', b"'"),
    "a comment": b"/* */" + text(),
    "a control character": text(more=', "x": "\x01"'),
    "a number with a plus": text(more=', "x": +1'),
    "a number with a nought": text(more=', "x": 01'),
    "a word": b"undefined",
    "a NUL": b"\x00",
    "an open text": b'{"run": "',
    "an escape that is none": text(more=', "x": "\\x41"'),
    "gzip that nobody told of": gzip.compress(text()),
}
"""Bodies that are no JSON text, or that readers could take in more than one way."""

WRONG_NUMBERS: dict[str, bytes] = {
    "a number beyond all": BODY_READERS.replace("1442863938000", "1e999").encode(),
    "a large integer": BODY_READERS.replace("1442863938000", "9" * 4_000).encode(),
    "a whole fraction": BODY_READERS.replace("1442863938000", "1442863938000.0").encode(),
    "an exponent": BODY_READERS.replace("1442863938000", "1442863938e3").encode(),
    "just below nought": BODY_READERS.replace("1442863938000", "-1").encode(),
}
"""JSON texts whose start is no integer of the range."""


@pytest.fixture(params=["never seen", "remembered"])
def existing(request: pytest.FixtureRequest, client: FlaskClient) -> Callable[[], bool]:
    """Whether all that is stored is what was before the body came: nothing, or the operations it holds."""
    if request.param == "never seen":
        return lambda: is_store_empty(client)
    record_new(client, worked(run="existing"))
    return lambda: [listed["run"] for listed in all_runs(client)] == ["existing"]


def all_runs(client: FlaskClient) -> list[Json]:
    listed: list[Json] = get_json(client, "ns1", "endpoints", "people", "runs", **ALL)["runs"]
    return listed


@pytest.mark.slow
@pytest.mark.parametrize("name", NOT_ONE_THING)
def test_a_body_that_says_no_one_thing_is_one_problem(
    client: FlaskClient, existing: Callable[[], bool], name: str
) -> None:
    answered = send(client, NOT_ONE_THING[name])
    assert len(error_paths(answered, 400)) == 1
    assert existing()


@pytest.mark.parametrize("name", [name for name, body in NOT_ONE_THING.items() if b"\n" not in body])
def test_likewise_in_a_batch_and_the_line_after_it_is_taken(client: FlaskClient, name: str) -> None:
    body = encoded(worked(run="before")) + NOT_ONE_THING[name] + b"\n" + encoded(worked(run="after"))
    answers = batch(client, body)
    bad = 0 if not NOT_ONE_THING[name].strip() else 1
    assert [payload["status"] for payload in answers] == [201, *[400] * bad, 201]
    assert all(len(assert_problem_body(payload, 400)["errors"]) == 1 for payload in answers[1:-1])
    assert {listed["run"] for listed in all_runs(client)} == {"before", "after"}


@pytest.mark.parametrize("name", WRONG_NUMBERS)
def test_a_start_that_is_no_integer_of_the_range(
    client: FlaskClient, existing: Callable[[], bool], name: str
) -> None:
    assert error_paths(send(client, WRONG_NUMBERS[name]), 400) == ["run.startTime"]
    assert existing()


@pytest.mark.parametrize(
    "payload", ["1e999", "-1e999", "9" * 4_000, "-0", "1.5", "[[[[[]]]]]", '"\\ud83d\\ude00"']
)
def test_unknown_members_may_hold_any_json(client: FlaskClient, payload: str) -> None:
    answered = send(client, text(more=f', "x": {payload}'))
    assert answered.status_code == 201
    assert [warning["at"] for warning in answered.json["warnings"]] == ["x"]


@pytest.mark.parametrize(
    "body",
    [
        f'{{"operations": {OPERATIONS}, "run": {RUN}}}',
        f'\r\n\t {{ "run" : {RUN} , "operations" : {OPERATIONS} }} \n',
        f'{{"operati\\u006fns": {OPERATIONS}, "r\\u0075n": {RUN}}}',
        f'{{"x": {OPERATIONS}, "run": {RUN}, "operations": {OPERATIONS}}}',
        f'{{"x": {json.dumps(OPERATIONS)}, "run": {RUN}, "operations": {OPERATIONS}}}',
        f'{{"run": {RUN[:-1]}, "operations": 0}}, "operations": {OPERATIONS}}}',
        f'{{"run": {RUN[:-1]}, "operations": {OPERATIONS}}}, "operations": {OPERATIONS}}}',
        text(more=', "namespace": "ns1"').decode(),
    ],
    ids=[
        "operations first",
        "blanks",
        "escaped names",
        "elsewhere before",
        "in a text before",
        "nought in run",
        "in run",
        "namespace",
    ],
)
def test_the_same_document_however_it_is_written(client: FlaskClient, body: str) -> None:
    record_new(client, worked())
    first, again = send(client, body.encode()), send(client, body.encode())
    assert (first.status_code, first.json["recorded"]) == (200, False), first.text
    assert again.json == first.json


def test_a_remembered_run_in_another_namespace_is_another(client: FlaskClient) -> None:
    document = copying("a", "b", "x")
    record_new(client, document, namespace="ns1")
    (checksum,) = record_new(client, {**document, "run": run("r2")}, namespace="ns2")
    entries = get_json(client, "ns2", "endpoints", "a", "fields", "lineage", **ALL)
    assert [entry["source"]["namespace"] for entry in entries] == ["ns2"]
    assert checksum != send(client, encoded(document), namespace="ns1").json["checksum"]


@pytest.mark.slow
def test_remembered_operations_with_a_destination_are_the_first_designs_form(client: FlaskClient) -> None:
    record_new(client, worked())
    answered = send(client, text(more=', "destination": {"name": "people"}'))
    assert "operations.1.inputs.0" in error_paths(answered, 400)


class TestGzip:
    """Bodies that come compressed."""

    @pytest.mark.parametrize("encoding", ["gzip", "GZIP", "x-gzip", " gzip "])
    def test_a_compressed_document_is_taken(self, client: FlaskClient, encoding: str) -> None:
        answered = send(client, gzip.compress(encoded(worked())), Content_Encoding=encoding)
        assert answered.status_code == 201

    def test_of_several_members(self, client: FlaskClient) -> None:
        raw = encoded(worked())
        body = gzip.compress(raw[:100]) + gzip.compress(b"") + gzip.compress(raw[100:])
        assert send(client, body, Content_Encoding="gzip").status_code == 201

    def test_identity_is_no_compression(self, client: FlaskClient) -> None:
        assert send(client, encoded(worked()), Content_Encoding="identity").status_code == 201

    @pytest.mark.parametrize("cut", [1, 4, 8, 9, 50])
    def test_cut_off(self, client: FlaskClient, cut: int) -> None:
        body = gzip.compress(encoded(worked()))
        assert_problem(send(client, body[:-cut], Content_Encoding="gzip"), 400)
        assert is_store_empty(client)

    @pytest.mark.parametrize("path", [0, 2, 3, 9, 12, 40, -8, -3])
    def test_damaged(self, client: FlaskClient, path: int) -> None:
        body = bytearray(gzip.compress(encoded(worked()), mtime=0))
        body[path] ^= 0xFF
        answered = send(client, bytes(body), Content_Encoding="gzip")
        if path != 9:  # which system compressed it
            assert_problem(answered, 400)
            assert is_store_empty(client)

    @pytest.mark.parametrize("body", [b"", b"x", encoded(worked()), zlib.compress(encoded(worked()))])
    def test_not_gzip(self, client: FlaskClient, body: bytes) -> None:
        assert_problem(send(client, body, Content_Encoding="gzip"), 400)
        assert is_store_empty(client)

    @pytest.mark.parametrize("trailer", [b"x", b"{}", encoded(worked())])
    def test_something_after_it(self, client: FlaskClient, trailer: bytes) -> None:
        body = gzip.compress(encoded(worked())) + trailer
        assert_problem(send(client, body, Content_Encoding="gzip"), 400)
        assert is_store_empty(client)

    @pytest.mark.slow
    def test_a_bomb(self, make_client: MakeClient) -> None:
        client = make_client(document_bytes_max=MIB)
        body = gzip.compress(b" " * (200 * MIB) + encoded(worked()), compresslevel=1)
        assert len(body) < MIB
        assert_problem(send(client, body, Content_Encoding="gzip"), 413)
        assert is_store_empty(client)

    def test_a_bomb_of_many_members(self, make_client: MakeClient) -> None:
        client = make_client(document_bytes_max=MIB)
        body = gzip.compress(b" " * MIB) * 100
        assert_problem(send(client, body, Content_Encoding="gzip"), 413)

    def test_of_the_very_limit(self, make_client: MakeClient) -> None:
        raw = encoded(worked())
        body = gzip.compress(raw)
        client = make_client(document_bytes_max=len(raw))
        assert send(client, body, Content_Encoding="gzip").status_code == 201
        client = make_client(document_bytes_max=len(raw) - 1)
        assert_problem(send(client, body, Content_Encoding="gzip"), 413)


class TestOnTheWire:
    """Bodies as a real server gets them."""

    TARGET = "/v3/namespaces/bodies/lineage"

    @pytest.mark.slow
    def test_a_body_without_a_length(self, server: Server) -> None:
        with server.connected() as connection:
            connection.sendall(head("POST", self.TARGET, Transfer_Encoding="chunked"))
            body = encoded(worked(run="without a length"))
            connection.sendall(chunk(body[:99]) + chunk(body[99:]) + chunk(b""))
            assert answer(connection).status == 201

    def test_a_long_body_without_a_length_is_413(self, server: Server) -> None:
        part = chunk(b" " * 2**16)
        with server.connected() as connection:
            connection.sendall(head("POST", self.TARGET, Transfer_Encoding="chunked"))
            connection.sendall(part * (DOCUMENT_BYTES_MAX // 2**16))
            connection.sendall(chunk(encoded(worked(run="too long"))) + chunk(b""))
            assert answer(connection).problem["status"] == 413

    def test_an_endless_body_is_413_before_its_end(self, server: Server) -> None:
        with server.connected() as connection:
            connection.sendall(head("POST", self.TARGET, Transfer_Encoding="chunked"))
            connection.sendall(chunk(b" " * (DOCUMENT_BYTES_MAX + 2**16)))
            assert answer(connection).problem["status"] == 413

    def test_a_length_beyond_the_limit_is_413_before_the_body(self, server: Server) -> None:
        with server.connected() as connection:
            connection.sendall(head("POST", self.TARGET, Content_Length=str(10 * DOCUMENT_BYTES_MAX)))
            assert answer(connection).problem["status"] == 413

    def test_no_body_at_all_is_400(self, server: Server) -> None:
        payload = server.exchange("POST", self.TARGET)
        assert (payload.status, len(payload.problem["errors"])) == (400, 1)

    def test_a_client_that_waits_to_be_reported_to_continue(self, server: Server) -> None:
        body = encoded(worked(run="expects"))
        with server.connected() as connection:
            payload = {"Content_Length": str(len(body)), "Expect": "100-continue"}
            connection.sendall(head("POST", self.TARGET, **payload))
            assert connection.recv(25, 0x100).startswith(b"HTTP/1.1 100 ")
            connection.sendall(body)
            assert answer(connection).status == 201

    def test_a_body_that_is_cut_off_stores_nothing(self, server: Server) -> None:
        body = encoded(copying("cut", "off", "x"))
        with server.connected() as connection:
            connection.sendall(head("POST", self.TARGET, Content_Length=str(len(body))) + body[:-5])
            connection.shutdown(socket.SHUT_WR)
            assert answer(connection).problem["status"] == 400
        assert server.get("/v3/namespaces/bodies/endpoints/cut/fields").status == 404

    @pytest.mark.parametrize(
        "body",
        [
            b"zz\r\n{}\r\n0\r\n\r\n",
            b"-1\r\n{}\r\n0\r\n\r\n",
            b"2\r\n{}x\r\n0\r\n\r\n",
            b"5\r\n{}",
            b"2\r\n{}\r\n",
            b"",
        ],
        ids=["no size", "a negative size", "a wrong size", "cut in a chunk", "cut after a chunk", "nothing"],
    )
    @pytest.mark.parametrize("route", ["", "/batch"])
    def test_chunks_that_are_none(self, server: Server, body: bytes, route: str) -> None:
        with server.connected() as connection:
            connection.sendall(head("POST", self.TARGET + route, Transfer_Encoding="chunked") + body)
            connection.shutdown(socket.SHUT_WR)
            payload = answer(connection)
        if route and payload.status == 200:
            assert {line["status"] for line in lines(payload.body)} == {400}
        else:
            assert (payload.status, len(payload.problem["errors"])) == (400, 1)

    def test_the_next_request_of_a_connection_after_a_refusal(self, server: Server) -> None:
        body = b"{" + b" " * 1000
        length = {"Content_Length": str(len(body)), "Connection": "keep-alive"}
        with server.connected() as connection:
            connection.sendall(head("POST", self.TARGET + "?x=1", **length) + body)
            assert answer(connection).problem["status"] == 400
            connection.sendall(head("GET", "/healthz"))
            assert answer(connection).status == 200
