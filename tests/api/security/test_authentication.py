"""Tokens: who has none learns nothing, a revoked one ends everywhere, a table that is away lets no one in."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from api import create_app
from api.security.authentication import (
    ATTEMPTS_BURST,
    CACHE_SECONDS,
    CHECK_SECONDS_MAX,
    OPEN_PATHS,
    Authentication,
    create_verifiers,
    require_authentication,
)
from api.wire.environ import PRINCIPAL
from fll_hbase.keys import access_rows
from fll_hbase.model.access import Grant, Principal, Role
from fll_hbase.model.access import new_token as unknown_token
from fll_hbase.runtime import clock
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ConfigurationError, StoreUnavailable
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Put, open_table
from tests.support.api_client import assert_problem
from tests.support.gateway import PROGRAM
from tests.support.ports import free_port
from tests.support.token_clients import LISTS, RemoteTable, app_of, bearer, new_token, status
from tests.support.waiting import PATIENCE_SECONDS, eventually, patience

REVOKED_SECONDS = 10.0


@pytest.fixture
def table(tmp_path: Path) -> RemoteTable:
    return RemoteTable(tmp_path / "store.db")


@pytest.fixture
def client(table: RemoteTable) -> FlaskClient:
    return app_of(table).test_client()


class TestMetrics:
    """Metrics count what all namespaces do."""

    SECRET = "a-secret-of-thirty-two-characters"

    @pytest.fixture
    def scraped(self, table: RemoteTable) -> FlaskClient:
        return app_of(table, metrics_token=self.SECRET).test_client()

    @pytest.mark.parametrize(
        ("role", "pattern", "expected"),
        [
            (Role.ADMIN, "*", 200),
            (Role.ADMIN, "bank*", 403),
            (Role.STEWARD, "*", 403),
            (Role.READER, "*", 403),
            (Role.RECORDER, "*", 403),
        ],
    )
    def test_they_need_an_admin_of_all(
        self, table: RemoteTable, scraped: FlaskClient, role: Role, pattern: str, expected: int
    ) -> None:
        _, token = new_token(table, [Grant(role, pattern)])
        assert status(scraped, token, "/metrics") == expected

    def test_their_own_token_opens_nothing_else(self, scraped: FlaskClient) -> None:
        assert status(scraped, self.SECRET, "/metrics") == 200
        for path in (LISTS, "/v3/events", "/openapi.json", "/metrics/", "//metrics", "/%6Detrics"):
            assert status(scraped, self.SECRET, path) in (401, 429), path

    def test_without_a_store(self, table: RemoteTable, scraped: FlaskClient) -> None:
        table.is_away = True
        assert status(scraped, self.SECRET, "/metrics") == 200

    @pytest.mark.parametrize("header", ["", "Bearer ", "Basic " + SECRET, SECRET, f"Bearer {SECRET}x"])
    def test_others_are_refused(self, scraped: FlaskClient, header: str) -> None:
        assert scraped.get("/metrics", headers={"Authorization": header}).status_code == 401

    def test_no_setting_is_no_token(self, client: FlaskClient) -> None:
        assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 401

    def test_a_short_one_is_refused_at_start(self, table: RemoteTable) -> None:
        with pytest.raises(ConfigurationError, match="FLL_METRICS_TOKEN is too short"):
            app_of(table, metrics_token="short")


class Clock:
    """Monotonic seconds that a test sets forward."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def seen_by(table: RemoteTable, clock: Clock) -> tuple[Authentication, list[Any]]:
    """The middleware over an app that notes the principal of each request."""
    seen: list[Any] = []

    def app(environ: Any, start_response: Any) -> list[bytes]:
        seen.append(environ.get(PRINCIPAL))
        start_response("200 OK", [])
        return [b""]

    verifiers = create_verifiers(LineageStore(table).access, Settings(auth="tokens"))
    return Authentication(app, verifiers, retry_after_seconds=2, clock=clock), seen


def answered(middleware: Authentication, token: str, **members: Any) -> int:
    """The status of a request with a token."""
    statuses: list[int] = []
    environ = {
        "REQUEST_METHOD": "GET",
        "REQUEST_URI": LISTS,
        "REMOTE_ADDR": "192.0.2.1",
        "HTTP_AUTHORIZATION": f"Bearer {token}",
        **members,
    }
    list(middleware(environ, lambda line, headers, *_: statuses.append(int(line[:3])) or len))  # type: ignore[arg-type, func-returns-value]
    return statuses[0]


