"""The answers have the real lineage of the jobs, as far as the agent reported it.

What is left out is the agent's doing, and named here one by one: so a step back shows, and so does a step on.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeAlias

import pytest
from flask.testing import FlaskClient

from api import create_app
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.cases.openlineage import expected_lineage, queries
from tests.cases.openlineage.expected_lineage import DIRECT, INDIRECT, WHOLE_DATASET, Name
from tests.support.recorded_events import by_run, events, expected, post

Edge: TypeAlias = tuple[str, str, str, str]
"""Source, its field, the field made, how it was."""

Output: TypeAlias = tuple[str, str, tuple[int, ...]]
"""Job, what it wrote, and the first and the last of its days."""

DAY_MS = 86_400_000
FIRST_DAY_MS = int(datetime(2026, 1, 2, tzinfo=UTC).timestamp() * 1000)
"""When the daily jobs ran for their first day."""

FOREIGN_TABLES: dict[str, Name] = {"STOCK": ("file:/metastore_db", "STOCK")}

DAYS = ((0, 16), (17, 33), (34, 49))
RANK = "retail_daily_customer_rank", "/warehouse/gold/customer_rank"
ENRICHED = "/warehouse/silver/orders_enriched"
C_360 = "med_gold", "/warehouse/gold.db/customer_360", ()
CLICKS = "med_silver", "/warehouse/silver.db/web_clicks", ()
QUERY = "feat_jdbc", "/warehouse/feat/jdbc_query", ()
SINK = "feat_stream_file", "/warehouse/feat/stream_sink", ()
CHECKPOINTED = "feat_rdds", "/warehouse/feat/checkpointed", ()
ROUNDTRIP = "feat_rdds", "/warehouse/feat/rdd_roundtrip", ()

MISSING_EDGES: dict[Output, set[Edge]] = {
    # a rank over sums: the agent takes the order within the window for the value
    **{(*RANK, days): {(ENRICHED, "total", "rnk", INDIRECT)} for days in DAYS},
    # the condition of a CASE over sums: likewise
    C_360: {("/warehouse/silver.db/order_lines", "net_eur", "segment", INDIRECT)},
    # the query's text went to the database as it is, and the agent does not read its GROUP BY
    QUERY: {("STOCK", "product_id", "*", WHOLE_DATASET)},
    # no event names what a stream wrote to files
    SINK: {
        ("/warehouse/source/payments", "method", "*", WHOLE_DATASET),
        ("/warehouse/source/payments", "order_id", "order_id", DIRECT),
        ("/warehouse/source/payments", "paid_amount", "dbl", DIRECT),
    },
    # beyond a checkpoint the agent sees no source
    CHECKPOINTED: {("/warehouse/source/orders", "order_id", "o3", DIRECT)},
}
"""Expected, but no event says so."""

EXTRA_EDGES: dict[Output, set[Edge]] = {
    **{(*RANK, days): {(ENRICHED, "total", "rnk", DIRECT)} for days in DAYS},
    C_360: {("/warehouse/silver.db/order_lines", "net_eur", "segment", DIRECT)},
    # of the two runs of this write, one calls the kind kept a filter
    CLICKS: {("/warehouse/bronze.db/web_events", "kind", "*", WHOLE_DATASET)},
}
"""Not expected, but events say so."""


@pytest.fixture(scope="module")
def client() -> Iterator[FlaskClient]:
    store = LineageStore(open_table("sqlite:///:memory:"))
    client = create_app(store).test_client()
    post(client, events())
    yield client
    store.close()


def edge_of(field: str, input_field: dict[str, Any]) -> Edge:
    influence = (
        WHOLE_DATASET if field == WHOLE_DATASET else DIRECT if input_field["type"] == "DIRECT" else INDIRECT
    )
    return input_field["dataset"], input_field["field"], field, influence


@cache
def outputs() -> dict[Output, set[Edge]]:
    """The edges expected of every output; one that is direct is not told as indirect, too."""
    actual: dict[Output, set[Edge]] = {}
    for item in expected():
        edges = actual.setdefault((item["job"], item["output_dataset"], tuple(item.get("days", ()))), set())
        edges |= {edge_of(item["output_field"], input_field) for input_field in item["inputs"]}
    return {
        output: {edge for edge in edges if edge[3] != INDIRECT or (*edge[:3], DIRECT) not in edges}
        for output, edges in actual.items()
    }


@cache
def windows() -> dict[str, tuple[int, int]]:
    """From the first run of a job to its last one."""
    starts: dict[str, list[int]] = {}
    events_by_run = by_run(events())
    for run in expected_lineage.runs(events()):
        for job in {event["job"]["name"].partition(".")[0] for event in events_by_run[run.run]}:
            starts.setdefault(job, []).append(run.start_ms)
    return {job: (min(actual), max(actual) + 1) for job, actual in starts.items()}


@pytest.mark.parametrize("output", outputs(), ids=lambda output: " ".join(map(str, output)))
def test_the_lineage_of_the_agent_is_answered(client: FlaskClient, output: Output) -> None:
    due = outputs()[output] - MISSING_EDGES.get(output, set()) | EXTRA_EDGES.get(output, set())
    if output == SINK:
        path = "/v3/namespaces/file/endpoints/%2Fwarehouse%2Ffeat%2Fstream_sink/fields"
        assert client.get(path).status_code == 404
        return
    job, name, days = output
    first, last = days or (0, 0)
    window = (FIRST_DAY_MS + first * DAY_MS, FIRST_DAY_MS + (last + 1) * DAY_MS) if days else windows()[job]
    answer = queries.lineage(client, name_of(name), *window, "backward")
    actual = {
        (source[1], start, end, influence)
        for (source, _), (pairs, _) in answer.items()
        if source is not None
        for start, end, influence in pairs
    }
    assert actual == due
    unknown = {source for (source, _), (_, unknown) in answer.items() if unknown}
    assert unknown == ({("file", "/warehouse/source/orders")} if output == ROUNDTRIP else set())


def test_the_number_of_events_is_as_documented() -> None:
    assert len(outputs()) == 43
    assert sum(map(len, outputs().values())) == 410
    assert sum(map(len, MISSING_EDGES.values())) == 9
    assert sum(map(len, EXTRA_EDGES.values())) == 5


def name_of(dataset: str) -> Name:
    return FOREIGN_TABLES.get(dataset, ("file", dataset))
