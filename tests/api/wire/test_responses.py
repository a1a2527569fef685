"""HTTP: entity tags, compression, request ids, methods, and the page."""

from __future__ import annotations

import gzip
import re
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.support.api_client import ALL, assert_problem, is_store_empty, path, record, record_new, send
from tests.support.lineage_documents import copying, encoded, run, worked
from tests.support.raw_http import Server, answer, head

FIELDS = [f"field {number}" for number in range(200)]

READABLE = {
    "namespaces": "/v3/namespaces",
    "end points": path("ns1", "endpoints"),
    "fields": path("ns1", "endpoints", "a", "fields"),
    "runs": path("ns1", "endpoints", "a", "runs", **ALL),
    "search": "/v3/search?q=field",
    "high level": path("ns1", "endpoints", "a", "fields", "lineage", **ALL),
    "detailed": path("ns1", "endpoints", "b", "fields", FIELDS[0], "lineage", **ALL),
    "first design": path("ns1", "datasets", "b", "fields", FIELDS[0], "lineage", **ALL),
    "openapi": "/openapi.json",
}
LONG = ("fields", "search", "high level", "first design", "openapi")
readable = pytest.mark.parametrize("name", READABLE)
long = pytest.mark.parametrize("name", LONG)


@pytest.fixture
def filled(client: FlaskClient) -> FlaskClient:
    record_new(client, copying("a", "b", *FIELDS))
    return client


def fleeting(payload: TestResponse) -> dict[str, str]:
    """The headers that must be the same for the same request."""
    return {name: value for name, value in payload.headers.items() if name not in ("X-Request-ID", "Date")}


@pytest.mark.slow
class TestEntityTags:
    """Strong tags on read answers, and `If-None-Match`."""

    @readable
    def test_a_strong_tag(self, filled: FlaskClient, name: str) -> None:
        tag = filled.get(READABLE[name]).headers["ETag"]
        assert re.fullmatch(r'"[\x21\x23-\x7e]+"', tag)
        assert filled.get(READABLE[name]).headers["ETag"] == tag

    @readable
    @pytest.mark.parametrize("method", ["GET", "HEAD"])
    def test_what_the_client_has_is_304_without_a_body(
        self, filled: FlaskClient, name: str, method: str
    ) -> None:
        first = filled.get(READABLE[name])
        tag = first.headers["ETag"]
        for payload in (tag, "*", f'"other", {tag}', f"W/{tag}", f'W/"x" , {tag}'):
            again = filled.open(READABLE[name], method=method, headers={"If-None-Match": payload})
            assert (again.status_code, again.data, again.headers["ETag"]) == (304, b"", tag), payload
            assert again.headers.get("Vary") == first.headers.get("Vary")

    @pytest.mark.parametrize("payload", ['"other"', "other", "", '""', '"', "W/"])
    def test_another_tag_is_200(self, filled: FlaskClient, payload: str) -> None:
        answered = filled.get(READABLE["fields"], headers={"If-None-Match": payload})
        assert answered.status_code == 200
        assert answered.json["fields"]

    def test_another_answer_has_another_tag(self, filled: FlaskClient) -> None:
        previous = filled.get(READABLE["high level"]).headers["ETag"]
        record_new(filled, copying("a", "c", "x", run=run("r2")))
        following = filled.get(READABLE["high level"], headers={"If-None-Match": previous})
        assert following.status_code == 200
        assert following.headers["ETag"] != previous

    @long
    def test_each_encoding_has_a_tag_of_its_own(self, filled: FlaskClient, name: str) -> None:
        plain = filled.get(READABLE[name]).headers["ETag"]
        packed = filled.get(READABLE[name], headers={"Accept-Encoding": "gzip"}).headers["ETag"]
        assert plain != packed
        for tag, encoding, status in ((packed, "gzip", 304), (plain, "identity", 304), (packed, "", 200)):
            headers = {"Accept-Encoding": encoding, "If-None-Match": tag}
            assert filled.get(READABLE[name], headers=headers).status_code == status

    def test_only_answers_to_read_have_one(self, client: FlaskClient) -> None:
        assert "ETag" not in record(client, worked()).headers
        assert "ETag" not in record(client, worked(), dryRun="true").headers
        payload = client.post(path("ns1", "lineage"), json=worked(), headers={"If-None-Match": "*"})
        assert payload.status_code == 200


