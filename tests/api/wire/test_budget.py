"""The time of a request: its end is a 503 or truncates, a client may shorten it, batches renew it."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from api import create_app
from api.routes import blueprint
from api.wire.budget import CLIENT_LEFT, RECEIVED, preferred_seconds
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from fll_hbase.tables.sqlite import SqliteTable
from tests.api.conftest import MakeClient
from tests.support.api_client import ALL, assert_problem, batch, get_json, path, record, record_new
from tests.support.lineage_documents import copying, encoded, run, worked
from tests.support.locked_file import stored
from tests.support.waiting import PATIENCE_SECONDS, patience


@pytest.fixture
def hanging() -> Iterator[FlaskClient]:
    """A client of an app whose gateway accepts connections and answers nothing; a request has a second."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"hbase://127.0.0.1:{listening.getsockname()[1]}/t"
        table = open_table(url, timeout_ms=int(10_000 * PATIENCE_SECONDS))
        yield create_app(LineageStore(table), Settings(request_seconds=1)).test_client()
        table.close()


@contextmanager
def in_time(seconds: float) -> Iterator[None]:
    """Check that the block ends neither at once nor as late as a store that hangs."""
    began = time.monotonic()
    with patience():
        yield
    assert time.monotonic() - began > seconds / 2


def assert_out_of_time(answer: TestResponse, seconds: int = 1) -> None:
    problem = assert_problem(answer, 503)
    assert f"the {seconds} s of this request are over" in problem["detail"]
    assert answer.headers["Retry-After"].isdigit()


@pytest.mark.slow
@pytest.mark.parametrize(
    "target",
    [
        path("ns1", "endpoints", "a", "fields", "lineage"),
        path("ns1", "endpoints", "a", "fields", "x", "lineage"),
        path("ns1", "datasets", "a", "fields", "x", "lineage"),
        path("ns1", "endpoints", "a", "runs"),
        path("ns1", "endpoints"),
        "/v3/search?q=a",
        "/v3/runs/r1",
    ],
)
def test_a_question_that_the_store_does_not_answer(hanging: FlaskClient, target: str) -> None:
    with in_time(1):
        assert_out_of_time(hanging.get(target))


@pytest.mark.slow
def test_a_run_that_the_store_does_not_take(hanging: FlaskClient) -> None:
    with in_time(1):
        assert_out_of_time(record(hanging, worked()))


@pytest.mark.slow
def test_a_shorter_time_that_the_client_prefers(tmp_path: Path) -> None:
    table = SqliteTable(str(tmp_path / "store.db"))
    client = create_app(LineageStore(table)).test_client()
    with stored(tmp_path / "store.db.lock"), in_time(1):
        answer = client.post(path("ns1", "lineage"), json=worked(), headers={"Prefer": "wait=1"})
    assert_out_of_time(answer)
    assert answer.headers["Preference-Applied"] == "wait=1"
    assert record(client, worked()).status_code == 201, "sending again is safe"
    table.close()


def test_a_longer_time_is_not_granted(client: FlaskClient) -> None:
    answer = client.get("/v3/namespaces", headers={"Prefer": "wait=100"})
    assert (answer.status_code, answer.headers["Preference-Applied"]) == (200, "wait=10")
    assert "Preference-Applied" not in client.get("/v3/namespaces").headers


@pytest.mark.parametrize(
    ("prefer", "seconds"),
    [
        ("wait=5", 5),
        ('Wait = "5"', 5),
        ("respond-async, wait=10", 10),
        ("return=minimal; foo=1,wait=3; x=y", 3),
        ("wait=3, wait=4", 3),
        ("", None),
        ("wait", None),
        ("wait=0", None),
        ("wait=-1", None),
        ("wait=1.5", None),
        ("wait=soon", None),
        ("wait=\u0663", None),
        ("await=5", None),
        ("wait=" + "9" * 5_000, None),
    ],
)
def test_the_preference(prefer: str, seconds: int | None) -> None:
    assert preferred_seconds(prefer) == seconds


def test_the_time_counts_from_when_the_request_was_complete(client: FlaskClient) -> None:
    waited = {RECEIVED: time.monotonic() - 60}
    assert_out_of_time(client.get("/v3/namespaces", environ_base=waited), 10)
    assert client.get("/healthz", environ_base=waited).status_code == 200


class TestClientsThatLeft:
    """A question ends when its client leaves; a document is recorded nevertheless."""

    LEFT = {CLIENT_LEFT: lambda: True}

    def test_a_question(self, client: FlaskClient, caplog: pytest.LogCaptureFixture) -> None:
        record_new(client, worked())
        with caplog.at_level(logging.INFO, "api.wire.problems"):
            problem = assert_problem(client.get("/v3/namespaces", environ_base=self.LEFT), 503)
        assert "the client closed the connection" in problem["detail"]
        # Of no concern to the operator: readers of pages click on.
        assert [record.levelname for record in caplog.records if record.name == "api.wire.problems"] == [
            "INFO"
        ]

    def test_a_document(self, client: FlaskClient) -> None:
        target = path("ns1", "lineage")
        assert client.post(target, json=worked(), environ_base=self.LEFT).status_code == 201


