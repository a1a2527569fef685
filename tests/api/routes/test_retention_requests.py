"""Retention by request over HTTP: what is no longer shown, at once, and what a job then deletes."""

from __future__ import annotations

import time
from typing import Any

import pytest
from flask.testing import FlaskClient

from api import create_app
from fll_hbase.keys import layout
from fll_hbase.keys.retention import REQUEST, REQUESTS_ROW
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance.retention import apply_retention
from fll_hbase.tables import Table
from tests.api.conftest import MakeTable
from tests.support.api_client import assert_problem, errors_by_path, record_new, target
from tests.support.lineage_documents import copying, run

pytestmark = pytest.mark.hbase

DAY = 86_400
EARLY, LATE = 1_700_000_000, 1_700_000_000 + 10 * DAY
ALWAYS = f"start=0&end={LATE + DAY}"


def document(name: str, start: int, source: str, destination: str) -> Any:
    payload = copying(source, destination, "email")
    payload["run"] = run(name, startTime=1000 * start)
    return payload


@pytest.fixture
def table(make_table: MakeTable) -> Table:
    return make_table()


@pytest.fixture
def client(table: Table) -> FlaskClient:
    """A client of a store with an early and a late run of the same datasets."""
    client = create_app(LineageStore(table)).test_client()
    for name, start in (("early", EARLY), ("late", LATE)):
        record_new(client, document(name, start, "raw", "people"))
    record_new(client, document("other", EARLY, "raw", "else"))
    return client


def runs(client: FlaskClient, name: str) -> list[str]:
    answer = client.get(f"/v3/namespaces/ns1/endpoints/{name}/runs?{ALWAYS}")
    assert answer.status_code == 200, answer.text
    return [entry["run"] for entry in answer.json["runs"]]


def removal(client: FlaskClient, path: str, **query: Any) -> Any:
    return client.delete(path, query_string=query)


PEOPLE = "/v3/namespaces/ns1/endpoints/people"


def test_runs_of_a_dataset_are_no_longer_shown(client: FlaskClient, table: Table) -> None:
    cutoff = EARLY + DAY
    dry = removal(client, PEOPLE, before=cutoff, dryRun="true")
    expected = {"namespace": "ns1", "name": "people", "before": 1000 * cutoff, "dryRun": True}
    assert (dry.status_code, dry.json) == (202, {**expected, "runs": 1, "truncated": False})
    assert runs(client, "people") == ["late", "early"]
    assert not table.get(REQUESTS_ROW)
    answer = removal(client, PEOPLE, before=cutoff)
    assert answer.json == {**dry.json, "dryRun": False}
    assert runs(client, "people") == ["late"]
    # Of the other dataset of the run it is still one.
    assert set(runs(client, "raw")) == {"late", "early", "other"}
    field = client.get(f"{PEOPLE}/fields/email/lineage?{ALWAYS}")
    assert field.headers["Retained-From"] == f"{cutoff}.000"
    assert field.json["checksums"]
    only_early = client.get(f"{PEOPLE}/fields/email/lineage?start=0&end={cutoff}")
    assert only_early.json["checksums"] == []
    assert client.get(PEOPLE).json["firstStart"] == 1000 * LATE
    counts = client.get(f"{PEOPLE}/runs/counts?{ALWAYS}&buckets=1").json["buckets"]
    assert counts[0]["complete"] == 1
    assert removal(client, PEOPLE, before=cutoff).json["runs"] == 0


def test_a_job_deletes_what_a_request_is_about(client: FlaskClient, table: Table) -> None:
    removal(client, "/v3/lineage", before=EARLY + 1)
    assert runs(client, "people") == ["late"]
    assert [entry["run"] for entry in client.get(f"/v3/runs?{ALWAYS}").json["runs"]] == ["late"]
    assert table.get(layout.run_row("early", "ns1"))
    removal(client, "/v3/lineage", before=EARLY + DAY)
    # Cells of this very millisecond would be deleted, and on HBase hide what is put in it.
    time.sleep(0.02)
    until_now = {"grace_ms": 0, "report": lambda *_: None}
    dry = apply_retention(table, RetentionPolicy(), dry_run=True, **until_now)  # type: ignore[arg-type]
    report = apply_retention(table, RetentionPolicy(), dry_run=False, **until_now)  # type: ignore[arg-type]
    assert (report.counts, report.counts["runs"]) == (dry.counts, 2)
    assert not table.get(layout.run_row("early", "ns1"))
    assert runs(client, "people") == ["late"]
    # The request with the later time remains: what is recorded late is not shown either.
    assert [column.startswith(REQUEST) for column in sorted(table.get(REQUESTS_ROW))] == [False, True]
    assert_problem(client.get("/v3/namespaces/ns1/endpoints/else/runs"), 404)


def test_all_lineage_before_a_time(client: FlaskClient) -> None:
    answer = removal(client, "/v3/lineage", before="2023-11-20", dryRun="true")
    assert answer.json == {"before": 1_700_438_400_000, "dryRun": True, "runs": 2, "truncated": False}
    assert removal(client, "/v3/lineage", before="now").json["runs"] == 3
    assert runs(client, "people") == []
    # An earlier time brings nothing back.
    assert removal(client, "/v3/lineage", before=0).json["runs"] == 0
    assert runs(client, "people") == []


def test_another_process_knows_it_soon(client: FlaskClient, table: Table) -> None:
    now_ms = 1_800_000_000_000
    other = create_app(LineageStore(table, clock=lambda: now_ms)).test_client()
    assert runs(other, "people") == ["late", "early"]
    removal(client, "/v3/lineage", before=EARLY + 1)
    now_ms += 10_000
    assert runs(other, "people") == ["late"]


@pytest.mark.parametrize("path", ["/v3/lineage", PEOPLE])
def test_times_are_explicit_and_past(client: FlaskClient, path: str) -> None:
    assert set(errors_by_path(removal(client, path))) == {"before"}
    assert set(errors_by_path(removal(client, path, before="now+1d"))) == {"before"}
    assert set(errors_by_path(removal(client, path, before="soon", dryRun="1"))) == {"before", "dryRun"}
    assert "end" in errors_by_path(removal(client, path, before="now", end="now"))
    assert runs(client, "people") == ["late", "early"]


def test_a_dataset_never_recorded_is_not_found(client: FlaskClient, table: Table) -> None:
    assert_problem(removal(client, target("v3", "namespaces", "ns1", "endpoints", "none"), before="now"), 404)
    assert not table.get(REQUESTS_ROW)


def test_a_page_of_another_origin_is_refused(client: FlaskClient) -> None:
    answer = client.delete("/v3/lineage?before=now", headers={"Origin": "https://example.com"})
    assert_problem(answer, 403)
    assert runs(client, "people") == ["late", "early"]


def test_a_count_that_takes_too_long_is_at_least(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request is stored all the same: the other half of its time is for that."""
    monkeypatch.setattr("fll_hbase.store.retention_requests.COUNT_SHARE", 0.0)
    for path in ("/v3/lineage", PEOPLE):
        answer = removal(client, path, before="now")
        assert answer.status_code == 202
        assert (answer.json["truncated"], answer.json["truncatedBy"]) == (True, ["request_seconds=10"])
    assert runs(client, "people") == []