@pytest.mark.slow
class TestCompression:
    """gzip where the client takes it and there is something to gain."""

    @long
    @pytest.mark.parametrize("accepted", ["gzip", "gzip, deflate, br", "br;q=1, gzip;q=0.1", "GZIP", "*"])
    def test_long_answers_are_compressed(self, filled: FlaskClient, name: str, accepted: str) -> None:
        plain = filled.get(READABLE[name])
        packed = filled.get(READABLE[name], headers={"Accept-Encoding": accepted})
        assert "Content-Encoding" not in plain.headers
        assert packed.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(packed.data) == plain.data
        assert packed.content_length == len(packed.data) < len(plain.data)
        assert packed.mimetype == plain.mimetype
        for answered in (plain, packed):
            assert "accept-encoding" in answered.headers["Vary"].lower()

    @pytest.mark.parametrize("accepted", ["", "identity", "br", "gzip;q=0", "gzip;q=0, *", "*;q=0"])
    def test_not_where_the_client_takes_none(self, filled: FlaskClient, accepted: str) -> None:
        answered = filled.get(READABLE["fields"], headers={"Accept-Encoding": accepted})
        assert "Content-Encoding" not in answered.headers
        assert answered.json["fields"]

    def test_long_problems_are_compressed_too(self, client: FlaskClient) -> None:
        document = {"run": run(), "operations": [5] * 100}
        payload = client.post(path("ns1", "lineage"), json=document, headers={"Accept-Encoding": "gzip"})
        assert (payload.status_code, payload.mimetype) == (400, "application/problem+json")
        assert payload.headers["Content-Encoding"] == "gzip"
        assert b'"operations.99"' in gzip.decompress(payload.data)

    def test_a_batch_is_compressed_as_it_was_reported(self, client: FlaskClient) -> None:
        body = encoded(*(copying("a", "b", "x", run=run(f"{number}")) for number in range(50)))
        payload = send(client, body, "lineage/batch", Accept_Encoding="gzip")
        data = gzip.decompress(payload.data) if "Content-Encoding" in payload.headers else payload.data
        assert data.count(b'"status":201') == 50


class TestRequestIds:
    """`X-Request-ID` comes back, and is made where there is none or none to trust."""

    @pytest.mark.parametrize(
        "payload", ["a", "6f1c…".replace("…", "0"), "a" * 200, "!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~"]
    )
    def test_it_is_echoed(self, client: FlaskClient, payload: str) -> None:
        for target in ("/healthz", "/v3/nothing", "/v3/namespaces?x=1", "/docs", "/docs/swagger-ui.css"):
            assert client.get(target, headers={"X-Request-ID": payload}).headers["X-Request-ID"] == payload

    def test_it_is_made_and_each_time_another(self, client: FlaskClient) -> None:
        created = {client.get("/healthz").headers["X-Request-ID"] for _ in range(50)}
        assert len(created) == 50
        assert all(re.fullmatch(r"[\x21-\x7e]{8,200}", payload) for payload in created)

    @pytest.mark.parametrize(
        "payload", ["", " ", "a b", "a" * 201, "a" * 5_000, "é", "a\tb", "\x7f", "🙂".encode()]
    )
    def test_what_could_harm_a_log_is_not_echoed(self, client: FlaskClient, payload: str | bytes) -> None:
        text = payload.decode("latin-1") if isinstance(payload, bytes) else payload
        answered = client.get("/healthz", headers={"X-Request-ID": text})
        assert answered.status_code == 200
        assert re.fullmatch(r"[\x21-\x7e]{8,200}", answered.headers["X-Request-ID"])
        assert answered.headers["X-Request-ID"] != text

    def test_on_every_kind_of_answer(self, filled: FlaskClient) -> None:
        tag = filled.get(READABLE["fields"]).headers["ETag"]
        payload = {"X-Request-ID": "mine"}
        answers = [
            filled.get(READABLE["fields"], headers={**payload, "If-None-Match": tag}),
            filled.head(READABLE["fields"], headers=payload),
            filled.options(READABLE["fields"], headers=payload),
            filled.delete(READABLE["fields"], headers=payload),
            send(filled, b"{", X_Request_ID="mine"),
            send(filled, b"{}\n" * 3, "lineage/batch", X_Request_ID="mine"),
        ]
        assert [answered.headers["X-Request-ID"] for answered in answers] == ["mine"] * len(answers)

    @pytest.mark.slow
    def test_over_the_wire(self, server: Server) -> None:
        payload = server.get("/healthz", X_Request_ID="on the wire".replace(" ", "-"))
        assert payload.headers["x-request-id"] == "on-the-wire"
        payload = server.get("/healthz", X_Request_ID="a\r\nX-Other: b")
        assert payload.headers["x-request-id"] == "a"
        assert "x-other" not in payload.headers


