"""Name rules make one dataset of a feed with a date in its path."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient

from api import create_app
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.cases.openlineage import expected_lineage, queries
from tests.cases.openlineage.expected_lineage import Name
from tests.support.recorded_events import Event, datasets, events, post

FEED = "/warehouse/landing/orders"
LOGICAL: Name = ("file", "/feed/{date}/orders.json")
RULES = r"/\d{4}-\d\d-\d\d/ => /{date}/ ;; ^day=\d+$ => day"
DAY_MS = 86_400_000


def dated(event: Event) -> Event:
    """The event as though the feed of each day had a path of its own."""
    path = f"/feed/{event['eventTime'][:10]}/orders.json"
    for _, dataset in datasets(event):
        facets = dataset.get("facets", {}).get("columnLineage", {"fields": {}})
        input_fields = [item for column in facets["fields"].values() for item in column["inputFields"]]
        for item in (dataset, *input_fields, *facets.get("dataset", ())):
            item["name"] = path if item["name"] == FEED else item["name"]
    return event


@pytest.fixture(scope="module")
def recorded_events() -> list[Event]:
    return [
        dated(event) for event in events() if event["job"]["name"].startswith("retail_daily_ingest_orders")
    ]


@pytest.fixture(scope="module")
def client(recorded_events: list[Event]) -> Iterator[FlaskClient]:
    store = LineageStore(open_table("sqlite:///:memory:"))
    client = create_app(store, Settings(name_rules=RULES)).test_client()
    post(client, recorded_events)
    yield client
    store.close()


def test_every_day_is_answered_under_the_one_name(client: FlaskClient, recorded_events: list[Event]) -> None:
    runs = [run for run in expected_lineage.runs(recorded_events) if run.outputs]
    assert len({name for run in runs for name in run.sources}) == 50
    for run in runs:
        (output,) = run.outputs
        due = {
            (start, end)
            for (source, _), related in run.related.items()
            if source is not None
            for start, end, _ in related.pairs()
        }
        backward = queries.lineage(client, output, run.start_ms, run.start_ms + 1, "backward")
        forward = queries.lineage(client, LOGICAL, run.start_ms, run.start_ms + 1, "forward")
        assert {(start, end) for start, end, _ in forward[LOGICAL, output][0]} == due
        assert backward[LOGICAL, output] == forward[LOGICAL, output]


def test_the_whole_time_is_one_end_point(client: FlaskClient, recorded_events: list[Event]) -> None:
    starts = [run.start_ms for run in expected_lineage.runs(recorded_events)]
    actual = queries.lineage(client, LOGICAL, min(starts), max(starts) + 1, "forward")
    names = sorted(output[1] for _, output in actual if output is not None)
    assert names == [f"/warehouse/bronze/orders_v{number}" for number in (1, 2, 3)]
    listed = client.get("/v3/namespaces/file/endpoints?prefix=/feed").json["endpoints"]
    assert [end_point["name"] for end_point in listed] == [LOGICAL[1]]


@pytest.mark.slow
def test_without_a_rule_each_day_is_its_own(recorded_events: list[Event]) -> None:
    store = LineageStore(open_table("sqlite:///:memory:"))
    client = create_app(store).test_client()
    post(client, recorded_events)
    listed = client.get("/v3/namespaces/file/endpoints?prefix=/feed").json["endpoints"]
    assert len(listed) == 50
    store.close()
