"""`fll watch` shows what arrived at a server of several requests, oldest first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from fll_hbase.cli.commands.watch import COLUMNS_MAX, _datasets_of
from tests.support.commands import complaint, fll, printed, serving
from tests.support.small_documents import document


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("watch")
    with serving(f"sqlite:///{home}/store.db", home) as server:
        event = {
            "eventTime": "2026-03-01T00:00:00Z",
            "run": {"runId": "one"},
            "job": {"namespace": "shop", "name": "night\x1bly"},
            "inputs": [None],
        }
        for body in (event, {**event, "job": 5}):
            requests.post(f"{server}/api/v1/lineage", json=body, timeout=120)
        requests.post(f"{server}/api/v1/lineages", json=event, timeout=120)
        yield server


@pytest.mark.slow
def test_documents_are_shown_oldest_first(url: str) -> None:
    lines = printed("watch", "--server", url).splitlines()
    assert [line.split("  ")[1] for line in lines[::2]] == ["recorded, warnings: 1", "refused", "refused"]
    assert lines[0].endswith("  shop night\\x1bly one")
    assert lines[1] == "    inputs.0: must be an object, is null; left out"
    assert "/api/v1/lineages" in lines[4]


def test_json_and_one_outcome(url: str) -> None:
    (line,) = printed("watch", "--server", url, "--json", "--outcome", "warned").splitlines()
    event = json.loads(line)
    assert (event["namespace"], event["run"], event["warnings"]) == ("shop", "one", 1)


def test_an_empty_answer_is_reported(url: str) -> None:
    line = complaint("watch", "--server", url, "--outcome", "accepted", code=0)
    assert "nothing arrived since now-1h" in line


def test_what_filters_the_rows_is_not_a_column_that_is_written() -> None:
    orders = {"namespace": "shop", "name": "orders"}
    paid = {"origin": "read", "name": "paid", "influence": "indirect", "kind": "filter"}
    net = {"origin": "read", "name": "net", "influence": "direct"}
    operations = [
        {"type": "READ", "source": orders, "outputs": [{"name": "net"}, {"name": "paid"}]},
        {"type": "WRITE", "destination": {**orders, "name": "totals"}, "inputs": [net, paid]},
    ]
    assert list(_datasets_of(operations)) == [
        {"direction": "writes", "dataset": "shop/totals", "columns": ["net"]},
        {"direction": "reads", "dataset": "shop/orders", "columns": ["net", "paid"]},
    ]


@pytest.mark.slow
def test_datasets_and_columns_of_each_event(tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path}/store.db", tmp_path) as server:
        wide = document("wide", namespace="a/b")
        wide["operations"][0]["outputs"] += [f"c{number:02}" for number in range(COLUMNS_MAX)]
        raw = "\n".join(map(json.dumps, (document("one"), wide, {"namespace": "shop"}))).encode()
        assert fll("record", "-", "--server", server, stdin=raw).exit_code == 1
        lines = printed("watch", "--server", server).splitlines()
        heads = [number for number, line in enumerate(lines) if not line.startswith(" ")]
        about = {lines[number].split()[-1]: lines[number + 1 : number + 3] for number in heads}
        assert about["one"] == ["    writes shop/invoices: total", "    reads shop/orders: net, tax"]
        reads = ", ".join(f"c{number:02}" for number in range(COLUMNS_MAX))
        assert about["wide"] == [
            "    writes a/b/invoices: total",
            f"    reads a/b/orders: {reads} and 2 more",
        ]
        events = [json.loads(line) for line in printed("watch", "--server", server, "--json").splitlines()]
        (body,) = (event["datasets"] for event in events if event.get("run") == "one")
        assert body == [
            {"direction": "writes", "dataset": "shop/invoices", "columns": ["total"]},
            {"direction": "reads", "dataset": "shop/orders", "columns": ["net", "tax"]},
        ]
        assert [event["outcome"] for event in events if "datasets" not in event] == ["refused"]


@pytest.mark.slow
def test_a_store_receives_nothing(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/store.db"
    assert fll("sample", "--store", store).exit_code == 0
    assert "give its URL" in complaint("watch", "--store", store, code=2)
