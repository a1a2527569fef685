"""Pages of other origins, headers of every answer, and proxies in front of the server."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from api.security.hosts import RESPONSE_HEADERS, allowed_origins
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ConfigurationError
from tests.support.api_client import ALL, assert_problem, record_new, target
from tests.support.lineage_documents import copying, run
from tests.support.token_clients import LISTS, RemoteTable, app_of, bearer, new_token

PORTAL, OTHER = "https://portal.example.com", "https://evil.example.com"
TAG = "/v3/policies/gdpr?allowUnknown=true"
POLICY = {"maxAge": "90d", "tag": "PII"}
BROWSER_HEADERS = {
    *("Cache-Control", "Content-Length", "Content-Type", "Vary"),
    *("Content-Security-Policy", "Cross-Origin-Resource-Policy", "Referrer-Policy", "X-Content-Type-Options"),
}
"""Headers that a page may always read, or that only a browser follows."""
PREFLIGHT = {"Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "authorization"}


@pytest.fixture
def table(tmp_path: Any) -> RemoteTable:
    return RemoteTable(tmp_path / "store.db")


def client_of(table: RemoteTable, **settings: Any) -> FlaskClient:
    return app_of(table, **{"auth": "none", **settings}).test_client()


def cors_headers(answer: Any) -> set[str]:
    return {name for name in dict(answer.headers) if name.startswith("Access-Control")}


class TestOrigins:
    def test_none_by_default(self, table: RemoteTable) -> None:
        client = client_of(table)
        for headers in ({"Origin": PORTAL}, {"Origin": PORTAL, **PREFLIGHT}):
            for method in ("GET", "OPTIONS", "POST"):
                answer = client.open(LISTS, method=method, headers=headers)
                assert not cors_headers(answer)
                assert "Origin" not in answer.headers.get("Vary", "")

    def test_a_listed_one_reads_every_header(self, table: RemoteTable) -> None:
        client = client_of(table, cors_origins=PORTAL, auth="tokens")
        headers = {"Origin": PORTAL, "Prefer": "wait=5", **bearer(new_token(table)[1])}
        record_new(client_of(table), *(copying("a", name, "x", run=run(name)) for name in "bc"))
        field = {"namespace": "ns1", "endpoint": "a", "field": "x"}
        sent = set()
        for path in (
            target("v3", "namespaces", "ns1", "endpoints", limit=1),
            target("v3", "namespaces", "ns1", "endpoints", "a", "diff", **ALL, baseStart=0, baseEnd=1),
            target("v3", "reports", "consumption", **ALL, **field),
        ):
            answer = client.get(path, headers=headers)
            assert answer.status_code == 200, answer.text
            sent |= {name for name in dict(answer.headers) if not name.startswith("Access-Control")}
        assert {"Base-Start", "Link", "Principal"} <= sent
        assert sent <= {*RESPONSE_HEADERS.split(", "), *BROWSER_HEADERS}

    def test_a_preflight_allows_the_methods_of_all_routes(self, table: RemoteTable) -> None:
        app = app_of(table, cors_origins=PORTAL)
        answer = app.test_client().options(LISTS, headers={"Origin": PORTAL, **PREFLIGHT})
        methods = {method for rule in app.url_map.iter_rules() for method in rule.methods or ()}
        assert {*answer.headers["Access-Control-Allow-Methods"].split(", ")} == methods - {"OPTIONS"}

    def test_a_listed_one_reads_and_changes(self, table: RemoteTable) -> None:
        client = client_of(table, cors_origins=f"{PORTAL}, http://localhost:3000")
        answer = client.get(LISTS, headers={"Origin": PORTAL})
        assert answer.headers["Access-Control-Allow-Origin"] == PORTAL
        assert "Link" in answer.headers["Access-Control-Expose-Headers"]
        assert "Access-Control-Allow-Credentials" not in answer.headers
        assert "Origin" in answer.headers["Vary"]
        assert client.put(TAG, json=POLICY, headers={"Origin": PORTAL}).status_code in (200, 201)

    @pytest.mark.parametrize(
        "origin", [OTHER, "null", PORTAL + ":8443", "http://portal.example.com", PORTAL.upper()]
    )
    def test_others_do_not(self, table: RemoteTable, origin: str) -> None:
        client = client_of(table, cors_origins=PORTAL)
        answer = client.get(LISTS, headers={"Origin": origin})
        assert not cors_headers(answer)
        assert "Origin" in answer.headers["Vary"]
        assert not cors_headers(client.options(LISTS, headers={"Origin": origin, **PREFLIGHT}))
        assert_problem(client.put(TAG, json=POLICY, headers={"Origin": origin}), 403)

    def test_a_preflight_needs_no_token_but_the_request_does(self, table: RemoteTable) -> None:
        client = client_of(table, cors_origins=PORTAL, auth="tokens")
        answer = client.options(LISTS, headers={"Origin": PORTAL, **PREFLIGHT})
        assert (answer.status_code, answer.data) == (204, b"")
        assert "Authorization" in answer.headers["Access-Control-Allow-Headers"]
        assert "PUT" in answer.headers["Access-Control-Allow-Methods"]
        refused = client.get(LISTS, headers={"Origin": PORTAL})
        assert refused.status_code == 401
        assert refused.headers["Access-Control-Allow-Origin"] == PORTAL
        headers = {"Origin": PORTAL, **bearer(new_token(table)[1])}
        assert client.get(LISTS, headers=headers).status_code == 200

    @pytest.mark.parametrize(
        "text",
        [
            "*",
            "portal.example.com",
            "https://*.example.com",
            PORTAL + "/",
            "null",
            "https://u@x",
            "HTTPS://x",
            "http://[",
        ],
    )
    def test_what_is_no_origin(self, text: str) -> None:
        with pytest.raises(ConfigurationError, match="FLL_CORS_ORIGINS"):
            allowed_origins(Settings(cors_origins=f"{PORTAL},{text}"))


class TestHeaders:
    @pytest.mark.parametrize(
        "path", [LISTS, "/", "/nowhere", "/healthz", "/docs", "/docs/swagger-ui.css", "/v3/search"]
    )
    def test_every_answer_has_them(self, table: RemoteTable, path: str) -> None:
        for settings in ({}, {"auth": "tokens"}):
            answer = client_of(table, **settings).get(path)
            assert answer.headers.getlist("X-Content-Type-Options") == ["nosniff"]
            assert answer.headers.getlist("Referrer-Policy") == ["no-referrer"]
            assert "Strict-Transport-Security" not in answer.headers

    def test_under_tls_browsers_stay_there(self, table: RemoteTable) -> None:
        answer = client_of(table).get(LISTS, base_url="https://localhost/")
        assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"

    def test_the_page_has_a_policy(self, table: RemoteTable) -> None:
        assert "default-src 'none'" in client_of(table).get("/").headers["Content-Security-Policy"]


class TestProxies:
    FORWARDED = {
        "X-Forwarded-For": "198.51.100.7, 203.0.113.9",
        "X-Forwarded-Proto": "https",
        "X-Forwarded-Prefix": "/lineage",
    }

    def test_of_none_no_word_counts(self, table: RemoteTable) -> None:
        answer = client_of(table, rate_requests=1).get(LISTS, headers=self.FORWARDED)
        assert "Strict-Transport-Security" not in answer.headers

    def test_of_one_the_last_address_counts(self, table: RemoteTable) -> None:
        client = client_of(table, proxies=1, rate_requests=1)
        for number in range(10):
            # What the client itself writes in front changes nothing.
            headers = {**self.FORWARDED, "X-Forwarded-For": f"198.51.100.{number}, 203.0.113.9"}
            answer = client.get(LISTS, headers=headers)
            assert answer.status_code == 200
            assert answer.headers["Strict-Transport-Security"]
        assert client.get(LISTS, headers=self.FORWARDED).status_code == 429
        other = {**self.FORWARDED, "X-Forwarded-For": "203.0.113.10"}
        assert client.get(LISTS, headers=other).status_code == 200

    @pytest.mark.parametrize(
        ("prefix", "expected"),
        [
            ("/lineage", "/lineage/v3"),
            ("/a/b/", "/a/b/v3"),
            ("/v3", "/v3/v3"),
            ("evil, /lineage", "/lineage/v3"),
            ("/", "/v3"),
            ("//evil.example.com", "/v3"),
            ("/a>; rel=x, </b>", "/v3"),
            ("", "/v3"),
        ],
    )
    def test_links_have_the_prefix(self, table: RemoteTable, prefix: str, expected: str) -> None:
        documents = [copying("a", name, "x", run=run(name)) for name in "bcd"]
        client = client_of(table, proxies=1)
        record_new(client, *documents)
        path = "/v3/namespaces/ns1/endpoints?limit=1"
        link = client.get(path, headers={"X-Forwarded-Prefix": prefix}).headers["Link"]
        assert link.startswith(f"<{expected}/namespaces/ns1/endpoints?")
        plain = client_of(table).get(path, headers={"X-Forwarded-Prefix": prefix}).headers["Link"]
        assert plain.startswith("</v3/namespaces/")

    @pytest.mark.parametrize("prefix", ["/lineage", "/v3", "/v3/namespaces", "", "//", "/%2e%2e", "x\ty"])
    def test_a_prefix_opens_nothing(self, table: RemoteTable, prefix: str) -> None:
        client = client_of(table, proxies=1, auth="tokens")
        for path in (LISTS, "/v3/healthz", "/v3/namespaces/healthz", prefix + LISTS):
            answer = client.get(path, headers={"X-Forwarded-Prefix": prefix})
            assert answer.status_code in (401, 200)
            assert answer.status_code == 401 or answer.json == {"status": "alive"}
