"""The Spark SQL cases in a real session: captured, recorded, and asked back through the API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from api import create_app
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.capture.api_answers import answered_edges, captured_edges
from tests.support.capture.expected_cases import differences
from tests.support.capture.golden_dumps import CASES, record, recorded, resolve, resolver

pytestmark = pytest.mark.java

EXACT = 85


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, list[Any]]]:
    """Each case with its events: those of Iceberg, which has no release for this Spark, are recorded ones."""
    target = tmp_path_factory.mktemp("cases") / "cases.ndjson"
    record("cases", target)
    resolving = resolver()
    captured = {name: resolve(lines, by=resolving) for name, lines in recorded(target).items()}
    old = recorded("cases-3.5.ndjson")
    cases = json.loads(CASES.read_text(encoding="utf-8"))
    return {case["id"]: (case, captured.get(case["id"]) or resolve(old[case["id"]])) for case in cases}


@pytest.fixture(scope="module")
def client(events: dict[str, tuple[Any, list[Any]]]) -> Iterator[FlaskClient]:
    store = LineageStore(open_table("sqlite:///:memory:"))
    server = create_app(store).test_client()
    for _, captured in events.values():
        for event in captured:
            answer = server.post("/api/v1/lineage", json=event)
            assert answer.status_code == 201, answer.text
    yield server
    store.close()


def test_cases_are_exact(events: dict[str, tuple[Any, list[Any]]]) -> None:
    texts = {name: differences(case, captured) for name, (case, captured) in events.items()}
    assert {name: text for name, text in texts.items() if text} == {}
    assert len(texts) == EXACT


def test_the_api_answers_with_exactly_these_edges(
    events: dict[str, tuple[Any, list[Any]]], client: FlaskClient
) -> None:
    """Pairs of the events are the answer about each output; the cases of Iceberg share theirs."""
    outputs = [event["outputs"][0] for _, captured in events.values() for event in captured]
    edges: dict[str, set[tuple[str, str, str]]] = {}
    for output in outputs:
        edges.setdefault(output["name"], set()).update(captured_edges(output))
    assert {output["name"]: answered_edges(client, output) for output in outputs} == edges
