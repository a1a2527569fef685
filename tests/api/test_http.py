"""HTTP: problems, entity tags, compression, request ids, methods, and an unavailable store."""

from __future__ import annotations

import fcntl
import gzip
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from api_client import (
    ALL,
    assert_problem,
    assert_problem_body,
    batch,
    get_json,
    is_store_empty,
    lineage,
    path,
    record,
    record_new,
    send,
)
from conftest import MakeTable
from documents import copying, encoded, run, worked
from flask.testing import FlaskClient
from raw_http import Server, answer, head
from werkzeug.test import TestResponse

from api import create_app
from fll_hbase.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Put, open_table
from fll_hbase.tables.sqlite import SqliteTable

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


class TestProblems:
    """Every error is a problem of RFC 9457."""

    @pytest.mark.parametrize(
        ("method", "target", "status"),
        [
            ("GET", "/v3/nothing", 404),
            ("GET", "/v3/namespaces/", 404),
            ("GET", "/v3/namespaces/ns1/endpoints/", 400),
            ("GET", "/favicon.ico", 404),
            ("POST", "/nothing", 404),
            ("BREW", "/nothing", 404),
            ("GET", path("ns1", "endpoints", "never", "fields", "lineage"), 404),
            ("GET", path("ns1", "endpoints", "a", "fields", "lineage", start="x"), 400),
            ("GET", path("ns1", "lineage"), 405),
            ("DELETE", "/v3/namespaces", 405),
            ("POST", path("ns1", "lineage"), 415),
            ("GET", "/docs/nothing.js", 404),
        ],
    )
    def test_with_all_its_members(self, filled: FlaskClient, method: str, target: str, status: int) -> None:
        payload = assert_problem(filled.open(target, method=method), status)
        assert re.match(r"[a-z][a-z0-9+.-]*:", payload["type"]), "a URI"

    @pytest.mark.parametrize("target", ["/v3/nothing", "/v3/v3/namespaces"])
    def test_an_unknown_path_says_where_the_routes_are(self, client: FlaskClient, target: str) -> None:
        assert "/docs lists the routes" in assert_problem(client.get(target), 404)["detail"]

    def test_the_type_is_one_for_one_kind(self, client: FlaskClient) -> None:
        kinds = [
            assert_problem(client.get(path("ns1", "endpoints", "a", "fields", "lineage", start="x")), 400),
            assert_problem(record(client, {}), 400),
            assert_problem(record(client, {**worked(), "operations": []}), 422),
            assert_problem(client.get(path("ns1", "endpoints", "a", "fields", "lineage")), 404),
            assert_problem(client.get("/v3/nothing"), 404),
        ]
        assert len({payload["type"] for payload in kinds}) == len(kinds)
        again = assert_problem(record(client, {"run": 1}), 400)
        assert (again["type"], again["title"]) == (kinds[1]["type"], kinds[1]["title"])

    def test_no_problem_has_an_entity_tag(self, client: FlaskClient) -> None:
        assert "ETag" not in client.get("/v3/nothing").headers

    @pytest.mark.parametrize("payload", ['"nothing"', 'W/"nothing"'])
    def test_a_failed_precondition_is_a_problem_or_not_heeded(
        self, filled: FlaskClient, payload: str
    ) -> None:
        answered = filled.get(READABLE["fields"], headers={"If-Match": payload})
        if answered.status_code != 200:
            assert_problem(answered, 412)

    def test_a_row_that_cannot_be_read_reports_no_insides(self, make_table: MakeTable) -> None:
        table = make_table()
        client = create_app(LineageStore(table)).test_client()
        record_new(client, worked())
        rows = list(table.scan(b"", b"\xff"))
        table.write([[Put(row, column, b"\xffno row") for row, cells in rows for column in cells]])
        fresh = create_app(LineageStore(table)).test_client()
        payload = fresh.get(path("ns1", "endpoints", "user_data", "fields", "lineage", **ALL))
        assert_problem(payload, 500)

    def test_the_log_has_the_cause_of_a_500_under_its_request_id(
        self, client: FlaskClient, caplog: pytest.LogCaptureFixture
    ) -> None:
        client.application.add_url_rule("/fails", view_func=lambda: 1 / 0)
        payload = client.get("/fails", headers={"X-Request-ID": "mine"})
        assert "X-Request-ID mine" in assert_problem(payload, 500)["detail"]
        assert "request mine" in caplog.text
        assert "ZeroDivisionError" in caplog.text

    def test_so_it_has_that_of_a_503(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        table = SqliteTable(str(tmp_path / "store.db"), busy_seconds=0.1)
        client = create_app(LineageStore(table)).test_client()
        with stored(tmp_path / "store.db.lock"):
            payload = client.post(path("ns1", "lineage"), json=worked(), headers={"X-Request-ID": "mine"})
        assert_problem(payload, 503)
        assert "request mine: StoreUnavailable" in caplog.text
        table.close()


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


class TestHealth:
    """Alive, and ready."""

    def test_both(self, client: FlaskClient) -> None:
        for target in ("/healthz", "/readyz"):
            payload = client.get(target)
            assert (payload.status_code, payload.mimetype) == (200, "application/json")

    def test_over_the_wire(self, server: Server) -> None:
        assert [server.get(target).status for target in ("/healthz", "/readyz")] == [200, 200]


class TestAStoreThatIsAway:
    """503 with `Retry-After`, and nothing is lost or half done."""

    @pytest.fixture(
        params=["the file was removed", "no gateway", pytest.param("no table", marks=pytest.mark.java)]
    )
    def away(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FlaskClient]:
        """A client of an app whose store is not there."""
        urls = {
            "the file was removed": f"sqlite:///{tmp_path}/gone/store.db",
            "no gateway": "hbase://127.0.0.1:1,127.0.0.1:2/lineage",
        }
        url = urls.get(request.param) or request.getfixturevalue("hbase").unused()
        table = open_table(url, timeout_ms=400)
        client = create_app(LineageStore(table), Settings(retry_after_seconds=7)).test_client()
        if request.param == "the file was removed":
            shutil.rmtree(tmp_path / "gone")
        yield client
        table.close()

    @pytest.mark.parametrize("name", [name for name in READABLE if name != "openapi"])
    def test_questions(self, away: FlaskClient, name: str) -> None:
        payload = away.get(READABLE[name])
        assert_problem(payload, 503)
        assert payload.headers["Retry-After"] == "7"

    def test_recording(self, away: FlaskClient) -> None:
        payload = record(away, worked())
        assert_problem(payload, 503)
        assert payload.headers["Retry-After"] == "7"

    def test_a_batch(self, away: FlaskClient) -> None:
        body = encoded(worked()) + b"{\n" + encoded(worked(run="r2"))
        assert [
            assert_problem_body(payload, payload["status"])["status"] for payload in batch(away, body)
        ] == [
            503,
            400,
            503,
        ]

    def test_what_needs_no_store(self, away: FlaskClient) -> None:
        assert_problem(away.get("/readyz"), 503)
        assert away.get("/healthz").status_code == 200
        assert away.get("/openapi.json").status_code == 200
        assert record(away, worked(), dryRun="true").status_code == 200
        assert_problem(record(away, {}), 400)

    def test_a_file_that_is_no_store_any_more(self, tmp_path: Path) -> None:
        table = SqliteTable(str(tmp_path / "store.db"), busy_seconds=0.2)
        client = create_app(LineageStore(table)).test_client()
        for file in tmp_path.glob("store.db*"):
            file.write_bytes(b"no database " * 1_000)
        payload = client.get("/readyz")
        assert_problem(payload, 503)
        assert payload.headers["Retry-After"].isdigit()
        table.close()

    def test_a_writer_that_does_not_let_go(self, tmp_path: Path) -> None:
        table = SqliteTable(str(tmp_path / "store.db"), busy_seconds=0.2)
        client = create_app(LineageStore(table)).test_client()
        record_new(client, worked())
        with stored(tmp_path / "store.db.lock"):
            payload = record(client, worked(run="r2"))
            assert_problem(payload, 503)
            assert payload.headers["Retry-After"].isdigit()
            assert [item["status"] for item in batch(client, encoded(worked(run="r3")))] == [503]
            assert lineage(client, "people") != [], "readers wait for nobody"
            assert client.get("/readyz").status_code == 200
        assert record(client, worked(run="r2")).status_code in (200, 201), "sending again is safe"
        listed = {
            item["run"] for item in get_json(client, "ns1", "endpoints", "people", "runs", **ALL)["runs"]
        }
        assert {"0b6f…", "r2"} <= listed
        table.close()


@contextmanager
def stored(lock: Path) -> Iterator[None]:
    """The lock file as another writer has it: locks are per opening of the file, not per process."""
    with lock.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


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
