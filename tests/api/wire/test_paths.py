"""Names in paths, through the test client and as raw bytes to a real server."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from tests.support.api_client import ALL, assert_problem_body, path
from tests.support.lineage_documents import Json, copying, encoded, run
from tests.support.raw_http import Answer, Server

pytestmark = [pytest.mark.hbase, pytest.mark.slow]

NAMES = [
    "a/b",
    "a%2Fb",
    "a%252Fb",
    "s3://bucket/a",
    "employees/name",
    "a|b",
    "a%7Cb",
    "%",
    "%25",
    "%%",
    "%2",
    "/",
    "//",
    " ",
    "  a  b  ",
    "a+b",
    "a b",
    ".",
    "..",
    "../..",
    "a\x00b",
    "\x00",
    "\r\n",
    "é",
    "e\u0301",
    "🙂",
    "\ufeff",
    "\uffff",
    "a?b#c&d=e",
    "a;b:c@d,e",
    "\"<a>'`\\^{}[]",
    "*",
    "fields",
    "lineage",
    "runs",
    "~",
    "a" * 1_000,
    "é" * 500,
    "/" * 1_000,
    "%" * 1_000,
    "\x00" * 4_096,
]
"""Each of them its own name, none to be taken for another."""

LONGEST = {"namespace": 1_024, "name": 4_096, "field": 4_096}

Transport = Callable[..., Answer]


@pytest.fixture(params=["test client", "server"])
def transport(engine: str, request: pytest.FixtureRequest) -> Transport:
    """Takes a method, a target and a body, and gives the answer: in this process, or over a socket.

    It asks for either by name, so that it must say itself that both run on every `engine`.
    """
    if request.param == "server":
        server: Server = request.getfixturevalue("server")
        return lambda method, target, body=b"": server.exchange(
            method, target, body, Content_Length=str(len(body))
        )
    client: FlaskClient = request.getfixturevalue("client")
    return lambda method, target, body=b"": through(client, method, target, body)


def through(client: FlaskClient, method: str, target: str, body: bytes) -> Answer:
    payload = client.open(target, method=method, data=body, content_type="application/json")
    headers = {name.lower(): value for name, value in payload.headers.items()}
    return Answer(payload.status_code, headers, payload.data)


def record(transport: Transport, document: Json, namespace: str) -> Answer:
    return transport("POST", path(namespace, "lineage"), encoded(document))


def entries(transport: Transport, namespace: str, name: str) -> Any:
    """Of whom the end point was made: the names, and the pairs of fields."""
    payload = transport(
        "GET", path(namespace, "endpoints", name, "fields", "lineage", **ALL, direction="backward")
    )
    assert payload.status == 200, payload
    return [(entry["source"]["name"], entry["fieldmap"]) for entry in payload.json]


def faulty(payload: Answer) -> str:
    """Where the one fault of a 400 is."""
    assert payload.status == 400, payload
    (fault,) = assert_problem_body(payload.problem, 400)["errors"]
    return str(fault["at"])


def test_every_name_is_a_name_of_its_own(transport: Transport) -> None:
    namespace = "every name"
    for number, name in enumerate(NAMES):
        document = copying(f"source {number}", name, name, run=run(f"{namespace} {number}"))
        assert record(transport, document, namespace).status == 201
    for number, name in enumerate(NAMES):
        assert entries(transport, namespace, name) == [(f"source {number}", [{"from": name, "to": name}])]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name)[:20])
def test_a_name_as_namespace_end_point_and_field(transport: Transport, name: str) -> None:
    short = name[:1_000]
    record(transport, copying("source", name, name, run=run(f"as {short}")), short)
    detailed = transport("GET", path(short, "endpoints", name, "fields", name, "lineage", **ALL))
    assert [node["label"] for node in detailed.json["nodes"]] == [name]
    ways = transport("GET", path(short, "datasets", name, "fields", name, "lineage", **ALL))
    assert (ways.json["fieldName"], len(ways.json["paths"])) == (name, 1)
    assert [
        way["name"] for way in transport("GET", path(short, "endpoints", name, "fields")).json["fields"]
    ] == [name]
    listed = transport("GET", path(short, "endpoints", name, "runs", **ALL)).json["runs"]
    assert [(item["run"], item["namespace"]) for item in listed] == [(f"as {short}", short)]


def test_three_names_that_one_decoding_too_many_would_mix(transport: Transport) -> None:
    record(transport, copying("source", "a%2Fb", "x", run=run("mixed")), "mixed")
    for segment, status in (("a/b", 404), ("a%2Fb", 404), ("a%252Fb", 200), ("a%25252Fb", 404)):
        payload = transport("GET", f"/v3/namespaces/mixed/endpoints/{segment}/fields")
        assert payload.status == status, segment


def test_escapes_in_either_case_and_of_letters_that_need_none(transport: Transport) -> None:
    record(transport, copying("source", "a/é", "x", run=run("spelt")), "spelt")
    for segment in ("a%2Fé", "a%2fé", "a%2F%C3%A9", "%61%2f%c3%A9"):
        target = quote(f"/v3/namespaces/spelt/endpoints/{segment}/fields", safe="/%")
        assert transport("GET", target).status == 200, segment


def test_a_plus_in_a_path_is_a_plus(transport: Transport) -> None:
    record(transport, copying("source", "a+b", "x", run=run("plus")), "plus")
    assert transport("GET", "/v3/namespaces/plus/endpoints/a+b/fields").status == 200
    assert transport("GET", "/v3/namespaces/plus/endpoints/a%2Bb/fields").status == 200
    assert transport("GET", "/v3/namespaces/plus/endpoints/a%20b/fields").status == 404


def test_characters_that_a_path_may_hold_as_they_are(transport: Transport) -> None:
    name = "a!$&'()*+,;=:@-._~b"
    record(transport, copying("source", name, "x", run=run("kept")), "kept")
    assert transport("GET", f"/v3/namespaces/kept/endpoints/{name}/fields").status == 200


def test_dots_are_names_and_not_the_way_up(transport: Transport) -> None:
    record(transport, copying("source", "..", "x", run=run("dots")), "dots")
    assert transport("GET", "/v3/namespaces/dots/endpoints/../fields").status == 200
    assert transport("GET", "/v3/namespaces/dots/endpoints/%2E%2E/fields").status == 200
    assert transport("GET", "/v3/namespaces/dots/endpoints/./fields").status == 404


@pytest.mark.parametrize(
    ("target", "position"),
    [
        ("/v3/namespaces//endpoints", "namespace"),
        ("/v3/namespaces//endpoints/a/fields", "namespace"),
        ("/v3/namespaces/ns/endpoints//fields", "name"),
        ("/v3/namespaces/ns/endpoints//runs", "name"),
        ("/v3/namespaces/ns/endpoints//fields/lineage", "name"),
        ("/v3/namespaces/ns/endpoints/a/fields//lineage", "field"),
        ("/v3/namespaces/ns/datasets/a/fields//lineage", "field"),
    ],
)
def test_an_empty_name_is_400(transport: Transport, target: str, position: str) -> None:
    assert faulty(transport("GET", target)) == position


def test_an_empty_namespace_to_record_in_is_400(transport: Transport) -> None:
    assert (
        faulty(transport("POST", "/v3/namespaces//lineage", encoded(copying("a", "b", "x")))) == "namespace"
    )


@pytest.mark.parametrize(
    "broken", ["%", "a%", "%2", "%2G", "%zz", "%%41", "a%u0041", "%-1", "% 1".replace(" ", "+"), "%25%"]
)
def test_broken_escapes_are_400(transport: Transport, broken: str) -> None:
    assert faulty(transport("GET", f"/v3/namespaces/ns/endpoints/{broken}/fields")) == "name"
    assert faulty(transport("GET", f"/v3/namespaces/{broken}/endpoints")) == "namespace"


@pytest.mark.parametrize("wrong", ["%FF", "a%80", "%C3", "%C0%AF", "%ED%A0%80", "%F4%90%80%80", "%c3%28"])
def test_bytes_that_are_no_utf_8_are_400(transport: Transport, wrong: str) -> None:
    assert faulty(transport("GET", f"/v3/namespaces/ns/endpoints/{wrong}/fields")) == "name"
    assert faulty(transport("GET", f"/v3/namespaces/ns/endpoints/a/fields/{wrong}/lineage")) == "field"


@pytest.mark.parametrize("letter", ["a", "é", "🙂", "%", "\x00"])
def test_names_that_are_too_long_are_400_and_the_longest_are_names(transport: Transport, letter: str) -> None:
    size = len(letter.encode())
    longest = {kind: letter * (most // size) for kind, most in LONGEST.items()}
    for kind in LONGEST:
        for more in ("", "b"):
            payload = {name: text + more * (name == kind) for name, text in longest.items()}
            segments = (
                payload["namespace"],
                "endpoints",
                payload["name"],
                "fields",
                payload["field"],
                "lineage",
            )
            answered = transport("GET", path(*segments))
            if more:
                assert faulty(answered) == kind
            else:
                assert (answered.status, assert_problem_body(answered.problem, 404)["status"]) == (404, 404)


def test_what_never_was_is_404_whatever_its_name(transport: Transport) -> None:
    for name in NAMES:
        payload = transport("GET", path("nowhere", "endpoints", name, "fields", name, "lineage"))
        assert (payload.status, assert_problem_body(payload.problem, 404)["status"]) == (404, 404)


def test_a_link_to_the_next_page_keeps_the_name(transport: Transport) -> None:
    name = 'a/b%2Fc "<d>;?#é🙂\x00'
    for number in range(3):
        record(transport, copying("source", name, f"f{number}", run=run(f"linked {number}")), name)
    target: str | None = path(name, "endpoints", name, "fields", limit=1)
    result = []
    while target is not None:
        payload = transport("GET", target)
        result += [field["name"] for field in payload.json["fields"]]
        link = payload.headers.get("link")
        target = link.partition("<")[2].partition(">")[0] if link else None
    assert result == ["f0", "f1", "f2"]


class TestTheWire:
    """Request lines that no ordinary client would send."""

    @pytest.mark.parametrize("raw", ["é", "🙂".encode(), b"\xff", b"a b", b"a\x00b", b"a\tb"])
    def test_what_must_be_escaped_and_is_not_is_400_and_the_server_goes_on(
        self, server: Server, raw: str | bytes
    ) -> None:
        segment = raw.encode("latin-1") if isinstance(raw, str) else raw
        payload = server.get(b"/v3/namespaces/raw/endpoints/" + segment + b"/fields")
        assert payload.status == 400
        assert b"Traceback" not in payload.body
        assert server.get("/healthz").status == 200

    def test_the_absolute_form(self, server: Server) -> None:
        body = encoded(copying("source", "a/b", "x", run=run("absolute")))
        server.post("/v3/namespaces/absolute/lineage", body)
        target = "http://localhost:1/v3/namespaces/absolute/endpoints/a%2Fb/fields?limit=5"
        assert server.get(target).json == {"fields": [{"name": "x", "read": False, "written": True}]}

    @pytest.mark.parametrize("size", [4_000, 4_094, 4_095, 8_190, 8_191, 20_000])
    def test_long_request_lines(self, server: Server, size: int) -> None:
        target = path("long", "endpoints", "a", "fields", prefix="x" * size)
        assert server.get(target).status == 404

    def test_the_longest_line_that_names_can_make(self, server: Server) -> None:
        position = {"namespace": "\x00" * 1_024, "name": "\x00" * 4_096}
        document = copying("source", position, "\x00" * 4_096, run=run("longest"))
        assert server.post(path(position["namespace"], "lineage"), encoded(document)).status == 201
        segments = (position["namespace"], "endpoints", position["name"], "fields", "\x00" * 4_096, "lineage")
        payload = server.get(path(*segments, **ALL))
        assert payload.status == 200
        assert [node["label"] for node in payload.json["nodes"]] == ["\x00" * 4_096]

    def test_names_come_back_as_they_went(self, server: Server) -> None:
        for number, name in enumerate(NAMES):
            document = copying("source", name, "x", run=run(f"back {number}"))
            server.post(path("back", "lineage"), encoded(document))
        listed = json.loads(server.get(path("back", "endpoints")).body)["endpoints"]
        assert [item["name"] for item in listed] == sorted([*NAMES, "source"])
