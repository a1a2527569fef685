"""A web page of another site cannot use a server on this machine: its Host, Origin and types are refused."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from api import create_app
from api.security.hosts import allowed_hosts, is_loopback
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.api_client import assert_problem, is_store_empty
from tests.support.lineage_documents import worked
from tests.support.raw_http import Server

ROUTE = "/v3/namespaces/ns1/lineage"
LOCAL = ["localhost", "LOCALHOST:8080", "localhost.", "127.0.0.1:8080", "127.1.2.3", "[::1]:8080", "10.0.0.7"]
FOREIGN = [
    "evil.example",
    "evil.example:8080",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "[",
    "a b",
]


def client_of(**settings: Any) -> FlaskClient:
    """A client of an app with these settings."""
    app: Flask = create_app(LineageStore(open_table("sqlite:///:memory:")), Settings(**settings))
    return app.test_client()


def post(client: FlaskClient, **headers: str) -> Any:
    return client.post(ROUTE, json=worked(), headers=headers)


@pytest.mark.parametrize("host", LOCAL)
def test_names_and_addresses_of_this_machine(host: str) -> None:
    client = client_of()
    assert client.get("/healthz", headers={"Host": host}).status_code == 200
    assert post(client, Host=host).status_code == 201


@pytest.mark.parametrize("host", FOREIGN)
@pytest.mark.parametrize("target", ["/healthz", "/v3/namespaces", "/docs", "/nowhere"])
def test_another_host_is_421(host: str, target: str) -> None:
    problem = assert_problem(client_of().get(target, headers={"Host": host}), 421)
    assert "FLL_ALLOWED_HOSTS" in problem["detail"]


def test_another_host_stores_nothing() -> None:
    client = client_of()
    answered = post(client, Host="evil.example")
    assert_problem(answered, 421)
    assert answered.headers["X-Request-ID"]
    assert is_store_empty(client)


class TestTheSetting:
    def test_names_are_allowed_beside_those_of_this_machine(self) -> None:
        client = client_of(allowed_hosts="Lineage.example.com, other")
        for host in (*LOCAL, "lineage.example.com", "lineage.example.com:443", "other"):
            assert client.get("/healthz", headers={"Host": host}).status_code == 200
        assert_problem(client.get("/healthz", headers={"Host": "evil.example"}), 421)

    def test_any(self) -> None:
        assert client_of(allowed_hosts="*").get("/healthz", headers={"Host": "x.example"}).status_code == 200

    @pytest.mark.parametrize(
        ("host", "expected"),
        [
            ("127.0.0.1", True),
            ("127.0.1.1", True),
            ("::1", True),
            ("localhost", True),
            ("0.0.0.0", False),
            ("::", False),
            ("10.0.0.7", False),
            ("db.example", False),
        ],
    )
    def test_without_it_the_address_decides(self, host: str, expected: bool) -> None:
        assert is_loopback(host) is expected
        assert allowed_hosts(Settings(host=host)).is_any is not expected

    def test_with_it_an_address_that_others_reach_is_checked_too(self) -> None:
        client = client_of(host="0.0.0.0", allowed_hosts="lineage.example.com")
        assert_problem(client.get("/healthz", headers={"Host": "evil.example"}), 421)


class TestOrigin:
    @pytest.mark.parametrize(
        "origin", ["http://evil.example", "https://localhost:3000", "null", "http://10.0.0.7", ""]
    )
    def test_a_change_for_another_site_is_403(self, origin: str) -> None:
        client = client_of()
        assert_problem(post(client, Origin=origin), 403)
        assert is_store_empty(client)

    def test_the_page_of_this_server_may(self) -> None:
        assert post(client_of(), Host="localhost:8080", Origin="http://localhost:8080").status_code == 201

    def test_a_named_site_may(self) -> None:
        client = client_of(allowed_hosts="lineage.example.com")
        assert post(client, Host="127.0.0.1:8080", Origin="https://lineage.example.com").status_code == 201

    def test_reading_needs_none(self) -> None:
        # The browser keeps the answer from the page: no answer here allows another origin.
        answered = client_of().get("/v3/namespaces", headers={"Origin": "http://evil.example"})
        assert answered.status_code == 200
        assert "Access-Control-Allow-Origin" not in answered.headers


class TestContentType:
    @pytest.mark.parametrize(
        "path",
        [
            ROUTE,
            f"{ROUTE}/batch",
            "/v3/namespaces/ns1/sql",
            "/v3/namespaces/ns1/pipelines",
            "/v3/namespaces/ns1/dbt",
            "/api/v1/lineage",
            "/api/v1/lineage/batch",
            "/aspects?action=ingestProposal",
            "/entities?action=ingest",
            "/openapi/v3/entity/dataset",
        ],
    )
    @pytest.mark.parametrize(
        "types", [{}, {"Content-Type": ""}, {"Content-Type": "text/plain"}, {"Content-Type": "*/*"}]
    )
    def test_none_and_those_of_forms_are_415(self, path: str, types: dict[str, str]) -> None:
        problem = assert_problem(client_of().post(path, data=b"{}", headers=types), 415)
        assert "application/json" in problem["detail"]
        assert ("has no Content-Type" in problem["detail"]) is (not types.get("Content-Type"))


def test_a_real_server_refuses_a_page_elsewhere(server: Server) -> None:
    assert server.get("/v3/namespaces", Host="evil.example").problem["status"] == 421
    assert server.post(ROUTE, b"{}", Origin="http://evil.example").problem["status"] == 403
    assert server.get("/healthz", Host=f"127.0.0.1:{server.port}").status == 200


@pytest.mark.slow
def test_every_route_documents_421_and_every_change_403() -> None:
    document = client_of().get("/openapi.json").json
    for path_item in document["paths"].values():
        for method, operation in path_item.items():
            if method in ("get", "post", "patch", "delete"):
                assert "421" in operation["responses"]
                assert method == "get" or "requestBody" not in operation or "403" in operation["responses"]


@pytest.mark.parametrize("host", ["LOCALHOST", "localhost.", "Localhost", "127.0.0.1", "::1"])
def test_every_spelling_of_this_machine_is_loopback(host: str) -> None:
    assert is_loopback(host)


CROSS_SITE = {"Sec-Fetch-Site": "cross-site"}
EMBEDDED = ["/v3/namespaces", "/v3/namespaces/ns1/endpoints/nothing", "/docs", "/", "/healthz", "/nowhere"]


@pytest.mark.parametrize("settings", [{}, {"host": "0.0.0.0", "allow_unauthenticated": 1}])
def test_an_embedded_address_is_refused_whatever_it_is(settings: dict[str, Any]) -> None:
    """As `<object>`, `<img>` and `fetch` of another site's page ask: what exists answers as what does not."""
    client = client_of(**settings)
    for destination in ("object", "image", "iframe", "empty"):
        headers = {**CROSS_SITE, "Sec-Fetch-Dest": destination}
        answers = [client.get(path, headers=headers) for path in EMBEDDED]
        assert {(answer.status_code, answer.text) for answer in answers} == {(403, answers[0].text)}