class TestMethods:
    """HEAD, OPTIONS and the others, as HTTP has them."""

    @readable
    def test_head_is_get_without_a_body(self, filled: FlaskClient, name: str) -> None:
        for encoding in ("identity", "gzip"):
            payload = {"Accept-Encoding": encoding}
            got = filled.get(READABLE[name], headers=payload)
            headed = filled.head(READABLE[name], headers=payload)
            assert (headed.status_code, headed.data) == (200, b"")
            assert fleeting(headed) == fleeting(got)

    def test_head_of_what_is_wrong(self, client: FlaskClient) -> None:
        for target, status in (
            ("/v3/nothing", 404),
            (path("ns1", "endpoints", "a", "runs"), 404),
            ("/v3/search", 400),
        ):
            payload = client.head(target)
            assert (payload.status_code, payload.data) == (status, b"")
            assert fleeting(payload) == fleeting(client.get(target))

    def test_head_over_the_wire_leaves_the_connection_in_step(self, server: Server) -> None:
        with server.connected() as connection:
            connection.sendall(head("HEAD", "/openapi.json", Connection="keep-alive"))
            headed = answer(connection, "HEAD")
            connection.sendall(head("GET", "/openapi.json"))
            got = answer(connection)
        assert (headed.status, headed.body) == (200, b"")
        assert int(headed.headers["content-length"]) == len(got.body)
        assert headed.headers["etag"] == got.headers["etag"]

    @pytest.mark.parametrize(
        ("target", "methods"),
        [
            ("/v3/namespaces", {"GET", "HEAD", "OPTIONS"}),
            (path("ns1", "endpoints", "a", "fields", "lineage"), {"GET", "HEAD", "OPTIONS"}),
            (path("ns1", "lineage"), {"POST", "OPTIONS"}),
            (path("ns1", "lineage", "batch"), {"POST", "OPTIONS"}),
            ("/healthz", {"GET", "HEAD", "OPTIONS"}),
            ("/docs", {"GET", "HEAD", "OPTIONS"}),
        ],
    )
    def test_options_and_405_report_the_methods(
        self, client: FlaskClient, target: str, methods: set[str]
    ) -> None:
        payload = client.options(target)
        assert payload.status_code in (200, 204)
        assert allowed(payload) == methods
        for method in {"GET", "PUT", "PATCH", "DELETE", "POST", "TRACE", "BREW"} - methods:
            refused = client.open(target, method=method)
            assert_problem(refused, 405)
            assert allowed(refused) == methods
        assert is_store_empty(client)

    @pytest.mark.parametrize("target", ["/api/v1/lineage", "/api/v1/lineage/batch"])
    def test_reading_where_openlineage_posts_names_the_route_that_answers(
        self, client: FlaskClient, target: str
    ) -> None:
        problem = assert_problem(client.get(target), 405)
        assert "/v3/namespaces/<namespace>/endpoints/<name>/fields/lineage" in problem["detail"]

    def test_options_of_nothing_is_404(self, client: FlaskClient) -> None:
        assert_problem(client.options("/v3/nothing"), 404)

    def test_options_of_the_server_itself(self, server: Server) -> None:
        assert server.exchange("OPTIONS", "*").status < 500
        assert server.get("/healthz").status == 200


def allowed(payload: TestResponse) -> set[str]:
    return {method.strip() for method in payload.headers["Allow"].split(",")}


class TestThePage:
    """A page to read the API and try it, whole without any other server."""

    def test_it_loads_only_what_this_server_has(self, client: FlaskClient) -> None:
        page = client.get("/docs")
        assert (page.status_code, page.mimetype) == (200, "text/html")
        assets = re.findall(r'(?:src|href)="([^"]*)"', page.text)
        assert any(asset.endswith(".js") for asset in assets)
        for asset in assets:
            # Relative to /docs, so that the page works behind a path prefix.
            assert asset.startswith("docs/")
            payload = client.get(f"/{asset}")
            assert payload.status_code == 200
            assert payload.data
            payload.close()

    def test_its_assets_say_what_they_are(self, client: FlaskClient) -> None:
        types = {"swagger-ui.css": "text/css", "swagger-ui-bundle.js": "text/javascript"}
        for name, media_type in types.items():
            payload = client.get(f"/docs/{name}")
            assert payload.mimetype == media_type
            payload.close()

    def test_it_asks_for_the_document_that_is_there(self, client: FlaskClient) -> None:
        assert '"openapi.json"' in client.get("/docs/start.js").text
        assert client.get("/openapi.json").status_code == 200

    @pytest.mark.parametrize(
        "name",
        [
            "../api.py",
            "..%2F..%2Fsetup.cfg",
            "%2e%2e/x",
            "/etc/passwd",
            "%2Fetc%2Fpasswd",
            "a%00b",
            "",
            ".",
            "%FF",
        ],
    )
    def test_no_other_file_comes_out(self, client: FlaskClient, name: str) -> None:
        payload = client.get(f"/docs/{name}")
        assert payload.status_code in (400, 404)
        assert_problem(payload, payload.status_code)

    @pytest.mark.parametrize(
        "name", ["../../../../etc/passwd", "..%2f..%2f..%2fsetup.cfg", "%00", "a%0d%0ab"]
    )
    def test_nor_over_the_wire(self, server: Server, name: str) -> None:
        payload = server.get(f"/docs/{name}")
        assert payload.status in (400, 404)
        assert payload.problem


def test_no_answer_here_names_the_machine(server: Server) -> None:
    payload: Any = server.get("/v3/namespaces/x/endpoints/y/fields/z/lineage").json
    assert str(server.log.parent) not in str(payload)
