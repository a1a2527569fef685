"""A batch ends between two parts when its client has left; what was recorded until then stays."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from flask.testing import FlaskClient

from api.routes import blueprint, recording
from api.wire.budget import CLIENT_LEFT
from tests.support.api_client import get_json, lines
from tests.support.lineage_documents import copying, run

PART = 2


def leaving(looks_max: int) -> dict[str, Any]:
    """The environment of a request whose client is found to have left when it is looked at once more."""
    looks = itertools.count()
    return {CLIENT_LEFT: lambda: next(looks) >= looks_max}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "BATCH_DOCUMENTS", PART)
    monkeypatch.setattr(blueprint, "PART_DOCUMENTS", PART)


@pytest.mark.parametrize("looks", [0, 1, 2, 100])
def test_of_documents(client: FlaskClient, looks: int) -> None:
    """A small batch, of one part, is recorded whole: clients may send a document and leave."""
    body = "\n".join(json.dumps(copying("a", "b", "x", run=run(f"r{number}"))) for number in range(7))
    answer = client.post(
        "/v3/namespaces/ns1/lineage/batch",
        data=body,
        content_type="application/x-ndjson",
        environ_base=leaving(looks),
    )
    answers = lines(answer.data)
    recorded = min((looks + 1) * PART, 7)
    assert [line["status"] for line in answers[:recorded]] == [201] * recorded
    assert [line["type"] for line in answers[recorded:]] == ["urn:fll-hbase:problem:batch-stopped"] * (
        recorded < 7
    )
    listed = get_json(client, "ns1", "endpoints", "b", "runs", start=0, limit=100)
    assert len(listed["runs"]) == recorded


def test_of_events(client: FlaskClient) -> None:
    events = [
        {
            "eventType": "COMPLETE",
            "eventTime": "2026-03-01T00:00:00Z",
            "producer": "https://example.com",
            "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
            "run": {"runId": f"0199f1f0-0000-7000-8000-00000000000{number}"},
            "job": {"namespace": "ns1", "name": "job"},
            "outputs": [{"namespace": "ns1", "name": "b"}],
        }
        for number in range(5)
    ]
    answer = client.post("/api/v1/lineage/batch", json=events, environ_base=leaving(1))
    assert (answer.json["summary"]["successful"], answer.json["summary"]["failed"]) == (4, 1)
