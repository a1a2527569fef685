"""Health, and a store that is away or locked."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from api import create_app
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from fll_hbase.tables.sqlite import SqliteTable
from tests.support.api_client import (
    ALL,
    assert_problem,
    assert_problem_body,
    batch,
    get_json,
    lineage,
    path,
    record,
    record_new,
)
from tests.support.lineage_documents import copying, encoded, worked
from tests.support.locked_file import stored
from tests.support.raw_http import Server
from tests.support.waiting import eventually

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


class TestHealth:
    """Alive, and ready."""

    def test_both(self, client: FlaskClient) -> None:
        eventually(lambda: client.get("/readyz").status_code == 200, "a check has ended")
        for target in ("/healthz", "/readyz"):
            payload = client.get(target)
            assert (payload.status_code, payload.mimetype) == (200, "application/json")

    def test_over_the_wire(self, server: Server) -> None:
        assert server.get("/healthz").status == 200
        eventually(lambda: server.get("/readyz").status == 200, "a check has ended")


@pytest.mark.slow
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
            eventually(lambda: client.get("/readyz").status_code == 200, "ready without the lock")
        # The thread that waited for the lock in vain may have to get it and give it back before.
        eventually(
            lambda: record(client, worked(run="r2")).status_code in (200, 201), "sending again is safe"
        )
        listed = {
            item["run"] for item in get_json(client, "ns1", "endpoints", "people", "runs", **ALL)["runs"]
        }
        assert {"0b6f…", "r2"} <= listed
        table.close()
