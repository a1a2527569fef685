"""A dry run prints what would be recorded and stores nothing, in a store and through a server alike."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from fll_hbase.cli.commands.record import PREVIEWS_MAX
from fll_hbase.client.opening import open_client
from fll_hbase.ingest.document_batches import batch_documents
from fll_hbase.ingest.ndjson import InputLine
from tests.support.commands import complaint, fll
from tests.support.datahub_messages import lineage, proposal
from tests.support.small_documents import START_MS, document


def event(run: str, **also: Any) -> dict[str, Any]:
    columns = {"b": {"inputFields": [{"namespace": "shop", "name": "s", "field": "a"}]}}
    output = {"namespace": "shop", "name": "t", "facets": {"columnLineage": {"fields": columns}}}
    return {
        "eventTime": "2025-10-01T00:00:00Z",
        "eventType": "COMPLETE",
        "run": {"runId": run},
        "job": {"namespace": "shop", "name": "nightly"},
        "inputs": [{"namespace": "shop", "name": "s"}],
        "outputs": [output],
        **also,
    }


def ndjson(*documents: Any) -> bytes:
    return b"".join(json.dumps(payload).encode() + b"\n" for payload in documents)


def test_what_would_be_recorded_is_printed_and_not_stored(target: tuple[str, str], name: str) -> None:
    wrong = {**document(f"{name} 2"), "operations": []}
    raw = ndjson(document(f"{name} 1", namespace=name), wrong, document(f"{name} 3", namespace=name, extra=1))
    result = fll("record", "-", "--dry-run", *target, stdin=raw)
    assert result.exit_code == 1
    pairs = [f"  {name}/orders → {name}/invoices", "    net → total", "    tax → total"]
    head, *rest = result.stdout.splitlines()
    assert head.startswith("line 1: 3 operations, checksum ")
    assert rest[:3] == pairs
    assert rest[3] == head.replace("line 1", "line 3")
    assert rest[4:-1] == pairs
    assert rest[-1] == "Dry run, nothing is stored: 2 would be recorded, 1 refused"
    assert [line.partition(":")[0] for line in result.stderr.splitlines()] == ["line 2", "line 3"]
    if target[0] == "--store":
        assert not Path(target[1].removeprefix("sqlite:///")).exists()
    assert fll("record", "-", *target, stdin=ndjson(document(f"{name} 4"))).exit_code == 0
    missing = complaint("run", f"{name} 1", *target, code=1)
    assert "not found" in missing


def test_a_run_id_of_another_program_is_refused(target: tuple[str, str], name: str) -> None:
    run = str(uuid.uuid5(uuid.NAMESPACE_URL, name))
    other = document(run, namespace=f"of {name}")
    assert fll("record", "-", *target, stdin=ndjson(document(run))).exit_code == 0
    for raw in (ndjson(other), ndjson(other, document(f"{name} 2"))):
        result = fll("record", "-", "--dry-run", *target, stdin=raw)
        assert result.exit_code == 1
        assert "line 1: refused: run " in result.stderr
    result = fll("record", "-", "--dry-run", "--replace", *target, stdin=ndjson(other))
    assert (result.exit_code, result.stderr) == (0, "")


def test_the_number_of_printed_documents_is_bounded(tmp_path: Path) -> None:
    raw = ndjson(*(document(str(number)) for number in range(PREVIEWS_MAX + 5)))
    lines = fll("record", "-", "--dry-run", "--store", "sqlite:///:memory:", stdin=raw).stdout.splitlines()
    assert sum(line.startswith("line ") for line in lines) == PREVIEWS_MAX
    assert lines[-1].endswith(f"{PREVIEWS_MAX + 5} would be recorded, 0 refused")


@pytest.mark.slow
def test_both_clients_preview_the_same(tmp_path: Path, open_server: str, name: str) -> None:
    run = {**document(name)["run"], "startTime": START_MS}
    documents = [
        document(f"{name} 1"),
        {
            "namespace": "shop",
            "run": {**run, "run": f"{name} 2"},
            "sql": "CREATE TABLE t AS SELECT s.a FROM s",
        },
        {"namespace": "shop", "run": {**run, "run": f"{name} 3"}, "sql": "SELECT 1"},
        {"namespace": "shop", "run": {**run, "run": f"{name} 4"}, "config": {"stages": []}},
        event(f"{name} 5"),
        event(f"{name} 6", outputs=[]),
        event(f"{name} 7", job=5),
        proposal(lineage()),
        proposal({"upstreams": 1}),
        {"run": 5},
    ]
    lines = [InputLine(number, json.dumps(item).encode()) for number, item in enumerate(documents, 1)]
    previews = []
    for url in (f"sqlite:///{tmp_path}/store.db", open_server):
        with open_client(url) as client:
            batches = batch_documents(lines, namespace="shop", documents_max=100)
            previews.append([repr(item) for batch in batches for item in client.preview(batch)])
    assert previews[0] == previews[1]
    assert sum(text.startswith("DocumentPreview(runs=(RunPreview") for text in previews[0]) == 5
    assert len(previews[0]) == len(documents)
