"""Cost of authentication and of a principal's view: CPU of requests, in turns with the same without both."""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median

from flask.testing import FlaskClient

from api import create_app
from bench.report import print_figure
from fll_hbase.model.access import Grant, Role
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table

GRANTS = 100
RUNS = 500
TURNS, REQUESTS = 120, 3
_START_MS = 1_700_000_000_000
_WINDOW = "start=1690000000&end=1710000000"
_DATASET = "/v3/namespaces/open1/endpoints/people"
QUESTIONS = {
    "lineage of a dataset": f"{_DATASET}/fields/lineage?{_WINDOW}",
    "lineage of a field": f"{_DATASET}/fields/f0/lineage?{_WINDOW}",
    "reach of a field": f"{_DATASET}/fields/f0/reach?{_WINDOW}",
    "100 runs": f"{_DATASET}/runs?{_WINDOW}&limit=100",
    "datasets": "/v3/namespaces/open1/endpoints",
    "search": "/v3/search?q=people",
}


def bench(sizes: Sequence[int]) -> None:
    """Measure a principal that sees everything, and one that sees the dataset but not its sources.

    The sizes of histories do not matter here.
    """
    store = LineageStore(open_table("sqlite:///:memory:"))
    plain = create_app(store).test_client()
    for number in range(RUNS):
        answer = plain.post("/v3/namespaces/open1/lineage", json=_document(number))
        assert answer.status_code == 201, answer.text
    clients = {
        label: _client(store, *patterns)
        for label, patterns in (("nothing hidden", ("open*", "source*")), ("sources hidden", ("open*",)))
    }
    for question, target in QUESTIONS.items():
        for label, client in clients.items():
            ratio = _ratio(client, plain, target)
            print_figure(f"{question}, {label}: CPU with {GRANTS} grants over CPU without", ratio, "x")
    store.close()


class _TokenClient:
    """A client that sends a token."""

    def __init__(self, client: FlaskClient, token: str) -> None:
        self._client = client
        self._headers = {"Authorization": f"Bearer {token}"}

    def get(self, target: str) -> int:
        return self._client.get(target, headers=self._headers).status_code


def _client(store: LineageStore, *patterns: str) -> _TokenClient:
    """Return a client of an app with tokens; most of its grants are of namespaces that do not exist."""
    others = (f"none{number}.*" for number in range(GRANTS - len(patterns)))
    grants = [Grant(Role.READER, pattern) for pattern in (*patterns, *others)]
    _, token = store.access.create_token("bench", grants)
    return _TokenClient(create_app(store, Settings(auth="tokens")).test_client(), token.text())


def _ratio(client: _TokenClient, plain: FlaskClient, target: str) -> float:
    """Return the median ratio of CPU seconds over short turns, without the first, which fills caches."""
    ratios = []
    for _ in range(TURNS):
        with_view = _seconds(lambda: client.get(target))
        ratios.append(with_view / _seconds(lambda: plain.get(target).status_code))
    return median(ratios[1:])


def _seconds(ask) -> float:  # type: ignore[no-untyped-def]
    began = time.process_time()
    for _ in range(REQUESTS):
        assert ask() == 200
    return time.process_time() - began


def _document(number: int) -> dict[str, object]:
    source = {"namespace": f"source{number % 20}", "name": "table"}
    fields = [f"f{index}" for index in range(10)]
    inputs = [{"origin": "read", "name": field} for field in fields]
    return {
        "run": {
            "application": "app",
            "type": "spark",
            "program": "nightly",
            "run": f"run-{number}",
            "startTime": _START_MS + number * 3_600_000,
        },
        "operations": [
            {"type": "READ", "name": "read", "source": source, "outputs": fields},
            {"type": "TRANSFORM", "name": "clean", "inputs": inputs, "outputs": fields},
            {
                "type": "WRITE",
                "name": "write",
                "destination": {"namespace": "open1", "name": "people"},
                "inputs": [{"origin": "clean", "name": field} for field in fields],
            },
        ],
    }
