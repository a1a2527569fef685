"""GET /v3/events lists what arrived, to those who may see it; the ring keeps the newest entries only."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from api import create_app
from api.observability.recent_activity import (
    ENTRY_BYTES_MAX,
    FILES_MAX,
    SLOT_BYTES,
    SLOTS,
    ActivityRing,
    RecentActivity,
)
from api.wire.environ import PRINCIPAL
from api.wire.notes import TEXT_CHARACTERS_MAX, Note
from fll_hbase.model.access import Grant, Principal, Role
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table

RECORDER = Principal("etl", (Grant(Role.RECORDER, "*"),))
READER = Principal("ana", (Grant(Role.READER, "open*"),))
ADMIN = Principal("root", (Grant(Role.ADMIN, "*"),))


@pytest.fixture
def client() -> FlaskClient:
    return create_app(LineageStore(open_table("sqlite:///:memory:"))).test_client()


def _event(namespace: str, **members: Any) -> dict[str, Any]:
    return {
        "eventTime": "2026-03-01T00:00:00Z",
        "eventType": "COMPLETE",
        "run": {"runId": f"run of {namespace}"},
        "job": {"namespace": namespace, "name": "nightly"},
        "outputs": [{"namespace": namespace, "name": "t"}],
        **members,
    }


def _send(client: FlaskClient, path: str, body: Any, principal: Principal | None = None) -> Any:
    environ = {"HTTP_USER_AGENT": "agent/1"} | ({PRINCIPAL: principal} if principal else {})
    return client.post(path, json=body, environ_overrides=environ)


def _events(client: FlaskClient, query: str = "", principal: Principal | None = None) -> list[dict[str, Any]]:
    environ = {PRINCIPAL: principal} if principal else {}
    answer = client.get(f"/v3/events{query}", environ_overrides=environ)
    assert answer.status_code == 200, answer.text
    events: list[dict[str, Any]] = answer.json["events"]
    return [{name: event[name] for name in event if name != "time"} for event in events]


def test_documents_are_listed_with_their_outcome(client: FlaskClient) -> None:
    assert _send(client, "/api/v1/lineage", _event("a")).status_code == 201
    assert _send(client, "/api/v1/lineage", _event("b", inputs=[None])).json["warnings"]
    assert _send(client, "/api/v1/lineage", {"eventTime": "x"}).status_code == 400
    refused, warned, accepted = _events(client)
    same = {"route": "/api/v1/lineage", "client": "agent/1"}
    assert accepted == same | {
        "outcome": "recorded",
        "namespace": "a",
        "program": "nightly",
        "run": "run of a",
    }
    assert warned["warnings"] == 1
    assert warned["reasons"] == ["inputs.0: must be an object, is null; left out"]
    assert refused["outcome"] == "refused"
    assert "'x' is not a time" in refused["reasons"][0]
    assert _events(client, "?outcome=refused") == [refused]
    assert _events(client, "?outcome=warned") == [warned]
    assert _events(client, "?outcome=accepted") == [accepted]
    assert _events(client, "?limit=1") == [refused]


def test_batches_and_other_sources_are_listed(client: FlaskClient) -> None:
    answer = _send(client, "/api/v1/lineage/batch", [_event("a"), {}, _event("b", inputs=5)])
    assert [event["index"] for event in answer.json["warned_events"]] == [2]
    _send(client, "/aspects?action=ingestProposal", {"proposal": {"entityUrn": "?"}})
    outcomes = [event["outcome"] for event in _events(client)]
    assert sorted(outcomes) == ["recorded", "recorded", "refused", "refused"]


def test_a_wrong_path_names_the_right_one_and_is_listed(client: FlaskClient) -> None:
    for path in ("/api/v1/lineages", "/api/v1/namespaces/x/jobs/y", "/api/v1/lineage/", "/api/v1"):
        answer = _send(client, path, {})
        assert answer.status_code == 404
        assert "/api/v1/lineage/batch" in answer.json["detail"], path
    assert {event["outcome"] for event in _events(client)} == {"refused"}
    assert {event["route"] for event in _events(client)} >= {"/api/v1/lineages", "/api/v1"}
    assert "/api/v1/lineage" not in client.get("/api/v2/lineage").json["detail"]


def test_callers_see_what_they_may_see(client: FlaskClient) -> None:
    _send(client, "/api/v1/lineage", _event("open.sales", inputs=[None]), RECORDER)
    _send(client, "/api/v1/lineage", _event("hidden"), RECORDER)
    _send(client, "/api/v1/lineage", {"eventTime": "hidden name"}, RECORDER)
    (shown,) = _events(client, principal=READER)
    assert (shown["namespace"], shown["warnings"], shown["sender"]) == ("open.sales", 1, "etl")
    assert "reasons" not in shown
    assert len(_events(client, principal=RECORDER)) == 3
    # Another token of the same name.
    assert _events(client, principal=replace(RECORDER, id="0123456789abcdef")) == []
    assert _events(client, principal=ADMIN) == _events(client, principal=RECORDER)


@pytest.mark.parametrize("query", ["?since=never", "?limit=0", "?limit=1001", "?outcome=lost", "?x=1"])
def test_an_invalid_query_is_refused(client: FlaskClient, query: str) -> None:
    assert client.get(f"/v3/events{query}").status_code == 400


def test_since_is_included(client: FlaskClient) -> None:
    _send(client, "/api/v1/lineage", _event("a"))
    time_ms = client.get("/v3/events").json["events"][0]["time"]
    assert len(_events(client, f"?since={time_ms // 1000}.{time_ms % 1000:03}")) == 1
    assert _events(client, f"?since={time_ms // 1000 + 1}") == []


def test_processes_of_a_directory_see_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = ActivityRing(tmp_path)
    monkeypatch.setattr("os.getpid", lambda: 2**22 + 1)
    second = ActivityRing(tmp_path)
    first.append([b"1"])
    second.append([b"2"])
    assert sorted(first.read()) == sorted(second.read()) == [b"1", b"2"]


def test_a_ring_keeps_the_newest_entries(tmp_path: Path) -> None:
    ring = ActivityRing(tmp_path)
    ring.append(str(number).encode() for number in range(SLOTS + 10))
    assert sorted(map(int, ring.read())) == list(range(10, SLOTS + 10))
    (file,) = tmp_path.iterdir()
    assert file.stat().st_size == SLOTS * SLOT_BYTES


def test_a_slot_that_is_being_written_is_left_out(tmp_path: Path) -> None:
    ring = ActivityRing(tmp_path)
    ring.append([b"first", b"second"])
    (file,) = tmp_path.iterdir()
    raw = bytearray(file.read_bytes())
    raw[6:8] = b"??"
    file.write_bytes(raw)
    assert list(ring.read()) == [b"second"]


def test_files_of_ended_processes_are_few(tmp_path: Path) -> None:
    for number in range(FILES_MAX + 5):
        (tmp_path / f"{2**22 + number}.activity").write_bytes(b"")
    ActivityRing(tmp_path)
    assert len(list(tmp_path.iterdir())) == FILES_MAX


def test_without_a_directory_to_write_to_a_process_keeps_its_own(tmp_path: Path) -> None:
    ring = ActivityRing(tmp_path / "missing")
    ring.append([b"1"])
    assert list(ring.read()) == [b"1"]


def test_long_texts_are_cut_to_the_size_of_a_slot() -> None:
    ring = ActivityRing(None)
    recent = RecentActivity(ring)
    long = "\x00é" * 5_000
    entry = Note(outcome="recorded", namespace="n" * 1_024, program=long, run=long, texts=(long,) * 3)
    recent.add([entry, Note(texts=("x" * TEXT_CHARACTERS_MAX,))], {"HTTP_USER_AGENT": long})
    assert all(len(encoded) <= ENTRY_BYTES_MAX for encoded in ring.read())
    # Its namespace did not fit, and a part of it could be another one.
    assert [entry.namespace for entry in recent.read(None, since_ms=0)] == ["", ""]
    assert recent.read(READER, since_ms=0) == []


def test_many_threads_may_add() -> None:
    recent = RecentActivity(ActivityRing(None))
    threads = [
        threading.Thread(target=lambda: recent.add([Note(outcome="recorded")] * 50, {})) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(recent.read(None, since_ms=0)) == 400


def test_the_answer_says_what_it_covers(client: FlaskClient) -> None:
    assert re.search(r"last 1,000 documents of each process", client.get("/v3/events").json["covers"])