def test_what_is_not_embedded_is_answered() -> None:
    client = client_of(cors_origins="https://portal.example.com")
    link = {**CROSS_SITE, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    portal = {**CROSS_SITE, "Origin": "https://portal.example.com"}
    for headers in (link, portal, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}, {}):
        assert client.get("/v3/namespaces", headers=headers).status_code == 200, headers
    assert_problem(client.post(ROUTE, json=worked(), headers=link), 403)
    foreign = {**CROSS_SITE, "Origin": "https://evil.example"}
    assert_problem(client.get("/v3/namespaces", headers=foreign), 403)


def test_every_answer_is_for_its_own_site_and_in_no_frame() -> None:
    client = client_of()
    assert post(client).status_code == 201
    report = "/v3/reports/provenance?namespace=ns1&endpoint=people&field=first_name&start=0&end=now"
    for path, accept in [
        *((path, "*/*") for path in EMBEDDED),
        ("/docs", "*/*"),
        (report, "text/html"),
        (report, "text/csv"),
    ]:
        answer = client.get(path, headers={"Accept": accept})
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin", path
        (policy,) = answer.headers.getlist("Content-Security-Policy")
        assert policy.startswith("default-src 'none'; "), path
        assert "frame-ancestors 'none'" in policy, path
    assert answer.status_code == 200