class TestWhoHasNone:
    def test_learns_how_to_send_one(self, client: FlaskClient) -> None:
        answer = client.get(LISTS)
        problem = assert_problem(answer, 401)
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert problem["type"] == "urn:fll-hbase:problem:unauthenticated"
        assert "FLL_TOKEN" in problem["detail"]
        assert answer.headers["X-Request-ID"]

    @pytest.mark.parametrize("path", sorted(OPEN_PATHS))
    def test_may_probe_and_load_the_page(self, client: FlaskClient, path: str) -> None:
        assert client.get(path).status_code == 200
        assert client.head(path).status_code == 200
        assert client.post(path).status_code == 401

    def test_learns_nothing_of_any_other_route(self, client: FlaskClient) -> None:
        """Every route and method of the OpenAPI document, and those beside it."""
        document = create_app(LineageStore(open_table("sqlite:///:memory:"))).extensions["fll-api"].document()
        paths = {
            **document["paths"],
            "/docs": {"get": 1},
            "/openapi.json": {"get": 1},
            "/nowhere": {"get": 1},
        }
        bodies = set()
        for path, methods in paths.items():
            for method in {"get", "put", "post", "delete", "options", "patch"} & {
                *methods,
                "options",
                "patch",
            }:
                if path in OPEN_PATHS and method == "get":
                    continue
                answer = client.open(re.sub("{.*?}", "x", path), method=method.upper())
                assert answer.status_code == 401, (method, path)
                bodies.add(answer.data)
        assert len(bodies) == 1

    @pytest.mark.parametrize(
        "path",
        [
            "/healthz/../v3/namespaces",
            "/healthz/%2e%2e/v3/namespaces",
            "//healthz/../v3/namespaces",
            "/%68ealthz",
            "/healthz/",
            "//",
            "/healthz;/v3/namespaces",
            "/healthz%3f/../v3/namespaces",
            "/page.js/../v3/namespaces",
            "/v3%2fnamespaces",
            "/./healthz",
        ],
    )
    def test_gets_no_further_by_tricks_with_paths(self, table: RemoteTable, path: str) -> None:
        middleware, seen = seen_by(table, Clock())
        assert answered(middleware, "wrong", REQUEST_URI=path, PATH_INFO="/healthz") == 401
        assert seen == []

    def test_cannot_say_who_asks(self, table: RemoteTable) -> None:
        middleware, seen = seen_by(table, Clock())
        forged = Principal("admin", (Grant(Role.ADMIN, "*"),))
        open_path = {"REQUEST_URI": "/healthz", "PATH_INFO": "/healthz"}
        assert answered(middleware, "x", **open_path, **{PRINCIPAL: forged}) == 200
        assert seen == [None]


