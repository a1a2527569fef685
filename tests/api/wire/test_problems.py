"""Every error is a problem of RFC 9457."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from werkzeug.test import Client

from api import create_app
from api.app import create_metrics_app
from api.observability import exporter
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Put
from fll_hbase.tables.sqlite import SqliteTable
from tests.api.conftest import MakeTable
from tests.support.api_client import ALL, assert_problem, path, record, record_new
from tests.support.lineage_documents import copying, worked
from tests.support.locked_file import stored


@pytest.fixture
def filled(client: FlaskClient) -> FlaskClient:
    record_new(client, copying("a", "b", "field"))
    return client


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
        answered = filled.get(path("ns1", "endpoints", "a", "fields"), headers={"If-Match": payload})
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


def test_metrics_that_cannot_be_read_are_a_problem_at_their_listener_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Before the directory is set, which only a server shares.
    exporter.connect()
    (tmp_path / "counter_1.db").write_bytes(b"no metrics")
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    client = Client(create_metrics_app(Settings(metrics_host="127.0.0.1")))
    assert "the server's log has its cause" in assert_problem(client.get("/metrics"), 500)["detail"]