class TestWalks:
    """Lineage over many hops is truncated by time between two hops."""

    @pytest.mark.slow
    def test_truncated(self, client: FlaskClient) -> None:
        record_new(client, *(copying(f"d{n}", f"d{n + 1}", "x", run=run(f"r{n}")) for n in range(5)))
        target = path("ns1", "endpoints", "d0", "fields", "lineage", level=5, direction="forward", **ALL)
        lengths = []
        for checks in range(200):
            left = iter([False] * checks)
            answer = client.get(target, environ_base={CLIENT_LEFT: lambda left=left: next(left, True)})
            if answer.status_code == 200:
                lengths.append(len(answer.json))
                truncated = answer.headers.get("Truncated"), answer.headers.get("Truncated-By")
                assert truncated == (("true", "request_seconds=10") if lengths[-1] < 5 else (None, None))
        assert set(lengths) == {1, 2, 3, 4, 5}
        assert lengths == sorted(lengths)


class TestFields:
    """The graph of a field is truncated by time between two contents, its derivations between two runs."""

    @pytest.mark.parametrize("kind", ["endpoints", "datasets"])
    def test_truncated(self, make_client: MakeClient, kind: str) -> None:
        client = make_client()
        record_new(client, *(copying(f"d{n}", "x", "x", run=run(f"r{n}")) for n in range(5)))
        target = path("ns1", kind, "x", "fields", "x", "lineage", **ALL)
        # Reads the contents into the cache, so that the time ends between them, too.
        assert client.get(target).json["truncated"] is False
        statuses = set()
        for checks in range(100):
            left = iter([False] * checks)
            answer = client.get(target, environ_base={CLIENT_LEFT: lambda left=left: next(left, True)})
            truncated = answer.json.get("truncated"), answer.json.get("truncatedBy")
            statuses.add((answer.status_code, *map(str, truncated)))
        assert statuses == {
            (503, "None", "None"),
            (200, "True", "['request_seconds=10']"),
            (200, "False", "None"),
        }


class TestBatches:
    """Each part of a batch has the whole time; after one that took too long none is tried."""

    @pytest.fixture(autouse=True)
    def small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(blueprint, "PART_DOCUMENTS", 2)
        monkeypatch.setattr("api.routes.recording.BATCH_DOCUMENTS", 2)

    def test_a_batch_that_takes_longer_than_a_request(self, make_client: MakeClient) -> None:
        client = make_client(request_seconds=1)
        late = {RECEIVED: time.monotonic() - 60}
        body = encoded(*(copying("a", "b", "x", run=run(f"r{n}")) for n in range(6)))
        target = path("ns1", "lineage", "batch")
        answer = client.post(target, data=body, content_type="application/x-ndjson", environ_base=late)
        assert answer.text.count('"status":201') == 6

    @pytest.mark.slow
    def test_a_store_that_hangs_costs_the_time_of_one_request(self, hanging: FlaskClient) -> None:
        body = encoded(*(copying("a", "b", "x", run=run(f"r{n}")) for n in range(20)), {})
        with in_time(1):
            statuses = [answer["status"] for answer in batch(hanging, body)]
        assert statuses == [503] * 20 + [400]

    @pytest.mark.slow
    def test_events_likewise(self, hanging: FlaskClient) -> None:
        event = {
            "eventTime": "2026-11-01T00:00:00Z",
            "producer": "https://example.com",
            "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
            "eventType": "COMPLETE",
            "run": {"runId": "01939f2c-7a2e-7c4e-8f0e-6f6f6f6f6f6f"},
            "job": {"namespace": "ns", "name": "job"},
        }
        with in_time(1):
            answer = hanging.post("/api/v1/lineage/batch", json=[event] * 7)
        assert answer.status_code == 200
        assert answer.text.count('"status":503') == 7, answer.text


def test_the_answer_of_a_batch_lists_what_is_stored(make_client: MakeClient) -> None:
    client = make_client()
    body = encoded(*(copying("a", "b", "x", run=run(f"r{n}")) for n in range(3)))
    assert [answer["status"] for answer in batch(client, body)] == [201] * 3
    assert len(get_json(client, "ns1", "endpoints", "a", "runs", **ALL)["runs"]) == 3


@pytest.mark.slow
def test_a_document_that_takes_too_long_to_read_is_413_and_says_that_nothing_is_stored(
    client: FlaskClient,
) -> None:
    """A retry would fail, too: what helps is to send less at once."""
    sql = ";".join(f"INSERT INTO t{number} (x) SELECT x FROM s{number}" for number in range(20_000))
    answer = client.post(
        path("ns1", "sql"), json={"run": worked()["run"], "sql": sql}, headers={"Prefer": "wait=1"}
    )
    problem = assert_problem(answer, 413)
    assert "nothing was stored" in problem["detail"]
    assert "in parts" in problem["detail"]
    assert client.get("/v3/namespaces").json["namespaces"] == []