class TestHeaders:
    @pytest.mark.parametrize(
        "header",
        [
            "Bearer",
            "Bearer ",
            "Basic dTpw",
            "bearer a b",
            "Bearer a, Bearer b",
            "Bearer é",
            "Bearer \x00",
            "Bearer =",
        ],
    )
    def test_other_forms(self, client: FlaskClient, header: str) -> None:
        answer = client.get(LISTS, headers={"Authorization": header})
        assert_problem(answer, 401)
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")

    def test_the_scheme_in_any_case(self, table: RemoteTable, client: FlaskClient) -> None:
        _, text = new_token(table)
        for scheme in ("Bearer", "bearer", "BEARER", "Bearer  "):
            assert client.get(LISTS, headers={"Authorization": f"{scheme} {text}"}).status_code == 200

    def test_a_huge_one(self, client: FlaskClient) -> None:
        assert status(client, "fll_" + "a" * 100_000) == 401

    def test_wrong_ones_are_named_in_no_answer_and_no_log(
        self, table: RemoteTable, client: FlaskClient, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        unknown = unknown_token()
        id_, text = new_token(table)
        wrong_secret = f"fll_{id_}_{unknown.secret}_00000000"
        for wrong in (unknown.text(), wrong_secret, text[:-1], text + "0", text.upper(), "eyJ.e30.secret"):
            answer = client.get(LISTS, headers=bearer(wrong))
            assert answer.status_code == 401
            assert answer.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'
            assert wrong not in str(answer.headers) + answer.text
            assert wrong.split("_")[-1] not in answer.text
        table.is_away = True
        away = client.get(LISTS, headers=bearer(unknown_token().text()))
        assert away.status_code == 503
        assert unknown.secret not in caplog.text
        assert "Bearer" not in caplog.text


bytes_of_headers = st.binary(max_size=200).map(lambda raw: raw.decode("latin-1"))
FUZZED = app_of(open_table("sqlite:///:memory:"), auth="tokens")  # type: ignore[arg-type]


@given(
    st.one_of(
        bytes_of_headers,
        bytes_of_headers.map(lambda text: f"Bearer {text}"),
        st.from_regex(r"Bearer fll_[0-9a-f_]{0,100}", fullmatch=True),
        st.from_regex(r"Bearer [\w-]*\.[\w-]*\.[\w-]*", fullmatch=True),
    ),
    st.integers(0, 2**32 - 1),
)
def test_any_header_is_refused_and_never_a_500(header: str, address: int) -> None:
    environ = {
        "HTTP_AUTHORIZATION": header,
        "REMOTE_ADDR": f"10.{address >> 16 & 255}.{address >> 8 & 255}.1",
    }
    assert FUZZED.test_client().get(LISTS, environ_overrides=environ).status_code in (401, 429)


class TestValidity:
    def test_the_principal_has_the_name_and_the_grants(self, table: RemoteTable) -> None:
        middleware, seen = seen_by(table, Clock())
        grants = [Grant(Role.READER, "bank*"), Grant(Role.RECORDER, "ns1")]
        (first_id, first), (second_id, second) = new_token(table, grants), new_token(table, grants)
        assert [answered(middleware, first), answered(middleware, second)] == [200, 200]
        assert [principal.id for principal in seen] == [first_id, second_id]
        assert seen[0] == Principal("token:test", tuple(grants), id=first_id)
        # Two tokens of one name are two principals, with one view.
        assert len({principal.digest for principal in seen}) == 2
        assert len({principal.grant_set for principal in seen}) == 1

    def test_an_expired_one(
        self, table: RemoteTable, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        _, text = new_token(table, lifetime_ms=600_000)
        assert status(client, text) == 200
        monkeypatch.setattr("api.security.authentication.now_ms", lambda: clock.now_ms() + 600_000)
        answer = client.get(LISTS, headers=bearer(text))
        assert answer.status_code == 401  # although it is cached
        assert "expired" in answer.json["detail"]

    def test_a_revoked_one_ends_everywhere(self, table: RemoteTable, tmp_path: Path) -> None:
        clock = Clock()
        processes = [seen_by(RemoteTable(tmp_path / "store.db"), clock)[0] for _ in range(3)]
        id_, text = new_token(table)
        assert [answered(process, text) for process in processes] == [200] * 3
        LineageStore(table).access.revoke(id_)
        clock.now += REVOKED_SECONDS
        assert [answered(process, text) for process in processes] == [401] * 3
        assert CACHE_SECONDS + CHECK_SECONDS_MAX < REVOKED_SECONDS

    def test_a_damaged_row_lets_no_one_in(self, table: RemoteTable, client: FlaskClient) -> None:
        id_, text = new_token(table)
        table.write([[Put(access_rows.token_row(id_), access_rows.TOKEN, b"{")]])
        assert_problem(client.get(LISTS, headers=bearer(text)), 500)


class TestTheTable:
    def test_one_read_for_many_requests(self, table: RemoteTable) -> None:
        clock = Clock()
        middleware, seen = seen_by(table, clock)
        _, text = new_token(table)
        assert [answered(middleware, text) for _ in range(50)] == [200] * 50
        assert table.reads == 1
        clock.now += CACHE_SECONDS + 1
        assert answered(middleware, text) == 200
        assert table.reads == 2
        assert seen[0] is seen[-1]

    def test_the_same_wrong_token_is_read_once(self, table: RemoteTable) -> None:
        middleware, _ = seen_by(table, Clock())
        wrong = unknown_token().text()
        assert {answered(middleware, wrong) for _ in range(50)} == {401}
        assert table.reads == 1

    def test_a_typing_error_costs_no_read(self, table: RemoteTable, client: FlaskClient) -> None:
        _, text = new_token(table)
        assert status(client, text[:-1] + ("1" if text[-1] == "0" else "0")) == 401
        assert table.reads == 0

    def test_away_means_503_also_for_who_was_let_in_before(self, table: RemoteTable) -> None:
        clock = Clock()
        middleware, _ = seen_by(table, clock)
        _, text = new_token(table)
        assert answered(middleware, text) == 200
        table.is_away = True
        assert answered(middleware, text) == 200  # for the rest of five seconds
        clock.now += CACHE_SECONDS + 0.1
        assert answered(middleware, text) == 503
        assert answered(middleware, unknown_token().text()) == 503
        table.is_away = False
        assert answered(middleware, text) == 200

    def test_a_503_says_when_to_try_again(self, table: RemoteTable, client: FlaskClient) -> None:
        _, text = new_token(table)
        table.is_away = True
        answer = client.get(LISTS, headers=bearer(text))
        assert "cannot be checked" in assert_problem(answer, 503)["detail"]
        assert answer.headers["Retry-After"] == "2"
        assert client.get("/healthz").status_code == 200


class TestGuessing:
    def test_it_is_limited_for_each_address(self, table: RemoteTable) -> None:
        clock = Clock()
        middleware, _ = seen_by(table, clock)
        _, text = new_token(table)
        guesses = [answered(middleware, unknown_token().text()) for _ in range(ATTEMPTS_BURST + 5)]
        assert guesses == [401] * ATTEMPTS_BURST + [429] * 5
        assert table.reads == ATTEMPTS_BURST
        # Others, and in time the same, are heard.
        assert answered(middleware, text, REMOTE_ADDR="192.0.2.2") == 200
        assert answered(middleware, text) == 200  # it is known by now
        clock.now += 1
        assert answered(middleware, unknown_token().text()) == 401
        assert answered(middleware, unknown_token().text()) == 429

    def test_an_ipv6_network_is_one_address(self, table: RemoteTable) -> None:
        middleware, _ = seen_by(table, Clock())
        addresses = [f"2001:db8:0:1::{number:x}" for number in range(ATTEMPTS_BURST + 1)]
        statuses = [answered(middleware, unknown_token().text(), REMOTE_ADDR=item) for item in addresses]
        assert statuses[-1] == 429

    def test_who_is_known_is_not_locked_out_by_a_neighbour(self, table: RemoteTable) -> None:
        clock = Clock()
        middleware, _ = seen_by(table, clock)
        _, text = new_token(table)
        assert answered(middleware, text) == 200
        clock.now += CACHE_SECONDS + 1
        for _ in range(ATTEMPTS_BURST + 1):
            answered(middleware, unknown_token().text())
        assert answered(middleware, text) == 200

    def test_it_says_when_to_try_again(self, client: FlaskClient) -> None:
        for _ in range(ATTEMPTS_BURST):
            assert status(client, unknown_token().text()) == 401
        answer = client.get(LISTS, headers=bearer(unknown_token().text()))
        assert_problem(answer, 429)
        assert answer.headers["Retry-After"] == "1"


@pytest.mark.slow
def test_a_gateway_that_hangs_is_a_503_in_bounded_time(tmp_path: Path) -> None:
    port = free_port()
    gateway = subprocess.Popen([sys.executable, str(PROGRAM), str(port)])
    try:
        url = f"hbase://127.0.0.1:{port}/t"

        def answers() -> bool:
            try:
                with closing(open_table(url)) as table:
                    return not list(table.scan(b"a", b"b"))
            except StoreUnavailable:
                return False

        eventually(answers, "the gateway has started")
        table = open_table(url, timeout_ms=int(10_000 * PATIENCE_SECONDS))
        client = create_app(LineageStore(table), Settings(auth="tokens")).test_client()
        assert status(client, unknown_token().text()) == 401
        os.kill(gateway.pid, signal.SIGSTOP)
        # It may still answer until the signal arrives.
        os.waitpid(gateway.pid, os.WUNTRACED)
        with patience():
            assert status(client, unknown_token().text()) == 503
    finally:
        gateway.kill()
        gateway.wait()


class TestBatches:
    def test_a_question_of_a_batch_is_asked_by_who_sent_it(
        self, table: RemoteTable, client: FlaskClient
    ) -> None:
        _, text = new_token(table)
        body = {"questions": [{"path": LISTS}]}
        assert client.post("/v3/questions", json=body).status_code == 401
        answer = client.post("/v3/questions", json=body, headers=bearer(text))
        assert [item["status"] for item in answer.json["answers"]] == [200]


class TestSettings:
    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "lineage.example.com"])
    def test_others_are_not_let_in_by_accident(self, host: str) -> None:
        with pytest.raises(ConfigurationError, match=r"FLL_AUTH.*--allow-unauthenticated"):
            require_authentication(Settings(host=host))
        require_authentication(Settings(host=host, allow_unauthenticated=1))
        require_authentication(Settings(host=host, auth="tokens"))

    @pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.8.8.8"])
    def test_loopback_is_open(self, host: str) -> None:
        require_authentication(Settings(host=host))

    def test_loopback_behind_a_proxy_is_not(self) -> None:
        with pytest.raises(ConfigurationError, match=r"reaches the proxy.*FLL_AUTH"):
            require_authentication(Settings(proxies=1))
        require_authentication(Settings(proxies=1, allow_unauthenticated=1))
        require_authentication(Settings(proxies=1, auth="tokens"))

    @pytest.mark.parametrize("auth", ["", "token", "none,tokens", "jwt;tokens", "TOKENS"])
    def test_others_are_refused(self, auth: str) -> None:
        with pytest.raises(ConfigurationError, match="none, tokens, jwt or tokens,jwt"):
            require_authentication(Settings(auth=auth))

    def test_without_authentication_nothing_is_between(self, table: RemoteTable) -> None:
        client = app_of(table, auth="none").test_client()
        assert client.get(LISTS).status_code == 200
        assert status(client, "anything") == 200
